# SPDX-License-Identifier: Apache-2.0
"""Sizes and dtypes for which convolutions on CPUs are replaced."""

from __future__ import annotations

import math

import numpy as np

from olympus_ir.types import dtypes

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static

# For results or windows with at least this many elements, these operations are faster than those of
# XLA.
SMALLEST = 1024

# Each element of a window is a view, and XLA compiles only a few hundred views per second.
LARGEST_WINDOW = 49

# A convolution of at most this many groups is faster as one convolution for each group.
FEW_GROUPS = 8

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))


def is_large(context: LoweringContext, allowed: tuple[np.dtype, ...]) -> bool:
    """Returns whether operands and result have allowed dtypes and enough elements."""
    lhs, rhs = context.avals_in
    avals = (lhs, rhs, context.aval_out)
    return (
        all(is_static(aval.shape) and aval.dtype in allowed for aval in avals)
        # In the derivative with respect to windows, the result is small and ``rhs`` is large.
        and max(math.prod(context.aval_out.shape), math.prod(rhs.shape)) >= SMALLEST
        and is_for_this_cpu(context)
    )
