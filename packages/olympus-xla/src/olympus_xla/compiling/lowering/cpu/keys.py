# SPDX-License-Identifier: Apache-2.0
"""Integer keys in the order of real numbers, for sorting and for positions of extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes

FLOATS = (*map(np.dtype, "e f d".split()), np.dtype(dtypes.bfloat16))
INTEGERS = tuple(map(np.dtype, "u1 u2 u4 u8 i1 i2 i4 i8".split()))


def ordered_integers(x: Any, *, nan_is_largest: bool = True) -> Any:
    """Maps real numbers to integers of the same width and order.

    Zeros of both signs become equal. All NaNs become equal, and are larger or smaller than all
    numbers. Integers are returned unchanged.
    """
    if x.dtype not in FLOATS:
        return x
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    limits = dtypes.iinfo(signed)
    bits = lax.bitcast_convert_type(x, signed)
    sign = lax.shift_right_arithmetic(bits, lax.full_like(bits, 8 * x.dtype.itemsize - 1))
    keys = lax.bitwise_xor(bits, lax.bitwise_and(sign, lax.full_like(bits, limits.max)))
    keys = lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(keys, 0), keys)
    nan = lax.full_like(keys, limits.max if nan_is_largest else limits.min)
    return lax.select(lax.ne(x, x), nan, keys)
