# SPDX-License-Identifier: Apache-2.0
"""Dead code: removing the equations, inputs and constants that no needed result depends on."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from .. import lax
from ..lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout, WhileOperands
from ..types.effects import AccumEffect, NamedAxisEffect, RefEffect, WriteEffect
from .olympuspr import (
    ClosedOlympuspr,
    Equation,
    Olympuspr,
    Var,
    close_olympuspr,
    joined_effects,
)
from .rules import RuleTable

__all__ = ["dce_closed", "dce_olympuspr", "dead_code_rules"]

Flags = Sequence[bool]

# For primitives whose parameters are programs: `rule(equation, used_results)` returns the reduced
# equation, and which of the operands it still uses. Other equations are kept or dropped as a whole.
dead_code_rules: RuleTable[Callable[[Equation, list[bool]], tuple[Any, list[bool]]]] = RuleTable(
    "dead code", package="olympus_ir", folder=None
)


def dce_olympuspr(
    olympuspr: Olympuspr, used_outputs: Flags, instantiate: bool | Flags = False
) -> tuple[Olympuspr, list[bool]]:
    """Removes what is not needed for some of a program's results.

    Equations with effects are kept.

    Args:
      olympuspr: the program.
      used_outputs: for each result, whether it is needed.
      instantiate: whether inputs (all, or each by a flag) are kept even where nothing uses them.

    Returns:
      The program of the needed results and used inputs, and for each input whether it is used.

    Example:
      >>> from olympus_ir import ShapedArray, trace_to_olympuspr
      >>> f32 = ShapedArray((), "float32")
      >>> olympuspr, _ = trace_to_olympuspr(lambda x, y: [lax.sin(x), lax.cos(y)], [f32, f32])
      >>> dce_olympuspr(olympuspr, [True, False])
      ({ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }, [True, False])
    """
    live = {
        atom
        for atom, used in zip(olympuspr.outvars, used_outputs, strict=True)
        if used and isinstance(atom, Var)
    }
    # References among the inputs are seen from outside, and so is what is written to them.
    refs = {var for var in (*olympuspr.constvars, *olympuspr.invars) if var.aval.is_ref}
    live |= refs
    kept: list[Equation] = []
    for equation in reversed(olympuspr.eqns):
        used_results = [var in live for var in equation.outvars]
        if not any(used_results) and not has_lasting_effects(equation, live):
            continue
        rule = dead_code_rules.rules.get(equation.primitive)
        if rule is not None:
            reduced_equation, _ = rule(equation, used_results)
            if reduced_equation is None:  # a library's rule may say that nothing is left
                continue
            equation = reduced_equation
        kept.append(equation)
        live.update(atom for atom in equation.invars if isinstance(atom, Var))
    kept.reverse()
    wanted = (
        instantiate if not isinstance(instantiate, bool) else [instantiate] * len(olympuspr.invars)
    )
    if refs:
        live -= refs.difference(*[equation.invars for equation in kept])
    used_inputs = [
        var in live or bool(keep) for var, keep in zip(olympuspr.invars, wanted, strict=True)
    ]
    reduced = Olympuspr(
        [var for var in olympuspr.constvars if var in live],
        _chosen(olympuspr.invars, used_inputs),
        _chosen(olympuspr.outvars, used_outputs),
        kept,
        joined_effects(kept, (*olympuspr.constvars, *olympuspr.invars)),
        olympuspr.debug_info,
    )
    if not all(used_inputs) or not all(used_outputs):
        reduced.debug_info = olympuspr.debug_info.select(used_inputs, list(used_outputs))
    return reduced, used_inputs


def dce_closed(
    closed: ClosedOlympuspr, used_outputs: Flags, instantiate: bool | Flags = False
) -> tuple[ClosedOlympuspr, list[bool]]:
    """As `dce_olympuspr`, of a closed program; the same program gives the same object each time."""
    kept_inputs = instantiate if isinstance(instantiate, bool) else tuple(map(bool, instantiate))
    key = ("dead code", tuple(map(bool, used_outputs)), kept_inputs)
    known = closed.memo.get(key)
    if known is None:
        olympuspr, used_inputs = dce_olympuspr(closed.jaxpr, used_outputs, instantiate)
        if _is_unchanged(closed.jaxpr, olympuspr):
            reduced = closed
        elif not olympuspr.constvars:
            reduced = close_olympuspr(olympuspr)
        else:
            values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
            reduced = ClosedOlympuspr(olympuspr, [values[var] for var in olympuspr.constvars])
        known = closed.memo[key] = (reduced, used_inputs)
    return known[0], list(known[1])


def _is_unchanged(before: Olympuspr, after: Olympuspr) -> bool:
    return (
        before.constvars == after.constvars
        and before.invars == after.invars
        and before.outvars == after.outvars
        and before.eqns == after.eqns
    )


def _chosen(items: Sequence[Any], flags: Flags) -> list[Any]:
    return [item for item, flag in zip(items, flags, strict=True) if flag]


def has_lasting_effects(equation: Equation, live: Container[Any]) -> bool:
    """Whether an equation must be kept even where nothing uses its results.

    Args:
      equation: the equation.
      live: the variables that are used later, and references that are seen from outside.
    """
    for effect in equation.effects:
        if isinstance(effect, WriteEffect | AccumEffect):
            # What is written to a reference that nobody reads any more is of no use.
            if any(atom.aval.is_ref and atom in live for atom in equation.invars):
                return True
        elif not isinstance(effect, NamedAxisEffect | RefEffect):
            # That a named axis must be bound is no reason to compute what nobody needs.
            return True
    return False


def _reduced(
    equation: Equation,
    used_operands: Flags,
    used_results: Flags,
    params: dict[str, Any],
    effects: frozenset,
) -> tuple[Equation, list[bool]]:
    if all(used_operands) and all(used_results) and params == equation.params:
        return equation, list(used_operands)
    reduced = equation.replace(
        invars=_chosen(equation.invars, used_operands),
        outvars=_chosen(equation.outvars, used_results),
        params=params,
        effects=effects,
    )
    return reduced, list(used_operands)


# ---- calls ----


@dead_code_rules.define(lax.jit_p)
def _jit(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    program, used = dce_closed(params["jaxpr"], used_results, instantiate=params["keep_unused"])
    changed = {**params, "jaxpr": program}
    for key, flags in (
        ("in_shardings", used),
        ("in_layouts", used),
        ("donated_invars", used),
        ("out_shardings", used_results),
        ("out_layouts", used_results),
    ):
        changed[key] = tuple(_chosen(params[key], flags))
    return _reduced(equation, used, used_results, changed, program.effects)


@dead_code_rules.define(lax.closed_call_p)
def _closed_call(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    program, used = dce_closed(equation.params["call_jaxpr"], used_results)
    params = {**equation.params, "call_jaxpr": program}
    return _reduced(equation, used, used_results, params, program.effects)


def _annotated_call(
    key: str | None,
) -> Callable[[Equation, list[bool]], tuple[Equation, list[bool]]]:
    """The rule of a call of ``params["jaxpr"]`` with one entry a result in ``params[key]``."""

    def rule(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
        program, used = dce_closed(equation.params["jaxpr"], used_results)
        params = {**equation.params, "jaxpr": program}
        if key is not None:
            params[key] = tuple(_chosen(params[key], used_results))
        return _reduced(equation, used, used_results, params, program.effects)

    return rule


_xla_metadata_call = _annotated_call(None)
dead_code_rules.define(lax.xla_metadata_call_p, _xla_metadata_call)
dead_code_rules.define(lax.compute_on_p, _annotated_call("out_memory_spaces"))
dead_code_rules.define(lax.fused_call_p, _annotated_call("out_spaces"))


def dce_olympuspr_xla_metadata_rule(
    used_outputs: list[bool], eqn: Equation
) -> tuple[list[bool], Equation | None]:
    """What is left of a call with attributes where some of its results are not used.

    Returns:
      Which operands are used, and the call; None where nothing is left.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    reduced, used = _xla_metadata_call(eqn, list(used_outputs))
    return used, reduced


@dead_code_rules.define(lax.checkpoint_p)
def _checkpoint(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    closed = close_olympuspr(equation.params["jaxpr"])
    program, used = dce_closed(closed, used_results)
    params = {**equation.params, "jaxpr": program.jaxpr}
    return _reduced(equation, used, used_results, params, program.effects)


@dead_code_rules.define(lax.optimization_barrier_p)
def _optimization_barrier(
    equation: Equation, used_results: list[bool]
) -> tuple[Equation, list[bool]]:
    return _reduced(equation, used_results, used_results, equation.params, equation.effects)


for _primitive in (lax.custom_jvp_call_p, lax.custom_vjp_call_p):
    dead_code_rules.exempt(
        _primitive, reason="its derivative rule takes all operands and gives all results"
    )


# ---- control flow ----


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
    return _reduced(equation, [True, *used], used_results, params, effects)


def _used_in_loop(
    body: ClosedOlympuspr, layout: ScanLayout, used_carry: list[bool], used_ys: list[bool]
) -> tuple[list[bool], ScanOperands[bool]]:
    """Returns which parts of the carry any iteration uses, and which inputs of the body are used.

    Args:
      body: the body of a scan, or of a loop without slices.
      layout: the layout of its inputs.
      used_carry: which parts of the last carry are used.
      used_ys: which of the other results are used.
    """
    while True:
        _, flags = dce_closed(body, [*used_carry, *used_ys])
        used_inputs = layout.operands(flags)
        widened = [a or b for a, b in zip(used_carry, used_inputs.carry, strict=True)]
        if widened == used_carry:
            return used_carry, used_inputs
        used_carry = widened


@dead_code_rules.define(lax.while_p)
def _while(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    layout = WhileLayout.of(params)
    _, used_by_condition = dce_closed(condition, [True])
    used_cond_consts = used_by_condition[: layout.cond_nconsts]
    tested = used_by_condition[layout.cond_nconsts :]
    used_carry = [a or b for a, b in zip(used_results, tested, strict=True)]
    of_body = ScanLayout(layout.body_nconsts, len(used_carry))
    used_carry, used_by_body = _used_in_loop(body, of_body, used_carry, [])
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
    return _reduced(equation, used.flat, used_carry, changed, condition.effects | body.effects)


@dead_code_rules.define(lax.scan_p)
def _scan(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    layout = ScanLayout.of(params)
    used_carry, used_ys = layout.results(used_results)
    used_carry, used = _used_in_loop(params["jaxpr"], layout, used_carry, used_ys)
    used_operands = [*used.consts, *used_carry, *used.xs]
    used_results = [*used_carry, *used_ys]
    body, _ = dce_closed(params["jaxpr"], used_results, instantiate=used_operands)
    changed = {
        **params,
        "jaxpr": body,
        "num_consts": sum(used.consts),
        "num_carry": sum(used_carry),
    }
    return _reduced(equation, used_operands, used_results, changed, body.effects)
