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


def totally_ordered_integers(x: Any) -> Any:
    """Maps real numbers to signed integers of the same width, in the total order of their bits.

    Floats are ordered by sign and magnitude, so that -0 is below 0 and NaNs are beyond infinities.
    """
    if x.dtype == np.bool_:
        return lax.convert_element_type(x, np.int8)
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = x if x.dtype == signed else lax.bitcast_convert_type(x, signed)
    if x.dtype in FLOATS:
        return _inverted_if_negative(bits)
    if dtypes.issubdtype(x.dtype, np.unsignedinteger):
        return lax.bitwise_xor(bits, lax.full_like(bits, dtypes.iinfo(signed).min))
    return bits


def from_totally_ordered(keys: Any, dtype: Any) -> Any:
    """Maps the integers of `totally_ordered_integers` back to numbers of a dtype."""
    if dtype == np.bool_:
        return lax.convert_element_type(keys, np.bool_)
    if dtype in FLOATS:
        keys = _inverted_if_negative(keys)
    elif dtypes.issubdtype(dtype, np.unsignedinteger):
        keys = lax.bitwise_xor(keys, lax.full_like(keys, dtypes.iinfo(keys.dtype).min))
    return keys if keys.dtype == dtype else lax.bitcast_convert_type(keys, dtype)


def _inverted_if_negative(keys: Any) -> Any:
    """Inverts all bits but the sign of negative integers. The function is its own inverse."""
    sign = lax.shift_right_arithmetic(keys, lax.full_like(keys, 8 * keys.dtype.itemsize - 1))
    magnitude = lax.bitwise_and(sign, lax.full_like(keys, dtypes.iinfo(keys.dtype).max))
    return lax.bitwise_xor(keys, magnitude)
