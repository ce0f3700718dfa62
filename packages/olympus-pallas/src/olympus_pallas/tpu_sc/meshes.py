# SPDX-License-Identifier: Apache-2.0
"""Meshes of the subcores of sparse cores."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from ..core_maps.meshes import Mesh
from ..memory.spaces import TpuMemorySpace
from ..tpu.info import SparseCoreInfo, get_tpu_info
from ..tpu.parameters import CoreType, GridDimensionSemantics

__all__ = ["ScalarSubcoreMesh", "VectorSubcoreMesh", "get_sparse_core_info"]


def get_sparse_core_info() -> SparseCoreInfo:
    """Returns the facts about the default device's sparse cores.

    Raises:
      RuntimeError: the device has no sparse cores.
      ValueError: the device is not a known TPU.
    """
    info = get_tpu_info().sparse_core
    if info is None:
        raise RuntimeError("the TPU that programs run on has no sparse cores")
    return info


class _SubcoreMesh(Mesh):
    """Base class of meshes of subcores."""

    @property
    def size(self) -> int:
        """The number of subcores."""
        return self.size_of_cores()

    @property
    def default_memory_space(self) -> TpuMemorySpace:
        """The default memory space of operands."""
        return TpuMemorySpace.HBM

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Checks that one kernel can run on this mesh and another mesh at the same time.

        Raises:
          ValueError: the other mesh is of the same kind, or is not a mesh of sparse cores.
        """
        if not isinstance(other_mesh, _SubcoreMesh) or type(self) is type(other_mesh):
            raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at the same time")


def _default_cores() -> int:
    return get_sparse_core_info().num_cores


def _default_subcores() -> int:
    return get_sparse_core_info().num_subcores


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScalarSubcoreMesh(_SubcoreMesh):
    """Mesh of the scalar subcores, one of each sparse core.

    Args:
      axis_name: the name of the axis of cores.
      num_cores: the number of sparse cores; by default all of the device.

    Example:
      >>> dict(ScalarSubcoreMesh(axis_name="core", num_cores=2).shape)
      {'core': 2}
    """

    axis_name: str
    num_cores: int = dataclasses.field(default_factory=_default_cores)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of the axis, by name."""
        return OrderedDict([(self.axis_name, self.num_cores)])

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_SCALAR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """The semantics of each axis."""
        return [GridDimensionSemantics.CORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memory spaces of buffers."""
        return [TpuMemorySpace.SMEM, TpuMemorySpace.VMEM_SHARED, TpuMemorySpace.SEMAPHORE]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorSubcoreMesh(_SubcoreMesh):
    """Mesh of the vector subcores, several of each sparse core.

    Args:
      core_axis_name: the name of the axis of cores.
      subcore_axis_name: the name of the axis of subcores.
      num_cores: the number of sparse cores; by default all of the device.
      num_subcores: the number of subcores of each sparse core; by default all of them.

    Example:
      >>> VectorSubcoreMesh(core_axis_name="c", subcore_axis_name="s", num_cores=2,
      ...                   num_subcores=4).size
      8
    """

    core_axis_name: str
    subcore_axis_name: str
    num_cores: int = dataclasses.field(default_factory=_default_cores)
    num_subcores: int = dataclasses.field(default_factory=_default_subcores)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes, by name."""
        return OrderedDict(
            [(self.core_axis_name, self.num_cores), (self.subcore_axis_name, self.num_subcores)]
        )

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_VECTOR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """The semantics of each axis."""
        return [GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memory spaces of buffers."""
        return [
            TpuMemorySpace.VMEM,
            TpuMemorySpace.VMEM_SHARED,
            TpuMemorySpace.SMEM,
            TpuMemorySpace.SEMAPHORE,
        ]

    def owner(self, core: Any, aval: Any) -> Any:
        """Returns the owner of a scratch buffer; all subcores of a core own its shared memory."""
        if aval.memory_space is TpuMemorySpace.VMEM_SHARED:
            return ("shared", core.places[self.core_axis_name])
        return core.number

    def number_of(self, core: Any, subcore: int) -> int:
        """Returns the core index of another subcore of the same sparse core."""
        return core.places[self.core_axis_name] * self.num_subcores + subcore
