# SPDX-License-Identifier: Apache-2.0
"""Shardings as XLA writes them, attached to the sharding classes.

C++ asks a sharding for its `HloSharding` when it puts data on devices and when it assembles arrays.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from olympus_ir.placement import BaseMesh, PartitionSpec
from olympus_sharding.shardings import NamedSharding, SingleDeviceSharding
from olympus_sharding.tiling import axes_of_dimensions

from ._jaxlib import HloSharding, OpSharding

__all__ = ["REPLICATED", "hlo_sharding", "mesh_hlo_sharding"]

REPLICATED = HloSharding.replicate()
_MANUAL = HloSharding.manual()


def hlo_sharding(sharding: Any, ndim: int) -> Any:
    """The `HloSharding` of arrays of ``ndim`` dimensions under a sharding."""
    return sharding._to_xla_hlo_sharding(ndim)


@functools.lru_cache(maxsize=4096)
def mesh_hlo_sharding(mesh: BaseMesh, spec: PartitionSpec, ndim: int) -> Any:
    """The `HloSharding` that a mesh and a spec describe.

    Device numbers in it count the places of the mesh in row-major order.
    """
    sizes = mesh.shape
    axes_by_dimension = axes_of_dimensions(spec, ndim)
    split = [axis for axes in axes_by_dimension for axis in axes]
    manual = [axis for axis in mesh.manual_axes if axis not in split]
    unreduced = [axis for axis in mesh.axis_names if axis in spec.unreduced]
    rest = [axis for axis in mesh.axis_names if axis not in {*split, *manual, *unreduced}]
    if len(manual) == len(mesh.axis_names) > 0:
        return _MANUAL
    if not manual and not unreduced and math.prod(sizes[axis] for axis in split) == 1:
        return REPLICATED

    def extent(axes: Any) -> int:
        return math.prod(sizes[axis] for axis in axes)

    groups = [
        (axes, kind)
        for axes, kind in (
            (manual, OpSharding.Type.MANUAL),
            (unreduced, OpSharding.Type.UNREDUCED),
            (rest, OpSharding.Type.REPLICATED),
        )
        if extent(axes) > 1
    ]
    order = [mesh.axis_names.index(axis) for axis in (*split, *manual, *unreduced, *rest)]
    tiles = [extent(axes) for axes in axes_by_dimension] + [extent(axes) for axes, _ in groups]
    kinds = [kind for _, kind in groups]
    return HloSharding.iota_tile(tiles, mesh.axis_sizes, order, kinds)


def _single_device_hlo_sharding(sharding: SingleDeviceSharding, ndim: int) -> Any:
    return REPLICATED


def _named_hlo_sharding(sharding: NamedSharding, ndim: int) -> Any:
    return mesh_hlo_sharding(sharding.mesh, sharding.spec, ndim)


SingleDeviceSharding._to_xla_hlo_sharding = _single_device_hlo_sharding
NamedSharding._to_xla_hlo_sharding = _named_hlo_sharding
