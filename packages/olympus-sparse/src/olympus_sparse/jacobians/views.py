# SPDX-License-Identifier: Apache-2.0
"""Views: elements at indices that form a strided grid, without a gather.

The elements are a slice, reshaped, transposed and broadcast: ``source[start + 6 * i + 2 * j]`` for
all ``i`` and ``j``, for example. XLA computes views faster than gathers, and needs no constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp

__all__ = ["view_at"]

# Indices with more dimensions rarely form a view.
_MOST_DIMENSIONS = 8


class _Dimension(NamedTuple):
    """A dimension of a view: its size, and the step between the indices of its elements."""

    size: int
    stride: int


def view_at(source: Any, indices: np.ndarray) -> Any | None:
    """Returns the elements of a vector at indices; None if they are not a view.

    Args:
      source: the array.
      indices: the indices, of any shape.

    Returns:
      An array of the shape of ``indices``, or None.
    """
    dimensions = _dimensions_of(indices.ravel())
    if dimensions is None:
        return None
    shape = [dimension.size for dimension in dimensions]
    moving = [axis for axis, dimension in enumerate(dimensions) if dimension.stride]
    order = sorted(moving, key=lambda axis: -dimensions[axis].stride)
    view = _strided(source, int(indices.flat[0]), [dimensions[axis] for axis in order])
    if view is None:
        return None
    view = view.transpose([order.index(axis) for axis in moving])
    outer = [dimension.size if dimension.stride else 1 for dimension in dimensions]
    return jnp.broadcast_to(view.reshape(outer), shape).reshape(indices.shape)


def _dimensions_of(indices: np.ndarray) -> list[_Dimension] | None:
    """Returns a view's dimensions, innermost last; None if the indices form no view."""
    found: list[_Dimension] = []
    while indices.size > 1:
        steps = np.diff(indices)
        changes = np.flatnonzero(steps != steps[0])
        size = int(changes[0]) + 1 if changes.size else indices.size
        if indices.size % size or len(found) == _MOST_DIMENSIONS or steps[0] < 0:
            return None
        rows = indices.reshape(-1, size)
        if (np.diff(rows, axis=1) != steps[0]).any():
            return None
        found.append(_Dimension(size, int(steps[0])))
        indices = rows[:, 0]
    return found[::-1]


def _strided(source: Any, start: int, dimensions: Sequence[_Dimension]) -> Any | None:
    """Returns a view of the last dimension; None if a reshaped slice lacks some of the elements.

    Args:
      source: the array.
      start: the first index in its last dimension.
      dimensions: the dimensions of the view, by decreasing strides.
    """
    if not dimensions:
        return source[..., start]
    (size, stride), *inner = dimensions
    first = min(start, source.shape[-1] - size * stride)
    extent = sum((axis.size - 1) * axis.stride for axis in inner)
    if first < 0 or start - first + extent >= stride:
        return None
    whole = source[..., first : first + size * stride]
    return _strided(whole.reshape(*whole.shape[:-1], size, stride), start - first, inner)
