# SPDX-License-Identifier: Apache-2.0
"""Batched `while` loops, in which each example iterates while its own condition holds.

The condition of such a `while` returns an array of booleans. Its dimensions are the leading
dimensions of all carried values. The loop runs while any of the booleans is true; examples with a
false boolean keep their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...programs.olympuspr import Atom, ClosedOlympuspr, Olympuspr, Var, joined_effects
from ...programs.staging import StagingTrace
from ...programs.tracing import current, set_current_trace
from ..elementwise.logic import select_n
from ..reductions import reduce_or
from ..shaping.broadcasting import broadcast_in_dim
from .operands import WhileLayout, WhileOperands

__all__ = ["with_scalar_condition"]


def with_scalar_condition(
    operands: Sequence[Any], params: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Rewrites a `while` with a batched condition to a `while` with a scalar condition.

    Loops whose condition returns one boolean are returned unchanged.

    Returns:
      The operands and the parameters.
    """
    condition = params["cond_jaxpr"]
    if not condition.out_avals[0].shape:
        return operands, params
    layout = WhileLayout.of(params)
    cond_consts, body_consts, carry = layout.operands(operands)
    # The body also takes the condition's constants, because it computes the condition of each
    # example.
    selecting = WhileOperands(cond_consts, [*cond_consts, *body_consts], carry)
    key = ("scalar condition", params["body_jaxpr"], layout)
    programs = condition.memo.get(key)
    if programs is None:
        programs = condition.memo[key] = {
            "cond_jaxpr": _any_goes_on(condition),
            "body_jaxpr": _advance_those(condition, params["body_jaxpr"], layout),
        }
    return selecting.flat, {**params, **programs, **selecting.layout.params}


def _any_goes_on(condition: ClosedOlympuspr) -> ClosedOlympuspr:
    trace = _Copy(condition)
    (goes_on,) = trace.copy(condition.jaxpr, condition.jaxpr.invars)
    return trace.result([trace.run(lambda: reduce_or(goes_on, tuple(range(goes_on.ndim))))])


def _advance_those(
    condition: ClosedOlympuspr, body: ClosedOlympuspr, layout: WhileLayout
) -> ClosedOlympuspr:
    body_vars = body.jaxpr.invars
    cond_consts = condition.jaxpr.invars[: layout.cond_nconsts]
    carry = body_vars[layout.body_nconsts :]
    trace = _Copy(condition, body)
    trace.invars = [*cond_consts, *body_vars]
    (goes_on,) = trace.copy(condition.jaxpr, [*cond_consts, *carry])
    advanced = trace.copy(body.jaxpr, body_vars)

    def chosen(new: Any, var: Var) -> Any:
        old = trace.tracer_of(var)
        spread = goes_on
        if new.ndim > goes_on.ndim:
            spread = broadcast_in_dim(goes_on, new.shape, tuple(range(goes_on.ndim)))
        return select_n(spread, old, new)

    return trace.result(trace.run(lambda: list(map(chosen, advanced, carry))))


class _Copy(StagingTrace):
    """Trace that composes a program by copying the equations of other programs."""

    __slots__ = ()

    def __init__(self, *programs: ClosedOlympuspr) -> None:
        super().__init__(programs[0].debug_info, parent=current.trace)
        self.invars = list(programs[0].jaxpr.invars)
        for program in programs:
            self.constvars += program.jaxpr.constvars
            self.constant_values += program.consts

    def copy(self, olympuspr: Olympuspr, inputs: Sequence[Var]) -> list[Any]:
        """Copies the equations of a program.

        Args:
          olympuspr: the program.
          inputs: the variables that replace the inputs of the program.

        Returns:
          Tracers for the results of the copied program.
        """
        renamed: dict[Any, Atom] = {
            old: new for old, new in zip(olympuspr.invars, inputs, strict=True) if old is not new
        }

        def name(atom: Atom) -> Atom:
            return renamed.get(atom, atom) if isinstance(atom, Var) else atom

        for equation in olympuspr.eqns:
            self.equations.append(equation.replace(invars=list(map(name, equation.invars))))
        return [self.tracer_of(name(atom)) for atom in olympuspr.outvars]

    def run(self, fun: Any) -> Any:
        """Calls a function and records its operations."""
        with set_current_trace(self):
            return fun()

    def result(self, outputs: Sequence[Any]) -> ClosedOlympuspr:
        outvars = [self.atom(output) for output in outputs]
        effects = joined_effects(self.equations, (*self.constvars, *self.invars))
        self.finish()
        olympuspr = Olympuspr(
            self.constvars, self.invars, outvars, self.equations, effects, self.debug_info
        )
        return ClosedOlympuspr(olympuspr, self.constant_values)
