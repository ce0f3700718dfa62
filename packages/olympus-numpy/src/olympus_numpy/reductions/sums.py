# SPDX-License-Identifier: Apache-2.0
"""Sums and products along axes.

Sums and products of float16, bfloat16 and float8_e8m0fnu are computed in float32. Narrow integers
are widened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as choose_where
from ..core.axes import (
    hashable_axes,
    named_axes,
    refuse_out,
    requested_dtype,
)
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .arguments import (
    check_where,
    initial_value,
    keep_axes,
    scale_dtype,
    summed_in_float32,
    widened_dtype,
)

__all__ = ["prod", "sum"]

_bool = np.dtype(bool)
_float32 = np.dtype(np.float32)


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
    """Computes a sum or product along axes."""
    check_arraylike(name, a)
    a = ensure_array(a)
    check_where(name, where)
    axes, names = named_axes(axis, a.ndim)
    if dtype is None:
        result_dtype = widened_dtype(a.dtype, promote_integers)
        computed = _float32 if result_dtype in summed_in_float32 else result_dtype
    else:
        result_dtype = dtype
        computed = _float32 if dtype == scale_dtype else dtype
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
        sums = identity == 0
        operation = lax.reduce_or if sums else lax.reduce_and
        combine = lax.bitwise_or if sums else lax.bitwise_and
    result = a if names and not axes else operation(a, axes)
    if names:
        result = lax.psum(result, names)
    if initial is not None:
        result = combine(initial_value(name, initial, computed), result)
    return convert(keep_axes(result, shape, axes, keepdims), result_dtype)


def sum_along(
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool = True,
) -> Any:
    """Calls the compiled `sum` with positional arguments, for the methods of ufuncs."""
    return summed(
        a, hashable_axes("sum", axis, names=True), dtype, keepdims, initial, where, promote_integers
    )


def product_along(
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool = True,
) -> Any:
    """Calls the compiled `prod` with positional arguments, for the methods of ufuncs."""
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
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Returns the sum of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default. Names are those of axes of `vmap` or of a mesh.
      dtype: the dtype of sums and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a number to add.
      where: a boolean mask of the elements to include.
      promote_integers: whether integers narrower than the default integer are widened.

    Returns:
      An array without the axes, or with axes of size one if ``keepdims``. Its dtype is ``dtype`` if
      given, otherwise the dtype of ``a``, with booleans and narrow integers widened to the default
      integer dtype if ``promote_integers``.

    Example:
      >>> from olympus_numpy import array
      >>> sum(array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
    """
    if out is not None:
        refuse_out("sum")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("sum", axis, names=True)
    if dtype is not None:
        dtype = requested_dtype("sum", dtype)
    return summed(a, axis, dtype, keepdims, initial, where, promote_integers)


def prod(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Returns the product of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the dtype of products and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      initial: a factor of the product.
      where: a boolean mask of the elements to include.
      promote_integers: whether integers narrower than the default integer are widened.

    Returns:
      An array without the axes, or with axes of size one if ``keepdims``. Its dtype is ``dtype`` if
      given, otherwise the dtype of ``a``, with booleans and narrow integers widened to the default
      integer dtype if ``promote_integers``.

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


# ---- positions of extremes ----
