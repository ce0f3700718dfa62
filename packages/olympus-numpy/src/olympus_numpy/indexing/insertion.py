# SPDX-License-Identifier: Apache-2.0
"""Slices inserted into arrays and deleted from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import OutOfBoundsError
from olympus_ir.programs.tracing import Tracer, concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..arrays.selection import clip
from ..arrays.shaping import ravel
from ..core.axes import canonical_axis
from ..core.promotion import broadcast_shapes, check_arraylike, convert, ensure_array, spread
from .taking import wrapped

__all__ = ["delete", "insert"]

_int32 = np.dtype(np.int32)


def delete(
    arr: ArrayLike, obj: ArrayLike, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """Returns an array without some slices along an axis.

    Args:
      arr: an array.
      obj: the slices to delete: an integer, a slice, or an array of integers or booleans. A single
        integer may be traced. Several integers may be traced with ``assume_unique_indices``.
      axis: the axis; by default, the array is flattened.
      assume_unique_indices: a promise that no index occurs twice.

    Returns:
      An array of the dtype of ``arr``, smaller along the axis.

    Raises:
      IndexError: if an index is out of range or not an integer.
      ValueError: if a boolean ``obj`` does not have one element for each slice.
      ConcretizationTypeError: if several indices are traced without ``assume_unique_indices``.

    Example:
      >>> from olympus_numpy import array
      >>> delete(array([1, 2, 3]), 1)
      Array([1, 3], dtype=int32)
    """
    check_arraylike("delete", arr)
    arr = ensure_array(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim)
    size = arr.shape[axis]
    if isinstance(obj, slice):
        remaining = np.delete(np.arange(size), obj)
        return arr[(slice(None),) * axis + (remaining,)]
    check_arraylike("delete", arr, obj)
    is_array = isinstance(obj, np.ndarray | Array)
    obj = ensure_array(obj)
    if obj.dtype == np.bool_:
        mask = concrete_or_error(np.asarray, obj, "'obj' array argument of jnp.delete()")
        if mask.shape != (size,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional "
                "with length matching specified axis."
            )
        return arr[(slice(None),) * axis + (~mask,)]
    if not dtypes.issubdtype(obj.dtype, np.integer) and (obj.size or is_array):
        raise OutOfBoundsError(
            f"delete: obj.dtype={obj.dtype}; must be integer or bool. Indices must be integers."
        )
    place = obj.concrete_or_none() if isinstance(obj, Tracer) else obj
    if obj.ndim == 0 and place is not None and not -size <= int(place) < size:
        raise OutOfBoundsError(
            f"index {int(place)} is out of bounds for axis {axis} with size {size}"
        )
    if obj.ndim == 0 or assume_unique_indices:
        return _delete_traced(arr, wrapped(convert(ravel(obj), _int32), size), axis)
    positions = concrete_or_error(
        np.asarray,
        obj,
        "'obj' array argument of jnp.delete(). Consider passing assume_unique_indices=True.",
    )
    remaining = np.delete(
        np.arange(size), positions.astype(np.int64) if not positions.size else positions
    )
    return arr[(slice(None),) * axis + (remaining,)]


def _delete_traced(arr: Any, positions: Any, axis: int) -> Any:
    """Deletes slices at traced positions.

    Each kept slice moves down by the number of slices deleted before it.
    """
    size, count = arr.shape[axis], positions.shape[0]
    positions = lax.sort(clip(positions, 0, size))
    before = lax.sub(positions, lax.iota(_int32, count))
    remaining = lax.iota(_int32, size - count)
    passed = lax.ge(lax.expand_dims(remaining, (1,)), lax.expand_dims(before, (0,)))
    source = lax.add(remaining, lax.reduce_sum(convert(passed, _int32), (1,)))
    return arr[(slice(None),) * axis + (source,)]


def insert(arr: ArrayLike, obj: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Returns an array with slices inserted along an axis.

    Args:
      arr: an array.
      obj: the positions before which to insert: an integer, a slice or integers. Integers may be
        traced.
      values: the inserted values, broadcast.
      axis: the axis; by default, the array is flattened.

    Returns:
      An array of the dtype of ``arr``, larger along the axis.

    Raises:
      ValueError: if ``obj`` has more than one dimension, or its elements are not integers.

    Example:
      >>> from olympus_numpy import array
      >>> insert(array([1, 3]), 1, 2)
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim)
    size = arr.shape[axis]
    values = convert(ensure_array(values), arr.dtype)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(size))
    positions = ensure_array(obj)
    if not dtypes.issubdtype(positions.dtype, np.integer) and positions.size:
        raise ValueError(f"insert(): obj must be integers, got dtype {positions.dtype}.")
    if positions.ndim > 1:
        raise ValueError("insert(): obj must be a slice, a one-dimensional array, or a scalar.")
    if values.ndim == 0:
        values = lax.expand_dims(values, tuple(range(arr.ndim)))
    values = lax.expand_dims(values, tuple(range(arr.ndim - values.ndim)))
    if positions.ndim == 0:
        # The first dimension of the values is the inserted dimension.
        order = list(range(1, arr.ndim))
        order.insert(axis, 0)
        values = lax.transpose(values, tuple(order))
    positions = wrapped(convert(ravel(positions), _int32), size)
    count = max(positions.shape[0], values.shape[axis])
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = spread(values, broadcast_shapes(values.shape, shape))
    positions = clip(spread(positions, (count,)), 0, size)
    order = lax.sort((positions, lax.iota(_int32, count)), num_keys=1)[1]
    # Each inserted slice moves up by the number of slices inserted before it.
    targets = lax.add(positions, _rank_of(order, count))
    total = (*arr.shape[:axis], size + count, *arr.shape[axis + 1 :])
    mask = lax.full((size + count,), np.array(False)).at[targets].set(True)
    old = lax.sub(lax.cumsum(convert(lax.bitwise_not(mask), _int32), 0), np.int32(1))
    prefix = (slice(None),) * axis
    result = (
        arr.at[(*prefix, old)].get(mode="clip") if size else lax.full(total, values.dtype.type(0))
    )
    return result.at[(*prefix, targets)].set(values)


def _rank_of(order: Any, count: int) -> Any:
    """Returns the inverse of a permutation."""
    ranks = lax.full((count,), np.int32(0))
    return ranks.at[order].set(lax.iota(_int32, count))
