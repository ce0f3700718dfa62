# SPDX-License-Identifier: Apache-2.0
"""Meshes of cores: what a kernel runs on that is written for each of them.

Where a kernel over a grid says what one program does with its blocks, a kernel over a mesh says
what one core does with everything. Axes of the mesh are named: `lax.axis_index` says which core
it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from olympus_ir.programs.tracing import extend_axes

from ..memory.spaces import MemorySpace, TpuMemorySpace
from ..tpu.parameters import CoreType, GridDimensionSemantics

__all__ = ["Mesh", "TensorCore", "TensorCoreMesh", "create_tensorcore_mesh"]


class Mesh:
    """Base of meshes of cores: what `kernel` and `core_map` ask of them."""

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The names of the axes with their sizes."""
        raise TypeError(f"{type(self).__name__} must say what axes it has")

    @property
    def default_memory_space(self) -> Any:
        """The memory that operands of kernels lie in."""
        return MemorySpace.ANY

    def tracing_context(self) -> AbstractContextManager[None]:
        """Binds the names of the axes, for kernels that are traced meanwhile."""
        return extend_axes(dict(self.shape))

    def discharges_effect(self, effect: Any) -> bool:
        """Whether an effect of a kernel is nobody's concern outside."""
        return False

    def size_of_cores(self) -> int:
        """The number of cores."""
        return math.prod(self.shape.values())

    def axes_of(self, number: int) -> dict[Any, tuple[int, int]]:
        """For each axis the place of a core along it, and its size; the last moves fastest."""
        axes = {}
        for name, size in reversed(self.shape.items()):
            axes[name] = (number % size, size)
            number //= size
        return axes

    def owner(self, core: Any, aval: Any) -> Any:
        """Whom a scratch buffer of a type belongs to on simulated cores: each core its own."""
        return core.number

    def owner_of_globals(self, core: Any) -> Any:
        """Whom buffers of `get_global` belong to on simulated cores: each core its own."""
        return core.number

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Raises where one kernel cannot run on this mesh and another at once.

        Raises:
          ValueError: always, unless a kind of mesh knows better.
        """
        raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at once")


@dataclasses.dataclass(frozen=True)
class TensorCore:
    """A core of a TPU for matrices and vectors.

    Args:
      id: its number.
    """

    id: int


@dataclasses.dataclass(frozen=True, eq=False)
class TensorCoreMesh(Mesh):
    """The tensor cores of one device of a TPU.

    Args:
      devices: an array of them.
      axis_names: the names of its dimensions.
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
        """The names of the axes with their sizes."""
        return OrderedDict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.TC

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """For each axis whether its cores depend on one another."""
        return [GridDimensionSemantics.PARALLEL] * len(self.axis_names)

    @property
    def supported_memory_spaces(self) -> Sequence[Any]:
        """The memories that buffers may be made in."""
        return [
            TpuMemorySpace.VMEM,
            TpuMemorySpace.SMEM,
            TpuMemorySpace.CMEM,
            TpuMemorySpace.SEMAPHORE,
        ]


def create_tensorcore_mesh(
    axis_name: str, devices: Sequence[Any] | None = None, num_cores: int | None = None
) -> TensorCoreMesh:
    """The tensor cores of a device.

    Args:
      axis_name: the name of their axis.
      devices: devices that tell how many there are; by default all.
      num_cores: how many there are, where no TPU is there to tell.

    Raises:
      ValueError: where both are given, or where the devices are no TPUs.

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
    from olympus_xla.platforms import backends  # only where a device is asked

    device = (devices or backends.devices())[0]
    cores = getattr(device, "num_cores", None)
    if cores is None:
        raise ValueError(
            f"the device {device} does not say how many tensor cores it has; give num_cores"
        )
    return cores
