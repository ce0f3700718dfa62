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

The application "N-body" and the operation "any of rows" of the benchmarks cover this module.
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

# If this many elements or fewer are reduced to one, XLA's loops are faster.
LONGEST = 32

# XLA's loops are also faster if the dimensions after the reduced ones hold this many elements or
# fewer.
NARROWEST = 8

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
