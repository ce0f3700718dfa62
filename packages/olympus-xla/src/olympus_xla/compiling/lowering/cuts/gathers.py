# SPDX-License-Identifier: Apache-2.0
"""Cuts before gathers that take elements repeatedly, for the CPU's compiler.

XLA fuses the computation of an array into the gather from it: ``sin(x)[places]``. The fused
function computes an element once for each index that selects it: four times if there are four times
as many indices as elements. XLA itself avoids this for the few operations that it considers
expensive. OLYMPUS expands the sine and many other functions to cheap operations, and short sums are
fused as well.

operands.py puts an optimization barrier before such gathers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, olympusprs_in_params

from ..cpu.choice import is_static
from ..fused import EXPENSIVE

__all__ = ["GATHERS", "is_cut_from_gather", "is_expensive"]

#: The primitives that may be cut from their operand.
GATHERS = frozenset((lax.gather_p,))

# Smaller gathers are not worth another operation.
_SMALLEST = 4096
# A cut is worth it from this number of indices for each element.
_LEAST_REPETITION = 1.5
# These are recomputed in little more time than a cut needs to write and read their result.
_CHEAP = frozenset({lax.div_p, lax.rem_p, lax.rsqrt_p, lax.sqrt_p})


def is_cut_from_gather(equation: Equation, fused: Iterable[Equation]) -> bool:
    """Returns whether a gather repeats the elements of an expensive operand.

    Args:
      equation: the gather.
      fused: the equations that XLA would fuse into the gather.
    """
    return _repeats_elements(equation) and any(map(is_expensive, fused))


def _repeats_elements(equation: Equation) -> bool:
    out_shape, in_shape = equation.outvars[0].aval.shape, equation.invars[0].aval.shape
    if not is_static(out_shape) or not is_static(in_shape) or math.prod(out_shape) < _SMALLEST:
        return False
    return math.prod(out_shape) >= _LEAST_REPETITION * math.prod(in_shape)


def is_expensive(equation: Equation) -> bool:
    """Returns whether a result takes longer to compute than to write and read."""
    primitive = equation.primitive
    if primitive.family == "reductions":
        return True
    return (primitive in EXPENSIVE and primitive not in _CHEAP) or any(
        any(map(is_expensive, program.eqns)) for program in olympusprs_in_params(equation.params)
    )
