# SPDX-License-Identifier: Apache-2.0
"""Rules for checking and dead code of control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..lax.control_flow.fixed_points import until_stable
from ..lax.control_flow.linear_solves import linear_solve_p, split_operands
from ..lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout, WhileOperands
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
    for position, branch in enumerate(branches):
        check_types(f"operands of branch {position}", others, branch.in_avals)
        check_types(f"results of branch {position}", branch.out_avals, results)


@checking_rules.define(lax.while_p)
def _check_while(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    values = WhileLayout.of(params).operands(operands)
    check_types("operands of `cond_jaxpr`", values.of_cond, condition.in_avals)
    check_types("operands of `body_jaxpr`", values.of_body, body.in_avals)
    # The condition returns one boolean, or one for each example of a batch. The batch dimensions
    # are then the first dimensions of every carried value.
    (goes_on,) = condition.out_avals
    check_types("results of `cond_jaxpr`", [goes_on], [ShapedArray(goes_on.shape, np.bool_)])
    for position, aval in enumerate(values.carry):
        if aval.shape[: goes_on.ndim] != goes_on.shape:
            raise Misfit(
                f"part {position} of the carry has type {short_type(aval)}, but the condition "
                f"has type {short_type(goes_on)}, whose shape must be a prefix of the "
                "shape of every part"
            )
    check_types("results of `body_jaxpr`", body.out_avals, values.carry)


@checking_rules.define(lax.scan_p)
def _check_scan(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    body, layout = params["jaxpr"], ScanLayout.of(params)
    consts, carry, xs = layout.operands(operands)
    for position, aval in enumerate(xs):
        if not aval.shape or aval.shape[0] != params["length"]:
            raise Misfit(
                f"operand {position} that is scanned over has type {short_type(aval)}; its leading "
                f"dimension must have the size {params['length']}"
            )
    slices = [sliced_aval(aval) for aval in xs]
    check_types("operands of `jaxpr`", [*consts, *carry, *slices], body.in_avals)
    check_types("carry that `jaxpr` returns", layout.results(body.out_avals).carry, carry)


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
        # All branches take every operand that any branch uses.
        program, _ = dce_closed(branch, used_results, instantiate=used)
        reduced.append(program)
        effects |= program.effects
    params = {**equation.params, "branches": tuple(reduced)}
    return reduced_equation(equation, [True, *used], used_results, params, effects)


def _used_in_loop(
    body: ClosedOlympuspr, layout: ScanLayout, used_carry: Sequence[bool], used_ys: Sequence[bool]
) -> tuple[ScanOperands[bool], Sequence[bool]]:
    """Returns flags that say which inputs of the body and components of the carry are used.

    Args:
      body: the body of a scan, or of a loop without slices.
      layout: the layout of the body's inputs.
      used_carry: flags for the parts of the last carry that are used.
      used_ys: flags for the other results that are used.
    """

    def inputs_for(used_carry: Sequence[bool]) -> tuple[ScanOperands[bool], Sequence[bool]]:
        used_inputs = layout.operands(dce_closed(body, [*used_carry, *used_ys])[1])
        return used_inputs, used_inputs.carry

    return until_stable(inputs_for, used_carry)


@dead_code_rules.define(lax.while_p)
def _while(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if "checkpoints" in params and params["checkpoints"].inverse is not None:
        # The inverse step needs the whole carry.
        everything = [True] * len(equation.invars)
        results = [True] * len(equation.outvars)
        return reduced_equation(equation, everything, results, params, equation.effects)
    layout = WhileLayout.of(params)
    _, used_by_condition = dce_closed(condition, [True])
    used_cond_consts = used_by_condition[: layout.cond_nconsts]
    tested = used_by_condition[layout.cond_nconsts :]
    used_carry = [a or b for a, b in zip(used_results, tested, strict=True)]
    of_body = ScanLayout(layout.body_nconsts, len(used_carry))
    used_by_body, used_carry = _used_in_loop(body, of_body, used_carry, [])
    used = WhileOperands(used_cond_consts, used_by_body.consts, used_carry)
    condition, _ = dce_closed(condition, [True], instantiate=used.of_cond)
    body, _ = dce_closed(body, used_carry, instantiate=used.of_body)
    changed = {
        **params,
        "cond_jaxpr": condition,
        "cond_nconsts": sum(used.cond_consts),
        "body_jaxpr": body,
        "body_nconsts": sum(used.body_consts),
    }
    effects = condition.effects | body.effects
    return reduced_equation(equation, used.flat, used_carry, changed, effects)


@dead_code_rules.define(lax.scan_p)
def _scan(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    layout = ScanLayout.of(params)
    used_carry, used_ys = layout.results(used_results)
    used, used_carry = _used_in_loop(params["jaxpr"], layout, used_carry, used_ys)
    used_operands = [*used.consts, *used_carry, *used.xs]
    used_results = [*used_carry, *used_ys]
    body, _ = dce_closed(params["jaxpr"], used_results, instantiate=used_operands)
    changed = {
        **params,
        "jaxpr": body,
        "num_consts": sum(used.consts),
        "num_carry": sum(used_carry),
    }
    return reduced_equation(equation, used_operands, used_results, changed, body.effects)
