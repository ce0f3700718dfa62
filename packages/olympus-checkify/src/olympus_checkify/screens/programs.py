# SPDX-License-Identifier: Apache-2.0
"""`Screen`: a program that also returns whether one of its operations failed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.calls.primitives import (
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
)
from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.jit import places_values
from olympus_ir.programs.olympuspr import Atom, ClosedOlympuspr, Equation, Literal, Var
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.staging import trace_to_closed

from ..interpreter import with_line_of_call
from ..tables import Enabled
from .checks import Checked, failures, stored
from .detection import Detected
from .facts import Fact, NotScreenedError, fact_of_constant
from .steps import Operation, Step, step_rules

__all__ = ["Screen"]


class Screen:
    """A program with a few checks, which together detect every failure of an operation.

    `cover` selects the values to check. It walks the program backwards: a value needs no check if
    its erroneous elements propagate to a later value that is checked.

    Args:
      closed: the program.
      operands: the facts of its operands.
      enabled: the kinds of errors to look for.

    Attributes:
      results: the facts of the results.
      stores: whether checked values are stored in memory. Otherwise compilers may fuse a value into
        its check, and compute the value twice. In programs with loops, storing costs more.

    Raises:
      NotScreenedError: the program has effects, or a part that runs on each device separately.
    """

    def __init__(self, closed: ClosedOlympuspr, operands: Sequence[Fact], enabled: Enabled) -> None:
        if closed.effects:
            raise NotScreenedError
        closed = _without_calls(closed)
        closed, _ = dce_closed(closed, [True] * len(closed.out_avals), instantiate=True)
        program = closed.jaxpr
        self.program = closed
        constants = zip(closed.consts, program.constvars, strict=True)
        known = [fact_of_constant(value, var.aval) for value, var in constants]
        self._facts: dict[Var, Fact] = dict(zip(program.constvars, known, strict=True))
        self._facts.update(zip(program.invars, operands, strict=True))
        self.steps: list[Step] = []
        for equation in program.eqns:
            make = step_rules.find(equation.primitive) or Operation
            step = make(equation, [self._fact(atom) for atom in equation.invars], enabled)
            self._facts.update(zip(equation.outvars, step.facts, strict=True))
            self.steps.append(step)
        self.results = [self._fact(atom) for atom in program.outvars]
        self._used = {atom for equation in program.eqns for atom in equation.invars}
        self.stores = False

    def _fact(self, atom: Atom) -> Fact:
        if isinstance(atom, Literal):
            return fact_of_constant(atom.val, atom.aval)
        return self._facts[atom]

    def cover(self, results: Sequence[bool]) -> list[bool]:
        """Selects the values to check.

        Args:
          results: for each result, whether its erroneous elements are detected after the program.

        Returns:
          For each operand, whether its erroneous elements are detected in the program or after it.
        """
        program = self.program.jaxpr
        shown = {atom for atom, yes in zip(program.outvars, results, strict=True) if yes}
        detected = Detected(shown)
        for step in reversed(self.steps):
            step.guarded, step.checked = [], []
            if detected.pass_on(step):
                continue
            noticed = [
                self._is_noticed(var, step, position, detected)
                for position, var in enumerate(step.equation.outvars)
            ]
            detected.add(step, step.ways(noticed))
        return [self._is_noticed(var, None, 0, detected) for var in program.invars]

    def _is_noticed(self, var: Var, step: Step | None, position: int, detected: Detected) -> bool:
        """Returns whether a value's erroneous elements are detected; adds a check if necessary.

        Args:
          var: the value.
          step: the step that computes the value; None for an operand of the program.
          position: the position of the value in the results of the step.
          detected: the values whose erroneous elements later steps detect.
        """
        if var in detected.values:
            return True
        if not self._facts[var].doubtful:
            return False
        if var in detected.guards:
            user, operand = detected.guards[var]
            user.guarded.append(operand)
            return True
        if step is not None and (step.makes or self._is_last(var, step.equation)):
            step.checked.append(position)
            return True
        return False

    def _is_last(self, var: Var, equation: Equation) -> bool:
        """Returns whether no step uses a value, and the value is not larger than the operands.

        One check of such a value takes the place of checks of several values that it depends on.
        """
        if var in self._used:
            return False
        sizes = [math.prod(operand.aval.shape) for operand in equation.invars]
        return math.prod(var.aval.shape) <= max(sizes, default=0)

    @property
    def has_flags(self) -> bool:
        """Returns whether `run` returns flags."""
        return any(step.checked or step.runs_with_flags for step in self.steps)

    def run(self, *operands: Any) -> tuple[list[Any], list[Any]]:
        """Runs the program.

        Returns:
          Flags, scalars of dtype bool, and the results. If an operation failed, a flag is set.
        """
        flags: list[Any] = []
        checked: list[Checked] = []
        steps = iter(self.steps)

        def apply(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
            step = next(steps)
            found, results = step.run(values)
            flags.extend(found)
            for position in step.checked:
                if self.stores:
                    results[position] = stored(results[position])
                checked.append(Checked(results[position], step.facts[position]))
            return results

        results = run_equations(self.program.jaxpr, self.program.consts, operands, apply)
        return [*flags, *failures(checked)], results


# ---- calls ----

#: Maps the primitive of a call to the parameter that contains its program. The calls run inline.
_program_of_call: RuleTable[str] = RuleTable("inline", package="olympus_checkify", folder=None)
for _primitive in (jit_p, lax.xla_metadata_call_p, lax.compute_on_p, lax.fused_call_p):
    _program_of_call.define(_primitive, "jaxpr")
for _primitive in (
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
):
    _program_of_call.define(_primitive, "call_jaxpr")


def _without_calls(closed: ClosedOlympuspr) -> ClosedOlympuspr:
    """Returns a program with calls replaced by the called programs."""
    if not any(_program_of_call.find(equation.primitive) for equation in closed.eqns):
        return closed

    return trace_to_closed(
        lambda *operands: run_equations(closed.jaxpr, closed.consts, operands, _apply_inlined),
        closed.in_avals,
        closed.debug_info,
    )


def _apply_inlined(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    """Evaluates an equation; if it is a call, the equations of the called program."""
    key = _program_of_call.find(equation.primitive)
    if key is None or places_values(equation.params):
        return bind_equation(equation, operands)
    inner = equation.params[key]
    # Errors of key reuse name the lines of the equations.
    equations = [with_line_of_call(inside, equation) for inside in inner.jaxpr.eqns]
    program = inner.jaxpr.replace(eqns=equations)
    return run_equations(program, inner.consts, operands, _apply_inlined)
