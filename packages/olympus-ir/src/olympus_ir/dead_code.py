# SPDX-License-Identifier: Apache-2.0
"""Removing what does not contribute to the results of a program, or to its effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .lax.calls import (
    checkpoint_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
)
from .lax.control_flow import cond_p, scan_p, while_p
from .olympuspr import ClosedOlympuspr, DropVar, Equation, Literal, Olympuspr
from .rules import RuleTable

DeadCodeRule = Callable[[Sequence[bool], Equation], tuple[list[bool], Equation | None]]

# From a primitive that holds programs to `rule(used_outputs, equation)`, which returns which
# operands are used, and the equation without what is not needed; None to drop it. Other equations
# are kept whole or not at all.
dead_code_rules: RuleTable[DeadCodeRule] = RuleTable(
    "dead_code", package="olympus_ir", folder="dead_code.py"
)


def dce_olympuspr(
    olympuspr: Olympuspr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool]]:
    """Removes the equations that the chosen results do not need.

    Args:
      olympuspr: the program.
      used_outputs: for each result, whether it is kept.
      instantiate: inputs to keep whether they are used or not: all (True), some or none.

    Returns:
      The smaller program, of the used inputs and the kept results, and which inputs it kept.

    Example:
      >>> from olympus_ir import lax, ShapedArray, trace_to_olympuspr
      >>> olympuspr, _ = trace_to_olympuspr(
      ...     lambda x, y: [lax.sin(x), lax.cos(y)], [ShapedArray((), "float32")] * 2)
      >>> dce_olympuspr(olympuspr, [True, False])
      ({ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }, [True, False])
    """
    if isinstance(instantiate, bool):
        instantiate = (instantiate,) * len(olympuspr.invars)
    needed: set[Any] = set()
    outvars = []
    for atom, used in zip(olympuspr.outvars, used_outputs, strict=True):
        if used:
            outvars.append(atom)
            if atom.__class__ is not Literal:
                needed.add(atom)
    equations: list[Equation] = []
    rules = dead_code_rules.rules
    for equation in reversed(olympuspr.eqns):
        used = [var in needed for var in equation.outvars]
        if not any(used) and not equation.effects:
            continue
        rule = rules.get(equation.primitive)
        if rule is None:
            used_operands: Sequence[bool] | None = None
            kept: Equation | None = equation
        else:
            used_operands, kept = rule(used, equation)
        if kept is None:
            continue
        equations.append(kept)
        if used_operands is None:
            for atom in equation.invars:
                if atom.__class__ is not Literal:
                    needed.add(atom)
        else:
            for atom, is_used in zip(equation.invars, used_operands, strict=True):
                if is_used and atom.__class__ is not Literal:
                    needed.add(atom)
    equations.reverse()
    used_inputs = [
        var in needed or keep for var, keep in zip(olympuspr.invars, instantiate, strict=True)
    ]
    smaller = olympuspr.replace(
        constvars=[var for var in olympuspr.constvars if var in needed],
        invars=[var for var, used in zip(olympuspr.invars, used_inputs, strict=True) if used],
        outvars=outvars,
        eqns=equations,
        effects=_effects(equations) if olympuspr.effects else olympuspr.effects,
    )
    if not all(used_inputs) or len(outvars) != len(olympuspr.outvars):
        smaller.debug_info = _selected_debug_info(olympuspr, used_inputs, used_outputs)
    return smaller, used_inputs


def _effects(equations: Sequence[Equation]) -> frozenset:
    effects: frozenset = frozenset()
    for equation in equations:
        if equation.effects:
            effects |= equation.effects
    return effects


def _selected_debug_info(
    olympuspr: Olympuspr, used_inputs: Sequence[bool], used_outputs: Sequence[bool]
) -> Any:
    return olympuspr.debug_info.select(used_inputs, used_outputs)


def dce_closed(
    closed: ClosedOlympuspr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedOlympuspr, list[bool]]:
    """As `dce_olympuspr`, of a closed program; remembered with it."""
    if not isinstance(instantiate, bool):
        instantiate = tuple(instantiate)
    key = ("dead code", tuple(used_outputs), instantiate)
    found = closed.memo.get(key)
    if found is None:
        smaller, used_inputs = dce_olympuspr(closed.jaxpr, used_outputs, instantiate)
        values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        consts = [values[var] for var in smaller.constvars]
        found = closed.memo[key] = ClosedOlympuspr(smaller, consts), used_inputs
    return found


def _select(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def _is_whole(smaller: ClosedOlympuspr, original: ClosedOlympuspr) -> bool:
    """Whether nothing was removed at all, so that the equation may stay as it is."""
    return len(smaller.jaxpr.invars) == len(original.jaxpr.invars) and len(
        smaller.jaxpr.outvars
    ) == len(original.jaxpr.outvars)


def _call_rule(program_name: str, per_operand: Sequence[str] = (), per_result: Sequence[str] = ()):
    """The rule of a call: the called program is made smaller with the equation.

    Args:
      program_name: the parameter that holds the program.
      per_operand: parameters with one entry an operand.
      per_result: parameters with one entry a result.
    """

    def rule(used: Sequence[bool], equation: Equation) -> tuple[list[bool], Equation | None]:
        program = equation.params[program_name]
        is_closed = isinstance(program, ClosedOlympuspr)
        if is_closed:
            smaller, used_inputs = dce_closed(program, used)
        else:
            smaller, used_inputs = dce_olympuspr(program, used)
        if not any(used_inputs) and not any(used) and not equation.effects:
            return used_inputs, None
        if all(used) and all(used_inputs):
            if not is_closed or _is_whole(smaller, program):
                return used_inputs, equation
        params = {**equation.params, program_name: smaller}
        for name in per_operand:
            params[name] = tuple(_select(params[name], used_inputs))
        for name in per_result:
            params[name] = tuple(_select(params[name], used))
        kept = equation.replace(
            invars=_select(equation.invars, used_inputs),
            outvars=_select(equation.outvars, used),
            params=params,
            effects=equation.effects,
        )
        return used_inputs, kept

    return rule


dead_code_rules.define(
    jit_p,
    _call_rule(
        "jaxpr",
        per_operand=("in_shardings", "in_layouts", "donated_invars"),
        per_result=("out_shardings", "out_layouts"),
    ),
)
dead_code_rules.define(closed_call_p, _call_rule("call_jaxpr"))
dead_code_rules.define(checkpoint_p, _call_rule("jaxpr"))
for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    dead_code_rules.exempt(
        _primitive,
        reason="the derivative rule takes all operands and gives all results of the function",
    )


def _cond_rule(used: Sequence[bool], equation: Equation) -> tuple[list[bool], Equation | None]:
    branches = equation.params["branches"]
    used_inputs = [False] * len(branches[0].jaxpr.invars)
    for branch in branches:
        _, used_by_branch = dce_closed(branch, used)
        used_inputs = [a or b for a, b in zip(used_inputs, used_by_branch, strict=True)]
    used_operands = [True, *used_inputs]
    if all(used) and all(used_inputs):
        return used_operands, equation
    smaller = tuple(dce_closed(branch, used, instantiate=used_inputs)[0] for branch in branches)
    kept = equation.replace(
        invars=_select(equation.invars, used_operands),
        outvars=_select(equation.outvars, used),
        params={**equation.params, "branches": smaller},
    )
    return used_operands, kept


def _scan_rule(used: Sequence[bool], equation: Equation) -> tuple[list[bool], Equation | None]:
    """Carries that are used by the results, or by other used carries, stay."""
    params = equation.params
    body, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    used_carry, used_ys = list(used[:num_carry]), list(used[num_carry:])
    while True:
        _, used_inputs = dce_closed(body, [*used_carry, *used_ys])
        needed = used_inputs[num_consts : num_consts + num_carry]
        if all(carry or not need for carry, need in zip(used_carry, needed, strict=True)):
            break
        used_carry = [a or b for a, b in zip(used_carry, needed, strict=True)]
    keep_inputs = [
        *used_inputs[:num_consts],
        *used_carry,
        *used_inputs[num_consts + num_carry :],
    ]
    if all(keep_inputs) and all(used_carry) and all(used_ys):
        return keep_inputs, equation
    smaller, _ = dce_closed(body, [*used_carry, *used_ys], instantiate=keep_inputs)
    new_params = {
        **params,
        "jaxpr": smaller,
        "num_consts": sum(used_inputs[:num_consts]),
        "num_carry": sum(used_carry),
    }
    if "linear" in params:
        new_params["linear"] = tuple(_select(params["linear"], keep_inputs))
    outvars = [
        var if is_used else DropVar(var.aval)
        for var, is_used in zip(equation.outvars, used, strict=True)
    ]
    kept = equation.replace(
        invars=_select(equation.invars, keep_inputs),
        outvars=_select(outvars, [*used_carry, *used_ys]),
        params=new_params,
    )
    return keep_inputs, kept


def _while_rule(used: Sequence[bool], equation: Equation) -> tuple[list[bool], Equation | None]:
    """As for scans, with what the condition looks at."""
    params = equation.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    _, used_by_condition = dce_closed(condition, [True])
    used_carry = [
        a or b for a, b in zip(used, used_by_condition[cond_count:], strict=True)
    ]
    while True:
        _, used_inputs = dce_closed(body, used_carry)
        needed = used_inputs[body_count:]
        if all(carry or not need for carry, need in zip(used_carry, needed, strict=True)):
            break
        used_carry = [a or b for a, b in zip(used_carry, needed, strict=True)]
    used_cond_consts, used_body_consts = used_by_condition[:cond_count], used_inputs[:body_count]
    keep_inputs = [*used_cond_consts, *used_body_consts, *used_carry]
    if all(keep_inputs):
        return keep_inputs, equation
    new_params = {
        **params,
        "cond_jaxpr": dce_closed(condition, [True], [*used_cond_consts, *used_carry])[0],
        "cond_nconsts": sum(used_cond_consts),
        "body_jaxpr": dce_closed(body, used_carry, [*used_body_consts, *used_carry])[0],
        "body_nconsts": sum(used_body_consts),
    }
    outvars = [
        var if is_used else DropVar(var.aval)
        for var, is_used in zip(equation.outvars, used, strict=True)
    ]
    kept = equation.replace(
        invars=_select(equation.invars, keep_inputs),
        outvars=_select(outvars, used_carry),
        params=new_params,
    )
    return keep_inputs, kept


dead_code_rules.define(cond_p, _cond_rule)
dead_code_rules.define(scan_p, _scan_rule)
dead_code_rules.define(while_p, _while_rule)
