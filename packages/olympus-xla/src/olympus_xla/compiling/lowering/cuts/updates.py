# SPDX-License-Identifier: Apache-2.0
"""Optimization barriers before updates in place, for XLA's CPU compiler.

Programs on grids compute the new values of a part of an array from shifted views of the same array:
``x.at[1:-1].set((x[:-2] + x[2:]) / 2)``. XLA fuses the computation into the update, which works in
place. The views would see elements that are already new, so XLA writes each view to memory first,
and the fused update runs on one thread. Computing the new values into separate memory, from all
views at once, and copying them into the array is 4 to 6 times as fast.

operands.py puts an optimization barrier before such updates. The application "heat on a grid" of
the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation

from ..cpu.choice import is_static
from ..fused import MOVING

__all__ = ["UPDATES", "is_cut_from_update", "update_of"]

#: The primitives that may be cut from their new values.
UPDATES = frozenset((lax.scatter_p, lax.dynamic_update_slice_p))

# Smaller updates are not worth another operation.
_SMALLEST = 4096


def update_of(equation: Equation) -> Any:
    """Returns the new values of an update."""
    return equation.invars[2 if equation.primitive is lax.scatter_p else 1]


def is_cut_from_update(equation: Equation, fused: Iterable[Equation]) -> bool:
    """Returns whether an update of one large window depends on views of the updated array.

    Args:
      equation: the update.
      fused: the equations that XLA would fuse into the update.
    """
    operand = equation.invars[0]
    return _is_one_window(equation) and any(
        operand in equation.invars and equation.primitive in MOVING for equation in fused
    )


def _is_one_window(equation: Equation) -> bool:
    """Returns whether an update writes one window that is large enough."""
    shape = update_of(equation).aval.shape
    if not is_static(shape) or math.prod(shape) < _SMALLEST:
        return False
    return equation.primitive is not lax.scatter_p or equation.invars[1].aval.ndim == 1
