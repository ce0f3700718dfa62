# SPDX-License-Identifier: Apache-2.0
"""Parameters of Mosaic for TPUs."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls import pallas_call as calls

__all__ = ["CompilerParams", "CoreType", "GridDimensionSemantics", "SideEffectType"]


class GridDimensionSemantics(enum.Enum):
    """Semantics of an axis of the grid: the order of its programs, and the cores that run them."""

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


class CoreType(enum.Enum):
    """The cores of a TPU: tensor cores, and the subcores of sparse cores."""

    TC = 0
    SC_SCALAR_SUBCORE = 1
    SC_VECTOR_SUBCORE = 2

    def __str__(self) -> str:
        return self.name.lower()


class SideEffectType(enum.Enum):
    """Side effects of a kernel, for the compiler."""

    PURE = "pure"
    DATAFLOW_SIDE_EFFECTING = "dataflow_side_effecting"
    SIDE_EFFECTING = "side_effecting"


@dataclasses.dataclass(frozen=True)
class CompilerParams(calls.CompilerParams):
    """Parameters of Mosaic for a kernel.

    Args:
      dimension_semantics: for each axis of the grid, ``"parallel"`` if its programs are independent
        of each other, else ``"arbitrary"``.
      allow_input_fusion: for each input, whether the operation that computes it may be fused into
        the kernel.
      vmem_limit_bytes: the limit of the kernel's vector memory, in bytes.
      collective_id: id that kernels on several devices share in order to communicate.
      has_side_effects: whether the kernel runs even if its outputs are not used.
      flags: flags of the compiler.
      internal_scratch_in_bytes: the number of bytes that the compiler may use for its own buffers.
      serialization_format: the version of the format in which the kernel is serialized.
      disable_bounds_checks: whether to leave out the checks of accesses.
      disable_semaphore_checks: whether to leave out the checks of semaphores at the end.
      skip_device_barrier: whether to leave out the barrier before the kernel.
      allow_collective_id_without_custom_barrier: whether to accept ``collective_id`` for a kernel
        that does not need it.
      shape_invariant_numerics: whether results do not depend on how blocks are cut.
      use_tc_tiling_on_sc: whether sparse cores use the tiling of tensor cores.
      needs_layout_passes: whether the compiler infers layouts.
      fuse_transposed_lhs_in_matmul: whether products read transposed left factors directly.

    Example:
      >>> CompilerParams(dimension_semantics=("parallel",)).dimension_semantics
      ('parallel',)
    """

    dimension_semantics: Sequence[str | GridDimensionSemantics] | None = None
    allow_input_fusion: Sequence[bool] | None = None
    vmem_limit_bytes: int | None = None
    collective_id: int | None = None
    has_side_effects: bool | SideEffectType = False
    flags: Mapping[str, Any] | None = None
    internal_scratch_in_bytes: int | None = None
    serialization_format: int = 1
    disable_bounds_checks: bool = False
    disable_semaphore_checks: bool = False
    skip_device_barrier: bool = False
    allow_collective_id_without_custom_barrier: bool = False
    shape_invariant_numerics: bool = True
    use_tc_tiling_on_sc: bool | None = None
    needs_layout_passes: bool | None = True
    fuse_transposed_lhs_in_matmul: bool = False

    def __post_init__(self) -> None:
        for name in ("dimension_semantics", "allow_input_fusion"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, tuple(value))

    def replace(self, **changes: Any) -> CompilerParams:
        """Returns a copy of the parameters with some fields changed."""
        return dataclasses.replace(self, **changes)
