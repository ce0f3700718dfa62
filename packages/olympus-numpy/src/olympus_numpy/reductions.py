# SPDX-License-Identifier: Apache-2.0
"""Reductions: sums, products, extremes and truth values along axes.

Sums and products of float16 and bfloat16 are computed in float32. Narrow integers are widened.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from .axes import (
    canonical_axes,
    canonical_axis,
    hashable_axes,
    hashable_axis,
    refuse_out,
    requested_dtype,
)
from .compilation import compiled
from .promotion import check_arraylike, convert, ensure_array
from .selection import where as choose_where

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "ptp",
    "sum",
]

_bool = np.dtype(bool)
_float32 = np.dtype(np.float32)
_half_floats = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16)})

# ---- what reductions share ----


def _keep(result: Any, shape: tuple, axes: tuple, keepdims: bool) -> Any:
    """The result of a reduction with the reduced axes kept as axes of size one, if asked for."""
    if not keepdims:
        return result
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    if kept == result.shape:
        return result
    remaining = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return lax.broadcast_in_dim(result, kept, remaining)


def widened_dtype(dtype: Any, promote_integers: bool) -> Any:
    """The dtype in which elements of a dtype are added up."""
    if dtype is _bool:
        return dtypes.default_int_dtype()
    if promote_integers and dtypes.issubdtype(dtype, np.integer):
        default = dtypes.default_int_dtype()
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            default = dtypes.default_uint_dtype()
        return default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype
    return dtype


def _additive(
    name: str,
    operation: Callable[[Any, tuple], Any],
    combine: Callable[[Any, Any], Any],
    identity: int,
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    """A sum or product."""
    check_arraylike(name, a)
    a = ensure_array(a)
    _check_where(name, where)
    axes = canonical_axes(axis, a.ndim)
    if dtype is None:
        result_dtype = widened_dtype(a.dtype, promote_integers)
        computed = _float32 if result_dtype in _half_floats else result_dtype
    else:
        result_dtype = computed = dtype
    shape = a.shape
    if dtypes.issubdtype(a.dtype, np.complexfloating) and not dtypes.issubdtype(
        computed, np.complexfloating
    ):
        a = lax.real(a) if computed is not _bool else a
    a = convert(a, computed)
    if where is not None:
        a = choose_where(where, a, np.array(identity, computed))
        shape = a.shape
    if computed is _bool:
        result = (lax.reduce_or if identity == 0 else lax.reduce_and)(a, axes)
    else:
        result = operation(a, axes)
    if initial is not None:
        _check_initial(name, initial)
        initial = convert(initial, computed)
        result = combine(initial, result)
    return convert(_keep(result, shape, axes, keepdims), result_dtype)


def _check_where(name: str, where: Any) -> None:
    if where is None:
        return
    check_arraylike(name, where)
    dtype = ensure_array(where).dtype
    if dtype != np.bool_:
        raise ValueError(
            f"{name}: the `where` mask must be boolean, got dtype {dtype}; compare with zero first"
        )


def _check_initial(name: str, initial: Any) -> None:
    check_arraylike(name, initial)
    if np.shape(initial):
        raise ValueError(
            f"{name}: `initial` must be a scalar, got an array of shape {np.shape(initial)}"
        )


def sum_along(
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool = True,
) -> Any:
    """`sum`, compiled."""
    return summed(a, hashable_axes("sum", axis), dtype, keepdims, initial, where, promote_integers)


def product_along(
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool = True,
) -> Any:
    """`prod`, compiled."""
    return _prod(a, hashable_axes("prod", axis), dtype, keepdims, initial, where, promote_integers)


# ---- sums and products ----


def sum_of(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    options = (a, axis, dtype, keepdims, initial, where, promote_integers)
    return _additive("sum", lax.reduce_sum, lax.add, 0, *options)


def _product_of(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    options = (a, axis, dtype, keepdims, initial, where, promote_integers)
    return _additive("prod", lax.reduce_prod, lax.mul, 1, *options)


_REDUCTION = ("axis", "dtype", "keepdims", "promote_integers")
summed = compiled(sum_of, _REDUCTION, inline=True, name="_reduce_sum")
_prod = compiled(_product_of, _REDUCTION, inline=True, name="_reduce_prod")


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    """Returns the sum of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all where not given.
      dtype: the dtype to add up in.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a number to add.
      where: which elements take part.
      promote_integers: whether integers narrower than the default are widened to it.

    Example:
      >>> from olympus_numpy import array
      >>> sum(array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
    """
    if out is not None:
        refuse_out("sum")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("sum", axis)
    if dtype is not None:
        dtype = requested_dtype("sum", dtype)
    return summed(a, axis, dtype, keepdims, initial, where, promote_integers)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    """Returns the product of the elements along axes; see `sum` for the arguments.

    Example:
      >>> from olympus_numpy import array
      >>> prod(array([[1, 2], [3, 4]]), axis=1)
      Array([ 2, 12], dtype=int32)
    """
    if out is not None:
        refuse_out("prod")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("prod", axis)
    if dtype is not None:
        dtype = requested_dtype("prod", dtype)
    return _prod(a, axis, dtype, keepdims, initial, where, promote_integers)


# ---- extremes ----


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
    _check_where(name, where)
    axes = canonical_axes(axis, a.ndim)
    if where is not None and initial is None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one has "
            "to specify 'initial'"
        )
    if initial is None and math.prod(a.shape[axis] for axis in axes) == 0:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    a = convert(a, a.dtype)
    shape = a.shape
    if where is not None:
        a = choose_where(where, a, limit(a.dtype, lowest))
        shape = a.shape
    result = operation(a, axes)
    if initial is not None:
        _check_initial(name, initial)
        initial = convert(initial, a.dtype)
        result = combine(initial, result)
    return _keep(result, shape, axes, keepdims)


def limit(dtype: Any, lowest: bool) -> np.ndarray:
    """The lowest or highest value of a dtype, infinite where it can be."""
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
    """`max`, compiled."""
    return largest(a, hashable_axes("max", axis), keepdims, initial, where)


def minimum_along(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """`min`, compiled."""
    return smallest(a, hashable_axes("min", axis), keepdims, initial, where)


def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """Returns the largest element along axes; NaN where one is.

    Args:
      a: an array.
      axis: the axis or axes; all where not given.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a number that the result is not below.
      where: which elements take part; needs ``initial``.

    Raises:
      ValueError: where there are no elements and no ``initial``.

    Example:
      >>> from olympus_numpy import array
      >>> max(array([[1, 5], [3, 4]]), axis=1)
      Array([5, 4], dtype=int32)
    """
    if out is not None:
        refuse_out("max")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("max", axis)
    return largest(a, axis, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """Returns the smallest element along axes; NaN where one is; see `max` for the arguments.

    Example:
      >>> from olympus_numpy import array
      >>> min(array([[1, 5], [3, 4]]), axis=1)
      Array([1, 3], dtype=int32)
    """
    if out is not None:
        refuse_out("min")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("min", axis)
    return smallest(a, axis, keepdims, initial, where)


amax = max
amin = min


def _range_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return lax.sub(largest(a, axis, keepdims), smallest(a, axis, keepdims))


_ptp = compiled(_range_of, ("axis", "keepdims"), name="_ptp")


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Array:
    """Returns the difference of the largest and the smallest element along axes.

    Args:
      a: an array.
      axis: the axis or axes; all where not given.
      out: not supported.
      keepdims: whether the axes are kept with size one.

    Example:
      >>> from olympus_numpy import array
      >>> ptp(array([3, 1, 8]))
      Array(7, dtype=int32)
    """
    if out is not None:
        refuse_out("ptp")
    check_arraylike("ptp", a)
    return _ptp(a, hashable_axes("ptp", axis), keepdims)


# ---- truth ----


def _truth(
    name: str,
    operation: Callable[[Any, tuple], Any],
    identity: bool,
    a: Any,
    axis: Any,
    keepdims: bool,
    where: Any,
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    _check_where(name, where)
    axes = canonical_axes(axis, a.ndim)
    a = convert(a, _bool)
    shape = a.shape
    if where is not None:
        a = choose_where(where, a, np.array(identity))
        shape = a.shape
    return _keep(operation(a, axes), shape, axes, keepdims)


def _all_of(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _truth("all", lax.reduce_and, True, a, axis, keepdims, where)


def _any_of(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    return _truth("any", lax.reduce_or, False, a, axis, keepdims, where)


_all = compiled(_all_of, ("axis", "keepdims"), inline=True, name="_reduce_all")
_any = compiled(_any_of, ("axis", "keepdims"), inline=True, name="_reduce_any")


def all_along(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """`all`, compiled."""
    return _all(a, hashable_axes("all", axis), keepdims, where)


def any_along(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """`any`, compiled."""
    return _any(a, hashable_axes("any", axis), keepdims, where)


def all(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Array:
    """Returns whether all elements along axes are true, or not zero.

    Args:
      a: an array.
      axis: the axis or axes; all where not given.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      where: which elements take part.

    Example:
      >>> from olympus_numpy import array
      >>> all(array([[1, 0], [2, 3]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    if out is not None:
        refuse_out("all")
    return _all(a, hashable_axes("all", axis), keepdims, where)


def any(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Array:
    """Returns whether some element along axes is true, or not zero; see `all` for the arguments.

    Example:
      >>> from olympus_numpy import array
      >>> any(array([[0, 0], [2, 0]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    if out is not None:
        refuse_out("any")
    return _any(a, hashable_axes("any", axis), keepdims, where)


# ---- positions of extremes ----


def _position(
    name: str, operation: Callable[..., Any], a: Any, axis: int | None, keepdims: bool
) -> Any:
    check_arraylike(name, a)
    a = ensure_array(a)
    shape = a.shape
    if axis is None:
        a = lax.reshape(a, (math.prod(shape),))
        axes, kept = tuple(range(len(shape))), 0
    else:
        kept = canonical_axis(axis, a.ndim)
        axes = (kept,)
    if a.shape[kept] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = operation(a, kept, dtypes.default_int_dtype())
    return _keep(result, shape, axes, keepdims)


def _argmax_of(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmax", lax.argmax, a, axis, keepdims)


def _argmin_of(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _position("argmin", lax.argmin, a, axis, keepdims)


_argmax = compiled(_argmax_of, ("axis", "keepdims"), inline=True, name="_argmax")
_argmin = compiled(_argmin_of, ("axis", "keepdims"), inline=True, name="_argmin")


def argmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the largest element along an axis: the first of several, or of NaNs.

    Args:
      a: an array.
      axis: the axis; where not given, the index is that in the flat array.
      out: not supported.
      keepdims: whether the axis is kept with size one.

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
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the smallest element along an axis; see `argmax` for the arguments.

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


def _number_of_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    check_arraylike("count_nonzero", a)
    a = ensure_array(a)
    return summed(lax.ne(a, np.zeros((), a.dtype)), axis, None, keepdims)


_count_nonzero = compiled(_number_of_nonzero, ("axis", "keepdims"), name="count_nonzero")


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Returns how many elements along axes are not zero.

    Args:
      a: an array.
      axis: the axis or axes; all where not given.
      keepdims: whether the axes are kept with size one.

    Example:
      >>> from olympus_numpy import array
      >>> count_nonzero(array([3, 0, 1]))
      Array(2, dtype=int32)
    """
    return _count_nonzero(a, hashable_axes("count_nonzero", axis), keepdims)
