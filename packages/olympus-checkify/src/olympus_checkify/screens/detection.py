# SPDX-License-Identifier: Apache-2.0
"""`Detected`: the values whose erroneous elements a screen detects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Atom

from .steps import Step, Way
from .tables import Case, Part

__all__ = ["Detected"]

# The largest number of elements of a value whose detected ranges are tracked.
_LARGEST = 1 << 16


class Detected:
    """Values whose erroneous elements are detected by later steps of a program.

    Args:
      values: the results of the program whose erroneous elements are detected by the caller.

    Attributes:
      values: the values whose erroneous elements are all detected.
      guards: a mapping from a value to a step and to the value's position among the step's
        operands. All erroneous elements of the value are detected if the step guards this operand.
    """

    def __init__(self, values: set[Atom]) -> None:
        self.values = values
        self.guards: dict[Atom, tuple[Step, int]] = {}
        self._ranges: dict[Atom, Any] = {}
        self._cases: dict[Atom, set[Case]] = {}

    def add(self, step: Step, ways: Sequence[Way]) -> None:
        """Adds the operands of a step.

        Args:
          step: the step.
          ways: for each operand, how its erroneous elements propagate. The list may be shorter than
            the operands; the erroneous elements of the other operands do not propagate.
        """
        for position, (atom, way) in enumerate(zip(step.equation.invars, ways, strict=False)):
            if way is Way.NONE:
                continue
            part = step.part(position)
            if way is Way.ITSELF:
                self._add(atom, part)
            if isinstance(part, Case) or (part is None and way is Way.GUARDED):
                self.guards.setdefault(atom, (step, position))

    def pass_on(self, step: Step) -> bool:
        """Adds the operands of a step whose result is detected in part.

        Erroneous elements that an elementwise step propagates are detected in the same part. The
        other part of an operand may be detected elsewhere, as in ``where(x > 0, x, -x)``.

        Returns:
          Whether the operands were added. Otherwise the result of the step must be detected.
        """
        if step.makes or not step.is_elementwise:
            return False
        (var,) = step.equation.outvars
        cases = self._cases.get(var)
        if var in self.values or not cases:
            return False
        operands = zip(step.equation.invars, step.ways([True]), strict=False)
        for position, (atom, way) in enumerate(operands):
            is_whole = step.part(position) is None and atom.aval.shape == var.aval.shape
            if way is Way.ITSELF and is_whole:
                for case in cases:
                    self._add(atom, case)
                self.guards.setdefault(atom, self.guards[var])
        return True

    def _add(self, atom: Atom, part: Part | None) -> None:
        if part is None:
            complete = True
        elif isinstance(part, Case):
            complete = self._has_all_cases(atom, part)
        else:
            complete = self._has_all_ranges(atom, part)
        if complete:
            self.values.add(atom)

    def _has_all_cases(self, atom: Atom, case: Case) -> bool:
        cases = self._cases.setdefault(atom, set())
        cases.add(case)
        return all(case._replace(number=index) in cases for index in range(case.cases))

    def _has_all_ranges(self, atom: Atom, ranges: tuple[slice, ...]) -> bool:
        shape = atom.aval.shape
        if math.prod(shape) > _LARGEST:
            return False
        covered = self._ranges.setdefault(atom, np.zeros(shape, bool))
        covered[ranges] = True
        return bool(covered.all())
