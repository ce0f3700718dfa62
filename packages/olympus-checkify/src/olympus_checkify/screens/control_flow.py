# SPDX-License-Identifier: Apache-2.0
"""Steps of screens for equations with subprograms: branches, loops, recomputed functions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_autodiff import checkpoint
from olympus_ir import lax
from olympus_ir.lax.calls.primitives import checkpoint_p
from olympus_ir.lax.control_flow.fixed_points import until_stable
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.olympuspr import Equation, close_olympuspr
from olympus_sharding.manual.primitive import shard_map_p

from ..tables import Enabled
from .facts import Fact, NotScreenedError, joined, widened
from .programs import Screen
from .steps import Step, Way, step_rules, union

__all__: list[str] = []

_NO: Any = np.asarray(False)


def _way(is_noticed: bool) -> Way:
    return Way.ITSELF if is_noticed else Way.NONE


class _Branches(Step):
    """A step of a screen that screens a conditional: it runs one of several programs."""

    makes = True

    def __init__(self, equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> None:
        super().__init__(equation)
        branches = equation.params["branches"]
        self.branches = [Screen(branch, operands[1:], enabled) for branch in branches]
        of_branches = [branch.results for branch in self.branches]
        self.facts = [joined(facts) for facts in zip(*of_branches, strict=True)]

    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        inside = [
            branch.cover(_where_same(shown, self.facts, branch.results)) for branch in self.branches
        ]
        return [Way.NONE, *(_way(all(ways)) for ways in zip(*inside, strict=True))]

    @property
    def runs_with_flags(self) -> bool:
        return any(branch.has_flags for branch in self.branches)

    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        index, *rest = operands
        count = int(self.runs_with_flags)

        def flagged(branch: Screen) -> Any:
            def run(*values: Any) -> list[Any]:
                flags, results = branch.run(*values)
                return [*[union([_NO, *flags])] * count, *results]

            return run

        index = lax.convert_element_type(index, np.dtype(np.int32))
        out = lax.switch(index, [flagged(branch) for branch in self.branches], *rest)
        return list(out[:count]), list(out[count:])


def _where_same(shown: Sequence[bool], outer: Sequence[Fact], inner: Sequence[Fact]) -> list[bool]:
    """Clears a flag in ``shown`` if only one of the two facts allows infinities.

    The two facts are about one value, outside and inside a nested program. If only one of them
    allows infinities, an infinity is an erroneous element on one side only.
    """
    return [yes and a.infinite == b.infinite for yes, a, b in zip(shown, outer, inner, strict=True)]


class _Loop(Step):
    """A step of a screen that screens a loop: a program that runs repeatedly, with a carry."""

    makes = True
    carry: Sequence[Fact]

    def _settle(self, first: Sequence[Fact], body: Any) -> Screen:
        """Returns the screen of the body, with facts of the carry that hold in each iteration."""

        def screened(carry: Sequence[Fact]) -> tuple[Screen, Sequence[Fact]]:
            screen = body(carry)
            return screen, screen.results[: len(carry)]

        screen, self.carry = until_stable(screened, first, widened)
        return screen

    def _cover(
        self, body: Screen, carry: Sequence[bool], ys: Sequence[bool], first: int
    ) -> tuple[list[bool], Sequence[bool]]:
        """Covers the body; see `Screen.cover`.

        The erroneous elements of a carry are detected only if they are detected after the loop and
        in the next iteration.

        Returns:
          For each operand of the body, and for each value of the carry, whether its erroneous
          elements are detected.
        """

        def covered(detected: Sequence[bool]) -> tuple[list[bool], list[bool]]:
            same = _where_same(detected, self.carry, body.results[: len(detected)])
            inside = body.cover([*same, *ys])
            return inside, inside[first : first + len(detected)]

        return until_stable(covered, carry, operator.and_)


class _Scan(_Loop):
    def __init__(self, equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> None:
        super().__init__(equation)
        self.layout = ScanLayout.of(equation.params)
        self.operands = self.layout.operands(operands)
        program = equation.params["jaxpr"]
        consts, first, xs = self.operands
        self.body = self._settle(
            first, lambda carry: Screen(program, [*consts, *carry, *xs], enabled)
        )
        self.facts = [*self.carry, *self.layout.results(self.body.results).ys]

    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        carry, ys = self.layout.results(shown)
        inside, carried = self._cover(self.body, carry, ys, self.layout.num_consts)
        consts, _, xs = self.layout.operands(inside)
        first = _where_same(carried, self.operands.carry, self.carry)
        runs = self.equation.params["length"] != 0
        return [_way(runs and shows) for shows in (*consts, *first, *xs)]

    @property
    def runs_with_flags(self) -> bool:
        return self.body.has_flags

    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        consts, init, xs = self.layout.operands(operands)
        params = self.equation.params

        def body(carry: Any, slices: Any) -> Any:
            before, values = carry
            flags, out = self.body.run(*consts, *values, *slices)
            values, ys = self.layout.results(out)
            return (_noted(before, flags), list(values)), list(ys)

        (flags, values), stacked = lax.scan(
            body,
            (_first_flags(self), list(init)),
            list(xs),
            length=params["length"],
            reverse=params["reverse"],
            unroll=params["unroll"],
            checkpoints=params.get("checkpoints"),
        )
        return flags, [*values, *stacked]


def _first_flags(step: Step) -> list[Any]:
    """Returns the initial flags in the carry of a loop: one False, or none without checks."""
    return [_NO] if step.runs_with_flags else []


def _noted(before: Sequence[Any], flags: Sequence[Any]) -> list[Any]:
    return [union([*before, *flags])] if before else []


class _While(_Loop):
    def __init__(self, equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> None:
        super().__init__(equation)
        operands, params = with_scalar_condition(operands, equation.params)
        of_cond, of_body, self.first = WhileLayout.of(params).operands(operands)
        program = params["body_jaxpr"]
        self.num_consts = len(of_body)
        self.body = self._settle(
            self.first, lambda carry: Screen(program, [*of_body, *carry], enabled)
        )
        self.condition = Screen(params["cond_jaxpr"], [*of_cond, *self.carry], enabled)
        self.facts = list(self.carry)

    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        self.condition.cover([False])
        _, carried = self._cover(self.body, shown, (), self.num_consts)
        first = _where_same(carried, self.first, self.carry)
        # The body may never run. Erroneous elements of its constants then do not propagate.
        consts = len(self.equation.invars) - len(first)
        return [*[Way.NONE] * consts, *map(_way, first)]

    @property
    def runs_with_flags(self) -> bool:
        return self.body.has_flags or self.condition.has_flags

    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        operands, params = with_scalar_condition(operands, self.equation.params)
        of_cond, of_body, init = WhileLayout.of(params).operands(operands)

        def condition(before: Sequence[Any], values: Sequence[Any]) -> tuple[Any, list[Any]]:
            flags, (goes_on,) = self.condition.run(*of_cond, *values)
            return goes_on, _noted(before, flags)

        def step(carry: Any) -> Any:
            _, before, values = carry
            flags, values = self.body.run(*of_body, *values)
            return *condition(_noted(before, flags), values), values

        goes_on, flags = condition(_first_flags(self), init)
        _, flags, values = lax.while_loop(
            lambda carry: carry[0],
            step,
            (goes_on, flags, list(init)),
            checkpoints=params.get("checkpoints"),
            batch=params.get("batch"),
        )
        return flags, values


class _Recomputed(Step):
    """A step of a screen that screens a `checkpoint`, whose values may be recomputed."""

    makes = True

    def __init__(self, equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> None:
        super().__init__(equation)
        self.screen = Screen(close_olympuspr(equation.params["jaxpr"]), operands, enabled)
        self.facts = self.screen.results

    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        return [_way(shows) for shows in self.screen.cover(shown)]

    @property
    def runs_with_flags(self) -> bool:
        return self.screen.has_flags

    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        params = self.equation.params
        again = checkpoint(
            self.screen.run, prevent_cse=params["prevent_cse"], policy=params["policy"]
        )
        return again(*operands)


def _not_screened(equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> Step:
    raise NotScreenedError


step_rules.define(cond_p, _Branches)
step_rules.define(scan_p, _Scan)
step_rules.define(while_p, _While)
step_rules.define(checkpoint_p, _Recomputed)
step_rules.define(shard_map_p, _not_screened)
# A second run would call the user's function a second time, and its results might differ.
step_rules.define(lax.pure_callback_p, _not_screened)
