# SPDX-License-Identifier: Apache-2.0
"""Elements taken at integer indices: `take`, `take_along_axis` and `choose`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import clip, where
from ..core.axes import canonical_axis, hashable_axis, refuse_out
from ..core.compilation import compiled
from ..core.promotion import (
    broadcast_shapes,
    check_arraylike,
    convert,
    ensure_array,
    promote_dtypes,
    spread,
)
from ..elementwise.arithmetic import remainder

__all__ = ["choose", "take", "take_along_axis"]

_int32 = np.dtype(np.int32)


def index_array(function: str, indices: Any) -> Any:
    """Checks that an argument is an array of integers and returns it; booleans become int32."""
    indices = ensure_array(indices)
    if not dtypes.issubdtype(indices.dtype, np.integer) and indices.dtype != np.bool_:
        name = dtypes.name_of(indices.dtype)
        if function == "take" and np.size(indices) == 0 and not dtypes.is_extended(indices.dtype):
            return convert(indices, _int32)  # an empty list is an array of floats
        if function == "take":
            raise ValueError(f"take: indices must have an integer type, got {name}")
        raise TypeError(f"{function} indices must be of integer type, got {name}")
    return convert(indices, _int32) if indices.dtype == np.bool_ else indices


def wrapped(indices: Any, size: int) -> Any:
    """Converts negative indices, which count from the end, to indices from the start."""
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
    fill_value: ArrayLike | None = None,
) -> Any:
    a, indices = ensure_array(a), index_array("take", indices)
    if axis is None:
        a, axis = lax.reshape(a, (math.prod(a.shape),)), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode == "wrap":
        indices = remainder(indices, size)
        mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    elif mode == "clip":  # negative indices are nearest to the first element
        mode = lax.GatherScatterMode.CLIP
    elif mode is None or mode == "fill":
        mode = lax.GatherScatterMode.FILL_OR_DROP
        indices = wrapped(indices, size)
    else:
        raise ValueError(f"Invalid mode {mode!r} for np.take: expected 'fill', 'clip' or 'wrap'")
    shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
    if size == 0 and 0 not in indices.shape:
        raise IndexError(f"Cannot do a non-empty jnp.take() from an empty axis, got axis {axis}.")
    if 0 in shape:
        return lax.full(shape, np.zeros((), a.dtype))
    before = axis
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(before), *range(before + indices.ndim, len(shape))),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if dim == axis else n for dim, n in enumerate(a.shape))
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
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the elements at indices along an axis.

    Args:
      a: an array.
      indices: an array of integers of any shape.
      axis: the axis; by default, the array is flattened.
      out: not supported.
      mode: the result for indices out of range: ``"fill"`` (the default) returns a fill value,
        ``"clip"`` the nearest element, and the first one for negative indices, ``"wrap"`` the
        element at the index modulo the size of the axis.
      unique_indices: a promise that no index occurs twice.
      indices_are_sorted: a promise that indices come in order.
      fill_value: the fill value; by default, NaN for floats, the lowest value for signed integers
        and the highest value for unsigned integers.

    Returns:
      An array of the dtype of ``a``. In its shape, the shape of the indices takes the place of the
      axis.

    Raises:
      ValueError: if the mode is unknown.
      NotImplementedError: if the mode is ``"raise"``.

    Example:
      >>> from olympus_numpy import array
      >>> take(array([10, 20, 30]), array([2, 0]))
      Array([30, 10], dtype=int32)
    """
    if out is not None:
        refuse_out("take")
    check_arraylike("take", a, indices)
    fill = _as_constant(fill_value)
    return _take(
        a,
        indices,
        axis if axis is None else hashable_axis("take", axis),
        mode,
        unique_indices,
        indices_are_sorted,
        fill,
    )


def _taken_along(
    arr: Any,
    indices: Any,
    axis: int | None,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
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
    """Gathers along an axis, with the other dimensions as batch or window dimensions."""
    rank = arr.ndim
    others = [dim for dim in range(rank) if dim != axis]
    shape = tuple(
        indices.shape[dim] if dim == axis else _joint_size(arr, indices, dim) for dim in range(rank)
    )
    if 0 in shape:
        return lax.full(shape, np.zeros((), arr.dtype))
    if arr.shape[axis] == 0:  # all indices are out of range
        padding = [(0, int(dim == axis), 0) for dim in range(rank)]
        arr = lax.pad(arr, np.zeros((), arr.dtype), padding)
        indices = lax.full_like(indices, 1)
    batching = [dim for dim in others if arr.shape[dim] == indices.shape[dim] != 1]
    # A dimension of size one in the array is dropped after its only element is taken. A dimension
    # that has size one only in the indices becomes a window dimension.
    windows = [dim for dim in others if dim not in batching and arr.shape[dim] != 1]
    dropped = [dim for dim in others if dim not in batching and dim not in windows]
    other_dims = [dim for dim in range(rank) if dim not in windows]
    batch_shape = [indices.shape[dim] for dim in other_dims]
    vectors = lax.reshape(indices, (*batch_shape, 1))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(windows),
        collapsed_slice_dims=tuple(sorted([axis, *dropped])),
        start_index_map=(axis,),
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple(other_dims.index(dim) for dim in batching),
    )
    sizes = tuple(arr.shape[dim] if dim in windows else 1 for dim in range(rank))
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
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | lax.GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Returns elements of each line along an axis, at indices for each line.

    Args:
      arr: an array.
      indices: integers, with as many dimensions as ``arr``. Dimensions other than the axis are
        broadcast.
      axis: the axis; None selects from the flat array.
      mode: the result for indices out of range: ``"fill"`` (the default) returns a fill value,
        ``"clip"`` the nearest element.
      fill_value: the fill value; by default, NaN for floats, the lowest value for signed integers
        and the highest value for unsigned integers.
      wrap_negative_indices: whether negative indices count from the end.

    Returns:
      An array of the dtype of ``arr``, with the size of ``indices`` along the axis.

    Example:
      >>> from olympus_numpy import array
      >>> take_along_axis(array([[1, 2], [3, 4]]), array([[1], [0]]), axis=1)
      Array([[2],
             [3]], dtype=int32)
    """
    check_arraylike("take_along_axis", arr, indices)
    fill = _as_constant(fill_value)
    axis = axis if axis is None else hashable_axis("take_along_axis", axis)
    return _take_along_axis(arr, indices, axis, mode, fill, wrap_negative_indices)


def _as_constant(value: Any) -> Any:
    """Returns an array of one element as a number, so that it is a constant of programs."""
    return value.item() if hasattr(value, "item") else value


# ---- parts ----


def choose(
    a: ArrayLike,
    choices: Array | np.ndarray | Sequence[ArrayLike],
    out: None = None,
    mode: str = "raise",
) -> Array:
    """Returns elements of several arrays; each index selects the array to take from.

    Args:
      a: an array of integers.
      choices: arrays that broadcast with ``a``.
      out: not supported.
      mode: the treatment of indices out of range: ``"clip"``, ``"wrap"``, or ``"raise"``, which
        needs concrete indices.

    Returns:
      An array of the common dtype of the choices, of the shape that ``a`` and the choices broadcast
      to.

    Raises:
      NotImplementedError: if ``out`` is given.
      ValueError: if ``a`` is not of integers, there are no choices, an index is out of range with
        mode ``"raise"``, or ``mode`` is unknown.
      ConcretizationTypeError: if ``a`` is traced and ``mode`` is ``"raise"``.

    Example:
      >>> from olympus_numpy import asarray
      >>> choose(asarray([0, 1, 0]), [asarray([1, 2, 3]), asarray([10, 20, 30])])
      Array([ 1, 20,  3], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.choose is not supported.")
    check_arraylike("choose", a)
    a = ensure_array(a)
    if not dtypes.issubdtype(a.dtype, np.integer):
        raise ValueError("`a` array must be integer typed")
    count = len(choices)
    if count == 0:
        raise ValueError("invalid entry in choice array: there are no choices")
    arrays = promote_dtypes(*(ensure_array(choice) for choice in choices))
    if mode == "raise":
        indices = concrete_or_error(
            np.asarray,
            a,
            "The error occurred because jnp.choose was jit-compiled with mode='raise'. "
            "Use mode='wrap' or mode='clip' instead.",
        )
        if ((indices < 0) | (indices >= count)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = remainder(a, count)
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    shape = broadcast_shapes(np.shape(a), *(np.shape(array) for array in arrays))
    cases = [spread(convert(array, array.dtype), shape) for array in map(ensure_array, arrays)]
    if count == 1:
        return cases[0]
    index = spread(convert(a, np.dtype(np.int32)), shape)
    if count == 2:
        index = lax.ne(index, np.zeros((), np.int32))
    return lax.select_n(index, *cases)
