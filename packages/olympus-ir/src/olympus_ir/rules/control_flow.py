# SPDX-License-Identifier: Apache-2.0
"""Checking and dead code of control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..lax.control_flow.linear_solves import linear_solve_p, split_operands
from ..lax.control_flow.primitives import sliced_aval
from ..programs.checker import Misfit, check_types, checking_rules, short_type
from ..programs.dead_code import dce_closed, dead_code_rules, reduced_equation
from ..programs.olympuspr import ClosedOlympuspr, Equation
from ..types.avals import ShapedArray

# ---- checking ----


@checking_rules.define(lax.cond_p)
def _check_cond(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    index, *others = operands
    branches = params["branches"]
    if not branches:
        raise Misfit("`branches` is empty")
    if index.shape or index.dtype != np.int32:
        raise Misfit(f"the index has type {short_type(index)}, not int32[]")
    for place, branch in enumerate(branches):
        check_types(f"operands of branch {place}", others, branch.in_avals)
        check_types(f"results of branch {place}", branch.out_avals, results)


@checking_rules.define(lax.while_p)
def _check_while(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    num_cond, num_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, rest = operands[:num_cond], operands[num_cond:]
    body_consts, carry = rest[:num_body], rest[num_body:]
    check_types("operands of `cond_jaxpr`", [*cond_consts, *carry], condition.in_avals)
    check_types("operands of `body_jaxpr`", [*body_consts, *carry], body.in_avals)
    # One boolean, or one for each of many examples, whose dimensions are the first of all values.
    (goes_on,) = condition.out_avals
    check_types("results of `cond_jaxpr`", [goes_on], [ShapedArray(goes_on.shape, np.bool_)])
    for place, aval in enumerate(carry):
        if aval.shape[: goes_on.ndim] != goes_on.shape:
            raise Misfit(
                f"part {place} of the carry has type {short_type(aval)}, but the condition gives "
                f"{short_type(goes_on)}, whose dimensions must lead in all values carried"
            )
    check_types("results of `body_jaxpr`", body.out_avals, carry)


@checking_rules.define(lax.scan_p)
def _check_scan(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    body, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    consts, rest = operands[:num_consts], operands[num_consts:]
    carry, xs = rest[:num_carry], rest[num_carry:]
    for place, aval in enumerate(xs):
        if not aval.shape or aval.shape[0] != params["length"]:
            raise Misfit(
                f"operand {place} that is scanned over has type {short_type(aval)}; its leading "
                f"dimension must have the size {params['length']}"
            )
    slices = [sliced_aval(aval) for aval in xs]
    check_types("operands of `jaxpr`", [*consts, *carry, *slices], body.in_avals)
    check_types("carry that `jaxpr` returns", body.out_avals[:num_carry], carry)


@checking_rules.define(linear_solve_p)
def _check_linear_solve(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    programs = params["jaxprs"]
    consts, right_hand_sides = split_operands(operands, params["const_lengths"])
    count = len(right_hand_sides)
    for name, program, given in zip(programs._fields, programs, consts, strict=True):
        if program is not None:
            check_types(f"operands of `{name}`", [*given, *right_hand_sides], program.in_avals)
            check_types(f"results of `{name}`", program.out_avals[:count], results[:count])


# ---- dead code ----


@dead_code_rules.define(lax.cond_p)
def _cond(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    branches = equation.params["branches"]
    used = [False] * (len(equation.invars) - 1)
    for branch in branches:
        _, used_here = dce_closed(branch, used_results)
        used = [a or b for a, b in zip(used, used_here, strict=True)]
    reduced = []
    effects: frozenset = frozenset()
    for branch in branches:
        # All branches take the operands that one of them uses.
        program, _ = dce_closed(branch, used_results, instantiate=used)
        reduced.append(program)
        effects |= program.effects
    params = {**equation.params, "branches": tuple(reduced)}
    return reduced_equation(equation, [True, *used], used_results, params, effects)


def _used_in_loop(
    body: ClosedOlympuspr, num_consts: int, used_carry: list[bool], used_others: list[bool]
) -> tuple[list[bool], list[bool]]:
    """Which parts of the carry are used, each iteration's use counted; and which inputs.

    Args:
      body: from constants, carry and further inputs to carry and further results.
      num_consts: the number of constants.
      used_carry: which parts of the last carry are used.
      used_others: which of the further results are used.
    """
    num_carry = len(used_carry)
    while True:
        _, used_inputs = dce_closed(body, [*used_carry, *used_others])
        used_by_next = used_inputs[num_consts : num_consts + num_carry]
        widened = [a or b for a, b in zip(used_carry, used_by_next, strict=True)]
        if widened == used_carry:
            return used_carry, used_inputs
        used_carry = widened


@dead_code_rules.define(lax.while_p)
def _while(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    num_cond, num_body = params["cond_nconsts"], params["body_nconsts"]
    _, used_by_condition = dce_closed(condition, [True])
    used_cond_consts = used_by_condition[:num_cond]
    used_carry = [a or b for a, b in zip(used_results, used_by_condition[num_cond:], strict=True)]
    used_carry, used_inputs = _used_in_loop(body, num_body, used_carry, [])
    used_body_consts = used_inputs[:num_body]
    condition, _ = dce_closed(condition, [True], instantiate=[*used_cond_consts, *used_carry])
    body, _ = dce_closed(body, used_carry, instantiate=[*used_body_consts, *used_carry])
    changed = {
        **params,
        "cond_jaxpr": condition,
        "cond_nconsts": sum(used_cond_consts),
        "body_jaxpr": body,
        "body_nconsts": sum(used_body_consts),
    }
    used_operands = [*used_cond_consts, *used_body_consts, *used_carry]
    return reduced_equation(
        equation, used_operands, used_carry, changed, condition.effects | body.effects
    )


@dead_code_rules.define(lax.scan_p)
def _scan(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    body, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    used_ys = used_results[num_carry:]
    used_carry, used_inputs = _used_in_loop(body, num_consts, used_results[:num_carry], used_ys)
    used_operands = [
        *used_inputs[:num_consts],
        *used_carry,
        *used_inputs[num_consts + num_carry :],
    ]
    body, _ = dce_closed(body, [*used_carry, *used_ys], instantiate=used_operands)
    changed = {
        **params,
        "jaxpr": body,
        "num_consts": sum(used_inputs[:num_consts]),
        "num_carry": sum(used_carry),
    }
    return reduced_equation(equation, used_operands, [*used_carry, *used_ys], changed, body.effects)
