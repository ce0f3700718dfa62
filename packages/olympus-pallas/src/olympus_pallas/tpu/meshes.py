# SPDX-License-Identifier: Apache-2.0
"""Meshes of the tensor cores of a TPU."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_xla.platforms import backends

from ..core_maps.meshes import Mesh
from ..memory.spaces import TpuMemorySpace
from .parameters import CoreType, GridDimensionSemantics

__all__ = ["TensorCore", "TensorCoreMesh", "create_tensorcore_mesh"]


@dataclasses.dataclass(frozen=True)
class TensorCore:
    """A tensor core of a TPU.

    Args:
      id: the index of the core.
    """

    id: int


@dataclasses.dataclass(frozen=True, eq=False)
class TensorCoreMesh(Mesh):
    """The tensor cores of one device of a TPU.

    Args:
      devices: an array of tensor cores.
      axis_names: the names of the array's dimensions.
    """

    devices: np.ndarray
    axis_names: Sequence[str]

    def _identity(self) -> tuple:
        return tuple(self.devices.flat), self.devices.shape, tuple(self.axis_names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorCoreMesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes, by name."""
        return OrderedDict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.TC

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """The semantics of each axis."""
        return [GridDimensionSemantics.PARALLEL] * len(self.axis_names)

    @property
    def supported_memory_spaces(self) -> Sequence[Any]:
        """The memory spaces of buffers."""
        return [
            TpuMemorySpace.VMEM,
            TpuMemorySpace.SMEM,
            TpuMemorySpace.CMEM,
            TpuMemorySpace.SEMAPHORE,
        ]


def create_tensorcore_mesh(
    axis_name: str, devices: Sequence[Any] | None = None, num_cores: int | None = None
) -> TensorCoreMesh:
    """Returns the mesh of a device's tensor cores.

    Args:
      axis_name: the name of the axis of cores.
      devices: devices; the first one determines the number of cores. By default, all devices.
      num_cores: the number of cores, given if there is no TPU.

    Returns:
      The `TensorCoreMesh`.

    Raises:
      ValueError: both ``devices`` and ``num_cores`` are given, or the devices are not TPUs.

    Example:
      >>> dict(create_tensorcore_mesh("core", num_cores=2).shape)
      {'core': 2}
    """
    if devices is not None and num_cores is not None:
        raise ValueError("cannot specify both devices and num_cores")
    if num_cores is None:
        num_cores = _cores_of(devices)
    cores = np.array([TensorCore(number) for number in range(num_cores)], dtype=object)
    return TensorCoreMesh(cores, (axis_name,))


def _cores_of(devices: Sequence[Any] | None) -> int:
    device = (devices or backends.devices())[0]
    cores = getattr(device, "num_cores", None)
    if cores is None:
        raise ValueError(
            f"the device {device} does not say how many tensor cores it has; give num_cores"
        )
    return cores
