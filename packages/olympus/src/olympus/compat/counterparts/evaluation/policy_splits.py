# SPDX-License-Identifier: Apache-2.0
"""Division of a program into a known and a staged part, under the policy of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff.rematerialization.policies import Recompute, Saveable, decide
from olympus_ir.adapters.partial_evaluation import partial_eval_olympuspr_custom_rules
from olympus_ir.diagnostics.debug_info import unknown_debug_info
from olympus_ir.lax.calls.primitives import closed_call_p, jit_p
from olympus_ir.programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    DropVar,
    Equation,
    Olympuspr,
    Var,
    joined_effects,
)

__all__ = ["ensure_enum", "partial_eval_olympuspr_custom"]

Flags = bool | Sequence[bool]


def ensure_enum(case: Any) -> Any:
    """Returns the decision of a policy as an object: `Saveable` for True, `Recompute` for False."""
    if isinstance(case, bool):
        return Saveable if case else Recompute
    return case


def partial_eval_olympuspr_custom(
    jaxpr: Olympuspr,
    in_unknowns: Sequence[bool],
    in_inst: Flags,
    ensure_out_unknowns: Flags,
    ensure_out_inst: Flags,
    saveable: Callable[..., Any],
) -> tuple[Olympuspr, Olympuspr, list[bool], list[bool], int]:
    """Divides a program into a part that the known inputs determine, and a staged part.

    Args:
      jaxpr: the program.
      in_unknowns: for each input, whether it is unknown.
      in_inst: for each input, or for all, whether the staged part receives it.
      ensure_out_unknowns: for each result, or for all, whether only the staged part returns it.
      ensure_out_inst: for each result, or for all, whether the staged part returns it even if it is
        known.
      saveable: a policy of `checkpoint`. Known values that it saves are residuals of the known part
        where the staged part uses them; the staged part computes others again.

    Returns:
      The known part, from known inputs to known results and residuals. The staged part, from
      residuals and inputs to results. For each result, whether it is unknown, and whether the
      staged part returns it. The number of residuals.

    Raises:
      ValueError: an unknown input is not received by the staged part.
    """
    received = _flags(in_inst, len(jaxpr.invars))
    if any(unknown and not inst for unknown, inst in zip(in_unknowns, received, strict=True)):
        raise ValueError(
            "partial_eval_olympuspr_custom: the staged part must receive every unknown input, got "
            f"in_unknowns={list(in_unknowns)} and in_inst={received}"
        )
    split = _Split(saveable)
    for var, unknown, inst in zip(jaxpr.invars, in_unknowns, received, strict=True):
        split.add(var, bool(unknown), inst)
    for var in jaxpr.constvars:
        split.add(var, False, True)
    split.run(jaxpr.eqns)
    count = len(jaxpr.outvars)
    return split.parts(
        jaxpr,
        in_unknowns,
        received,
        _flags(ensure_out_unknowns, count),
        _flags(ensure_out_inst, count),
    )


def _flags(value: Flags, count: int) -> list[bool]:
    return [value] * count if isinstance(value, bool) else [bool(flag) for flag in value]


class _Split:
    """The two parts of a program while its equations are divided.

    Attributes:
      policy: the policy of the checkpoint.
      known: the equations of the known part.
      staged: the equations of the staged part.
      unknown: the unknown variables.
      instantiated: the variables that the staged part has.
      residuals: the known variables that the staged part receives.
      names: the values of variables that calls define, where these are divided themselves.
    """

    def __init__(self, policy: Callable[..., Any]) -> None:
        self.policy = policy
        self.known: list[Equation] = []
        self.staged: list[Equation] = []
        self.unknown: set[Var] = set()
        self.instantiated: set[Var] = set()
        self.residuals: dict[Var, None] = {}
        self.names: dict[Any, Atom] = {}

    def add(self, var: Var, unknown: bool, inst: bool) -> None:
        if unknown:
            self.unknown.add(var)
        if inst:
            self.instantiated.add(var)

    def run(self, equations: Sequence[Equation]) -> None:
        for original in equations:
            equation = original.map_operands(self._named)
            rule = partial_eval_olympuspr_custom_rules.get(equation.primitive)
            if rule is not None:
                self._apply(rule, equation)
            elif not any(atom in self.unknown for atom in _variables(equation.invars)):
                self._take_known(equation)
            elif equation.primitive in (jit_p, closed_call_p) and not _body(equation).consts:
                self._divide_body(equation)
            else:
                self._stage(equation, unknown=True)

    def _named(self, atom: Atom) -> Atom:
        return self.names.get(atom, atom) if isinstance(atom, Var) else atom

    def _divide_body(self, equation: Equation) -> None:
        """Divides the equations of a call, on its operands."""
        body = _body(equation).jaxpr
        self.names.update(zip(body.invars, equation.invars, strict=True))
        copies = []
        for inner in body.eqns:
            # A program that is called twice defines its variables twice.
            outvars = [var if isinstance(var, DropVar) else Var(var.aval) for var in inner.outvars]
            copies.append(inner.map_operands(self._named).replace(outvars=outvars))
            self.names.update(zip(inner.outvars, outvars, strict=True))
        self.run(copies)
        self.names.update(zip(equation.outvars, map(self._named, body.outvars), strict=True))

    def _apply(self, rule: Callable[..., Any], equation: Equation) -> None:
        """Divides an equation by the rule of a library."""
        unknown = [atom in self.unknown for atom in equation.invars]
        inst = [not isinstance(a, Var) or a in self.instantiated for a in equation.invars]
        known, staged, unknown_out, inst_out, residuals = rule(self.policy, unknown, inst, equation)
        if known is not None:
            self.known.append(known)
        if staged is not None:
            self.staged.append(staged)
        self.residuals.update(dict.fromkeys(residuals))
        self.instantiated.update(residuals)
        for var, is_unknown, is_inst in zip(equation.outvars, unknown_out, inst_out, strict=True):
            self.add(var, is_unknown, is_inst)

    def _take_known(self, equation: Equation) -> None:
        self.known.append(equation)
        if decide(self.policy, equation) is Recompute:
            self._stage(equation, unknown=False)

    def _stage(self, equation: Equation, *, unknown: bool) -> None:
        self.staged.append(equation)
        self.receive(equation.invars)
        for var in equation.outvars:
            self.add(var, unknown, True)

    def receive(self, atoms: Sequence[Atom]) -> None:
        """Makes values available in the staged part, as residuals where it lacks them."""
        for var in _variables(atoms):
            if var not in self.instantiated:
                self.instantiated.add(var)
                self.residuals[var] = None

    def parts(
        self,
        jaxpr: Olympuspr,
        in_unknowns: Sequence[bool],
        received: Sequence[bool],
        ensure_unknown: Sequence[bool],
        ensure_inst: Sequence[bool],
    ) -> tuple[Olympuspr, Olympuspr, list[bool], list[bool], int]:
        outvars = [*map(self._named, jaxpr.outvars)]
        outs = list(zip(outvars, ensure_unknown, ensure_inst, strict=True))
        out_unknown = [ensure or atom in self.unknown for atom, ensure, _ in outs]
        self.receive([atom for atom, _, inst in outs if inst])
        out_inst = [not isinstance(a, Var) or a in self.instantiated for a in outvars]
        known = jaxpr.replace(
            invars=[v for v, unknown in zip(jaxpr.invars, in_unknowns, strict=True) if not unknown],
            outvars=[
                *(a for a, unknown in zip(outvars, out_unknown, strict=True) if not unknown),
                *self.residuals,
            ],
            eqns=self.known,
            effects=joined_effects(self.known),
            debug_info=unknown_debug_info,
        )
        staged = jaxpr.replace(
            invars=[
                *self.residuals,
                *(v for v, inst in zip(jaxpr.invars, received, strict=True) if inst),
            ],
            outvars=[a for a, inst in zip(outvars, out_inst, strict=True) if inst],
            eqns=self.staged,
            effects=joined_effects(self.staged),
            debug_info=unknown_debug_info,
        )
        return known, staged, out_unknown, out_inst, len(self.residuals)


def _variables(atoms: Sequence[Any]) -> list[Var]:
    return [atom for atom in atoms if isinstance(atom, Var)]


def _body(equation: Equation) -> ClosedOlympuspr:
    params = equation.params
    return params["jaxpr"] if equation.primitive is jit_p else params["call_jaxpr"]
