# SPDX-License-Identifier: Apache-2.0
"""Dead-code elimination: removes equations, inputs and constants that no needed result uses."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from ..types.effects import AccumEffect, NamedAxisEffect, RefEffect, WriteEffect
from .olympuspr import (
    ClosedOlympuspr,
    Equation,
    Olympuspr,
    Var,
    close_olympuspr,
    joined_effects,
)
from .primitives import Primitive
from .rules import RuleTable

__all__ = ["dce_closed", "dce_olympuspr", "dead_code_rules"]

Flags = Sequence[bool]

# Rules of primitives whose parameters are programs. `rule(equation, used_results)` returns the
# reduced equation, and a flag for each operand that says whether the equation still uses it. Other
# equations are kept or removed as a whole.
dead_code_rules: RuleTable[Callable[[Equation, list[bool]], tuple[Any, list[bool]]]] = RuleTable(
    "dead code", package="olympus_ir", folder="rules"
)


def dce_olympuspr(
    olympuspr: Olympuspr, used_outputs: Flags, instantiate: bool | Flags = False
) -> tuple[Olympuspr, list[bool]]:
    """Removes the equations and inputs that are not needed for a program's used results.

    Equations with effects are kept.

    Args:
      olympuspr: the program.
      used_outputs: for each result, whether it is needed.
      instantiate: whether to keep unused inputs, as one flag or one flag for each input.

    Returns:
      The program of the needed results and used inputs, and for each input whether it is used.

    Example:
      >>> from olympus_ir import ShapedArray, lax, trace_to_olympuspr
      >>> f32 = ShapedArray((), "float32")
      >>> olympuspr, _ = trace_to_olympuspr(lambda x, y: [lax.sin(x), lax.cos(y)], [f32, f32])
      >>> dce_olympuspr(olympuspr, [True, False])
      ({ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }, [True, False])
    """
    live: set[Any] = {
        atom
        for atom, used in zip(olympuspr.outvars, used_outputs, strict=True)
        if used and isinstance(atom, Var)
    }
    # Writes to references among the inputs are visible outside the program.
    refs = {var for var in (*olympuspr.constvars, *olympuspr.invars) if var.aval.is_ref}
    live |= refs
    kept: list[Equation] = []
    rules: dict[Primitive, Any] = {}  # few primitives have a rule
    for equation in reversed(olympuspr.eqns):
        if live.isdisjoint(equation.outvars) and not has_lasting_effects(equation, live):
            continue
        primitive = equation.primitive
        if primitive not in rules:
            rules[primitive] = dead_code_rules.find(primitive)
        if (rule := rules[primitive]) is not None:
            reduced, _ = rule(equation, [var in live for var in equation.outvars])
            if reduced is None:  # a library's rule may return None to remove the equation
                continue
            equation = reduced
        kept.append(equation)
        live.update(equation.invars)  # literals among them do no harm
    kept.reverse()
    instantiate_inputs = (
        instantiate if not isinstance(instantiate, bool) else [instantiate] * len(olympuspr.invars)
    )
    if refs:
        live -= refs.difference(*[equation.invars for equation in kept])
    used_inputs = [
        var in live or bool(keep)
        for var, keep in zip(olympuspr.invars, instantiate_inputs, strict=True)
    ]
    reduced = Olympuspr(
        [var for var in olympuspr.constvars if var in live],
        chosen(olympuspr.invars, used_inputs),
        chosen(olympuspr.outvars, used_outputs),
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
    """Applies `dce_olympuspr` to a closed program; the result is memoized."""
    kept_inputs = instantiate if isinstance(instantiate, bool) else tuple(map(bool, instantiate))
    key = ("dead code", tuple(map(bool, used_outputs)), kept_inputs)
    known = closed.memo.get(key)
    if known is None:
        olympuspr, used_inputs = dce_olympuspr(closed.jaxpr, used_outputs, instantiate)
        if _is_unchanged(closed.jaxpr, olympuspr):
            # None stands for an unchanged program, since a memo must not refer to its own program.
            reduced = None
        elif not olympuspr.constvars:
            reduced = close_olympuspr(olympuspr)
        else:
            values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
            reduced = ClosedOlympuspr(olympuspr, [values[var] for var in olympuspr.constvars])
        known = closed.memo[key] = (reduced, used_inputs)
    reduced, used_inputs = known
    return closed if reduced is None else reduced, list(used_inputs)


def _is_unchanged(before: Olympuspr, after: Olympuspr) -> bool:
    return (
        before.constvars == after.constvars
        and before.invars == after.invars
        and before.outvars == after.outvars
        and before.eqns == after.eqns
    )


def chosen(items: Sequence[Any], flags: Flags) -> list[Any]:
    """Returns the items whose flags are set."""
    return [item for item, flag in zip(items, flags, strict=True) if flag]


def has_lasting_effects(equation: Equation, live: Container[Any]) -> bool:
    """Returns whether an equation must be kept even if nothing uses its results.

    Args:
      equation: the equation.
      live: the variables that are used later, and the references that are visible outside.
    """
    for effect in equation.effects:
        if isinstance(effect, WriteEffect | AccumEffect):
            # A write to a reference that is not read afterwards has no effect.
            if any(atom.aval.is_ref and atom in live for atom in equation.invars):
                return True
        elif not isinstance(effect, NamedAxisEffect | RefEffect):
            # Effects of named axes do not count: they only require that the axis is bound.
            return True
    return False


def reduced_equation(
    equation: Equation,
    used_operands: Flags,
    used_results: Flags,
    params: dict[str, Any],
    effects: frozenset,
) -> tuple[Equation, list[bool]]:
    """Returns an equation reduced to the used operands and results, and a flag for each operand."""
    if all(used_operands) and all(used_results) and params == equation.params:
        return equation, list(used_operands)
    reduced = equation.replace(
        invars=chosen(equation.invars, used_operands),
        outvars=chosen(equation.outvars, used_results),
        params=params,
        effects=effects,
    )
    return reduced, list(used_operands)
