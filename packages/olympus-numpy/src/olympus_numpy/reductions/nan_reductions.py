# SPDX-License-Identifier: Apache-2.0
"""Reductions that ignore NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as choose_where
from ..core.axes import hashable_axes, hashable_axis, refuse_out, requested_dtype
from ..core.compilation import compiled, unless_default
from ..core.promotion import check_arraylike, convert, ensure_array, promote_args, spread
from .extremes import argmax, argmin, largest, limit, smallest
from .moments import padded_shape, variance_dtypes
from .sums import product_along, sum_along, summed
from .truth import all_along

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _has_nan(x: Any) -> bool:
    return dtypes.issubdtype(x.dtype, np.inexact)


def _without_nan(x: Any, value: Any) -> Any:
    """Replaces NaN in an array."""
    return choose_where(lax.ne(x, x), np.array(value, x.dtype), x) if _has_nan(x) else x


# ---- sums and products ----


def _nansum_of(
    a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any = None, where: Any = None
) -> Any:
    check_arraylike("nansum", a)
    a = _without_nan(ensure_array(a), 0)
    return sum_along(a, axis, dtype, keepdims, initial, where)


def _nanprod_of(
    a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any = None, where: Any = None
) -> Any:
    check_arraylike("nanprod", a)
    a = _without_nan(ensure_array(a), 1)
    return product_along(a, axis, dtype, keepdims, initial, where)


_STATIC = ("axis", "dtype", "keepdims")
_nansum = compiled(_nansum_of, _STATIC, name="nansum")
_nanprod = compiled(_nanprod_of, _STATIC, name="nanprod")


def nansum(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the sum of the elements along axes; NaN counts as zero.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the dtype of sums and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a number to add.
      where: a boolean mask of the elements to include.

    Returns:
      An array without the axes, or with axes of size one if ``keepdims``. Its dtype is ``dtype`` if
      given, otherwise the dtype of ``a``, with booleans and narrow integers widened to the default
      integer dtype.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nansum(array([1.0, nan]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("nansum")
    if dtype is not None:
        dtype = requested_dtype("nansum", dtype)
    return _nansum(a, hashable_axes("nansum", axis, names=True), dtype, keepdims, initial, where)


def nanprod(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the product of the elements along axes; NaN counts as one.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the dtype of products and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a factor of the product.
      where: a boolean mask of the elements to include.

    Returns:
      An array without the axes, or with axes of size one if ``keepdims``. Its dtype is ``dtype`` if
      given, otherwise the dtype of ``a``, with booleans and narrow integers widened to the default
      integer dtype.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanprod(array([2.0, nan]))
      Array(2., dtype=float32)
    """
    if out is not None:
        refuse_out("nanprod")
    if dtype is not None:
        dtype = requested_dtype("nanprod", dtype)
    return _nanprod(a, hashable_axes("nanprod", axis), dtype, keepdims, initial, where)


# ---- extremes ----


def _nan_extreme(
    operation: Any, lowest: bool, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    a = ensure_array(a)
    if not _has_nan(a):
        return operation(a, axis, keepdims, initial, where)
    worst = np.array(-np.inf if lowest else np.inf, a.dtype)
    if dtypes.issubdtype(a.dtype, np.floating) and not dtypes.supports_inf(a.dtype):
        worst = limit(a.dtype, lowest)
    result = operation(choose_where(lax.ne(a, a), worst, a), axis, keepdims, initial, where)
    if initial is not None:
        return result
    nothing = all_along(lax.ne(a, a), axis, keepdims, where)
    return choose_where(nothing, np.array(np.nan, a.dtype), result)


def _nanmax_of(a: Any, axis: Any, keepdims: bool, initial: Any = None, where: Any = None) -> Any:
    check_arraylike("nanmax", a)
    return _nan_extreme(largest, True, a, axis, keepdims, initial, where)


def _nanmin_of(a: Any, axis: Any, keepdims: bool, initial: Any = None, where: Any = None) -> Any:
    check_arraylike("nanmin", a)
    return _nan_extreme(smallest, False, a, axis, keepdims, initial, where)


_nanmax = compiled(_nanmax_of, ("axis", "keepdims"), name="nanmax")
_nanmin = compiled(_nanmin_of, ("axis", "keepdims"), name="nanmin")


def nanmax(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the largest element along axes that is not NaN; NaN if all elements are NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a lower bound of the result.
      where: a boolean mask of the elements to include; needs ``initial``.

    Returns:
      An array of the dtype of ``a`` without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanmax(array([1.0, nan]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("nanmax")
    return _nanmax(a, hashable_axes("nanmax", axis), keepdims, initial, where)


def nanmin(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the smallest element along axes that is not NaN; NaN if all elements are NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: an upper bound of the result.
      where: a boolean mask of the elements to include; needs ``initial``.

    Returns:
      An array of the dtype of ``a`` without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanmin(array([1.0, nan]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("nanmin")
    return _nanmin(a, hashable_axes("nanmin", axis), keepdims, initial, where)


def _nan_position(operation: Any, worst: float, a: Any, axis: int | None, keepdims: bool) -> Any:
    a = ensure_array(a)
    if not _has_nan(a):
        return operation(a, axis, keepdims=keepdims)
    is_nan = lax.ne(a, a)
    result = operation(choose_where(is_nan, worst, a), axis, keepdims=keepdims)
    return choose_where(all_along(is_nan, axis, keepdims, None), -1, result)


def _nanargmax_of(a: Any, axis: int | None, keepdims: bool) -> Any:
    check_arraylike("nanargmax", a)
    return _nan_position(argmax, -np.inf, a, axis, keepdims)


def _nanargmin_of(a: Any, axis: int | None, keepdims: bool) -> Any:
    check_arraylike("nanargmin", a)
    return _nan_position(argmin, np.inf, a, axis, keepdims)


_nanargmax = compiled(_nanargmax_of, ("axis", "keepdims"), name="_nanargmax")
_nanargmin = compiled(_nanargmin_of, ("axis", "keepdims"), name="_nanargmin")


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the largest element that is not NaN; -1 if all elements are NaN.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      out: not supported.
      keepdims: whether the axis is kept with size one.

    Returns:
      An integer array without the axis, or with an axis of size one; -1 where all elements are NaN.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanargmax(array([nan, 1.0]))
      Array(1, dtype=int32)
    """
    if out is not None:
        refuse_out("nanargmax")
    axis = axis if axis is None else hashable_axis("nanargmax", axis)
    return _nanargmax(a, axis, bool(keepdims))


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the smallest element that is not NaN; -1 if all elements are NaN.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      out: not supported.
      keepdims: whether the axis is kept with size one.

    Returns:
      An integer array without the axis, or with an axis of size one; -1 where all elements are NaN.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanargmin(array([nan, 1.0]))
      Array(1, dtype=int32)
    """
    if out is not None:
        refuse_out("nanargmin")
    axis = axis if axis is None else hashable_axis("nanargmin", axis)
    return _nanargmin(a, axis, bool(keepdims))


# ---- moments ----


def _count(a: Any, axes: tuple, dtype: Any, keepdims: bool, where: Any) -> Any:
    """Returns the number of elements that are not NaN."""
    known = convert(lax.bitwise_not(lax.ne(a, a)), dtypes.default_int_dtype())
    return summed(known, axes, dtype, keepdims, None, where)


def _nanmean_of(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any = None) -> Any:
    check_arraylike("nanmean", a)
    a = ensure_array(a)
    dtype = dtypes.to_inexact_dtype(a.dtype) if dtype is None else dtype
    count = _count(a, axis, dtype, keepdims, where)
    return lax.div(_nansum(a, axis, dtype, keepdims, None, where), count)


_nanmean = compiled(_nanmean_of, _STATIC, name="nanmean")


def nanmean(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the mean along axes of the elements that are not NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.

    Returns:
      An array of a floating or complex dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanmean(array([1.0, nan, 3.0]))
      Array(2., dtype=float32)
    """
    if out is not None:
        refuse_out("nanmean")
    if dtype is not None:
        dtype = requested_dtype("nanmean", dtype)
    return _nanmean(a, hashable_axes("nanmean", axis, names=True), dtype, keepdims, where)


def _nanvar_of(
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any = None,
    mean: Any = None,
) -> Any:
    check_arraylike("nanvar", a)
    a = ensure_array(a)
    computed, result_dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if mean is None:
        mean = _nanmean(a, axis, computed, True, where)
    mean = convert(ensure_array(mean), computed)
    mean = spread(mean, padded_shape(np.shape(mean), a.ndim))
    centered = choose_where(lax.ne(a, a), 0, lax.sub(a, mean))
    if dtypes.issubdtype(computed, np.complexfloating):
        centered = lax.real(lax.mul(centered, lax.conj(centered)))
    else:
        centered = lax.square(centered)
    count = _count(a, axis, None, keepdims, where)
    degrees = lax.sub(*promote_args("nanvar", count, 0 if ddof is None else ddof))
    too_few = lax.le(degrees, np.zeros((), degrees.dtype))
    total = summed(centered, axis, centered.dtype, keepdims, None, where)
    total = choose_where(too_few, np.nan, total)
    divisor = convert(choose_where(too_few, 1, degrees), total.dtype)
    return convert(lax.div(total, divisor), result_dtype)


_nanvar = compiled(_nanvar_of, _STATIC, name="nanvar")


def nanvar(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Returns the variance along axes of the elements that are not NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      ddof: number subtracted from the number of elements in the divisor.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.
      mean: the mean with the axes kept, if it is known.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanvar(array([1.0, nan, 3.0]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("nanvar")
    if dtype is not None:
        dtype = requested_dtype("nanvar", dtype)
    axis, ddof = hashable_axes("nanvar", axis, names=True), unless_default(ddof, 0)
    return _nanvar(a, axis, dtype, ddof, keepdims, where, mean)


def _nanstd_of(
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any = None,
    mean: Any = None,
) -> Any:
    check_arraylike("nanstd", a)
    return lax.sqrt(_nanvar(a, axis, dtype, ddof, keepdims, where, mean))


_nanstd = compiled(_nanstd_of, _STATIC, name="nanstd")


def nanstd(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Returns the standard deviation along axes of the elements that are not NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      ddof: number subtracted from the number of elements in the divisor.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.
      mean: the mean with the axes kept, if it is known.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array, nan
      >>> nanstd(array([1.0, nan, 3.0]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("nanstd")
    if dtype is not None:
        dtype = requested_dtype("nanstd", dtype)
    axis, ddof = hashable_axes("nanstd", axis, names=True), unless_default(ddof, 0)
    return _nanstd(a, axis, dtype, ddof, keepdims, where, mean)
