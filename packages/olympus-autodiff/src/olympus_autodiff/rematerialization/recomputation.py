# SPDX-License-Identifier: Apache-2.0
"""The split of a checkpointed program into saved and recomputed values.

A policy decides for each operation, also in the bodies of loops. A value saved there is an
additional stacked result of the loop, and an operand of the loop that recomputes. Offloaded values
are moved back before they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir._jaxlib import ArrayCopySemantics
from olympus_ir.lax.control_flow.primitives import stacked_aval
from olympus_ir.programs.dead_code import dead_code_rules
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    DropVar,
    Equation,
    Literal,
    Olympuspr,
    Var,
    joined_effects,
)
from olympus_ir.programs.staging import StagingTrace, trace_to_olympuspr
from olympus_ir.programs.tracing import current
from olympus_ir.types.effects import NamedAxisEffect, reference_effects
from olympus_ir.types.memory_spaces import MemorySpace, space_of_kind

from .policies import Offloadable, Recompute, decide, everything_saveable, nothing_saveable

__all__ = ["Recomputation", "eval_inlined", "recomputation"]


class Recomputation(NamedTuple):
    """The computation of residuals in the backward pass.

    Attributes:
      saved: the variables of the forward pass that are saved.
      equations: the equations that recompute residuals from them.
      forward: the equations of the forward pass.
    """

    saved: list[Var]
    equations: list[Equation]
    forward: list[Equation]


def recomputation(staged: StagingTrace, residuals: Sequence[Var], policy: Any) -> Recomputation:
    """Determines what to save so that residuals can be recomputed, by a policy.

    Goes backward from the residuals and stops at inputs, constants and results that are kept.

    Args:
      staged: the forward pass.
      residuals: the variables of it that the backward pass needs.
      policy: of `checkpoint`.
    """
    loops = _loops_that_save(staged.equations, policy)
    needed = set(residuals)
    saved: list[Var] = []
    again: list[Equation] = []
    forward: list[Equation] = []
    for equation in reversed(staged.equations):
        used = [var in needed for var in equation.outvars]
        is_needed = any(used)
        if not is_needed and not _has_effects_to_repeat(equation):
            forward.append(equation)
            continue
        if equation.effects and reference_effects.filter_in(equation.effects):
            decision: Any = (
                True  # the content of a reference may have changed when it is read again
            )
        else:
            decision = decide(policy, equation)
        wanted = [var for var, use in zip(equation.outvars, used, strict=True) if use]
        loop = loops.get(id(equation))
        if isinstance(decision, Offloadable):
            moves = [_move(var, decision) for var in wanted]
            forward += [to for _, to, _ in reversed(moves)]
            again += [back for _, _, back in reversed(moves)]
            saved += [there for there, _, _ in reversed(moves)]
        elif decision is not Recompute:
            saved += reversed(wanted)
        elif loop is not None and is_needed:
            first, second = loop
            second, _ = dead_code_rules[lax.scan_p](second, used)
            again.append(second)
            needed.update([atom for atom in second.invars if isinstance(atom, Var)])
            extra = first.outvars[len(equation.outvars) :]
            saved += [var for var in reversed(extra) if var in needed]
            equation = first
        else:
            again.append(equation)
            needed.update([atom for atom in equation.invars if isinstance(atom, Var)])
        forward.append(equation)
    saved += [var for var in reversed((*staged.invars, *staged.constvars)) if var in needed]
    return Recomputation(saved[::-1], again[::-1], forward[::-1])


def _has_effects_to_repeat(equation: Equation) -> bool:
    return any(
        effect.__class__ is not NamedAxisEffect and not reference_effects.contains(effect)
        for effect in equation.effects
    )


# ---- offloading ----


def _move(var: Var, decision: Offloadable) -> tuple[Var, Equation, Equation]:
    """Returns a variable in another memory space, and the equations that move it there and back."""
    there = Var(var.aval.update(memory_space=space_of_kind(decision.dst)))
    return there, _transfer(var, there), _transfer(there, var)


def _transfer(source: Var, target: Var) -> Equation:
    params = {
        "devices": (target.aval.memory_space or MemorySpace.Device,),
        "srcs": (None,),
        "copy_semantics": (ArrayCopySemantics.ALWAYS_COPY,),
    }
    return Equation([source], [target], lax.device_put_p, params)


# ---- loops ----


def _loops_that_save(
    equations: Sequence[Equation], policy: Any
) -> dict[int, tuple[Equation, Equation]]:
    """Returns the forward and the recomputing loop for each loop whose body saves values."""
    if policy is None or policy is nothing_saveable or policy is everything_saveable:
        return {}
    loops = {}
    for equation in equations:
        if equation.primitive is lax.scan_p:
            passes = _saving_scan(equation, policy)
            if passes is not None:
                loops[id(equation)] = passes
    return loops


def _saving_scan(equation: Equation, policy: Any) -> tuple[Equation, Equation] | None:
    """Returns a loop that also returns the values its body saves, and a loop that takes them.

    Returns:
      None where the body keeps nothing.
    """
    closed = equation.params["jaxpr"]
    body, constants = trace_to_olympuspr(
        lambda *args: eval_inlined(closed.jaxpr, closed.consts, *args),
        closed.in_avals,
        closed.jaxpr.debug_info,
    )
    inner_loops = _loops_that_save(body.eqns, policy)
    kept: list[Var] = []  # as results of the forward loop
    first: list[Equation] = []
    second: list[Equation] = []
    for each in body.eqns:
        decision = Recompute if each.effects else decide(policy, each)
        named = [var for var in each.outvars if var.__class__ is not DropVar]
        if isinstance(decision, Offloadable):
            moves = [_move(var, decision) for var in named]
            first += [each, *(to for _, to, _ in moves)]
            second += [back for _, _, back in moves]
            kept += [there for there, _, _ in moves]
        elif decision is not Recompute:
            first.append(each)
            kept += named
        elif id(each) in inner_loops:
            saving, taking = inner_loops[id(each)]
            first.append(saving)
            second.append(taking)
            kept += saving.outvars[len(each.outvars) :]
        else:
            first.append(each)
            second.append(each)
    if not kept:
        return None
    length = equation.params["length"]
    stacked = [Var(stacked_aval(var.aval, length)) for var in kept]
    saving = _with_body(
        equation,
        body.replace(outvars=[*body.outvars, *kept], eqns=first, effects=joined_effects(first)),
        constants,
        outvars=[*equation.outvars, *stacked],
    )
    taking = _with_body(
        equation,
        body.replace(invars=[*body.invars, *kept], eqns=second, effects=joined_effects(second)),
        constants,
        invars=[*equation.invars, *stacked],
    )
    return saving, taking


def _with_body(
    equation: Equation, body: Olympuspr, constants: Sequence[Any], **changes: Any
) -> Equation:
    params = {**equation.params, "jaxpr": ClosedOlympuspr(body, constants)}
    return equation.replace(params=params, **changes)


# ---- calls ----


def eval_inlined(olympuspr: Olympuspr, constants: Sequence[Any], *args: Any) -> list[Any]:
    """Runs a program with its calls inlined, so that a policy sees their operations."""
    environment: dict[Any, Any] = dict(zip(olympuspr.constvars, constants, strict=True))
    environment.update(zip(olympuspr.invars, args, strict=True))
    saved_source = current.source
    try:
        for equation in olympuspr.eqns:
            operands = [
                atom.val if isinstance(atom, Literal) else environment[atom]
                for atom in equation.invars
            ]
            current.source = equation.source_info
            key = _INLINED.get(equation.primitive)
            if key is None:
                results = bind_equation(equation, operands)
            else:
                inner = equation.params[key]
                results = eval_inlined(inner.jaxpr, inner.consts, *operands)
            environment.update(zip(equation.outvars, results, strict=True))
    finally:
        current.source = saved_source
    return [
        atom.val if isinstance(atom, Literal) else environment[atom] for atom in olympuspr.outvars
    ]


_INLINED = {lax.jit_p: "jaxpr", lax.closed_call_p: "call_jaxpr"}
