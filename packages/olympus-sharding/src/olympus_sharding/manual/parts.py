# SPDX-License-Identifier: Apache-2.0
"""Conversion between the types of global arrays and of their shards inside `shard_map`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import BaseMesh, PartitionSpec

from .primitive import global_aval, local_aval

__all__ = ["shard", "spec_of_residual", "unshard"]


def shard(
    aval: ShapedArray,
    mesh: BaseMesh,
    manual_axes: Collection[Any],
    check_vma: bool,
    spec: PartitionSpec,
) -> ShapedArray:
    """Returns the type of one device's shard of an array.

    Args:
      aval: the type of the array.
      mesh: the mesh.
      manual_axes: the axes over which the function is mapped.
      check_vma: whether types say over which axes values vary.
      spec: the partition spec of the array.
    """
    manual = tuple(axis for axis in mesh.axis_names if axis in manual_axes)
    return local_aval(mesh, manual, spec, aval, varying=check_vma)


def unshard(aval: ShapedArray, mesh: BaseMesh, spec: PartitionSpec) -> ShapedArray:
    """Returns the type of an array, given the type of one device's shard."""
    return global_aval(mesh, mesh.axis_names, spec, aval)


def spec_of_residual(aval: ShapedArray, check_vma: bool, all_names: Sequence[Any]) -> PartitionSpec:
    """Returns the spec of a residual: the devices' shards are concatenated along dimension 0.

    Args:
      aval: the type of one device's shard.
      check_vma: whether types say over which axes values vary.
      all_names: the manual axes.
    """
    axes = tuple(axis for axis in all_names if axis in aval.vma or not check_vma)
    return PartitionSpec(axes) if axes else PartitionSpec()
