# SPDX-License-Identifier: Apache-2.0
"""Searching: places of nonzero elements, and places in sorted arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.named_axes import varying_like
from olympus_ir.programs.tracing import concrete_or_error, is_constant_dim
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from .compilation import compiled
from .promotion import check_arraylike, convert, ensure_array, promote_dtypes
from .selection import where
from .shaping import atleast_1d, ravel

__all__ = ["argwhere", "digitize", "flatnonzero", "nonzero", "searchsorted"]


# ---- nonzero ----


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """Returns the indices of elements that are not zero, one array a dimension.

    Args:
      a: an array of at least one dimension.
      size: how many indices to return, so that the array may be traced.
      fill_value: the index that fills up the result where there are fewer, one for all dimensions
        or a tuple; zero where not given.

    Example:
      >>> from olympus_numpy import array
      >>> nonzero(array([0, 3, 0, 5]))
      (Array([1, 3], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    a = ensure_array(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use olympus.numpy.atleast_1d(scalar)"
            ".nonzero() instead."
        )
    index_dtype = dtypes.default_int_dtype()
    if size is None:
        known = concrete_or_error(
            np.asarray,
            a,
            "The size argument of olympus.numpy.nonzero must be statically specified to use "
            f"olympus.numpy.nonzero within {naming.library} transformations.",
        )
        from .creation import asarray  # which knows how arrays are made

        return tuple(asarray(one.astype(index_dtype)) for one in np.nonzero(known))
    size = concrete_or_error(operator.index, size, "The size argument of olympus.numpy.nonzero.")
    if not isinstance(fill_value, tuple):
        fill_value = (fill_value,) * a.ndim
    if len(fill_value) != a.ndim or any(np.ndim(one) for one in fill_value):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {a.ndim}; got {fill_value!r}"
        )
    fills = tuple(0 if one is None else one for one in fill_value)
    return tuple(_nonzero(a, fills, size))


def _nonzero_of_size(a: Any, fills: Any, size: int) -> Any:
    """The k-th place is where the count of nonzero elements passes k."""
    index_dtype = dtypes.default_int_dtype()
    shape = a.shape
    if size == 0:
        return [lax.full((0,), np.zeros((), index_dtype)) for _ in shape]
    if math.prod(shape) == 0:
        return [lax.full((size,), convert(ensure_array(fill), index_dtype)) for fill in fills]
    mask = lax.reshape(a, (math.prod(shape),))
    if mask.dtype != np.bool_:
        mask = lax.ne(mask, np.zeros((), mask.dtype))
    counts = lax.cumsum(convert(mask, index_dtype), 0)
    # At most `size` of the counts are kept; how many elements have each is added up again.
    steps = (
        lax.full((size,), np.zeros((), index_dtype))
        .at[counts]
        .add(np.ones((), index_dtype), mode="drop")
    )
    places = lax.cumsum(steps, 0)
    total = lax.index_in_dim(counts, mask.shape[0] - 1, 0, keepdims=False)
    found = lax.lt(lax.iota(index_dtype, size), total)
    results = []
    stride = math.prod(shape)
    for length, fill in zip(shape, fills, strict=True):
        stride //= length
        index = lax.rem(
            lax.div(places, lax.size_array(stride, index_dtype)),
            lax.size_array(length, index_dtype),
        )
        fill = convert(ensure_array(fill), index_dtype)
        results.append(lax.select(found, index, lax.broadcast_in_dim(fill, (size,), ())))
    return results


_nonzero = compiled(_nonzero_of_size, ("size",), inline=True, name="nonzero")


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Returns the indices, in the flat array, of elements that are not zero; see `nonzero`.

    Example:
      >>> from olympus_numpy import array
      >>> flatnonzero(array([[0, 3], [4, 0]]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Returns the indices of elements that are not zero, as rows of a matrix; see `nonzero`.

    Example:
      >>> from olympus_numpy import array
      >>> argwhere(array([[0, 3], [4, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    check_arraylike("argwhere", a)
    a = ensure_array(a)
    places = nonzero(atleast_1d(a), size=size, fill_value=fill_value)
    stacked = lax.concatenate([lax.expand_dims(one, (1,)) for one in places], 1)
    return lax.slice_in_dim(stacked, 0, 0, axis=1) if a.ndim == 0 else stacked


# ---- places in sorted arrays ----


def _searched(a: Any, v: Any, side: str = "left", sorter: Any = None, method: str = "scan") -> Any:
    a, v = promote_dtypes(ensure_array(a), ensure_array(v))
    if sorter is not None:
        a = a[sorter]
    count = a.shape[0]
    # Places are counted in 32 bits where these are enough, with 64-bit types too.
    too_large = is_constant_dim(a.shape[0]) and a.shape[0] >= 2**31
    index_dtype = np.dtype(np.int64 if too_large else np.int32)
    if count == 0:
        return lax.full(v.shape, np.zeros((), index_dtype))
    if method == "compare_all":
        return _count_before(a, v, side, index_dtype)
    if method == "sort":
        return _place_by_sorting(a, v, side, index_dtype)
    return _bisect(a, v, side, index_dtype, unrolled=method == "scan_unrolled")


def _comes_before(x: Any, y: Any) -> Any:
    """``x < y`` in the order of sorting, in which NaN comes last."""
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
    """Whether a value belongs to the right of an element."""
    if side == "left":
        return _comes_before(element, value)
    return lax.bitwise_not(_comes_before(value, element))


def _count_before(a: Any, v: Any, side: str, index_dtype: Any) -> Any:
    shape = (a.shape[0], *v.shape)
    elements = lax.broadcast_in_dim(a, shape, (0,))
    values = lax.broadcast_in_dim(v, shape, tuple(range(1, len(shape))))
    return lax.reduce_sum(convert(_goes_right(elements, values, side), index_dtype), (0,))


def _place_by_sorting(a: Any, v: Any, side: str, index_dtype: Any) -> Any:
    """In both together, a value comes after the elements and values before it."""
    flat = lax.reshape(v, (math.prod(v.shape),))
    together = [flat, a] if side == "left" else [a, flat]
    start = 0 if side == "left" else a.shape[0]
    ranks = _ranks(lax.concatenate(together, 0), index_dtype)
    ranks = lax.slice_in_dim(ranks, start, start + flat.shape[0], axis=0)
    return lax.reshape(lax.sub(ranks, _ranks(flat, index_dtype)), v.shape)


def _ranks(x: Any, index_dtype: Any) -> Any:
    places = lax.iota(index_dtype, x.shape[0])
    order = lax.sort((x, places), num_keys=1)[1]
    return (
        lax.full(places.shape, np.zeros((), index_dtype)).at[order].set(places, unique_indices=True)
    )


def _bisect(a: Any, v: Any, side: str, index_dtype: Any, unrolled: bool) -> Any:
    count = a.shape[0]
    unsigned = np.dtype(np.uint32)
    low = lax.full(v.shape, np.zeros((), unsigned))
    high = lax.full(v.shape, lax.size_array(count, unsigned))
    low, high = varying_like(low, a, v), varying_like(high, a, v)

    def halve(bounds: Any, _: Any) -> Any:
        low, high = bounds
        middle = lax.add(low, lax.div(lax.sub(high, low), np.array(2, unsigned)))
        element = a.at[middle].get(mode="promise_in_bounds")
        right = _goes_right(element, v, side)
        return (lax.select(right, middle, low), lax.select(right, high, middle)), None

    steps = int(count).bit_length()
    bounds, _ = lax.scan(halve, (low, high), None, length=steps, unroll=steps if unrolled else 1)
    return convert(bounds[1], index_dtype)


_searchsorted = compiled(_searched, ("side", "method"), name="searchsorted")


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Array:
    """Returns where values belong in a sorted array.

    Args:
      a: a sorted array of one dimension.
      v: an array of values.
      side: before (``"left"``) or after (``"right"``) equal elements.
      sorter: indices that sort ``a``, where it is not sorted.
      method: ``"scan"`` or ``"scan_unrolled"``: by bisection; ``"sort"``: by sorting both;
        ``"compare_all"``: by comparing everything, for short arrays.

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
            f"{side!r} is an invalid value for keyword 'side'. Expected one of {{'left', 'right'}}."
        )
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method'. Expected one of "
            "{'scan', 'scan_unrolled', 'sort', 'compare_all'}."
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


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """Returns the number of the bin that each value falls into.

    Args:
      x: an array.
      bins: the edges of the bins, in increasing or decreasing order.
      right: whether a bin contains its right edge and not its left one.
      method: as of `searchsorted`.

    Example:
      >>> from olympus_numpy import array
      >>> digitize(array([0.5, 1.5, 2.5]), array([1.0, 2.0]))
      Array([0, 1, 2], dtype=int32)
    """
    check_arraylike("digitize", x, bins)
    if np.ndim(bins) != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {np.ndim(bins)=}")
    return _digitize(x, bins, bool(right), "scan" if method is None else method)
