# SPDX-License-Identifier: Apache-2.0
"""Taking elements at indices and putting others there, as functions."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import Tracer, concrete_or_error
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from .arithmetic import remainder
from .axes import canonical_axis, hashable_axis, refuse_out
from .compilation import compiled
from .promotion import broadcast_shapes, check_arraylike, convert, ensure_array, spread
from .selection import clip, where
from .shaping import ravel

__all__ = [
    "compress",
    "delete",
    "extract",
    "insert",
    "place",
    "put",
    "put_along_axis",
    "take",
    "take_along_axis",
]

_int32 = np.dtype(np.int32)


def index_array(function: str, indices: Any) -> Any:
    """An argument that must be an array of integers."""
    indices = ensure_array(indices)
    if not dtypes.issubdtype(indices.dtype, np.integer) and indices.dtype != np.bool_:
        name = dtypes.name_of(indices.dtype)
        if function == "take":
            raise ValueError(f"take: indices must have an integer type, got {name}")
        raise TypeError(f"{function} indices must be of integer type, got {name}")
    return convert(indices, _int32) if indices.dtype == np.bool_ else indices


def wrapped(indices: Any, size: int) -> Any:
    """Negative indices counted from the end."""
    if not dtypes.issubdtype(indices.dtype, np.signedinteger):
        return indices
    zero = np.zeros((), indices.dtype)
    return where(
        lax.lt(indices, zero), lax.add(indices, lax.size_array(size, indices.dtype)), indices
    )


# ---- take ----


def _taken(
    a: Any,
    indices: Any,
    axis: int | None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    a, indices = ensure_array(a), index_array("take", indices)
    if axis is None:
        a, axis = lax.reshape(a, (math.prod(a.shape),)), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to olympus.numpy.take is not supported.")
    if mode == "wrap":
        indices = remainder(indices, size)
        mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    else:
        mode = lax.GatherScatterMode.from_any(mode)
        indices = wrapped(indices, size)
    shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
    if size == 0 and 0 not in indices.shape:
        raise IndexError(f"Cannot do a non-empty take() from an empty axis, got axis {axis}.")
    if 0 in shape:
        return lax.full(shape, np.zeros((), a.dtype))
    before = axis
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(before), *range(before + indices.ndim, len(shape))),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if one == axis else n for one, n in enumerate(a.shape))
    return lax.gather(
        a,
        lax.expand_dims(indices, (indices.ndim,)),
        numbers,
        sizes,
        mode=mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


_take = compiled(
    _taken,
    ("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"),
    name="_take",
)


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Returns the elements at indices along an axis.

    Args:
      a: an array.
      indices: integers, an array of any shape, which takes the place of the axis.
      axis: the axis; where not given, the array is flattened.
      out: not supported.
      mode: what indices out of range give: ``"fill"`` (the default) a fill value, ``"clip"`` the
        nearest element, ``"wrap"`` the element that many places around.
      unique_indices: a promise that no index occurs twice.
      indices_are_sorted: a promise that indices come in order.
      fill_value: NaN for floats, the lowest or highest value for integers where not given.

    Example:
      >>> from olympus_numpy import array
      >>> take(array([10, 20, 30]), array([2, 0]))
      Array([30, 10], dtype=int32)
    """
    if out is not None:
        refuse_out("take")
    check_arraylike("take", a, indices)
    if hasattr(fill_value, "item"):
        fill_value = fill_value.item()
    return _take(
        a,
        indices,
        axis if axis is None else hashable_axis("take", axis),
        mode,
        unique_indices,
        indices_are_sorted,
        fill_value,
    )


def _taken_along(
    arr: Any,
    indices: Any,
    axis: int | None,
    mode: Any = None,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    arr, indices = ensure_array(arr), index_array("take_along_axis", indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}"
            )
        arr, axis = lax.reshape(arr, (math.prod(arr.shape),)), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            "indices and arr must have the same number of dimensions, got "
            f"{indices.ndim} and {arr.ndim}"
        )
    axis = canonical_axis(axis, arr.ndim)
    size = arr.shape[axis]
    mode = lax.GatherScatterMode.from_any(mode)
    if wrap_negative_indices and dtypes.issubdtype(indices.dtype, np.signedinteger):
        zero = np.zeros((), indices.dtype)
        indices = lax.select_n(
            lax.lt(indices, zero), indices, lax.add(indices, lax.size_array(size, indices.dtype))
        )
    return _gather_along(arr, indices, axis, mode, fill_value)


def _gather_along(arr: Any, indices: Any, axis: int, mode: Any, fill_value: Any) -> Any:
    """Dimensions other than the axis are batch dimensions, or of size one on one of the sides."""
    rank = arr.ndim
    others = [one for one in range(rank) if one != axis]
    shape = tuple(
        indices.shape[one] if one == axis else _joint_size(arr, indices, one) for one in range(rank)
    )
    if 0 in shape:
        return lax.full(shape, np.zeros((), arr.dtype))
    if arr.shape[axis] == 0:  # all indices are out of range
        padding = [(0, int(one == axis), 0) for one in range(rank)]
        arr = lax.pad(arr, np.zeros((), arr.dtype), padding)
        indices = lax.full_like(indices, 1)
    batching = [one for one in others if arr.shape[one] == indices.shape[one] != 1]
    # Of size one in the array: nothing to find; of size one in the indices: a whole window.
    windows = [one for one in others if one not in batching and arr.shape[one] != 1]
    dropped = [one for one in others if one not in batching and one not in windows]
    kept = [one for one in range(rank) if one not in windows]
    batch_shape = [indices.shape[one] for one in kept]
    vectors = lax.reshape(indices, (*batch_shape, 1))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(windows),
        collapsed_slice_dims=tuple(sorted([axis, *dropped])),
        start_index_map=(axis,),
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple(kept.index(one) for one in batching),
    )
    sizes = tuple(arr.shape[one] if one in windows else 1 for one in range(rank))
    return lax.gather(arr, vectors, numbers, sizes, mode=mode, fill_value=fill_value)


def _joint_size(arr: Any, indices: Any, axis: int) -> int:
    sizes = (arr.shape[axis], indices.shape[axis])
    if sizes[0] != sizes[1] and 1 not in sizes:
        raise ValueError(
            f"take_along_axis: arrays of shapes {arr.shape} and {indices.shape} cannot be "
            f"broadcast along dimension {axis}"
        )
    return sizes[1] if sizes[0] == 1 else sizes[0]


_take_along_axis = compiled(
    _taken_along,
    ("axis", "mode", "fill_value", "wrap_negative_indices"),
    name="take_along_axis",
)


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Returns, for each line along an axis, the elements at its own indices.

    Args:
      arr: an array.
      indices: integers, of as many dimensions; those other than the axis are broadcast.
      axis: the axis; None takes from the flat array.
      mode: what indices out of range give: ``"fill"`` (the default) a fill value, ``"clip"`` the
        nearest element.
      fill_value: NaN for floats, the lowest or highest value for integers where not given.
      wrap_negative_indices: whether negative indices count from the end.

    Example:
      >>> from olympus_numpy import array
      >>> take_along_axis(array([[1, 2], [3, 4]]), array([[1], [0]]), axis=1)
      Array([[2],
             [3]], dtype=int32)
    """
    check_arraylike("take_along_axis", arr, indices)
    if hasattr(fill_value, "item"):
        fill_value = fill_value.item()
    axis = axis if axis is None else hashable_axis("take_along_axis", axis)
    return _take_along_axis(arr, indices, axis, mode, fill_value, wrap_negative_indices)


# ---- put ----


def _refuse_inplace(name: str) -> NoReturn:
    raise ValueError(
        f"olympus.numpy.{name} cannot modify arrays in-place, because {naming.library} arrays are "
        "immutable. Pass inplace=False to instead return an updated array."
    )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Returns a copy of an array with values at indices of the flat array.

    Args:
      a: an array.
      ind: integers.
      v: the values, repeated as often as needed.
      mode: what happens to indices out of range: ``"clip"`` (the default) or ``"wrap"``.
      inplace: must be False, to say that the caller knows that ``a`` is not changed.

    Example:
      >>> from olympus_numpy import array
      >>> put(array([1, 2, 3]), array([0, 2]), array([9, 8]), inplace=False)
      Array([9, 2, 8], dtype=int32)
    """
    if inplace:
        _refuse_inplace("put")
    check_arraylike("put", a, ind, v)
    a, ind, v = ensure_array(a), ravel(ind), ravel(v)
    size = math.prod(a.shape)
    if not ind.size or not v.size:
        return a
    v = _cycled(v, ind.size)
    if mode is None or mode == "clip":
        # One turn of negative indices counts from the end; what is beyond goes to the edges.
        ind = clip(wrapped(ind, size), 0, size - 1)
    elif mode == "wrap":
        ind = remainder(ind, size)
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to olympus.numpy.put is not supported.")
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    return lax.reshape(ravel(a).at[ind].set(v), a.shape)


def _cycled(values: Any, size: int) -> Any:
    """The first ``size`` elements of values repeated without end."""
    repeats = -(-size // values.shape[0])
    if repeats > 1:
        values = lax.tile(values, (repeats,))
    return values if values.shape[0] == size else lax.slice_in_dim(values, 0, size, axis=0)


def _put_at(arr: Any, indices: Any, values: Any, axis: int | None, mode: Any = None) -> Any:
    arr, indices = ensure_array(arr), index_array("put_along_axis", indices)
    shape = arr.shape
    if axis is None:
        arr, axis = lax.reshape(arr, (math.prod(shape),)), 0
    if arr.ndim != indices.ndim:
        raise ValueError("put_along_axis arguments 'arr' and 'indices' must have same ndim")
    axis = canonical_axis(axis, arr.ndim)
    places = tuple(
        indices
        if one == axis
        else np.arange(size, dtype=_int32).reshape((-1,) + (1,) * (arr.ndim - one - 1))
        for one, size in enumerate(arr.shape)
    )
    return lax.reshape(arr.at[places].set(values, mode=mode), shape)


_put_along_axis = compiled(_put_at, ("axis", "mode"), name="put_along_axis")


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Returns a copy of an array with values at indices of each line along an axis.

    Args:
      arr: an array.
      indices: integers, of as many dimensions.
      values: what is put there, broadcast to the shape of the indices.
      axis: the axis; None puts into the flat array.
      inplace: must be False, to say that the caller knows that ``arr`` is not changed.
      mode: what happens to indices out of range, as of ``at``.

    Example:
      >>> from olympus_numpy import array
      >>> put_along_axis(array([[1, 2], [3, 4]]), array([[1], [0]]), 0, 1, inplace=False)
      Array([[1, 0],
             [0, 4]], dtype=int32)
    """
    if inplace:
        _refuse_inplace("put_along_axis")
    check_arraylike("put_along_axis", arr, indices, values)
    axis = axis if axis is None else hashable_axis("put_along_axis", axis)
    return _put_along_axis(arr, indices, values, axis, mode)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """Returns a copy of an array with values, one after another, where a mask is true.

    Args:
      arr: an array.
      mask: a boolean array of as many elements.
      vals: the values, repeated as often as needed.
      inplace: must be False, to say that the caller knows that ``arr`` is not changed.

    Example:
      >>> from olympus_numpy import array
      >>> place(array([1, 2, 3]), array([True, False, True]), array([9, 8]), inplace=False)
      Array([9, 2, 8], dtype=int32)
    """
    if inplace:
        _refuse_inplace("place")
    check_arraylike("place", arr, mask, vals)
    arr, mask, vals = ensure_array(arr), ravel(mask), ravel(vals)
    if mask.size != math.prod(arr.shape):
        raise ValueError("place: arr and mask must be the same size")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not mask.size:
        return arr
    mask = convert(mask, np.dtype(bool))
    # Each true element takes as many values further as there are true ones before it.
    count = lax.cumsum(convert(mask, _int32), 0)
    turn = remainder(lax.sub(count, _int32.type(1)), vals.shape[0])
    return lax.reshape(where(mask, convert(vals, arr.dtype)[turn], ravel(arr)), arr.shape)


# ---- parts ----


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """Returns the slices along an axis for which a condition holds.

    Args:
      condition: a boolean array of one dimension.
      a: an array.
      axis: the axis; where not given, the array is flattened.
      size: how many slices to return, so that the condition may be traced.
      fill_value: what fills up the result where fewer hold.
      out: not supported.

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
    a = ensure_array(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    length = min(condition.shape[0], a.shape[axis])
    if size is None:
        mask = concrete_or_error(np.asarray, condition, "condition array in compress()")
        places: Any = np.flatnonzero(mask)
        if places.size and places[-1] >= a.shape[axis]:
            raise ValueError("condition contains entries that are out of bounds")
        return a[(slice(None),) * axis + (places,)]
    from .searching import nonzero  # which is made of this module

    condition = lax.slice_in_dim(condition, 0, length, axis=0)
    (places,) = nonzero(condition, size=size, fill_value=a.shape[axis])
    index = (slice(None),) * axis + (places,)
    if np.ndim(fill_value) == 0 and not isinstance(fill_value, Array):
        return a.at[index].get(mode="fill", fill_value=fill_value)
    inside = lax.lt(places, np.array(a.shape[axis], places.dtype))
    inside = lax.expand_dims(inside, tuple(range(1, a.ndim - axis)))
    return where(inside, a.at[index].get(mode="clip"), fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """Returns the elements of an array where a condition holds, flat.

    Args:
      condition: a boolean array.
      arr: an array.
      size: how many elements to return, so that the condition may be traced.
      fill_value: what fills up the result where fewer hold.

    Example:
      >>> from olympus_numpy import array
      >>> extract(array([True, False, True]), array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    check_arraylike("extract", condition, arr)
    condition = ravel(condition)
    chosen = lax.ne(condition, np.zeros((), condition.dtype))
    return compress(chosen, ravel(arr), size=size, fill_value=fill_value)


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """Returns an array without some slices along an axis.

    Args:
      arr: an array.
      obj: which: an integer, a slice, or an array of integers or booleans. Integers may be traced
        where there is one, or with ``assume_unique_indices``.
      axis: the axis; where not given, the array is flattened.
      assume_unique_indices: a promise that no index occurs twice.

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
        kept = np.delete(np.arange(size), obj)
        return arr[(slice(None),) * axis + (kept,)]
    obj = ensure_array(np.asarray(obj) if isinstance(obj, list | tuple) else obj)
    if obj.dtype == np.bool_:
        mask = concrete_or_error(np.asarray, obj, "'obj' array argument of olympus.numpy.delete()")
        if mask.shape != (size,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional "
                "with length matching specified axis."
            )
        return arr[(slice(None),) * axis + (~mask,)]
    if not dtypes.issubdtype(obj.dtype, np.integer) and obj.size:
        raise IndexError(f"delete: indices must be integers, got dtype {obj.dtype}")
    if obj.ndim == 0 and not isinstance(obj, Tracer) and not -size <= int(obj) < size:
        raise IndexError(f"index {int(obj)} is out of bounds for axis {axis} with size {size}")
    if obj.ndim == 0 or assume_unique_indices:
        return _delete_traced(arr, wrapped(convert(ravel(obj), _int32), size), axis)
    places = concrete_or_error(
        np.asarray,
        obj,
        "'obj' array argument of olympus.numpy.delete(). Consider passing "
        "assume_unique_indices=True.",
    )
    kept = np.delete(np.arange(size), places.astype(np.int64) if not places.size else places)
    return arr[(slice(None),) * axis + (kept,)]


def _delete_traced(arr: Any, places: Any, axis: int) -> Any:
    """Each remaining slice comes from as many places further as deleted ones lie before it."""
    size, count = arr.shape[axis], places.shape[0]
    places = lax.sort(clip(places, 0, size))
    before = lax.sub(places, lax.iota(_int32, count))
    remaining = lax.iota(_int32, size - count)
    passed = lax.ge(lax.expand_dims(remaining, (1,)), lax.expand_dims(before, (0,)))
    source = lax.add(remaining, lax.reduce_sum(convert(passed, _int32), (1,)))
    return arr[(slice(None),) * axis + (source,)]


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """Returns an array with slices inserted along an axis.

    Args:
      arr: an array.
      obj: before which places: an integer, a slice or integers; they may be traced.
      values: what is inserted, broadcast.
      axis: the axis; where not given, the array is flattened.

    Example:
      >>> from olympus_numpy import array
      >>> insert(array([1, 3]), 1, 2)
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    arr = ensure_array(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim)
    size = arr.shape[axis]
    values = convert(ensure_array(values), arr.dtype)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(size))
    places = ensure_array(obj)
    if places.ndim > 1:
        raise ValueError("insert(): obj must be a slice, a one-dimensional array, or a scalar.")
    if values.ndim == 0:
        values = lax.expand_dims(values, tuple(range(arr.ndim)))
    values = lax.expand_dims(values, tuple(range(arr.ndim - values.ndim)))
    if places.ndim == 0:
        # The values' first dimension is the inserted one.
        order = list(range(1, arr.ndim))
        order.insert(axis, 0)
        values = lax.transpose(values, tuple(order))
    places = wrapped(convert(ravel(places), _int32), size)
    count = max(places.shape[0], values.shape[axis])
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = spread(values, broadcast_shapes(values.shape, shape))
    places = clip(spread(places, (count,)), 0, size)
    order = lax.sort((places, lax.iota(_int32, count)), num_keys=1)[1]
    # In order, each inserted slice comes after the ones inserted before it.
    targets = lax.add(places, _rank_of(order, count))
    total = (*arr.shape[:axis], size + count, *arr.shape[axis + 1 :])
    mask = lax.full((size + count,), np.array(False)).at[targets].set(True)
    old = lax.sub(lax.cumsum(convert(lax.bitwise_not(mask), _int32), 0), np.int32(1))
    prefix = (slice(None),) * axis
    result = (
        arr.at[(*prefix, old)].get(mode="clip") if size else lax.full(total, values.dtype.type(0))
    )
    return result.at[(*prefix, targets)].set(values)


def _rank_of(order: Any, count: int) -> Any:
    """For each element, at which place of a sorted order it comes."""
    ranks = lax.full((count,), np.int32(0))
    return ranks.at[order].set(lax.iota(_int32, count))
