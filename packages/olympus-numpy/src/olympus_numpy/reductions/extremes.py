# SPDX-License-Identifier: Apache-2.0
"""Largest and smallest elements along axes, and their positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.wide_constants import allowed_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as choose_where
from ..core.axes import (
    canonical_axis,
    hashable_axes,
    hashable_axis,
    named_axes,
    refuse_out,
)
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .arguments import check_where, initial_value, keep_axes

__all__ = ["amax", "amin", "argmax", "argmin", "max", "min", "ptp"]


def _extreme(
    name: str,
    operation: Callable[[Any, tuple], Any],
    combine: Callable[[Any, Any], Any],
    lowest: bool,
    a: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    if dtypes.is_extended(a.dtype):
        raise TypeError(f"{name} takes numbers, which have an order; got {a.dtype}")
    check_where(name, where)
    axes, names = named_axes(axis, a.ndim)
    if where is not None and initial is None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one has "
            "to specify 'initial'"
        )
    if initial is None and math.prod(a.shape[axis] for axis in axes) == 0:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    a = convert(a, allowed_dtype(a.dtype))
    shape = a.shape
    if where is not None:
        a = choose_where(where, a, limit(a.dtype, lowest))
        shape = a.shape
    result = a if names and not axes else operation(a, axes)
    if names:
        result = lax.pmax(result, names) if lowest else lax.pmin(result, names)
    if initial is not None:
        result = combine(initial_value(name, initial, a.dtype), result)
    return keep_axes(result, shape, axes, keepdims)


def limit(dtype: Any, lowest: bool) -> np.ndarray:
    """Returns the lowest or highest value of a dtype: an infinity if the dtype has one."""
    if dtype == np.bool_:
        return np.array(not lowest)
    if dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        return np.array(info.min if lowest else info.max, dtype)
    if dtypes.issubdtype(dtype, np.complexfloating) or dtypes.supports_inf(dtype):
        return np.array(-np.inf if lowest else np.inf, dtype)
    info = dtypes.finfo(dtype)
    return np.array(info.min if lowest else info.max, dtype)


def _max_of(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    return _extreme("max", lax.reduce_max, lax.max, True, a, axis, keepdims, initial, where)


def _min_of(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    return _extreme("min", lax.reduce_min, lax.min, False, a, axis, keepdims, initial, where)


largest = compiled(_max_of, ("axis", "keepdims"), inline=True, name="_reduce_max")


smallest = compiled(_min_of, ("axis", "keepdims"), inline=True, name="_reduce_min")


def maximum_along(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Calls the compiled `max` with positional arguments."""
    return largest(a, hashable_axes("max", axis, names=True), keepdims, initial, where)


def minimum_along(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Calls the compiled `min` with positional arguments."""
    return smallest(a, hashable_axes("min", axis, names=True), keepdims, initial, where)


def max(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the largest element along axes; NaN if one is NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default. Names are those of axes of `vmap` or of a mesh.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a lower bound of the result.
      where: a boolean mask of the elements to include; needs ``initial``.

    Returns:
      An array of the dtype of ``a`` without the axes, or with axes of size one.

    Raises:
      ValueError: if there are no elements and no ``initial``.

    Example:
      >>> from olympus_numpy import array
      >>> max(array([[1, 5], [3, 4]]), axis=1)
      Array([5, 4], dtype=int32)
    """
    if out is not None:
        refuse_out("max")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("max", axis, names=True)
    return largest(a, axis, keepdims, initial, where)


def min(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the smallest element along axes; NaN if one is NaN.

    Args:
      a: an array.
      axis: the axis or axes; all by default. Names are those of axes of `vmap` or of a mesh.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: an upper bound of the result.
      where: a boolean mask of the elements to include; needs ``initial``.

    Returns:
      An array of the dtype of ``a`` without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> min(array([[1, 5], [3, 4]]), axis=1)
      Array([1, 3], dtype=int32)
    """
    if out is not None:
        refuse_out("min")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("min", axis, names=True)
    return smallest(a, axis, keepdims, initial, where)


amax = max


amin = min


def _range_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return lax.sub(largest(a, axis, keepdims), smallest(a, axis, keepdims))


_ptp = compiled(_range_of, ("axis", "keepdims"), name="_ptp")


def ptp(
    a: ArrayLike, axis: int | Sequence[int] | None = None, out: None = None, keepdims: bool = False
) -> Array:
    """Returns the difference of the largest and the smallest element along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      out: not supported.
      keepdims: whether the axes are kept with size one.

    Returns:
      An array of the dtype of ``a`` without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> ptp(array([3, 1, 8]))
      Array(7, dtype=int32)
    """
    if out is not None:
        refuse_out("ptp")
    check_arraylike("ptp", a)
    return _ptp(a, hashable_axes("ptp", axis, names=True), keepdims)


def _position(
    name: str, operation: Callable[..., Any], a: Any, axis: int | None, keepdims: bool
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    shape = a.shape
    if axis is None:
        a = lax.reshape(a, (math.prod(shape),))
        axes, reduced_axis = tuple(range(len(shape))), 0
    else:
        reduced_axis = canonical_axis(axis, a.ndim)
        axes = (reduced_axis,)
    if a.shape[reduced_axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = operation(a, reduced_axis, dtypes.default_int_dtype())
    return keep_axes(result, shape, axes, keepdims)


def _argmax_of(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmax", lax.argmax, a, axis, keepdims)


def _argmin_of(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmin", lax.argmin, a, axis, keepdims)


_argmax = compiled(_argmax_of, ("axis", "keepdims"), inline=True, name="_argmax")


_argmin = compiled(_argmin_of, ("axis", "keepdims"), inline=True, name="_argmin")


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first largest element along an axis; NaN counts as the largest.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      out: not supported.
      keepdims: whether the axis is kept with size one.

    Returns:
      An integer array without the axis, or with an axis of size one; without dimensions if
      ``axis`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> argmax(array([[1, 5], [6, 4]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    if out is not None:
        refuse_out("argmax")
    if axis is not None:
        axis = hashable_axis("argmax", axis)
    return _argmax(a, axis, bool(keepdims))


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first smallest element along an axis; NaN counts as the smallest.

    Args:
      a: an array.
      axis: the axis; by default, the array is flattened.
      out: not supported.
      keepdims: whether the axis is kept with size one.

    Returns:
      An integer array without the axis, or with an axis of size one; without dimensions if
      ``axis`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> argmin(array([[1, 5], [6, 4]]), axis=1)
      Array([0, 1], dtype=int32)
    """
    if out is not None:
        refuse_out("argmin")
    if axis is not None:
        axis = hashable_axis("argmin", axis)
    return _argmin(a, axis, bool(keepdims))
