# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit integers on GPUs, for sizes that the libraries do not support."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax

from ..context import LoweringContext

# Libraries multiply 8-bit integers if all sizes are multiples of this number; XLA pads others.
_GRAIN = 4
_WIDE = np.dtype(np.int32)
_PLATFORMS = {"cuda", "rocm"}


def is_padded_product(context: LoweringContext, dimension_numbers: Any) -> bool:
    """Returns whether XLA pads a product of 8-bit integers with a 32-bit result.

    XLA of jaxlib 0.11.2 returned twice the values of a product of 2x3 with 3x4 matrices on an H100.
    """
    avals = context.avals_in
    if context.aval_out.dtype != _WIDE or any(aval.dtype != np.int8 for aval in avals):
        return False
    if not _PLATFORMS & set(context.platforms):
        return False
    contracting, batch = dimension_numbers
    sizes = [math.prod(avals[0].shape[d] for d in contracting[0])]
    for aval, summed, shared in zip(avals, contracting, batch, strict=True):
        own = set(range(len(aval.shape))) - {*summed, *shared}
        sizes.append(math.prod(aval.shape[d] for d in own))
    return any(type(size) is not int or size % _GRAIN != 0 for size in sizes)


def product_of_wide(lhs: Any, rhs: Any, **params: Any) -> Any:
    """Multiplies operands as 32-bit integers, with the same result."""
    wide = (lax.convert_element_type(operand, _WIDE) for operand in (lhs, rhs))
    return lax.dot_general_p.bind(*wide, **params)
