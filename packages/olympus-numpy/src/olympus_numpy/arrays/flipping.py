# SPDX-License-Identifier: Apache-2.0
"""Functions that flip, rotate and roll arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.axes import canonical_axes, canonical_axis
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from .shaping import axes_tuple, ravel, reshape

__all__ = [
    "flip",
    "fliplr",
    "flipud",
    "roll",
    "rot90",
]


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Returns an array with the order of elements reversed along axes.

    Args:
      m: an array.
      axis: the axis or axes; all by default.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> from olympus_numpy import arange
      >>> flip(arange(3))
      Array([2, 1, 0], dtype=int32)
    """
    check_arraylike("flip", m)
    return _flip(m, None if axis is None else axes_tuple(axis))


def _flipped(m: Any, axis: tuple[int, ...] | None = None) -> Any:
    m = ensure_array(m)
    return lax.rev(m, canonical_axes(axis, m.ndim))


_flip = compiled(_flipped, ("axis",), name="_flip")


def fliplr(m: ArrayLike) -> Array:
    """Returns an array reversed along its second axis.

    Args:
      m: an array of at least two dimensions.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> from olympus_numpy import array
      >>> fliplr(array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    check_arraylike("fliplr", m)
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """Returns an array reversed along its first axis.

    Args:
      m: an array of at least one dimension.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> from olympus_numpy import array
      >>> flipud(array([[1, 2], [3, 4]]))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    check_arraylike("flipud", m)
    return flip(m, 0)


def _turned(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    m = ensure_array(m)
    first, second = axes
    first, second = canonical_axis(first, m.ndim), canonical_axis(second, m.ndim)
    if first == second:
        raise ValueError("Axes must be different")
    turns = k % 4
    if turns == 0:
        return as_array(m)
    if turns == 2:
        return _flip(_flip(m, (first,)), (second,))
    order = list(range(m.ndim))
    order[first], order[second] = second, first
    if turns == 1:
        return lax.transpose(_flip(m, (second,)), tuple(order))
    return _flip(lax.transpose(m, tuple(order)), (second,))


_rot90 = compiled(_turned, ("k", "axes"), name="rot90")


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Returns an array rotated by multiples of 90 degrees in the plane of two axes.

    Args:
      m: an array.
      k: the number of rotations by 90 degrees, from the first axis towards the second.
      axes: the two axes that span the plane.

    Returns:
      An array of the dtype of ``m``, with the sizes of the two axes exchanged if ``k`` is odd.

    Raises:
      ValueError: ``m`` has fewer than two dimensions, or ``axes`` are not two.

    Example:
      >>> from olympus_numpy import array
      >>> rot90(array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    check_arraylike("rot90", m)
    if np.ndim(m) < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            f"of shape {np.shape(m)}, which has ndim {np.ndim(m)}"
        )
    plane = axes_tuple(axes)
    if len(plane) != 2:
        raise ValueError(f"rot90 rotates in the plane of two axes, got axes={axes}")
    return _rot90(m, operator.index(k), plane)


def roll(
    a: ArrayLike, shift: ArrayLike | Sequence[int], axis: int | Sequence[int] | None = None
) -> Array:
    """Rolls elements along axes. Elements that leave at one end enter at the other end.

    Args:
      a: an array.
      shift: the distance, one for all axes or one for each axis; it may be traced.
      axis: the axis or axes; by default, the flattened array is rolled.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      ValueError: if ``shift`` or ``axis`` has more than one dimension.

    Example:
      >>> from olympus_numpy import arange
      >>> roll(arange(4), 1)
      Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a)
    if getattr(shift, "ndim", 0) > 1 or getattr(axis, "ndim", 0) > 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    a = ensure_array(a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = axes_tuple(axis)
    try:
        shifts = axes_tuple(shift)
    except TypeError:
        return _roll_dynamic(a, ensure_array(_as_operand(shift)), axes)
    if len(shifts) != len(axes):
        shifts, axes = (tuple(map(int, values)) for values in np.broadcast_arrays(shifts, axes))
    return _roll_static(a, shifts, axes)


def _as_operand(shift: Any) -> Any:
    if isinstance(shift, tuple | list):
        return lax.concatenate([lax.expand_dims(ensure_array(amount), (0,)) for amount in shift], 0)
    return shift


def _rolled(a: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    a = ensure_array(a)
    for distance, dim in zip(shift, axis, strict=True):
        dim = canonical_axis(dim, a.ndim)
        size = a.shape[dim]
        if size == 0:
            continue
        distance %= size
        if distance:
            tail = lax.slice_in_dim(a, size - distance, size, axis=dim)
            head = lax.slice_in_dim(a, 0, size - distance, axis=dim)
            a = lax.concatenate([tail, head], dim)
    return as_array(a)


def _rolled_dynamically(a: Any, shift: Any, axis: tuple[int, ...]) -> Any:
    shifts = (
        [shift]
        if shift.ndim == 0
        else [
            lax.index_in_dim(shift, position, 0, keepdims=False)
            for position in range(shift.shape[0])
        ]
    )
    if len(shifts) == 1:
        shifts = shifts * len(axis)
    for distance, dim in zip(shifts, axis if len(axis) > 1 else axis * len(shifts), strict=True):
        dim = canonical_axis(dim, a.ndim)
        size = a.shape[dim]
        if size == 0:
            continue
        distance = convert(distance, np.dtype(np.int32))
        remainder = lax.rem(distance, lax.size_array(size, np.int32))
        remainder = lax.select(
            lax.lt(remainder, np.int32(0)),
            lax.add(remainder, lax.size_array(size, np.int32)),
            remainder,
        )
        start = lax.sub(lax.size_array(size, np.int32), remainder)
        doubled = lax.concatenate([a, a], dim)
        a = lax.dynamic_slice_in_dim(doubled, start, size, axis=dim)
    return a


_roll_static = compiled(_rolled, ("shift", "axis"), name="_roll_static")
_roll_dynamic = compiled(_rolled_dynamically, ("axis",), name="_roll_dynamic")
