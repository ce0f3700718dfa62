# SPDX-License-Identifier: Apache-2.0
"""Conversion of shardings to XLA's `HloSharding`, as methods added to the sharding classes.

C++ requests the `HloSharding` when it puts data on devices and when it assembles arrays.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from olympus_ir.types.placement import BaseMesh, PartitionSpec
from olympus_sharding.shardings.behavior import NamedSharding, SingleDeviceSharding
from olympus_sharding.shardings.tiling import axes_of_dimensions

from .._jaxlib import GSPMDSharding, HloSharding, OpSharding

__all__ = ["REPLICATED", "hlo_sharding", "mesh_hlo_sharding"]

REPLICATED = HloSharding.replicate()
_MANUAL = HloSharding.manual()


def hlo_sharding(sharding: Any, ndim: int) -> Any:
    """Returns a sharding's `HloSharding` for arrays with ``ndim`` dimensions."""
    return sharding._to_xla_hlo_sharding(ndim)


@functools.lru_cache(maxsize=4096)
def mesh_hlo_sharding(mesh: BaseMesh, spec: PartitionSpec, ndim: int) -> Any:
    """Returns the `HloSharding` that a mesh and a spec describe.

    The device ids in the result are positions in the mesh, in row-major order.
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


# ---- shardings given only as an `HloSharding` ----


def _gspmd_hlo_sharding(sharding: GSPMDSharding, ndim: int) -> Any:
    return sharding._hlo_sharding


def _gspmd_devices_indices_map(
    sharding: GSPMDSharding, global_shape: tuple[int, ...]
) -> dict[Any, tuple[slice, ...]]:
    hlo, devices = sharding._hlo_sharding, sharding._device_assignment
    ndim = len(global_shape)
    if hlo.is_replicated() or ndim == 0:
        return dict.fromkeys(devices, (slice(None),) * ndim)
    tiles = hlo.tile_assignment_dimensions()
    numbers = np.asarray(hlo.tile_assignment_devices()).reshape(tiles)
    indices: dict[Any, tuple[slice, ...]] = {}
    for position in np.ndindex(*tiles[:ndim]):
        index = tuple(
            slice(None) if count == 1 else slice(*(size * edge // count for edge in (i, i + 1)))
            for i, count, size in zip(position, tiles, global_shape, strict=False)
        )
        for number in numbers[position].ravel():
            indices[devices[number]] = index
    return {device: indices[device] for device in devices}


def _gspmd_is_fully_replicated(sharding: GSPMDSharding) -> bool:
    hlo = sharding._hlo_sharding
    if hlo.is_replicated():
        return True
    tiles = hlo.tile_assignment_dimensions()
    kept = len(tiles) - hlo.replicate_on_last_tile_dim() - len(hlo.subgroup_types())
    return math.prod(tiles[:kept]) == 1


def _gspmd_check_compatible_aval(sharding: GSPMDSharding, aval_shape: tuple[int, ...]) -> None:
    tiles = (
        () if sharding.is_fully_replicated else sharding._hlo_sharding.tile_assignment_dimensions()
    )
    for size, count in zip(aval_shape, tiles, strict=False):
        if size % count:
            raise ValueError(
                f"{sharding} divides dimensions into {tiles} parts, which do not divide the "
                f"shape {aval_shape}"
            )


def _gspmd_repr(sharding: GSPMDSharding) -> str:
    kind = "" if sharding.memory_kind is None else f", memory_kind={sharding.memory_kind}"
    return f"GSPMDSharding({sharding._hlo_sharding!r}{kind})"


def _gspmd_replicated(
    cls: type[GSPMDSharding], device_assignment: Any, *, memory_kind: str | None = None
) -> GSPMDSharding:
    """Returns the sharding of arrays that are replicated over devices."""
    return cls(device_assignment, REPLICATED, memory_kind=memory_kind)


GSPMDSharding._to_xla_hlo_sharding = _gspmd_hlo_sharding
GSPMDSharding._device_assignment = property(lambda self: tuple(self._internal_device_list))
GSPMDSharding.devices_indices_map = _gspmd_devices_indices_map
GSPMDSharding.is_fully_replicated = property(_gspmd_is_fully_replicated)
GSPMDSharding.check_compatible_aval = _gspmd_check_compatible_aval
GSPMDSharding.memory_kind = property(lambda self: self._memory_kind)
GSPMDSharding.with_memory_kind = lambda self, kind: GSPMDSharding(
    self._internal_device_list, self._hlo_sharding, memory_kind=kind
)
GSPMDSharding.get_replicated = classmethod(_gspmd_replicated)
GSPMDSharding.__repr__ = _gspmd_repr
