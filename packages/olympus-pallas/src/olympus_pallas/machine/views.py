# SPDX-License-Identifier: Apache-2.0
"""Views of NumPy arrays through chains of transforms, read and written in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.references.indexing import NDIndexer, Slice
from olympus_ir.references.transforms import BitcastTransform, ReshapeTransform, TransposeTransform

__all__ = ["OutOfBounds", "define_view", "read", "write"]


class OutOfBounds(IndexError):
    """Error for a read or write outside of a reference."""


def read(array: np.ndarray, transforms: Sequence[Any]) -> np.ndarray:
    """Returns the elements of a view, as a new array.

    Raises:
      OutOfBounds: if indices lie outside of the array.
    """
    for transform in transforms:
        array = _seen(transform, array)
    return np.array(array)


def write(array: np.ndarray, transforms: Sequence[Any], value: Any) -> None:
    """Writes the elements of a view.

    Raises:
      OutOfBounds: if indices lie outside of the array.
    """
    if not transforms:
        array[...] = value
        return
    first, *rest = transforms
    if not rest and isinstance(first, NDIndexer):
        array[_places(first, array.shape)] = value
        return
    view = _seen(first, array)
    if np.may_share_memory(view, array):
        write(view, rest, value)
        return
    write(view, rest, value)
    if isinstance(first, NDIndexer):
        array[_places(first, array.shape)] = view
    elif isinstance(first, BitcastTransform):
        array[...] = _cast(view, array.dtype)
    else:
        array[...] = view.reshape(array.shape)


# Maps a class of transforms from another package to its function `seen(transform, array)`, which
# returns a view of the array.
_VIEWS: dict[type, Callable[[Any, np.ndarray], np.ndarray]] = {}


def define_view(kind: type, seen: Callable[[Any, np.ndarray], np.ndarray]) -> None:
    """Defines the view of one class of transforms, which must share the array's memory."""
    _VIEWS[kind] = seen


def _seen(transform: Any, array: np.ndarray) -> np.ndarray:
    if isinstance(transform, NDIndexer):
        return array[_places(transform, array.shape)]
    if isinstance(transform, TransposeTransform):
        return array.transpose(transform.permutation)
    if isinstance(transform, ReshapeTransform):
        return array.reshape(transform.shape)
    if isinstance(transform, BitcastTransform):
        return _cast(array, transform.dtype)
    seen = _VIEWS.get(type(transform))
    if seen is None:
        raise ValueError(f"the interpreter does not support the view {transform} of a reference")
    return seen(transform, array)


def _cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Views the bits as another dtype; a new width changes the size of the second-to-last axis."""
    dtype = np.dtype(dtype)
    if array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    axis = max(array.ndim - 2, 0)
    inner = np.ascontiguousarray(np.moveaxis(array, axis, -1))
    return np.moveaxis(inner.view(dtype), -1, axis)


def _places(indexer: NDIndexer, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Converts an indexer to a NumPy index."""
    places: list[Any] = []
    for dim, (index, size) in enumerate(zip(indexer.indices, shape, strict=True)):
        if isinstance(index, Slice):
            start, length = int(index.start), int(index.size)
            last = start + max(length - 1, 0) * index.stride
            if length and not 0 <= start <= last < size:
                raise OutOfBounds(
                    f"indices {start} to {last} of dimension {dim} are outside of an array of "
                    f"shape {shape}"
                )
            places.append(slice(start, last + 1 if length else start, index.stride or 1))
            continue
        numbers = np.asarray(index)
        if numbers.ndim == 0:
            number = int(numbers)
            if not -size <= number < size:
                raise OutOfBounds(
                    f"index {number} of dimension {dim} is outside of an array of shape {shape}"
                )
            places.append(number)
            continue
        if numbers.size and not (-size <= numbers.min() and numbers.max() < size):
            raise OutOfBounds(
                f"indices {numbers.min()} to {numbers.max()} of dimension {dim} are outside of an "
                f"array of shape {shape}"
            )
        places.append(numbers)
    return tuple(places)


def room_for(array: np.ndarray, transforms: Sequence[Any], fill: Any) -> np.ndarray:
    """Pads the array so that the slices of masked accesses end inside of it."""
    first = transforms[0] if transforms else None
    if not isinstance(first, NDIndexer):
        return array
    room = [
        (0, (int(index.size) - 1) * index.stride + 1 if isinstance(index, Slice) else 0)
        for index in first.indices
    ]
    return np.pad(array, room, constant_values=fill)


def with_shape(transforms: Sequence[Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Replaces the array shape in the first indexer of a chain of transforms."""
    first, *rest = transforms
    return (NDIndexer(first.indices, shape, first.int_indexer_shape), *rest)
