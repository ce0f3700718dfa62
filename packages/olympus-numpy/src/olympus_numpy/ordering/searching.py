# SPDX-License-Identifier: Apache-2.0
"""Positions of values in sorted arrays: `searchsorted` and `digitize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.sizes import largest_size
from olympus_ir.lax.core.values import as_array
from olympus_ir.lax.core.variation import varying_like
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes

__all__ = ["digitize", "searchsorted"]

# In a sorted array of so few elements, a comparison with all of them takes a quarter to a half of
# the time of bisection for 100,000 values, and as long for few values.
_MOST_ELEMENTS_COMPARED = 16


# ---- positions in sorted arrays ----


def _searched(a: Any, v: Any, side: str = "left", sorter: Any = None, method: str = "scan") -> Any:
    a, v = promote_dtypes(ensure_array(a), ensure_array(v))
    if sorter is not None:
        a = a[sorter]
    count = a.shape[0]
    # Positions are int32 unless the array is too long for int32, even if 64-bit types are enabled.
    too_large = is_constant_dim(a.shape[0]) and a.shape[0] >= 2**31
    index_dtype = np.dtype(np.int64 if too_large else np.int32)
    if count == 0:
        return lax.full(v.shape, np.zeros((), index_dtype))
    is_short = is_constant_dim(count) and count <= _MOST_ELEMENTS_COMPARED
    if method == "compare_all" or (method == "scan" and is_short):
        return _count_before(a, v, side, index_dtype)
    if method == "sort":
        return _place_by_sorting(a, v, side, index_dtype)
    return _bisect(a, v, side, index_dtype, unrolled=method == "scan_unrolled")


def _comes_before(x: Any, y: Any) -> Any:
    """Returns ``x < y`` in the order of sorting, in which NaN comes last."""
    less = _less(x, y)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return less
    return lax.bitwise_or(less, lax.bitwise_and(lax.eq(x, x), lax.ne(y, y)))


def _less(x: Any, y: Any) -> Any:
    if not dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.lt(x, y)
    x_real, y_real = lax.real(x), lax.real(y)
    by_imaginary = lax.lt(lax.imag(x), lax.imag(y))
    return lax.select(lax.eq(x_real, y_real), by_imaginary, lax.lt(x_real, y_real))


def _goes_right(element: Any, value: Any, side: str) -> Any:
    """Returns whether a value belongs to the right of an element."""
    if side == "left":
        return _comes_before(element, value)
    return lax.bitwise_not(_comes_before(value, element))


def _count_before(a: Any, v: Any, side: str, index_dtype: Any) -> Any:
    shape = (a.shape[0], *v.shape)
    elements = lax.broadcast_in_dim(a, shape, (0,))
    values = lax.broadcast_in_dim(v, shape, tuple(range(1, len(shape))))
    return lax.reduce_sum(convert(_goes_right(elements, values, side), index_dtype), (0,))


def _place_by_sorting(a: Any, v: Any, side: str, index_dtype: Any) -> Any:
    """Returns each value's position: its rank in the joined arrays minus its rank in ``v``."""
    flat = lax.reshape(v, (math.prod(v.shape),))
    joined = [flat, a] if side == "left" else [a, flat]
    start = 0 if side == "left" else a.shape[0]
    ranks = _ranks(lax.concatenate(joined, 0), index_dtype)
    ranks = lax.slice_in_dim(ranks, start, start + flat.shape[0], axis=0)
    return lax.reshape(lax.sub(ranks, _ranks(flat, index_dtype)), v.shape)


def _ranks(x: Any, index_dtype: Any) -> Any:
    positions = lax.iota(index_dtype, x.shape[0])
    order = lax.sort((x, positions), num_keys=1)[1]
    return (
        lax.full(positions.shape, np.zeros((), index_dtype))
        .at[order]
        .set(positions, unique_indices=True)
    )


def _bisect(a: Any, v: Any, side: str, index_dtype: Any, unrolled: bool) -> Any:
    """Returns each value's position by bisection.

    A step halves the ranges of all positions. The ranges have the same size, so only their starts
    are stored. XLA computes a step in one pass, which reads an element and moves the start in
    place. If both ends of each range were stored, XLA would copy both and write the elements to
    memory.
    """
    count = a.shape[0]
    unsigned = np.dtype(np.uint32)
    start = varying_like(lax.full(v.shape, np.zeros((), unsigned)), a, v)
    # There are ``count + 1`` positions.
    size = lax.add(lax.size_array(count, unsigned), np.array(1, unsigned))
    a = as_array(a)

    def halve(state: Any, _: Any) -> Any:
        start, size = state
        half = lax.div(size, np.array(2, unsigned))
        moved = lax.add(start, _spread(half, start.shape))
        last = _spread(lax.sub(half, np.array(1, unsigned)), start.shape)
        # If a symbolic count is below its bound, the last steps halve ranges of one position. Then
        # the index may be out of bounds, but the start does not move.
        element = a.at[lax.add(start, last)].get(mode="clip")
        right = _goes_right(element, v, side)
        return (lax.select(right, moved, start), lax.sub(size, half)), None

    steps = largest_size(count).bit_length()
    (start, _), _ = lax.scan(
        halve, (start, size), None, length=steps, unroll=steps if unrolled else 1
    )
    return convert(start, index_dtype)


def _spread(number: Any, shape: tuple) -> Any:
    return lax.broadcast_in_dim(number, shape, ())


_searchsorted = compiled(_searched, ("side", "method"), name="searchsorted")


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Returns the positions at which to insert values into a sorted array.

    Args:
      a: a sorted array of one dimension.
      v: an array of values.
      side: whether to insert before (``"left"``) or after (``"right"``) equal elements.
      sorter: indices that sort ``a``, if it is not sorted.
      method: ``"scan"`` and ``"scan_unrolled"`` bisect; ``"sort"`` sorts both arrays;
        ``"compare_all"`` compares all pairs. ``"scan"`` compares all pairs, too, if ``a`` has at
        most 16 elements.

    Returns:
      An integer array of the shape of ``v``.

    Raises:
      ValueError: if ``a`` does not have one dimension, or ``side`` or ``method`` is unknown.

    Example:
      >>> from olympus_numpy import array
      >>> searchsorted(array([1, 3, 5]), array([0, 3, 9]))
      Array([0, 1, 3], dtype=int32)
    """
    if sorter is None:
        check_arraylike("searchsorted", a, v)
    else:
        check_arraylike("searchsorted", a, v, sorter)
    if side not in ("left", "right"):
        raise ValueError(
            f"searchsorted: invalid argument side={side!r}, expected 'left' or 'right'"
        )
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"searchsorted: invalid argument method={method!r}, expected one of "
            "['compare_all', 'scan', 'scan_unrolled', 'sort']"
        )
    if np.ndim(a) != 1:
        raise ValueError("a should be 1-dimensional")
    return _searchsorted(a, v, side, sorter, method)


def _digitized(x: Any, bins: Any, right: bool, method: str) -> Any:
    x, bins = ensure_array(x), ensure_array(bins)
    count = bins.shape[0]
    if count == 0:
        return lax.full(x.shape, np.int32(0))
    last = lax.index_in_dim(bins, count - 1, 0, keepdims=False)
    increasing = lax.bitwise_not(_less(last, lax.index_in_dim(bins, 0, 0, keepdims=False)))
    side = "left" if right else "right"
    upwards = searchsorted(bins, x, side=side, method=method)
    downwards = searchsorted(lax.rev(bins, (0,)), x, side=side, method=method)
    return where(increasing, upwards, lax.sub(lax.size_array(count, downwards.dtype), downwards))


_digitize = compiled(_digitized, ("right", "method"), name="digitize")


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Returns the index of the bin that each value falls into.

    Args:
      x: an array.
      bins: the edges of the bins, in increasing or decreasing order.
      right: whether a bin contains its right edge and not its left one.
      method: as in `searchsorted`.

    Returns:
      An integer array of the shape of ``x``.

    Raises:
      ValueError: if ``bins`` does not have one dimension.

    Example:
      >>> from olympus_numpy import array
      >>> digitize(array([0.5, 1.5, 2.5]), array([1.0, 2.0]))
      Array([0, 1, 2], dtype=int32)
    """
    check_arraylike("digitize", x, bins)
    if np.ndim(bins) != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {np.ndim(bins)=}")
    return _digitize(x, bins, bool(right), "scan" if method is None else method)
