# SPDX-License-Identifier: Apache-2.0
"""Discharge rules of control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import lax
from ...lax.control_flow.linear_solves import linear_solve_p
from ...lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout
from ...lax.control_flow.predicates import with_scalar_condition
from ...programs.evaluation import eval_olympuspr
from ...programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, Var
from ..discharge import discharge_closed, discharge_rules
from ..discharged_calls import (
    Changes,
    Operands,
    apply,
    discharged_program,
    is_discharged,
    replaced,
    unchanged,
)

discharge_rules.exempt(
    linear_solve_p, reason="its programs are linear functions of arrays, without references"
)


def _merged(olympuspr: Olympuspr, groups: dict[int, int]) -> Olympuspr:
    """Returns the program with repeated references replaced by their first occurrence.

    Args:
      olympuspr: the program.
      groups: a mapping from the position of a repeated reference to the position of its first
        occurrence.
    """
    renamed = {olympuspr.invars[late]: olympuspr.invars[early] for late, early in groups.items()}

    def name(atom: Any) -> Any:
        return renamed.get(atom, atom) if isinstance(atom, Var) else atom

    return olympuspr.replace(eqns=[equation.map_operands(name) for equation in olympuspr.eqns])


def _same_refs(equation: Equation, first: int, count: int) -> dict[int, int]:
    """Maps the position of each repeated reference to the position of its first occurrence."""
    seen: dict[Any, int] = {}
    groups: dict[int, int] = {}
    for position, atom in enumerate(equation.invars[first : first + count]):
        if atom.aval.is_ref:
            early = seen.setdefault(atom, position)
            if early != position:
                groups[position] = early
    return groups


@discharge_rules.define(lax.cond_p)
def _cond(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    branches = params["branches"]
    groups = _same_refs(equation, 1, len(equation.invars) - 1)
    if groups:
        branches = [
            branch.map_jaxpr(lambda program: _merged(program, groups)) for branch in branches
        ]
    discharged = [discharged_program(equation, operands, branch, 1) for branch in branches]
    changed = sorted({position for branch in discharged for position in branch.written})
    count = discharged[0].num_results
    programs = []
    for branch in discharged:
        results = branch.closed.jaxpr.outvars[:count]
        outvars = [*results, *[branch.last_value(position) for position in changed]]
        programs.append(replaced(branch.closed, outvars=outvars))
    outs = apply(lax.cond_p, operands, {**params, "branches": tuple(programs)})
    values = unchanged(equation)
    for position, value in zip(changed, outs[count:], strict=True):
        values[1 + position] = value
    return values, outs[:count]


@discharge_rules.define(lax.scan_p)
def _scan(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    body, layout = params["jaxpr"], ScanLayout.of(params)
    groups = _same_refs(equation, 0, layout.num_consts)
    if groups:
        body = body.map_jaxpr(lambda program: _merged(program, groups))
    discharged = discharged_program(equation, operands, body)
    closed = discharged.closed
    olympuspr = closed.jaxpr
    # Constants that the body writes join the carry; slices that the body writes become results.
    positions = layout.operands(range(len(operands)))
    carried = [position for position in discharged.written if position in positions.consts]
    sliced = [position for position in discharged.written if position in positions.xs]
    consts = [position for position in positions.consts if position not in carried]
    rearranged = ScanOperands(consts, [*carried, *positions.carry], positions.xs)
    order = rearranged.flat
    results = olympuspr.outvars[: discharged.num_results]
    program = replaced(
        closed,
        invars=[olympuspr.invars[position] for position in order],
        outvars=[
            *[discharged.last_value(position) for position in carried],
            *results,
            *[discharged.last_value(position) for position in sliced],
        ],
    )
    changed = {**params, "jaxpr": program, **rearranged.layout.params}
    outs = apply(lax.scan_p, [operands[position] for position in order], changed)
    values = unchanged(equation)
    end = len(carried) + discharged.num_results
    for position, value in zip(carried, outs[: len(carried)], strict=True):
        values[position] = value
    for position, value in zip(sliced, outs[end:], strict=True):
        values[position] = value
    return values, outs[len(carried) : end]


@discharge_rules.define(lax.while_p)
def _while(equation: Equation, operands: Operands) -> Changes:
    if equation.params["cond_jaxpr"].out_avals[0].shape:
        operands, params = with_scalar_condition(operands, equation.params)
        # The condition's constants are also passed to the body of the new loop.
        count = equation.params["cond_nconsts"]
        repeated = [*equation.invars[:count], *equation.invars]
        values, results = _while(equation.replace(invars=repeated, params=params), operands)
        return values[count:], results
    return _WhileLoop(equation, operands).run()


class _Step:
    """The discharged condition or body of a loop.

    Attributes:
      discharged: the program.
      positions: for each input of the program, the position of the loop's operand.
    """

    def __init__(
        self, equation: Equation, operands: Operands, program: ClosedOlympuspr, positions: list[int]
    ) -> None:
        flags = [is_discharged(equation, operands, position) for position in positions]
        self.discharged = discharge_closed(program, tuple(flags))
        self.positions = positions
        # Maps the positions of references among the inputs to the references' variables.
        self.refs = {
            position: equation.invars[positions[position]] for position in self.discharged.refs
        }

    def __call__(
        self, operands: Sequence[Any], arrays: dict[Any, Any]
    ) -> tuple[list[Any], dict[Any, Any]]:
        """Runs the program.

        Args:
          operands: the loop's operands, with the current carry.
          arrays: the array that each reference holds.

        Returns:
          The results, and the new array of each reference.
        """
        inputs = [
            arrays[self.refs[index]] if index in self.refs else operands[position]
            for index, position in enumerate(self.positions)
        ]
        outs = _evaluated(self.discharged.closed, inputs)
        last = outs[self.discharged.num_results :]
        return outs[: self.discharged.num_results], {
            **arrays,
            **dict(zip(self.refs.values(), last, strict=True)),
        }


class _WhileLoop:
    """Discharged ``while_loop``.

    The carry of the new loop consists of the old carry, followed by the arrays of the references.
    """

    def __init__(self, equation: Equation, operands: Operands) -> None:
        params = equation.params
        layout = WhileLayout.of(params)
        positions = layout.operands(range(len(operands)))
        self.equation = equation
        self.operands = layout.operands(operands)
        self.condition = _Step(equation, operands, params["cond_jaxpr"], positions.of_cond)
        self.body = _Step(equation, operands, params["body_jaxpr"], positions.of_body)
        # The distinct references. The condition and the body may have a reference in common.
        self.refs = list(dict.fromkeys([*self.condition.refs.values(), *self.body.refs.values()]))
        self.arrays = [operands[equation.invars.index(ref)] for ref in self.refs]

    def _split(self, state: Sequence[Any]) -> tuple[list[Any], dict[Any, Any]]:
        """Splits the loop state into the loop's operands and the arrays of references."""
        count = len(self.operands.carry)
        arrays = dict(zip(self.refs, state[count:], strict=True))
        return self.operands._replace(carry=state[:count]).flat, arrays

    def _test(self, state: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Returns the condition, and the loop state after its evaluation."""
        operands, arrays = self._split(state)
        (go_on,), arrays = self.condition(operands, arrays)
        return go_on, [*state[: len(self.operands.carry)], *arrays.values()]

    def _step(self, state: Sequence[Any]) -> list[Any]:
        """Returns the loop state after one iteration."""
        operands, arrays = self._split(state)
        carry, arrays = self.body(operands, arrays)
        return [*carry, *arrays.values()]

    def _last_state(self) -> Sequence[Any]:
        start = [*self.operands.carry, *self.arrays]
        options = {
            "checkpoints": self.equation.params.get("checkpoints"),
            "batch": self.equation.params.get("batch"),
        }
        if not self.condition.discharged.written:
            return lax.while_loop(lambda state: self._test(state)[0], self._step, start, **options)

        # A condition that writes references is evaluated at the end of each iteration.
        def with_condition(state: Sequence[Any]) -> list[Any]:
            go_on, state = self._test(state)
            return [go_on, *state]

        final = lax.while_loop(
            lambda flag_and_state: flag_and_state[0],
            lambda flag_and_state: with_condition(self._step(flag_and_state[1:])),
            with_condition(start),
            **options,
        )
        return final[1:]

    def run(self) -> Changes:
        """Records the loop. Returns the new values of its operands, and its results."""
        state = self._last_state()
        count = len(self.operands.carry)
        last = dict(zip(self.refs, state[count:], strict=True))
        values = [
            last.get(atom) if isinstance(atom, Var) else None for atom in self.equation.invars
        ]
        return values, state[:count]


def _evaluated(closed: ClosedOlympuspr, inputs: Sequence[Any]) -> list[Any]:
    return eval_olympuspr(closed.jaxpr, closed.consts, *inputs)
