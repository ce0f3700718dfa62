# SPDX-License-Identifier: Apache-2.0
"""Loops that LLVM does not unroll, in large programs over small arrays of many shapes.

XLA compiles equal fused functions once. If a program's operations differ in their shapes, as in
layers of different widths, all functions differ, and LLVM takes most of the compile time. Unrolled
loops are more code for all of its passes: without them, such programs compile in 0.75 to 0.9 of the
time. Where arrays are small, a run takes as long as before, since it mostly starts functions and
multiplies matrices. Over large arrays, loops over few elements, such as a norm of three numbers,
would take up to four times as long, so programs with large arrays keep unrolled loops. So do
programs with loops of their own, which may run for long.

The group "unrolled" of the benchmarks covers this module.
"""

from __future__ import annotations

import math

from olympus_ir.programs.olympuspr import Olympuspr, olympusprs_in_params
from olympus_ir.settings import config_flags

from ..cpu.choice import is_static

__all__ = ["prefers_rolled_loops"]

# The fewest operations that differ in primitive or shapes. Other programs compile quickly anyway,
# or are cut (../cuts/fusions.py).
_FEWEST_OPERATIONS = 128

# The largest number of elements of the results, in the mean and of one result.
_MOST_ELEMENTS_IN_THE_MEAN = 1 << 11
_MOST_ELEMENTS = 1 << 16


def prefers_rolled_loops(program: Olympuspr) -> bool:
    """Heuristic: returns whether a program for one CPU device should compile without unrolling."""
    if not config_flags.cpu_lowerings.value:
        return False
    counts = _Counts()
    return (
        counts.add(program)
        and len(counts.operations) >= _FEWEST_OPERATIONS
        and counts.elements <= counts.equations * _MOST_ELEMENTS_IN_THE_MEAN
    )


class _Counts:
    """Counts of the equations of a program and of the inner programs, each of which counts once.

    Attributes:
      equations: the number of equations.
      elements: the number of elements of their results.
      operations: the primitive and the shapes of operands and results of each equation.
    """

    def __init__(self) -> None:
        self.equations = self.elements = 0
        self.operations: set[tuple[object, ...]] = set()
        self._seen: set[int] = set()

    def add(self, program: Olympuspr) -> bool:
        """Adds a program; returns False at a loop, a large result or a symbolic shape."""
        if id(program) in self._seen:
            return True
        self._seen.add(id(program))
        for equation in program.eqns:
            if equation.primitive.family == "control_flow":
                return False
            inner = list(olympusprs_in_params(equation.params))
            if inner:
                if not all(map(self.add, inner)):
                    return False
                continue
            self.equations += 1
            shapes = [getattr(atom.aval, "shape", ()) for atom in equation.outvars]
            for shape in shapes:
                if not is_static(shape) or math.prod(shape) > _MOST_ELEMENTS:
                    return False
                self.elements += math.prod(shape)
            shapes += [getattr(atom.aval, "shape", ()) for atom in equation.invars]
            self.operations.add((equation.primitive, *shapes))
        return True
