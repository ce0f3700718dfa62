# SPDX-License-Identifier: Apache-2.0
"""Sorting and partial sorting."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.shaping.creation import layout_like
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..core.axes import canonical_axis, hashable_axis, requested_dtype
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array
from ..indexing.putting import put_along_axis

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex"]


def _flat_or_axis(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    check_arraylike(name, a)
    a = ensure_array(a)
    if axis is None:
        return lax.reshape(a, (math.prod(a.shape),)), 0
    return a, canonical_axis(axis, a.ndim)


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Only stable=True or stable=False is "
            "allowed."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def _sorted(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    a, axis = _flat_or_axis("sort", a, axis)
    result = lax.sort(a, dimension=axis, is_stable=stable)
    return lax.rev(result, (axis,)) if descending else result


_sort = compiled(_sorted, ("axis", "stable", "descending"), name="sort")


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Returns the elements of an array in order along an axis; NaNs last.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind: not supported.
      order: not supported.
      stable: whether equal elements keep their order.
      descending: whether the largest come first.

    Returns:
      An array of the shape and dtype of ``a``; of one dimension if ``axis`` is None.

    Example:
      >>> from olympus_numpy import array
      >>> sort(array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    _check_options("sort", kind, order)
    return _sort(a, axis if axis is None else hashable_axis("sort", axis), stable, descending)


def _argsorted(a: Any, axis: int | None, stable: bool, descending: bool, dtype: Any) -> Any:
    a, axis = _flat_or_axis("argsort", a, axis)
    index_dtype = dtypes.default_int_dtype() if dtype is None else dtype
    layout = layout_like(a, a.shape)
    positions = lax.broadcasted_iota(index_dtype, a.shape, axis, out_sharding=layout)
    # For a descending order, the result of an ascending sort is reversed. The input is reversed,
    # too, so that equal elements keep their order.
    if descending:
        a, positions = lax.rev(a, (axis,)), lax.rev(positions, (axis,))
    _, positions = lax.sort((a, positions), dimension=axis, is_stable=stable, num_keys=1)
    return lax.rev(positions, (axis,)) if descending else positions


_argsort = compiled(_argsorted, ("axis", "stable", "descending", "dtype"), name="argsort")


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns the indices that sort an array along an axis.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind: not supported.
      order: not supported.
      stable: whether indices of equal elements keep their order.
      descending: whether the largest come first.
      dtype: the integer dtype of the indices.

    Returns:
      An integer array of the shape of ``a``; of one dimension if ``axis`` is None.

    Example:
      >>> from olympus_numpy import array
      >>> argsort(array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    _check_options("argsort", kind, order)
    axis = axis if axis is None else hashable_axis("argsort", axis)
    if dtype is not None:
        dtype = requested_dtype("argsort", dtype)
    return _argsort(a, axis, stable, descending, dtype)


def _lexsorted(keys: Any, axis: int) -> Any:
    arrays = [ensure_array(key) for key in keys]
    if arrays[0].ndim == 0:
        return np.zeros((), dtypes.default_int_dtype())
    axis = canonical_axis(axis, arrays[0].ndim)
    shape = arrays[0].shape
    layout = layout_like(arrays[0], shape)
    positions = lax.broadcasted_iota(dtypes.default_int_dtype(), shape, axis, out_sharding=layout)
    return lax.sort((*reversed(arrays), positions), dimension=axis, num_keys=len(arrays))[-1]


_lexsort = compiled(_lexsorted, ("axis",), name="lexsort")


def lexsort(keys: Array | np.ndarray | Sequence[ArrayLike], axis: int = -1) -> Array:
    """Returns the indices that sort by several keys, the last of which is the primary key.

    Args:
      keys: arrays of the same shape, or one array whose rows are the keys.
      axis: the axis along which to sort.

    Returns:
      An integer array of the shape of a key.

    Raises:
      TypeError: if there are no keys.
      ValueError: if the keys differ in shape.

    Example:
      >>> from olympus_numpy import array
      >>> lexsort((array([2, 1, 0]), array([0, 0, 1])))
      Array([1, 0, 2], dtype=int32)
    """
    if not np.iterable(keys):
        raise TypeError(f"lexsort takes a sequence of keys, got {keys!r}")
    keys = tuple(keys)
    if len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *keys)
    if len({np.shape(key) for key in keys}) > 1:
        raise ValueError("all keys need to be the same shape")
    return _lexsort(keys, hashable_axis("lexsort", axis))


def _position(kth: Any, size: int) -> int:
    kth = operator.index(kth)
    if not -size <= kth < size:
        raise ValueError(f"kth(={kth}) out of bounds ({size})")
    return kth % size


def _check_partition(name: str, a: Any, kth: Any) -> None:
    check_arraylike(name, a)
    if dtypes.issubdtype(ensure_array(a).dtype, np.complexfloating):
        raise NotImplementedError(f"{name} for complex dtype is not implemented.")
    if np.ndim(kth):
        raise TypeError(f"{name}: `kth` must be one integer, got {kth!r}")


def _negated(x: Any) -> Any:
    """Returns values in the reverse order: a larger value maps to a smaller one."""
    if dtypes.issubdtype(x.dtype, np.inexact):
        return lax.neg(x)
    return lax.bitwise_not(x)


def _partitioned(a: Any, kth: int, axis: int) -> Any:
    """Returns the smallest ``kth + 1`` elements, with the largest of these last, then the rest."""
    a = ensure_array(a)
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    kth = _position(kth, size)
    x = convert(a, np.dtype(np.uint8)) if a.dtype == np.bool_ else a
    smallest = _negated(lax.top_k(_negated(x), kth + 1, axis=axis)[0])
    largest = lax.top_k(x, size - kth - 1, axis=axis)[0]
    return convert(lax.concatenate([smallest, largest], axis), a.dtype)


_partition = compiled(_partitioned, ("kth", "axis"), name="partition")


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Returns an array whose element ``kth`` along an axis is at its sorted position.

    No element before this position is larger, and no element after the position is smaller.

    Args:
      a: an array of real numbers.
      kth: the position of the element.
      axis: the axis.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> from olympus_numpy import array
      >>> partition(array([5, 1, 4, 2]), 1)[1]
      Array(2, dtype=int32)
    """
    _check_partition("partition", a, kth)
    return _partition(a, operator.index(kth), hashable_axis("partition", axis))


def _argpartitioned(a: Any, kth: int, axis: int) -> Any:
    a = ensure_array(a)
    axis = canonical_axis(axis, a.ndim)
    kth = _position(kth, a.shape[axis])
    x = convert(a, np.dtype(np.uint8)) if a.dtype == np.bool_ else a
    smallest = lax.top_k(_negated(x), kth + 1, axis=axis)[1]
    is_larger = lax.full(a.shape, np.float32(1))
    is_larger = put_along_axis(is_larger, smallest, np.float32(0), axis, inplace=False)
    others = lax.top_k(is_larger, a.shape[axis] - kth - 1, axis=axis)[1]
    return lax.concatenate([smallest, others], axis)


_argpartition = compiled(_argpartitioned, ("kth", "axis"), name="argpartition")


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Returns the indices that partition an array.

    Args:
      a: an array of real numbers.
      kth: the position whose element is at its sorted position.
      axis: the axis.

    Returns:
      An integer array of the shape of ``a``.

    Example:
      >>> from olympus_numpy import array
      >>> argpartition(array([5, 1, 4, 2]), 1)[1]
      Array(3, dtype=int32)
    """
    _check_partition("argpartition", a, kth)
    return _argpartition(a, operator.index(kth), hashable_axis("argpartition", axis))


def sort_complex(a: ArrayLike) -> Array:
    """Converts numbers to complex numbers, and sorts by the real and then by the imaginary part.

    Args:
      a: an array.

    Returns:
      An array of the shape of ``a`` and of a complex dtype.

    Example:
      >>> from olympus_numpy import array
      >>> sort_complex(array([2 + 1j, 1 + 2j]))
      Array([1.+2.j, 2.+1.j], dtype=complex64)
    """
    check_arraylike("sort_complex", a)
    a = ensure_array(a)
    return sort(convert(a, dtypes.to_complex_dtype(a.dtype)))
