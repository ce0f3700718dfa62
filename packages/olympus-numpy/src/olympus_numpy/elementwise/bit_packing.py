# SPDX-License-Identifier: Apache-2.0
"""Booleans packed into bytes, eight booleans in each byte."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.shaping import moveaxis
from ..core.axes import canonical_axis, hashable_axis
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, spread
from .logic import truth

__all__ = ["packbits", "unpackbits"]

_uint8 = np.dtype(np.uint8)


def _bit_weights(bitorder: str) -> np.ndarray:
    """Returns the weights of the eight bits of a byte."""
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    shifts = np.arange(8, dtype=np.uint8)
    return shifts if bitorder == "little" else shifts[::-1].copy()


def _packed(a: Any, axis: int | None, bitorder: str) -> Any:
    a = ensure_array(a)
    if axis is None:
        a, axis = lax.reshape(a, (math.prod(a.shape),)), 0
    axis = canonical_axis(axis, a.ndim)
    bits = moveaxis(convert(truth(a), _uint8), axis, -1)
    count = (bits.shape[-1] + 7) // 8
    missing = 8 * count - bits.shape[-1]
    if missing:
        config = [(0, 0, 0)] * (bits.ndim - 1) + [(0, missing, 0)]
        bits = lax.pad(bits, np.zeros((), _uint8), config)
    bits = lax.reshape(bits, (*bits.shape[:-1], count, 8))
    shifted = lax.shift_left(bits, spread(_bit_weights(bitorder), bits.shape))
    packed = lax.reduce_sum(shifted, (bits.ndim - 1,))
    return moveaxis(packed, -1, axis)


_packbits = compiled(_packed, ("axis", "bitorder"), name="packbits")


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Packs booleans into bytes, eight into each byte.

    Args:
      a: an array of booleans or integers, which count as true where they are not zero.
      axis: the axis; by default, the array is flattened.
      bitorder: whether the first element is the highest (``"big"``) or lowest bit (``"little"``).

    Returns:
      An array of dtype uint8, with an eighth of the elements along the axis, rounded up.

    Raises:
      TypeError: if the dtype of ``a`` is neither boolean nor an integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> packbits(array([1, 0, 1]))
      Array([160], dtype=uint8)
    """
    check_arraylike("packbits", a)
    dtype = ensure_array(a).dtype
    if not (dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer)):
        raise TypeError("Expected an input array of integer or boolean data type")
    return _packbits(a, axis if axis is None else hashable_axis("packbits", axis), bitorder)


def _unpacked(a: Any, axis: int | None, count: int | None, bitorder: str) -> Any:
    a = ensure_array(a)
    if axis is None:
        a, axis = lax.reshape(a, (math.prod(a.shape),)), 0
    axis = canonical_axis(axis, a.ndim)
    a = moveaxis(a, axis, -1)
    shape = (*a.shape, 8)
    spread_out = lax.broadcast_in_dim(a, shape, tuple(range(a.ndim)))
    bits = lax.shift_right_logical(spread_out, spread(_bit_weights(bitorder), shape))
    bits = lax.bitwise_and(bits, np.array(1, np.uint8))
    bits = lax.reshape(bits, (*a.shape[:-1], a.shape[-1] * 8))
    if count is not None:
        size = bits.shape[-1]
        length = size + count if count < 0 else count
        if length > size:
            config = [(0, 0, 0)] * (bits.ndim - 1) + [(0, length - size, 0)]
            bits = lax.pad(bits, np.zeros((), _uint8), config)
        else:
            bits = lax.slice_in_dim(bits, 0, max(length, 0), axis=bits.ndim - 1)
    return moveaxis(bits, -1, axis)


_unpackbits = compiled(_unpacked, ("axis", "count", "bitorder"), name="unpackbits")


def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpacks bytes into bits, one element for each bit.

    Args:
      a: an array of dtype uint8.
      axis: the axis; by default, the array is flattened.
      count: the number of bits to return; a negative number leaves out that many bits at the end.
      bitorder: whether the first element is the highest (``"big"``) or lowest bit (``"little"``).

    Returns:
      An array of dtype uint8 of zeros and ones.

    Raises:
      TypeError: if ``a`` is not of dtype uint8.

    Example:
      >>> from olympus_numpy import array
      >>> unpackbits(array([160], dtype="uint8"), count=3)
      Array([1, 0, 1], dtype=uint8)
    """
    check_arraylike("unpackbits", a)
    if ensure_array(a).dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    axis = axis if axis is None else hashable_axis("unpackbits", axis)
    return _unpackbits(a, axis, count, bitorder)
