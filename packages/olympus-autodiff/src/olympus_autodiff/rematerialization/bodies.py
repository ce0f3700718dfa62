# SPDX-License-Identifier: Apache-2.0
"""Equations whose bodies save values by the policy of the enclosing `checkpoint`.

A body is the program of one iteration of a loop, a branch of a `cond`, or the function of a
`shard_map`. A rule of `saving_rules` splits the equation in two. The "saving" equation also returns
the values that its bodies save. The "taking" equation takes these values as operands instead of
computing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir._jaxlib import ArrayCopySemantics
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.jit import places_values
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    DropVar,
    Equation,
    Olympuspr,
    Var,
    joined_effects,
)
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.types.memory_spaces import space_of_kind

from .policies import Offloadable, Recompute, decide, everything_saveable, nothing_saveable

__all__ = ["Move", "SplitBody", "eval_inlined", "saving_rules", "split_body", "split_equations"]

# `rule(equation, policy)` returns the saving and the taking equation, or None if the bodies save
# nothing. The operands of the taking equation are the equation's operands followed by the saved
# values.
saving_rules: RuleTable[Callable[[Equation, Any], tuple[Equation, Equation] | None]] = RuleTable(
    "saving", package="olympus_autodiff"
)


def split_equations(
    equations: Sequence[Equation], policy: Any
) -> dict[int, tuple[Equation, Equation]]:
    """Maps the id of each equation whose body saves values to its saving and taking equations."""
    if policy is None or policy is nothing_saveable or policy is everything_saveable:
        return {}
    passes = {}
    for equation in equations:
        rule = saving_rules.find(equation.primitive)
        split = None if rule is None else rule(equation, policy)
        if split is not None:
            passes[id(equation)] = split
    return passes


# ---- offloading ----


class Move(NamedTuple):
    """A variable in another memory space, with the equations that move it there and back."""

    moved: Var
    to: Equation
    back: Equation

    @classmethod
    def of(cls, var: Var, decision: Offloadable) -> Move:
        moved = Var(var.aval.update(memory_space=space_of_kind(decision.dst)))
        return cls(moved, _transfer(var, moved), _transfer(moved, var))


def _transfer(source: Var, target: Var) -> Equation:
    params = {
        "devices": (target.aval.memory_space,),
        "srcs": (None,),
        "copy_semantics": (ArrayCopySemantics.ALWAYS_COPY,),
    }
    return Equation.pure([source], [target], lax.device_put_p, params)


# ---- bodies ----


class SplitBody(NamedTuple):
    """A body split by the values that a policy saves.

    Attributes:
      body: the body, with its calls inlined.
      constants: the values of the body's constants.
      kept: the saved variables.
      first: the equations of the "saving" body, which computes the saved values.
      second: the equations of the "taking" body, which takes the saved values as inputs.
    """

    body: Olympuspr
    constants: list[Any]
    kept: list[Var]
    first: list[Equation]
    second: list[Equation]

    def saving(self) -> ClosedOlympuspr:
        """Returns the program whose results are the body's results and the saved values."""
        body = self.body.replace(
            outvars=[*self.body.outvars, *self.kept],
            eqns=self.first,
            effects=joined_effects(self.first),
        )
        return ClosedOlympuspr(body, self.constants)

    def taking(self) -> ClosedOlympuspr:
        """Returns the program whose inputs are the body's inputs and the saved values."""
        body = self.body.replace(
            invars=[*self.body.invars, *self.kept],
            eqns=self.second,
            effects=joined_effects(self.second),
        )
        return ClosedOlympuspr(body, self.constants)


def split_body(closed: ClosedOlympuspr, policy: Any) -> SplitBody:
    """Splits a body, including inner bodies, by a policy."""
    body, constants = trace_to_olympuspr(
        lambda *args: eval_inlined(closed.jaxpr, closed.consts, *args),
        closed.in_avals,
        closed.jaxpr.debug_info,
    )
    inner = split_equations(body.eqns, policy)
    kept: list[Var] = []
    first: list[Equation] = []
    second: list[Equation] = []
    for equation in body.eqns:
        decision = Recompute if equation.effects else decide(policy, equation)
        named = [var for var in equation.outvars if var.__class__ is not DropVar]
        if isinstance(decision, Offloadable):
            moves = [Move.of(var, decision) for var in named]
            first += [equation, *(move.to for move in moves)]
            second += [move.back for move in moves]
            kept += [move.moved for move in moves]
        elif decision is not Recompute:
            first.append(equation)
            kept += named
        elif id(equation) in inner:
            saving, taking = inner[id(equation)]
            first.append(saving)
            second.append(taking)
            kept += saving.outvars[len(equation.outvars) :]
        else:
            first.append(equation)
            second.append(equation)
    return SplitBody(body, constants, kept, first, second)


# ---- calls ----


def eval_inlined(olympuspr: Olympuspr, constants: Sequence[Any], *args: Any) -> list[Any]:
    """Runs a program with its calls inlined, which shows their operations to a policy."""
    return run_equations(olympuspr, constants, args, _bind_inlined)


def _bind_inlined(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    key = _INLINED.get(equation.primitive)
    if key is None or places_values(equation.params):
        return bind_equation(equation, operands)
    inner = equation.params[key]
    return eval_inlined(inner.jaxpr, inner.consts, *operands)


_INLINED = {lax.jit_p: "jaxpr", lax.closed_call_p: "call_jaxpr"}
