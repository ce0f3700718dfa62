# SPDX-License-Identifier: Apache-2.0
"""Conversion between unbatched types and batched types.

Libraries that define batching themselves use these functions."""

from __future__ import annotations

from typing import Any

from ..types.avals import AbstractValue, ShapedArray
from ..types.layouts import layout_over, mesh_in_force, with_dimension, without_dimension

__all__ = ["mapped_aval", "unmapped_aval"]


def mapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """Returns the unbatched type, given the batched type.

    Args:
      size: the number of examples.
      axis: the batch dimension; None if the value is shared by the examples.
      aval: the batched type.

    Example:
      >>> mapped_aval(3, 0, ShapedArray((3, 2), "float32"))
      ShapedArray(float32[2])
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    if aval.shape[axis] != size:
        raise ValueError(
            f"dimension {axis} of {aval.str_short()} has size {aval.shape[axis]}, not {size}"
        )
    layout = without_dimension(aval.layout, axis)
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :], sharding=layout)


def unmapped_aval(
    size: int, axis: int | None, aval: AbstractValue, explicit_mesh_axis: Any = None
) -> AbstractValue:
    """Returns the batched type, given the unbatched type.

    Args:
      size: the number of examples.
      axis: the batch dimension; None if the value is shared by the examples.
      aval: the unbatched type.
      explicit_mesh_axis: the explicit mesh axis over which the examples are sharded.

    Example:
      >>> unmapped_aval(3, 1, ShapedArray((2,), "float32"))
      ShapedArray(float32[2,3])
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    layout = with_dimension(aval.layout, axis, explicit_mesh_axis)
    if aval.layout is None and explicit_mesh_axis is not None:
        entries = (*(None,) * axis, explicit_mesh_axis, *(None,) * (aval.ndim - axis))
        layout = layout_over(mesh_in_force(), entries)
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]), sharding=layout)
