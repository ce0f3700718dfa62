# SPDX-License-Identifier: Apache-2.0
"""Cuts before positions of extremes (argmax and argmin), for the CPU's compiler.

XLA fuses the computation of an array into the search of its extremes: ``argmax(f(x))``. LLVM does
not vectorize the fused loop, because it compares pairs of values and positions, or it computes the
array twice, once for the extremes and once for their positions. So a draw from 10 categories, by
the position of the largest of 10 random numbers, takes 450 ns and not 90.

operands.py puts an optimization barrier before positions in arrays that are expensive to compute.
The operation "random categorical" of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation

from ..cpu.choice import is_static
from .gathers import is_expensive

__all__ = ["POSITIONS", "is_cut_from_position"]

#: The primitives that may be cut from their operand.
POSITIONS = frozenset((lax.argmax_p, lax.argmin_p))

# Smaller arrays are not worth another operation.
_SMALLEST = 4096


def is_cut_from_position(equation: Equation, fused: Iterable[Equation]) -> bool:
    """Returns whether positions are searched in a large array that is expensive to compute.

    Args:
      equation: the search.
      fused: the equations that XLA would fuse into the search.
    """
    shape = equation.invars[0].aval.shape
    is_large = is_static(shape) and math.prod(shape) >= _SMALLEST
    return is_large and any(map(is_expensive, fused))
