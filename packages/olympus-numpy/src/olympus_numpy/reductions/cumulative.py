# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums and products along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShardingTypeError
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import entries_of

from ..arrays.selection import where
from ..core.axes import canonical_axis, hashable_axis, refuse_out
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .arguments import scale_dtype, widened_dtype

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "nancumprod",
    "nancumsum",
]


def _accumulated(
    name: str,
    operation: Callable[..., Any],
    a: Any,
    axis: int | None,
    dtype: Any,
    fill_nan: int | None = None,
    promote_integers: bool = False,
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        if axis is None and a.ndim > 1 and any(entries_of(get_aval(a))):
            raise ShardingTypeError(
                f"The input should be fully replicated when axis is not specified to {name}. Got "
                f"input type={get_aval(a).str_short()}"
            )
        a = lax.reshape(a, (math.prod(a.shape),))
        axis = 0
    axis = canonical_axis(axis, a.ndim)
    if fill_nan is not None and dtypes.issubdtype(a.dtype, np.inexact):
        a = where(lax.ne(a, a), np.array(fill_nan, a.dtype), a)
    a = convert(a, widened_dtype(a.dtype, promote_integers) if dtype is None else dtype)
    if a.dtype in (np.bool_, scale_dtype):
        computed = dtypes.default_int_dtype() if a.dtype == np.bool_ else np.dtype(np.float32)
        return convert(operation(convert(a, computed), axis), a.dtype)
    return operation(a, axis)


def _cumsum_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("cumsum", lax.cumsum, a, axis, dtype)


def _cumprod_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("cumprod", lax.cumprod, a, axis, dtype)


def _nancumsum_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("nancumsum", lax.cumsum, a, axis, dtype, fill_nan=0)


def _nancumprod_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("nancumprod", lax.cumprod, a, axis, dtype, fill_nan=1)


def _widened_cumsum_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("cumulative_sum", lax.cumsum, a, axis, dtype, promote_integers=True)


_STATIC = ("axis", "dtype")
_cumsum = compiled(_cumsum_of, _STATIC, name="cumsum")
_cumprod = compiled(_cumprod_of, _STATIC, name="cumprod")
_nancumsum = compiled(_nancumsum_of, _STATIC, name="nancumsum")
_nancumprod = compiled(_nancumprod_of, _STATIC, name="nancumprod")
_widened_cumsum = compiled(_widened_cumsum_of, _STATIC, name="_cumsum_with_promotion")


def _call(name: str, fun: Any, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if out is not None:
        refuse_out(name)
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    return fun(a, None if axis is None else hashable_axis(name, axis), dtype)


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Returns cumulative sums along an axis: each element plus all elements before it.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      dtype: the dtype of sums and of the result.
      out: not supported.

    Returns:
      An array of the shape of ``a``, or of one dimension if ``axis`` is not given. Its dtype is
      ``dtype`` if given, otherwise the dtype of ``a``; for booleans, the default integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> cumsum(array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """
    return _call("cumsum", _cumsum, a, axis, dtype, out)


def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Returns cumulative products along an axis: each element times all elements before it.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      dtype: the dtype of products and of the result.
      out: not supported.

    Returns:
      An array of the shape of ``a``, or of one dimension if ``axis`` is not given. Its dtype is
      ``dtype`` if given, otherwise the dtype of ``a``; for booleans, the default integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> cumprod(array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    return _call("cumprod", _cumprod, a, axis, dtype, out)


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Returns cumulative sums in which NaN counts as zero.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      dtype: the dtype of sums and of the result.
      out: not supported.

    Returns:
      An array of the shape of ``a``, or of one dimension if ``axis`` is not given. Its dtype is
      ``dtype`` if given, otherwise the dtype of ``a``; for booleans, the default integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> nancumsum(array([1.0, float("nan"), 3.0]))
      Array([1., 1., 4.], dtype=float32)
    """
    return _call("nancumsum", _nancumsum, a, axis, dtype, out)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Returns cumulative products in which NaN counts as one.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      dtype: the dtype of products and of the result.
      out: not supported.

    Returns:
      An array of the shape of ``a``, or of one dimension if ``axis`` is not given. Its dtype is
      ``dtype`` if given, otherwise the dtype of ``a``; for booleans, the default integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> nancumprod(array([2.0, float("nan"), 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    return _call("nancumprod", _nancumprod, a, axis, dtype, out)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Returns cumulative sums along an axis, as in the array API standard.

    Args:
      x: an array. If it has several dimensions, ``axis`` must be given.
      axis: the axis.
      dtype: the dtype of sums and of the result.
      include_initial: whether to begin with zero.

    Returns:
      An array of the shape of ``x``, one longer along the axis with ``include_initial``; narrow
      integers are widened to the default integer dtype.

    Example:
      >>> from olympus_numpy import array
      >>> cumulative_sum(array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _standard("cumulative_sum", _widened_cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Returns cumulative products along an axis.

    Args:
      x: an array. If it has several dimensions, ``axis`` must be given.
      axis: the axis.
      dtype: the dtype of products and of the result.
      include_initial: whether to begin with 1.

    Returns:
      An array of the shape of ``x``, one longer along the axis with ``include_initial``.

    Example:
      >>> from olympus_numpy import array
      >>> cumulative_prod(array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    return _standard("cumulative_prod", _cumprod, 1, x, axis, dtype, include_initial)


def _standard(
    name: str, fun: Any, start: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    check_arraylike(name, x)
    x = ensure_array(x)
    if x.ndim == 0:
        raise ValueError(f"The input must be non-scalar to take a {name.replace('_', ' ')}.")
    if axis is None:
        axis = 0
        if x.ndim > 1:
            raise ValueError(
                f"The input array has rank {x.ndim}, however axis was not set to an explicit "
                "value. The axis argument is only optional for one-dimensional arrays."
            )
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    axis = canonical_axis(axis, x.ndim)
    result = fun(x, axis, dtype)
    if include_initial:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        first = lax.full(shape, np.array(start, result.dtype))
        result = lax.concatenate([first, result], axis)
    return result


def cumulative_sum_of(a: Any, *, axis: int = 0, dtype: Any = None) -> Any:
    """Computes `cumsum`, for ``add.accumulate``."""
    return cumsum(a, axis, dtype)


def cumulative_product(a: Any, *, axis: int = 0, dtype: Any = None) -> Any:
    """Computes `cumprod`, for ``multiply.accumulate``."""
    return cumprod(a, axis, dtype)
