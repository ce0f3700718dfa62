# SPDX-License-Identifier: Apache-2.0
"""Operations on the vectors of sparse cores: scans, counts, sorting, packing."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval

__all__ = [
    "PackFormat",
    "all_reduce_ffs",
    "all_reduce_population_count",
    "bitcast",
    "cummax",
    "cumsum",
    "pack",
    "scan_count",
    "sort_key_val",
    "unpack",
]


def cumsum(x: Array | np.ndarray, *, mask: ArrayLike | None = None) -> Array:
    """Computes cumulative sums along the last dimension.

    Args:
      x: the array.
      mask: boolean array, true for the elements to add.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> cumsum(np.int32([1, 2, 3]), mask=np.array([True, False, True]))
      Array([1, 1, 4], dtype=int32)
    """
    if mask is not None:
        x = lax.select_n(mask, lax.full_like(x, 0), x)
    return lax.cumsum(x, axis=len(x.shape) - 1)


def cummax(x: Array | np.ndarray, *, mask: ArrayLike | None = None) -> Array:
    """Computes cumulative maxima along the last dimension.

    Args:
      x: the array.
      mask: boolean array, true for the elements to compare. Before the first of these, the result
        is ``x``.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> cummax(np.int32([5, 1, 3]), mask=np.array([False, True, True]))
      Array([5, 1, 3], dtype=int32)
    """
    axis = len(x.shape) - 1
    if mask is None:
        return lax.cummax(x, axis=axis)
    is_float = dtypes.issubdtype(x.dtype, np.floating)
    least = -np.inf if is_float else dtypes.iinfo(x.dtype).min
    largest = lax.cummax(lax.select_n(mask, lax.full_like(x, least), x), axis=axis)
    seen = lax.cummax(lax.convert_element_type(mask, np.int32), axis=axis)
    return lax.select_n(lax.gt(seen, lax.full_like(seen, 0)), x, largest)


def _reduced(x: Any, reduce: int, value: Any) -> Any:
    size = x.shape[0]
    if len(x.shape) != 1 or size % reduce:
        raise ValueError(
            f"`x` must have one dimension, of a size that {reduce} divides, got {x.shape}"
        )
    return lax.broadcast_in_dim(lax.convert_element_type(value, np.int32), (size // reduce,), ())


def all_reduce_ffs(x: Array | np.ndarray, *, reduce: int = 1) -> Array:
    """Returns the index of the first true element, broadcast to a vector.

    Args:
      x: a boolean vector. If no element is true, the result is the length of the vector.
      reduce: the size of ``x`` divided by the size of the result.

    Example:
      >>> all_reduce_ffs(np.array([False, True, True]))
      Array([1, 1, 1], dtype=int32)
    """
    size = x.shape[0]
    positions = lax.select_n(x, lax.full((size,), size, np.int32), lax.iota(np.int32, size))
    return _reduced(x, reduce, jnp.min(positions))


def all_reduce_population_count(x: Array | np.ndarray, *, reduce: int = 1) -> Array:
    """Returns the number of true elements, broadcast to a vector.

    Args:
      x: a boolean vector.
      reduce: the size of ``x`` divided by the size of the result.

    Example:
      >>> all_reduce_population_count(np.array([False, True, True]))
      Array([2, 2, 2], dtype=int32)
    """
    return _reduced(x, reduce, jnp.sum(x, dtype=np.int32))


def scan_count(x: Array | np.ndarray, mask: ArrayLike | None = None) -> tuple[Array, Array]:
    """Counts the occurrences of each element so far, and marks the last occurrence of each value.

    Args:
      x: the array.
      mask: boolean array, true for the elements to include.

    Returns:
      The numbers of occurrences, which start at 1, and a mask of the last occurrence of each value.
      Only elements that ``mask`` selects count.

    Example:
      >>> scan_count(np.int32([3, 3, 5, 3]))
      (Array([1, 2, 1, 3], dtype=int32), Array([False, False,  True,  True], dtype=bool))
    """
    size = x.shape[0]
    same = lax.eq(jnp.broadcast_to(x[:, None], (size, size)), jnp.broadcast_to(x, (size, size)))
    valid = lax.full((size,), True, np.bool_) if mask is None else mask
    same = lax.bitwise_and(same, jnp.broadcast_to(valid, (size, size)))
    rows = lax.broadcasted_iota(np.int32, (size, size), 0)
    columns = lax.broadcasted_iota(np.int32, (size, size), 1)
    counts = jnp.sum(lax.bitwise_and(same, lax.le(columns, rows)), axis=1, dtype=np.int32)
    later = jnp.sum(lax.bitwise_and(same, lax.gt(columns, rows)), axis=1, dtype=np.int32)
    return counts, lax.bitwise_and(valid, lax.eq(later, lax.full_like(later, 0)))


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, *, mask: ArrayLike | None = None, descending: bool = False
) -> tuple[Array, ...]:
    """Sorts keys, and puts values in the same order.

    Args:
      keys: the keys.
      values: the values.
      mask: boolean array, true for the elements to sort; the others come last.
      descending: whether the largest key comes first.

    Returns:
      The sorted keys and the values. If a mask is given, also the mask in the same order.

    Example:
      >>> sort_key_val(np.int32([2, 3, 1]), np.int32([20, 30, 10]), descending=True)
      (Array([3, 2, 1], dtype=int32), Array([30, 20, 10], dtype=int32))
    """
    keys, values = jnp.asarray(keys), jnp.asarray(values)
    order = jnp.argsort(keys, descending=descending, stable=True)
    if mask is not None:
        valid = jnp.asarray(mask)
        invalid = lax.convert_element_type(lax.bitwise_not(valid), np.int32)
        order = order[jnp.argsort(invalid[order], stable=True)]
        return keys[order], values[order], valid[order]
    return keys[order], values[order]


def bitcast(x: Array | np.ndarray, dtype: DTypeLike) -> Array:
    """Reinterprets the bits of numbers as another dtype.

    The size of the last dimension changes with the width of the dtype.

    Args:
      x: the array.
      dtype: the new dtype.

    Returns:
      An array of the given dtype.

    Example:
      >>> bitcast(np.uint16([1, 2]), np.uint32)
      Array([131073], dtype=uint32)
    """
    dtype = dtypes.dtype(dtype)
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    shape = tuple(x.shape)
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    if old > new:
        pieces = lax.bitcast_convert_type(x, dtype)
        return lax.reshape(pieces, (*shape[:-1], shape[-1] * (old // new)))
    if shape[-1] % (new // old):
        raise ValueError(f"the last dimension of {shape} is not a multiple of {new // old}")
    split = lax.reshape(x, (*shape[:-1], shape[-1] // (new // old), new // old))
    return lax.bitcast_convert_type(split, dtype)


class PackFormat(enum.Enum):
    """Order of packed elements: pairs along a second dimension, or alternating in one dimension."""

    COMPRESSED = "compressed"
    INTERLEAVED = "interleaved"


_NARROW = {"float32": "bfloat16", "int32": "int16"}
_WIDE = {narrow: wide for wide, narrow in _NARROW.items()}


def _other_dtype(dtype: Any, preferred: Any, known: dict[str, str], scale: float) -> np.dtype:
    name = dtypes.name_of(np.dtype(dtype))
    if preferred is None:
        if name not in known:
            raise NotImplementedError(
                f"without `preferred_element_type`, the dtype must be {' or '.join(known)}, "
                f"got {name}"
            )
        return dtypes.dtype(known[name])
    bits = int(dtypes.itemsize_bits(dtype) * scale)
    if dtypes.itemsize_bits(dtypes.dtype(preferred)) != bits:
        raise ValueError(f"preferred_element_type= must have {bits} bits, got {preferred}")
    return dtypes.dtype(preferred)


def pack(
    a: Array | np.ndarray,
    b: Array | np.ndarray,
    /,
    *,
    format: PackFormat,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Packs two arrays into one array of narrower numbers.

    Args:
      a: the first array, of one dimension.
      b: the second array, of the type of ``a``.
      format: `PackFormat.INTERLEAVED` for a result of one dimension, in which the elements of both
        arrays alternate. `PackFormat.COMPRESSED` for a second dimension of size 2.
      preferred_element_type: the dtype of the result, half as wide.

    Returns:
      The packed array.

    Raises:
      ValueError: the types do not match.

    Example:
      >>> pack(np.int32([1, 2]), np.int32([3, 4]), format=PackFormat.INTERLEAVED)
      Array([1, 3, 2, 4], dtype=int16)
    """
    first, second = get_aval(a), get_aval(b)
    if first.shape != second.shape or first.dtype != second.dtype or len(first.shape) != 1:  # type: ignore[attr-defined]
        raise ValueError(
            f"arrays to pack must have one type and one dimension, got {first.str_short()} and "
            f"{second.str_short()}"
        )
    narrow = _other_dtype(a.dtype, preferred_element_type, _NARROW, 0.5)
    pairs = jnp.stack([a, b], axis=1)
    pairs = lax.convert_element_type(pairs, narrow)
    return pairs.reshape(-1) if format is PackFormat.INTERLEAVED else pairs


def unpack(
    ab: Array | np.ndarray,
    /,
    *,
    format: PackFormat,
    preferred_element_type: DTypeLike | None = None,
) -> tuple[Array, Array]:
    """Unpacks the two arrays that `pack` has packed.

    Args:
      ab: the packed array.
      format: the format in which the array is packed.
      preferred_element_type: the dtype of the results, twice as wide.

    Returns:
      The two arrays.

    Raises:
      ValueError: the shape of ``ab`` does not fit the format.

    Example:
      >>> unpack(np.int16([1, 3, 2, 4]), format=PackFormat.INTERLEAVED)
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    wide = _other_dtype(ab.dtype, preferred_element_type, _WIDE, 2)
    shape = tuple(ab.shape)
    if format is PackFormat.INTERLEAVED:
        if len(shape) != 1 or shape[0] % 2:
            raise ValueError(
                f"`ab` must be a vector of an even number of elements, got shape {shape}"
            )
        ab = lax.reshape(ab, (shape[0] // 2, 2))
    elif len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"`ab` must have two dimensions, the second of size 2, got shape {shape}")
    ab = lax.convert_element_type(ab, wide)
    return ab[:, 0], ab[:, 1]
