# SPDX-License-Identifier: Apache-2.0
"""Indices of the elements that are not zero."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import Tracer, concrete_or_error, current
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, promote_dtypes
from .creation import asarray
from .shaping import atleast_1d, ravel

if TYPE_CHECKING:
    from olympus_ir.padding import counting
else:
    counting = deferred("olympus_ir.padding.counting", milliseconds=20.0)

__all__ = ["argwhere", "flatnonzero", "nonzero"]


def nonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike | None, ...] | None = None,
) -> tuple[Array, ...]:
    """Returns the indices of elements that are not zero, one array for each dimension.

    Args:
      a: an array of at least one dimension.
      size: the number of indices to return. If it is given, the array may be traced.
      fill_value: the index that fills up the result if there are fewer nonzero elements: a scalar
        for all dimensions, or a tuple of one scalar for each; zero by default.

    Returns:
      A tuple with an integer array of one dimension for each dimension of ``a``; their length is
      ``size`` if given, and else the number of nonzero elements.

    Raises:
      ValueError: if ``a`` has no dimensions, or if ``fill_value`` is neither a scalar nor a tuple
        of one scalar for each dimension.
      ConcretizationTypeError: if ``a`` is traced and ``size`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> nonzero(array([0, 3, 0, 5]))
      (Array([1, 3], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    a = ensure_array(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar)"
            ".nonzero() instead."
        )
    fill_values: Any = fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
    if len(fill_values) != a.ndim or any(np.ndim(fill) for fill in fill_values):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {a.ndim}; got {fill_value!r}"
        )
    index_dtype = dtypes.default_int_dtype()
    if size is None and counts_size_of(a):
        return _counted(a)
    if size is None:
        known = concrete_or_error(
            np.asarray,
            a,
            "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero "
            f"within {naming.library} transformations.",
        )
        return tuple(asarray(positions.astype(index_dtype)) for positions in np.nonzero(known))
    size = concrete_or_error(operator.index, size, "The size argument of jnp.nonzero.")
    fills = tuple(0 if fill is None else fill for fill in fill_values)
    return tuple(_nonzero(a, fills, size))


def counts_size_of(a: Any) -> bool:
    """Returns whether a size that depends on elements of ``a`` becomes a symbolic dimension."""
    return current.counts_sizes and isinstance(a, Tracer) and a.concrete_or_none() is None


def _counted(a: Any) -> tuple[Array, ...]:
    """Returns the indices of nonzero elements; their number is a new symbolic dimension."""
    index_dtype = dtypes.default_int_dtype()
    mask = ravel(a)
    if mask.dtype != np.bool_:
        mask = lax.ne(mask, np.zeros((), mask.dtype))
    number = convert(counting.positions_of_true(mask), index_dtype)
    positions: list[Array] = []
    for size in reversed(a.shape[1:]):
        divisor = lax.broadcast(lax.size_array(size, index_dtype), number.shape)
        positions.insert(0, lax.rem(number, divisor))
        number = lax.div(number, divisor)
    return (number, *positions)


def _nonzero_of_size(a: Any, fills: Any, size: int) -> Any:
    """Returns the indices of the first ``size`` nonzero elements, filled up with ``fills``.

    The k-th nonzero element is at the first position where the cumulative count exceeds k.
    """
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
    # Scatter-add ones at the counts below `size`. Their cumulative sum gives the position of each
    # nonzero element.
    steps = (
        lax.full((size,), np.zeros((), index_dtype))
        .at[counts]
        .add(np.ones((), index_dtype), mode="drop", wrap_negative_indices=False)
    )
    positions = lax.cumsum(steps, 0)
    total = lax.index_in_dim(counts, mask.shape[0] - 1, 0, keepdims=False)
    is_found = lax.lt(lax.iota(index_dtype, size), total)
    results = []
    stride = math.prod(shape)
    for axis, (length, fill) in enumerate(zip(shape, fills, strict=True)):
        stride //= length
        index = positions
        if axis < len(shape) - 1:
            index = lax.div(index, lax.size_array(stride, index_dtype))
        if axis:  # along the first axis, only positions that are not found are too large
            index = lax.rem(index, lax.size_array(length, index_dtype))
        index, fill = promote_dtypes(index, _filling(fill, index_dtype))
        results.append(lax.select(is_found, index, lax.broadcast_in_dim(fill, (size,), ())))
    return results


def _filling(fill: Any, index_dtype: Any) -> Array:
    """Converts a fill value to the indices' dtype, unless it is a floating or complex number."""
    fill = ensure_array(fill)
    return fill if dtypes.issubdtype(fill.dtype, np.inexact) else convert(fill, index_dtype)


_nonzero = compiled(_nonzero_of_size, ("size",), inline=True, name="nonzero")


def flatnonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike | None, ...] | None = None,
) -> Array:
    """Returns the indices, in the flat array, of elements that are not zero.

    Args:
      a: an array of at least one dimension.
      size: the number of indices to return. If it is given, the array may be traced.
      fill_value: the index that fills up the result if there are fewer nonzero elements: a scalar,
        or a tuple of one scalar; zero by default.

    Returns:
      An integer array of one dimension.

    Example:
      >>> from olympus_numpy import array
      >>> flatnonzero(array([[0, 3], [4, 0]]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike | None, ...] | None = None,
) -> Array:
    """Returns the indices of elements that are not zero, as rows of a matrix.

    Args:
      a: an array of at least one dimension.
      size: the number of indices to return. If it is given, the array may be traced.
      fill_value: the index that fills up the result if there are fewer nonzero elements: a scalar
        for all dimensions, or a tuple of one scalar for each; zero by default.

    Returns:
      An integer array of shape ``(number of nonzero elements, a.ndim)``; the first size is ``size``
      if given. It has floating elements if ``fill_value`` has.

    Example:
      >>> from olympus_numpy import array
      >>> argwhere(array([[0, 3], [4, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    check_arraylike("argwhere", a)
    a = ensure_array(a)
    positions = promote_dtypes(*nonzero(atleast_1d(a), size=size, fill_value=fill_value))
    stacked = lax.concatenate([lax.expand_dims(position, (1,)) for position in positions], 1)
    return lax.slice_in_dim(stacked, 0, 0, axis=1) if a.ndim == 0 else stacked
