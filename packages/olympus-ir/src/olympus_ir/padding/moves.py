# SPDX-License-Identifier: Apache-2.0
"""Moves of elements along an axis, by distances that are known when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..lax.indexing.gathering import GatherDimensionNumbers, GatherScatterMode

__all__ = ["extended", "reindexed", "resized", "taken", "window"]


def resized(x: Any, axis: int, size: int, fill: Any = 0) -> Any:
    """Truncates or extends an array at the end of an axis."""
    if x.shape[axis] >= size:
        return x if x.shape[axis] == size else lax.slice_in_dim(x, 0, size, axis=axis)
    config = [(0, size - x.shape[axis] if position == axis else 0, 0) for position in range(x.ndim)]
    return lax.pad(x, lax.full_like(x, fill, shape=()), config)


def extended(x: Any, axis: int, size: int, fill: Any = 0) -> Any:
    """Extends an array to at least a given size along an axis."""
    return x if x.shape[axis] >= size else resized(x, axis, size, fill)


def window(x: Any, axis: int, start: Any, size: int, most: int) -> Any:
    """Returns ``size`` elements along an axis, beginning at the index ``start``.

    The index is at most ``most``. Elements beyond the end of the array are zeros.
    """
    x = extended(x, axis, most + size)
    if isinstance(start, int):
        return lax.slice_in_dim(x, start, start + size, axis=axis)
    return lax.dynamic_slice_in_dim(x, start, size, axis=axis)


def taken(x: Any, axis: int, indices: Any) -> Any:
    """Returns the elements along an axis at a vector of indices."""
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(position for position in range(x.ndim) if position != axis),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if position == axis else size for position, size in enumerate(x.shape)]
    columns = lax.expand_dims(indices, (1,))
    return lax.gather(x, columns, numbers, sizes, mode=GatherScatterMode.CLIP)


def reindexed(x: Any, indices: Any) -> Any:
    """Returns the elements at positions of the flattened array, in the shape of the indices."""
    flat = lax.reshape(x, (int(np.prod(x.shape)),))
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    columns = lax.expand_dims(indices, (indices.ndim,))
    return lax.gather(flat, columns, numbers, (1,), mode=GatherScatterMode.CLIP)
