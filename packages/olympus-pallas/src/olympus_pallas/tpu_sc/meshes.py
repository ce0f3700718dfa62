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
    """What the sparse cores have of the devices that programs run on.

    Raises:
      RuntimeError: where they have none.
      ValueError: where the devices are no TPUs that are known.
    """
    info = get_tpu_info().sparse_core
    if info is None:
        raise RuntimeError("the TPU that programs run on has no sparse cores")
    return info


class _SubcoreMesh(Mesh):
    """What meshes of subcores have in common."""

    @property
    def size(self) -> int:
        """The number of subcores."""
        return self.size_of_cores()

    @property
    def default_memory_space(self) -> TpuMemorySpace:
        """The memory that operands of kernels lie in."""
        return TpuMemorySpace.HBM

    def check_is_compatible_with(self, other_mesh: Any) -> None:
        """Raises where one kernel cannot run on this mesh and another at once.

        Raises:
          ValueError: where the other is of the same kind, or no mesh of sparse cores.
        """
        if not isinstance(other_mesh, _SubcoreMesh) or type(self) is type(other_mesh):
            raise ValueError(f"a kernel cannot run on {self} and {other_mesh} at once")


def _default_cores() -> int:
    return get_sparse_core_info().num_cores


def _default_subcores() -> int:
    return get_sparse_core_info().num_subcores


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScalarSubcoreMesh(_SubcoreMesh):
    """The subcores for scalars, one of each sparse core.

    Args:
      axis_name: the name of the axis of cores.
      num_cores: how many there are; by default as the device has.

    Example:
      >>> dict(ScalarSubcoreMesh(axis_name="core", num_cores=2).shape)
      {'core': 2}
    """

    axis_name: str
    num_cores: int = dataclasses.field(default_factory=_default_cores)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The name of the axis with its size."""
        return OrderedDict([(self.axis_name, self.num_cores)])

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_SCALAR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """For each axis where its cores are."""
        return [GridDimensionSemantics.CORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memories that buffers may be made in."""
        return [TpuMemorySpace.SMEM, TpuMemorySpace.VMEM_SHARED, TpuMemorySpace.SEMAPHORE]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorSubcoreMesh(_SubcoreMesh):
    """The subcores for vectors, several of each sparse core.

    Args:
      core_axis_name: the name of the axis of cores.
      subcore_axis_name: the name of the axis of their subcores.
      num_cores: how many cores there are; by default as the device has.
      num_subcores: how many subcores each has; by default as the device has.

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
        """The names of the axes with their sizes."""
        return OrderedDict(
            [(self.core_axis_name, self.num_cores), (self.subcore_axis_name, self.num_subcores)]
        )

    @property
    def core_type(self) -> CoreType:
        """The kind of cores."""
        return CoreType.SC_VECTOR_SUBCORE

    @property
    def dimension_semantics(self) -> Sequence[GridDimensionSemantics]:
        """For each axis where its cores are."""
        return [GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL]

    @property
    def supported_memory_spaces(self) -> Sequence[TpuMemorySpace]:
        """The memories that buffers may be made in."""
        return [
            TpuMemorySpace.VMEM,
            TpuMemorySpace.VMEM_SHARED,
            TpuMemorySpace.SMEM,
            TpuMemorySpace.SEMAPHORE,
        ]

    def owner(self, core: Any, aval: Any) -> Any:
        """Whom a scratch buffer belongs to: shared memory to all subcores of a core."""
        if aval.memory_space is TpuMemorySpace.VMEM_SHARED:
            return ("shared", core.places[self.core_axis_name])
        return core.number

    def number_of(self, core: Any, subcore: int) -> int:
        """The number of a subcore of the same core."""
        return core.places[self.core_axis_name] * self.num_subcores + subcore
