# SPDX-License-Identifier: Apache-2.0
"""The placement of one compiled computation: its devices, shardings and layouts."""

from __future__ import annotations

from typing import Any

from olympus_ir.types.placement import PartitionSpec

from ..._jaxlib import NamedSharding
from ...platforms.backends import device_sharding, on_clear_backends

__all__ = ["Placement", "on_one_device", "platform_of"]


class Placement:
    """Placement of one compiled computation; compared by value.

    Attributes:
      devices: the devices in the order of the partitions.
      mesh: the mesh of the shardings; None for a single device without a mesh.
      in_shardings: the sharding of each operand. None accepts an operand on any device, or
        replicated over several devices.
      out_shardings: the sharding of each result; if None, the compiler chooses.
      committed: whether the results are committed.
      in_layouts: the layout of each operand: a `Layout`, `Layout.AUTO`, or None for the default;
        empty if all are None.
      out_layouts: the same for the results.
    """

    __slots__ = (
        "_hash",
        "committed",
        "devices",
        "in_layouts",
        "in_shardings",
        "mesh",
        "out_layouts",
        "out_shardings",
    )

    def __init__(
        self,
        devices: tuple,
        mesh: Any,
        in_shardings: tuple,
        out_shardings: tuple,
        committed: bool,
        in_layouts: tuple = (),
        out_layouts: tuple = (),
    ) -> None:
        self.devices = devices
        self.mesh = mesh
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.committed = committed
        self.in_layouts = in_layouts
        self.out_layouts = out_layouts
        self._hash = hash(
            (devices, mesh, in_shardings, out_shardings, committed, in_layouts, out_layouts)
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Placement)
            and self._hash == other._hash
            and self.devices == other.devices
            and self.mesh == other.mesh
            and self.in_shardings == other.in_shardings
            and self.out_shardings == other.out_shardings
            and self.committed == other.committed
            and self.in_layouts == other.in_layouts
            and self.out_layouts == other.out_layouts
        )

    def __hash__(self) -> int:
        return self._hash

    def with_layouts(self, in_layouts: tuple, out_layouts: tuple) -> Placement:
        """Returns the placement with other layouts of operands and results."""
        return Placement(
            self.devices,
            self.mesh,
            self.in_shardings,
            self.out_shardings,
            self.committed,
            in_layouts,
            out_layouts,
        )

    def key_of_module(self) -> tuple:
        """Returns the part of the placement on which a module depends.

        This is everything except the specific devices.
        """
        return (
            len(self.devices),
            None if self.mesh is None else (self.mesh.shape_tuple, self.mesh.axis_types),
            tuple(map(_without_devices, self.in_shardings)),
            tuple(map(_without_devices, self.out_shardings)),
            self.in_layouts,
            self.out_layouts,
        )

    @property
    def single_device(self) -> Any:
        """The device, if there is only one, else None."""
        return self.devices[0] if len(self.devices) == 1 else None

    def operand_sharding(self, position: int) -> Any:
        """Returns the sharding that an operand has when the program is called."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return self.in_shardings[position] or self.replicated

    def constant_sharding(self, value: Any) -> Any:
        """Returns the sharding that a constant has when the program is called.

        A constant that is already on this mesh keeps its sharding.
        """
        sharding: Any = getattr(value, "sharding", None)
        if type(sharding) is NamedSharding and sharding.mesh == self.mesh:
            return sharding
        return self.replicated

    @property
    def replicated(self) -> Any:
        """The replicated sharding."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return NamedSharding(self.mesh, PartitionSpec())


def _without_devices(sharding: Any) -> Any:
    """Returns the properties of a sharding on which a module depends."""
    if type(sharding) is NamedSharding:
        return sharding.mesh.shape_tuple, sharding.spec, sharding.memory_kind
    return sharding


_single_device_placements: dict[Any, Placement] = {}
on_clear_backends(_single_device_placements.clear)


def on_one_device(device: Any, committed: bool) -> Placement:
    """Returns the placement on a single device."""
    key = (device, committed)
    placement = _single_device_placements.get(key)
    if placement is None:
        placement = _single_device_placements[key] = Placement((device,), None, (), (), committed)
    return placement


_PLATFORM_OF_BACKEND = {"cpu": "cpu", "cuda": "cuda", "gpu": "cuda", "rocm": "rocm", "tpu": "tpu"}


def platform_of(device: Any) -> str:
    """Returns the platform of a device, under the name that lowering rules use."""
    platform: str = device.platform
    return _PLATFORM_OF_BACKEND.get(platform, platform)
