# SPDX-License-Identifier: Apache-2.0
"""Elements chosen by a boolean mask: `compress`, `extract` and `place`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..arrays.nonzero import counts_size_of, nonzero
from ..arrays.selection import where
from ..arrays.shaping import ravel
from ..core.axes import canonical_axis, refuse_out
from ..core.promotion import check_arraylike, convert, ensure_array
from ..elementwise.arithmetic import remainder
from .putting import refuse_inplace

__all__ = ["compress", "extract", "place"]

_int32 = np.dtype(np.int32)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Returns a copy of an array in which values, in order, replace the elements a mask selects.

    Args:
      arr: an array.
      mask: a boolean array with as many elements as ``arr``.
      vals: the values, repeated as often as needed.
      inplace: must be False. The caller thereby confirms that ``arr`` is not changed.

    Returns:
      An array of the shape and dtype of ``arr``.

    Raises:
      ValueError: if ``inplace`` is not False, if ``mask`` and ``arr`` differ in their number of
        elements, or if ``vals`` has no elements.

    Example:
      >>> from olympus_numpy import array
      >>> place(array([1, 2, 3]), array([True, False, True]), array([9, 8]), inplace=False)
      Array([9, 2, 8], dtype=int32)
    """
    if inplace:
        refuse_inplace("place")
    check_arraylike("place", arr, mask, vals)
    arr, mask, vals = ensure_array(arr), ravel(mask), ravel(vals)
    if mask.size != math.prod(arr.shape):
        raise ValueError("place: arr and mask must be the same size")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not mask.size:
        return arr
    mask = convert(mask, np.dtype(bool))
    # The k-th true element becomes the k-th value, cyclically.
    count = lax.cumsum(convert(mask, _int32), 0)
    turn = remainder(lax.sub(count, _int32.type(1)), vals.shape[0])
    return lax.reshape(where(mask, convert(vals, arr.dtype)[turn], ravel(arr)), arr.shape)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Returns the slices along an axis for which a condition holds.

    Args:
      condition: a boolean array of one dimension.
      a: an array.
      axis: the axis; by default, the array is flattened.
      size: the number of slices to return. If it is given, the condition may be traced.
      fill_value: the value of the remaining slices if the condition holds for fewer than ``size``
        slices.

    Returns:
      An array of the dtype of ``a`` whose size along the axis is ``size`` if given, and else the
      number of true conditions.

    Raises:
      ValueError: if ``condition`` does not have one dimension, or is true beyond the end of the
        axis.
      ConcretizationTypeError: if ``condition`` is traced and ``size`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> compress(array([True, False, True]), array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    if out is not None:
        refuse_out("compress")
    check_arraylike("compress", condition, a, fill_value)
    condition = convert(ensure_array(condition), np.dtype(bool))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    a = asarray(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    if size is not None and not 0 <= size <= a.shape[axis]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size} for a.shape[axis]={a.shape[axis]}"
        )
    length = min(condition.shape[0], a.shape[axis])
    if size is None and counts_size_of(condition):
        (places,) = nonzero(lax.slice_in_dim(condition, 0, length, axis=0))
        return a[(slice(None),) * axis + (places,)]
    if size is None:
        mask = concrete_or_error(np.asarray, condition, "condition array in compress()")
        places: Any = np.flatnonzero(mask)
        if places.size and places[-1] >= a.shape[axis]:
            raise ValueError("condition contains entries that are out of bounds")
        return a[(slice(None),) * axis + (places,)]
    a = convert(a, a.dtype)
    condition = lax.slice_in_dim(condition, 0, length, axis=0)
    (places,) = nonzero(condition, size=size, fill_value=a.shape[axis])
    index = (slice(None),) * axis + (places,)
    if np.ndim(fill_value) == 0 and not isinstance(fill_value, Array):
        return a.at[index].get(mode="fill", fill_value=fill_value)
    inside = lax.lt(places, np.array(a.shape[axis], places.dtype))
    inside = lax.expand_dims(inside, tuple(range(1, a.ndim - axis)))
    return where(inside, a.at[index].get(mode="clip"), fill_value)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Returns the elements of an array where a condition holds, flat.

    Args:
      condition: a boolean array.
      arr: an array.
      size: the number of elements to return. If it is given, the condition may be traced.
      fill_value: the value that fills up the result if the condition holds for fewer elements.

    Returns:
      An array of one dimension and of the dtype of ``arr``.

    Example:
      >>> from olympus_numpy import array
      >>> extract(array([True, False, True]), array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    check_arraylike("extract", condition, arr)
    condition = ravel(condition)
    chosen = lax.ne(condition, np.zeros((), condition.dtype))
    return compress(chosen, ravel(arr), size=size, fill_value=fill_value)
