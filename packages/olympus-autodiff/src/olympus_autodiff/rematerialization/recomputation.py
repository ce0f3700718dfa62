# SPDX-License-Identifier: Apache-2.0
"""The split of a checkpointed program into saved and recomputed values.

A policy decides for each operation whether its results are saved. It also decides for the
operations in the bodies of loops, branches and mapped functions. A value saved in a body becomes an
additional result of the forward equation, and an additional operand of the recomputing equation.
Offloaded values are moved back before they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir.programs.dead_code import dead_code_rules
from olympus_ir.programs.olympuspr import Equation, Var
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.types.effects import NamedAxisEffect, reference_effects

from .bodies import Move, split_equations
from .policies import Offloadable, Recompute, decide

__all__ = ["Recomputation", "recomputation"]


class Recomputation(NamedTuple):
    """The computation of residuals in the backward pass.

    Attributes:
      saved: the variables of the forward pass that are saved.
      equations: the equations that recompute residuals from saved values.
      forward: the equations of the forward pass.
    """

    saved: list[Var]
    equations: list[Equation]
    forward: list[Equation]


def recomputation(staged: StagingTrace, residuals: Sequence[Var], policy: Any) -> Recomputation:
    """Selects the values to save, from which the residuals can be recomputed.

    The search goes backward from the residuals, and stops at inputs, constants and results that the
    policy saves.

    Args:
      staged: the forward pass.
      residuals: the variables of the forward pass that the backward pass needs.
      policy: the policy of `checkpoint`.
    """
    split = split_equations(staged.equations, policy)
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
            decision: Any = True  # the content of the reference may change before it is read again
        else:
            decision = decide(policy, equation)
        used_vars = [var for var, use in zip(equation.outvars, used, strict=True) if use]
        passes = split.get(id(equation))
        if isinstance(decision, Offloadable):
            moves = [Move.of(var, decision) for var in reversed(used_vars)]
            forward += [move.to for move in moves]
            again += [move.back for move in moves]
            saved += [move.moved for move in moves]
        elif decision is not Recompute:
            saved += reversed(used_vars)
        else:
            first, second = passes if passes is not None and is_needed else (equation, equation)
            second = _with_used_results(second, used)
            again.append(second)
            needed.update([atom for atom in second.invars if isinstance(atom, Var)])
            extra = first.outvars[len(used) :]
            saved += [var for var in reversed(extra) if var in needed]
            equation = first
        forward.append(equation)
    saved += [var for var in reversed((*staged.invars, *staged.constvars)) if var in needed]
    return Recomputation(saved[::-1], again[::-1], forward[::-1])


def _has_effects_to_repeat(equation: Equation) -> bool:
    return any(
        effect.__class__ is not NamedAxisEffect and not reference_effects.contains(effect)
        for effect in equation.effects
    )


def _with_used_results(equation: Equation, used: list[bool]) -> Equation:
    """Returns the equation without the results that are not used, by its dead-code rule."""
    rule = dead_code_rules.find(equation.primitive) if any(used) else None
    reduced = None if rule is None else rule(equation, used)[0]
    return equation if reduced is None else reduced
