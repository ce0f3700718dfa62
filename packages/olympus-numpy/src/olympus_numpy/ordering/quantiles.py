# SPDX-License-Identifier: Apache-2.0
"""Medians, quantiles and percentiles along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings.config_states import numpy_dtype_promotion
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.resharding import with_out_sharding

from ..arrays.selection import where
from ..core.axes import canonical_axes, hashable_axes
from ..core.compilation import compiled
from ..core.options import is_among
from ..core.promotion import (
    check_arraylike,
    convert,
    ensure_array,
    of_promotable_dtype,
    promote_dtypes_inexact,
    result_type_of,
    spread,
)
from ..indexing.taking import take_along_axis
from ..reductions.truth import any_along

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_int32 = np.dtype(np.int32)


def _flattened(a: Any, axis: Any, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """Flattens the reduced axes into one last axis; also returns the shape of a reduction's result.

    With ``keepdims``, this shape keeps the reduced axes with size one.
    """
    axes = canonical_axes(axis, a.ndim)
    others = [dim for dim in range(a.ndim) if dim not in axes]
    kept = tuple(
        1 if dim in axes else size
        for dim, size in enumerate(a.shape)
        if keepdims or dim not in axes
    )
    lines = lax.transpose(a, (*others, *axes))
    length = math.prod(a.shape[dim] for dim in axes)
    return lax.reshape(lines, (*(a.shape[dim] for dim in others), length)), kept


def _quantile_of(
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    skip_nan: bool,
    weights: Any = None,
) -> Any:
    check_arraylike("quantile", a, q)
    (a,) = promote_dtypes_inexact(ensure_array(a))
    q = ensure_array(q)
    if weights is not None:
        weights = of_promotable_dtype(weights)
    dtype, _ = result_type_of(a) if weights is None else result_type_of(a, weights)
    dtype = dtypes.canonicalize_dtype(dtype)
    if dtypes.issubdtype(dtype, np.floating) and dtypes.itemsize_bits(dtype) <= 16:
        # Floats of few bits cannot represent the positions in long lines.
        a, q = (convert(x, np.dtype(np.float32)) for x in (a, q))
        weights = None if weights is None else convert(weights, np.dtype(np.float32))
        return convert(_quantile(a, q, axis, method, keepdims, skip_nan, weights), dtype)
    if dtypes.itemsize_bits(q.dtype) < 16:
        q = convert(q, ensure_array(a).dtype)  # float8 dtypes do not promote with other dtypes
    with numpy_dtype_promotion("standard"):  # a probability may have a dtype of its own
        wide, q = promote_dtypes_inexact(a, q)
    wide, q = ensure_array(wide), ensure_array(q)
    if wide.dtype != a.dtype:
        return convert(_quantile(wide, q, axis, method, keepdims, skip_nan, weights), dtype)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    if weights is not None:
        return _weighted_quantile(a, q, axis, method, keepdims, ensure_array(weights))
    lines, kept = _flattened(a, axis, keepdims)
    last = lines.ndim - 1
    length = lines.shape[last]
    if length == 0:
        raise ValueError(
            "quantiles need an array with at least one element, got an array of shape "
            f"{np.shape(a)}"
        )
    is_nan = lax.ne(lines, lines)
    if skip_nan:
        counts = lax.reduce_sum(convert(lax.bitwise_not(is_nan), a.dtype), (last,))
        lines = where(is_nan, np.array(np.inf, a.dtype), lines)
        undefined = lax.eq(counts, np.zeros((), a.dtype))
    else:
        # One NaN makes the quantiles of the whole line NaN.
        counts = lax.size_array(length, a.dtype)
        undefined = any_along(is_nan, last, False, None)
    result = where(undefined, np.nan, _between_positions(lines, q, counts, method))
    return lax.reshape(result, (*q.shape, *kept))


def _between_positions(lines: Any, q: Any, counts: Any, method: str) -> Any:
    """Interpolates sorted lines [..., n] at fractional positions [q]; returns [q, ...]."""
    dtype = lines.dtype
    rest = lines.shape[:-1]
    one = np.ones((), dtype)
    last = lax.sub(counts, one)
    if np.ndim(last):  # the lines have different numbers of NaN
        last = spread(last, (*q.shape, *rest))
        q = lax.broadcast_in_dim(q, (*q.shape, *rest), tuple(range(q.ndim)))
    position = lax.mul(q, last)
    low, high = lax.floor(position), lax.ceil(position)
    weight = lax.sub(position, low)
    low, high = (convert(_clamped(bound, last), _int32) for bound in (low, high))
    by_line = bool(np.ndim(last))
    if method in ("lower", "higher", "nearest", "inverted_cdf"):
        (chosen,) = _at_positions(lines, by_line, _chosen(method, position, low, high, last))
        return convert(chosen, dtype)
    low_value, high_value = _at_positions(lines, by_line, low, high)
    if method == "midpoint":
        return lax.mul(lax.add(low_value, high_value), np.array(0.5, dtype))
    weight = lax.broadcast_in_dim(weight, low_value.shape, tuple(range(weight.ndim)))
    first = lax.mul(low_value, lax.sub(one, weight))
    return lax.add(first, lax.mul(high_value, weight))


def _clamped(x: Any, last: Any) -> Any:
    if not np.ndim(last):
        return lax.clamp(np.zeros((), x.dtype), x, last)
    return lax.max(lax.min(x, last), lax.full_like(x, 0))


def _chosen(method: str, position: Any, low: Any, high: Any, last: Any) -> Any:
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "nearest":
        weight = lax.sub(position, lax.floor(position))
        return lax.select_n(lax.gt(weight, np.array(0.5, weight.dtype)), low, high)
    # "inverted_cdf" selects the smallest element x such that at least the requested fraction of the
    # elements is <= x.
    one = np.ones((), position.dtype)
    count = lax.add(last, one)
    fraction = lax.div(position, lax.max(last, lax.full_like(last, 1)))
    rank = lax.sub(lax.ceil(lax.mul(fraction, count)), one)
    rank = lax.min(lax.max(rank, lax.full_like(rank, 0)), spread(last, np.shape(rank)))
    return convert(rank, _int32)


def _at_positions(lines: Any, by_line: bool, *positions: Any) -> list[Any]:
    """Returns, for each array of positions, the elements of sorted lines at these positions.

    Args:
      lines: [..., n].
      by_line: whether each line has its own positions.
      *positions: arrays of the same shape: [*q], or [*q, ...] if they differ by line.

    Returns:
      One array [*q, ...] for each array of positions.
    """
    rest = lines.shape[:-1]
    dims = tuple(range(1, 1 + len(rest)))
    line_shape = rest if by_line else ()
    q_shape = positions[0].shape[: positions[0].ndim - len(line_shape)]
    count = math.prod(q_shape)
    columns = [lax.reshape(position, (count, *line_shape)) for position in positions]
    if by_line:
        columns = [lax.transpose(column, (*dims, 0)) for column in columns]
    selected = lax.order_statistics(lines, lax.concatenate(columns, len(line_shape)))
    selected = lax.transpose(selected, (len(rest), *range(len(rest))))
    return [
        lax.reshape(lax.slice_in_dim(selected, i * count, (i + 1) * count), (*q_shape, *rest))
        for i in range(len(positions))
    ]


def _weighted_quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    axes = canonical_axes(axis, a.ndim)
    if weights.shape != a.shape:
        if weights.ndim != 1 or len(axes) != 1 or weights.shape[0] != a.shape[axes[0]]:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        weights = lax.broadcast_in_dim(weights, a.shape, (axes[0],))
    lines, kept = _flattened(a, axis, keepdims)
    weights, _ = _flattened(convert(weights, a.dtype), axis, keepdims)
    last = lines.ndim - 1
    ordered, weights = lax.sort((lines, weights), dimension=last, num_keys=1)
    sums = lax.cumsum(weights, last)
    total = lax.index_in_dim(sums, sums.shape[last] - 1, last)
    shares = lax.div(sums, spread(total, sums.shape))
    levels = lax.broadcast_in_dim(q, (*q.shape, *(1,) * lines.ndim), tuple(range(q.ndim)))
    below = lax.lt(lax.expand_dims(shares, (0,)) if q.ndim else shares, levels)
    positions = lax.reduce_sum(convert(below, _int32), (q.ndim + last,))
    positions = lax.min(positions, lax.full_like(positions, ordered.shape[last] - 1))
    positions = lax.reshape(positions, (math.prod(q.shape), *lines.shape[:-1]))
    positions = lax.transpose(positions, (*range(1, 1 + last), 0))
    result = take_along_axis(ordered, positions, last, mode="promise_in_bounds")
    result = lax.transpose(result, (last, *range(last)))
    return lax.reshape(result, (*q.shape, *kept))


_STATIC = ("axis", "method", "keepdims", "skip_nan")
_quantile = compiled(_quantile_of, _STATIC, name="quantile")


def _percentile_of(
    a: Any, q: Any, axis: Any, method: str, keepdims: bool, skip_nan: bool, weights: Any = None
) -> Any:
    check_arraylike("percentile", a, q)
    (q,) = promote_dtypes_inexact(ensure_array(q))
    q = ensure_array(q)
    q = lax.div(q, convert(100.0, q.dtype, getattr(q, "weak_type", False)))
    return _quantile(a, q, axis, method, keepdims, skip_nan, weights)


_percentile = compiled(_percentile_of, _STATIC, name="percentile")


def _median_of(a: Any, axis: Any, keepdims: bool, skip_nan: bool) -> Any:
    (a,) = promote_dtypes_inexact(ensure_array(a))  # this also converts narrow dtypes such as int4
    return _quantile(a, 0.5, axis, "midpoint", keepdims, skip_nan)


_median = compiled(_median_of, ("axis", "keepdims", "skip_nan"), name="median")


def _check(name: str, out: Any, overwrite_input: bool, method: str = "linear") -> None:
    if overwrite_input or out is not None:
        raise ValueError(f"{name} does not support overwrite_input=True or out != None")
    if not is_among(method, _METHODS):
        raise ValueError(
            "method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or "
            f"'inverted_cdf', got {method!r}"
        )


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Returns quantiles along axes: the values below which given fractions of the elements lie.

    Args:
      a: an array.
      q: the levels, between 0 and 1: a scalar, or a vector, which becomes the first dimension.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      method: interpolation between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
      keepdims: whether the axes are kept with size one.
      weights: the weight of each element, with ``method="inverted_cdf"``.

    Returns:
      An array of a floating dtype: the dimensions of ``q``, then those of ``a`` without the axes,
      or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> quantile(array([1.0, 2.0, 3.0]), 0.25)
      Array(1.5, dtype=float32)
    """
    _check("quantile", out, overwrite_input, method)
    return _quantile(a, q, hashable_axes("quantile", axis), method, keepdims, False, weights)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Returns quantiles of the elements that are not NaN.

    Args:
      a: an array.
      q: the levels, between 0 and 1: a scalar, or a vector, which becomes the first dimension.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      method: interpolation between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
      keepdims: whether the axes are kept with size one.
      weights: the weight of each element, with ``method="inverted_cdf"``.

    Returns:
      An array of a floating dtype: the dimensions of ``q``, then those of ``a`` without the axes,
      or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanquantile(array([1.0, 2.0, nan]), 0.5)
      Array(1.5, dtype=float32)
    """
    _check("nanquantile", out, overwrite_input, method)
    return _quantile(a, q, hashable_axes("nanquantile", axis), method, keepdims, True, weights)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns percentiles: quantiles whose levels are given between 0 and 100.

    Args:
      a: an array.
      q: the levels, between 0 and 100: a scalar, or a vector, which becomes the first dimension.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      method: interpolation between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
      keepdims: whether the axes are kept with size one.
      weights: the weight of each element, with ``method="inverted_cdf"``.
      out_sharding: the sharding of the result.

    Returns:
      An array of a floating dtype: the dimensions of ``q``, then those of ``a`` without the axes,
      or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> percentile(array([1.0, 2.0, 3.0]), 25)
      Array(1.5, dtype=float32)
    """
    _check("percentile", out, overwrite_input, method)
    axes = hashable_axes("percentile", axis)
    if out_sharding is None:
        return _percentile(a, q, axes, method, keepdims, False, weights)
    return with_out_sharding(
        lambda a, q: _percentile(a, q, axes, method, keepdims, False, weights),
        (a, q),
        out_sharding,
        "percentile",
    )


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Returns percentiles of the elements that are not NaN.

    Args:
      a: an array.
      q: the levels, between 0 and 100: a scalar, or a vector, which becomes the first dimension.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      method: interpolation between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
      keepdims: whether the axes are kept with size one.
      weights: the weight of each element, with ``method="inverted_cdf"``.

    Returns:
      An array of a floating dtype: the dimensions of ``q``, then those of ``a`` without the axes,
      or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanpercentile(array([1.0, 2.0, nan]), 50)
      Array(1.5, dtype=float32)
    """
    _check("nanpercentile", out, overwrite_input, method)
    axes = hashable_axes("nanpercentile", axis)
    return _percentile(a, q, axes, method, keepdims, True, weights)


def median(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Returns medians along axes: the middle element, or the mean of the two in the middle.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      keepdims: whether the axes are kept with size one.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> median(array([3, 1, 2, 10]))
      Array(2.5, dtype=float32)
    """
    _check("median", out, overwrite_input)
    check_arraylike("median", a)
    return _median(a, hashable_axes("median", axis), keepdims, False)


def nanmedian(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Returns the median of the elements that are not NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      overwrite_input: not supported.
      keepdims: whether the axes are kept with size one.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanmedian(array([3.0, nan, 1.0]))
      Array(2., dtype=float32)
    """
    _check("nanmedian", out, overwrite_input)
    check_arraylike("nanmedian", a)
    return _median(a, hashable_axes("nanmedian", axis), keepdims, True)
