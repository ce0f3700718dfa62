# SPDX-License-Identifier: Apache-2.0
"""Reductions of few elements by XLA's loops instead of YNNPACK, and of booleans as bytes.

XLA's CPU backend hands reductions of floats to the library YNNPACK, together with the operations
that compute the operand. For long rows the library is twice as fast as XLA's loops. For few
elements it is slower, because it calls a function for each row: 1.3 to 3 ns instead of 0.2 ns for
an element of the operand, if each sum has 2 to 4 elements. Computed operands take up to 5 ns. XLA's
loops are also fused with the operations that use the result.

XLA keeps its loops if the reducer is not a plain sum or extreme. To this end, `without_library`
rounds the reducer's result to its own precision, which changes no bit and takes no time.

XLA's loops over booleans are not vectorized. `extreme_of_bytes` computes `any` and `all` as the
largest or the smallest byte, in half the time.

XLA's loops over the last dimensions are not vectorized for the extremes of wider integers, either:
0.9 to 1.2 ns an element. `extreme_in_lanes` finds the extremes of the lanes of long vectors, whose
loops are vectorized, and then the extreme of these: 0.1 to 0.2 ns.

The application "N-body" and the operations "any of rows" and "maximum of int16" of the benchmarks
cover this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from .. import mlir
from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .keys import INTEGERS

# If this many elements or fewer are reduced to one, XLA's loops are faster.
LONGEST = 32

# XLA's loops are also faster if the dimensions after the reduced ones hold this many elements or
# fewer.
NARROWEST = 8

# With this many elements, and this many for each result, lanes are faster than a single element.
SMALLEST = 4096
SHORTEST = 256

_EXTREMES = {"or": lax.reduce_max, "and": lax.reduce_min}

# The bits of the exponent and of the mantissa.
_PRECISIONS = {np.dtype(np.float32): (8, 23), np.dtype(np.float64): (11, 52)}


def keeps_loops(context: LoweringContext, operation: str, axes: Sequence[int]) -> bool:
    """Returns whether a reduction should be computed by XLA's loops and not by YNNPACK."""
    aval = context.avals_in[0]
    if (
        operation not in ("add", "maximum", "minimum")
        or aval.dtype not in _PRECISIONS
        or not is_static(aval.shape)
        or not is_for_this_cpu(context)
    ):
        return False
    side_by_side = math.prod(aval.shape[max(axes) + 1 :])
    return math.prod(aval.shape[axis] for axis in axes) <= LONGEST or 1 < side_by_side <= NARROWEST


def without_library(context: LoweringContext, value: Any, dtype: Any) -> Any:
    """Rounds a reducer's result to its own precision, so that XLA does not use YNNPACK."""
    exponent, mantissa = _PRECISIONS[dtype]
    attributes = {"exponent_bits": mlir.i32(exponent), "mantissa_bits": mlir.i32(mantissa)}
    kind = mlir.tensor_type((), dtype)
    return context.create("stablehlo.reduce_precision", kind, (value,), attributes)


def is_extreme_of_bytes(context: LoweringContext, operation: str, axes: Sequence[int]) -> bool:
    """Returns whether a reduction is lowered to `extreme_of_bytes`."""
    aval = context.avals_in[0]
    return (
        operation in _EXTREMES
        and aval.dtype == np.bool_
        and is_static(aval.shape)
        and math.prod(aval.shape[axis] for axis in axes) > LONGEST
        and is_for_this_cpu(context)
    )


def extreme_of_bytes(operand: Any, *, operation: str, axes: Sequence[int]) -> Any:
    """Returns whether any element along the axes is true, or whether all are."""
    extreme = _EXTREMES[operation](lax.convert_element_type(operand, np.int8), tuple(axes))
    return lax.convert_element_type(extreme, np.bool_)


def is_extreme_in_lanes(context: LoweringContext, operation: str, axes: Sequence[int]) -> bool:
    """Returns whether a reduction is lowered to `extreme_in_lanes`."""
    aval = context.avals_in[0]
    rank = len(aval.shape)
    return (
        operation in _LANES
        and aval.dtype in INTEGERS
        and aval.dtype.itemsize > 1
        and sorted(axes) == [*range(rank - len(axes), rank)]
        and is_static(aval.shape)
        and math.prod(aval.shape) >= SMALLEST
        and math.prod(aval.shape[axis] for axis in axes) >= SHORTEST
        and is_for_this_cpu(context)
    )


_LANES = {"maximum": lax.reduce_max, "minimum": lax.reduce_min}


def extreme_in_lanes(operand: Any, *, operation: str, axes: Sequence[int]) -> Any:
    """Returns the extremes of integers along the last dimensions."""
    extreme = _LANES[operation]
    shape = operand.shape[: operand.ndim - len(axes)]
    count = math.prod(shape)
    length = operand.size // count
    rows = lax.reshape(operand, (count, length))
    steps = next(n for n in range(math.isqrt(length), 0, -1) if length % n == 0)
    if steps * steps * 4 < length:  # no divisor is near the square root
        steps = math.isqrt(length)
    lanes = length // steps
    blocks = lax.reshape(lax.slice_in_dim(rows, 0, steps * lanes, axis=1), (count, steps, lanes))
    # Without the barrier, XLA would merge both reductions.
    of_lanes = lax.optimization_barrier(extreme(blocks, (1,)))
    result = extreme(of_lanes, (1,))
    if steps * lanes < length:
        rest = extreme(lax.slice_in_dim(rows, steps * lanes, length, axis=1), (1,))
        result = (lax.max if operation == "maximum" else lax.min)(result, rest)
    return lax.reshape(result, shape)
