# SPDX-License-Identifier: Apache-2.0
"""Means, variances and standard deviations along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.wide_constants import allowed_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where as choose_where
from ..core.axes import canonical_axes, hashable_axes, named_axes, refuse_out, requested_dtype
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes_inexact, spread
from .arguments import summed_in_float32
from .sums import sum_of

__all__ = ["average", "mean", "std", "var"]


def _computation_dtype(dtype: Any) -> Any:
    """Returns the dtype in which means are computed: inexact, and wider than 16 bits."""
    dtype = allowed_dtype(dtypes.to_inexact_dtype(dtype))
    return np.dtype(np.float32) if dtype in summed_in_float32 else dtype


def _elements(shape: tuple, axis: Any, where: Any, dtype: Any, keepdims: bool) -> Any:
    """Returns the number of reduced elements, or of the elements where the mask is true."""
    if where is None:
        axes, names = named_axes(axis, len(shape))
        size = math.prod(shape[dim] for dim in axes)
        return lax.size_array(size * (lax.axis_size(names) if names else 1), dtype)
    mask = spread(ensure_array(where), lax.broadcast_shapes(np.shape(where), shape))
    return sum_of(convert(mask, dtypes.default_int_dtype()), axis, dtype, keepdims)


def mean_of(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = None
) -> Any:
    check_arraylike("mean", a)
    a = ensure_array(a)
    if dtype is None:
        result_dtype = allowed_dtype(dtypes.to_inexact_dtype(a.dtype))
        computed = _computation_dtype(a.dtype)
    else:
        result_dtype = dtype
        computed = np.dtype(np.float32) if result_dtype in summed_in_float32 else result_dtype
    count = _elements(a.shape, axis, where, computed, keepdims)
    if a.dtype == np.bool_:
        a = convert(a, dtypes.default_int_dtype())
    total = sum_of(a, axis, computed, keepdims, None, where)
    return convert(lax.div(total, count), result_dtype)


averaged = compiled(mean_of, ("axis", "dtype", "keepdims"), inline=True, name="_mean")


def mean(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Returns the mean of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default. Names are those of axes of `vmap` or of a mesh.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.

    Returns:
      An array of a floating or complex dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> mean(array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    if out is not None:
        refuse_out("mean")
    if axis is not None and axis.__class__ is not int:
        axis = hashable_axes("mean", axis, names=True)
    if dtype is not None:
        dtype = requested_dtype("mean", dtype)
    return averaged(a, axis, dtype, keepdims, where)


def _variance_of(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    check_arraylike("var", a)
    a = ensure_array(a)
    computed, result_dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if mean is None:
        mean = mean_of(a, axis, computed, True, where)
    mean = convert(ensure_array(mean), computed)
    centered = lax.sub(a, spread(mean, padded_shape(np.shape(mean), a.ndim)))
    if dtypes.issubdtype(computed, np.complexfloating):
        centered = lax.real(lax.mul(centered, lax.conj(centered)))
    else:
        centered = lax.square(centered)
    real_dtype = centered.dtype
    count = _elements(a.shape, axis, where, real_dtype, keepdims)
    degrees = lax.sub(count, convert(correction, real_dtype))
    total = sum_of(centered, axis, real_dtype, keepdims, None, where)
    result = lax.div(total, degrees)
    result = convert(result, result_dtype)
    return choose_where(lax.gt(degrees, np.zeros((), real_dtype)), result, np.nan)


def padded_shape(shape: tuple, ndim: int) -> tuple:
    return (1,) * (ndim - len(shape)) + tuple(shape)


def variance_dtypes(dtype: Any, requested: Any) -> tuple[Any, Any]:
    """Returns the dtypes of the computation and of the result of a variance.

    Args:
      dtype: the dtype of the array; a complex array has a real variance by default.
      requested: the dtype that the caller asks for, or None.
    """
    if requested is None:
        computed = _computation_dtype(dtype)
        result = dtypes.to_floating_dtype(dtype)
        return computed, result
    if dtypes.issubdtype(dtype, np.complexfloating) and not dtypes.issubdtype(
        requested, np.complexfloating
    ):
        raise ValueError(
            "olympus.numpy.var does not yet support real dtype parameters when computing the "
            "variance of an array of complex values."
        )
    if requested.kind in "biu":  # The condition is false for narrow dtypes such as int4.
        return requested, requested
    computed = _computation_dtype(requested)
    if dtypes.issubdtype(requested, np.inexact):
        return computed, requested
    return computed, dtypes.to_floating_dtype(requested)


_var = compiled(_variance_of, ("axis", "dtype", "keepdims"), name="_var")


def _deviation_of(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    check_arraylike("std", a)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"dtype argument to olympus.numpy.std must be inexact; got {dtype}")
    return lax.sqrt(_var(a, axis, dtype, correction, keepdims, where, mean))


_std = compiled(_deviation_of, ("axis", "dtype", "keepdims"), name="_std")


def combined_correction(name: str, ddof: Any, correction: Any) -> Any:
    """Returns ``ddof`` or ``correction``, the number that is subtracted from the count."""
    if correction is None:
        return ddof
    if isinstance(ddof, int) and ddof == 0:
        return correction
    raise ValueError(f"{name}: ddof and correction can't be provided simultaneously.")


def var(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """Returns the variance of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      ddof: number subtracted from the number of elements in the divisor.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.
      mean: the mean with the axes kept, if it is known.
      correction: another name of ``ddof``.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> var(array([1.0, 2.0, 3.0, 4.0]))
      Array(1.25, dtype=float32)
    """
    if out is not None:
        refuse_out("var")
    correction = combined_correction("var", ddof, correction)
    if dtype is not None:
        dtype = requested_dtype("var", dtype)
    return _var(a, hashable_axes("var", axis, names=True), dtype, correction, keepdims, where, mean)


def std(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """Returns the standard deviation of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      dtype: the floating dtype of the computation and of the result.
      out: not supported.
      ddof: number subtracted from the number of elements in the divisor.
      keepdims: whether the axes are kept with size one.
      where: a boolean mask of the elements to include.
      mean: the mean with the axes kept, if it is known.
      correction: another name of ``ddof``.

    Returns:
      An array of a floating dtype without the axes, or with axes of size one.

    Example:
      >>> from olympus_numpy import array
      >>> std(array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    if out is not None:
        refuse_out("std")
    correction = combined_correction("std", ddof, correction)
    if dtype is not None:
        dtype = requested_dtype("std", dtype)
    return _std(a, hashable_axes("std", axis, names=True), dtype, correction, keepdims, where, mean)


def _average_of(a: Any, axis: Any, weights: Any, returned: bool, keepdims: bool) -> Any:
    check_arraylike("average", a)
    if weights is None:
        a = ensure_array(a)
        average = mean_of(a, axis, None, keepdims)
        axes = canonical_axes(axis, a.ndim)
        count = math.prod(a.shape[dim] for dim in axes)
        total = lax.size_array(count, average.dtype)
    else:
        check_arraylike("average", weights)
        a, weights = promote_dtypes_inexact(ensure_array(a), ensure_array(weights))
        weights = _aligned_weights(a.shape, weights, axis)
        axes = canonical_axes(axis, a.ndim)
        total = sum_of(weights, axes, None, keepdims)
        average = lax.div(*_same_rank(sum_of(lax.mul(a, weights), axes, None, keepdims), total))
    if not returned:
        return average
    if weights is None:
        return average, lax.full(average.shape, total)
    return average, spread(total, average.shape)


def _same_rank(x: Any, y: Any) -> tuple[Any, Any]:
    return x, spread(y, padded_shape(y.shape, x.ndim)) if y.ndim else y


def _aligned_weights(shape: tuple, weights: Any, axis: Any) -> Any:
    """Reshapes weights to the array's rank, with size one along axes that they lack."""
    if weights.shape == shape:
        return weights
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    axes = canonical_axes(axis, len(shape))
    if weights.shape != tuple(shape[dim] for dim in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = sorted(range(len(axes)), key=lambda position: axes[position])
    weights = lax.transpose(weights, tuple(order))
    return lax.reshape(weights, tuple(size if dim in axes else 1 for dim, size in enumerate(shape)))


_average = compiled(_average_of, ("axis", "returned", "keepdims"), inline=True, name="_average")


@overload
def average(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
@overload
def average(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any: ...
def average(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Returns the weighted mean of the elements along axes.

    Args:
      a: an array.
      axis: the axis or axes; all by default.
      weights: the weights. Their shape is that of ``a``, or has only the sizes of ``a`` along the
        axes.
      returned: whether to return a pair with the sum of the weights.
      keepdims: whether the axes are kept with size one.

    Returns:
      An array of a floating or complex dtype without the axes; with ``returned``, a tuple of the
      array and the sum of the weights.

    Example:
      >>> from olympus_numpy import array
      >>> average(array([1.0, 4.0]), weights=array([3.0, 1.0]))
      Array(1.75, dtype=float32)
    """
    return _average(a, hashable_axes("average", axis), weights, returned, keepdims)
