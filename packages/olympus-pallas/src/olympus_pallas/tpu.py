# SPDX-License-Identifier: Apache-2.0
"""What kernels for TPUs have besides: memories, prefetched scalars, the compiler's parameters."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir import lax
from olympus_xla.backends import default_backend

from . import calls
from .config import force_interpret_mode, set_interpret_mode
from .grids import PrefetchScalarGridSpec as PrefetchScalarGridSpec
from .interpret_params import InterpretParams as InterpretParams
from .lowering.building import KernelLoweringError as LoweringException
from .memory import SemaphoreType as SemaphoreType
from .memory import TpuMemorySpace as MemorySpace
from .memory import dma_semaphore as dma_semaphore
from .memory_access import load as _load
from .memory_access import store as _store
from .pipelines import emit_pipeline as emit_pipeline
from .tpu_primitives import prng_random_bits as prng_random_bits
from .tpu_primitives import prng_seed as prng_seed
from .tpu_primitives import roll as roll
from .tpu_primitives import touch as touch
from .transfers import async_copy as async_copy
from .transfers import async_remote_copy as async_remote_copy
from .transfers import get_barrier_semaphore as get_barrier_semaphore
from .transfers import make_async_copy as make_async_copy
from .transfers import make_async_remote_copy as make_async_remote_copy
from .transfers import sync_copy as sync_copy

__all__ = [
    "ARBITRARY",
    "CMEM",
    "CORE_PARALLEL",
    "HBM",
    "PARALLEL",
    "SEMAPHORE",
    "SMEM",
    "SUBCORE_PARALLEL",
    "VMEM",
    "VMEM_SHARED",
    "CompilerParams",
    "CoreType",
    "GridDimensionSemantics",
    "InterpretParams",
    "LoweringException",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "SemaphoreType",
    "SideEffectType",
    "async_copy",
    "async_remote_copy",
    "bitcast",
    "dma_semaphore",
    "emit_pipeline",
    "force_tpu_interpret_mode",
    "get_barrier_semaphore",
    "is_tpu_device",
    "load",
    "make_async_copy",
    "make_async_remote_copy",
    "prng_random_bits",
    "prng_seed",
    "reset_tpu_interpret_mode_state",
    "roll",
    "set_tpu_interpret_mode",
    "store",
    "sync_copy",
    "touch",
]

CMEM = MemorySpace.CMEM
HBM = MemorySpace.HBM
SEMAPHORE = MemorySpace.SEMAPHORE
SMEM = MemorySpace.SMEM
VMEM = MemorySpace.VMEM
VMEM_SHARED = MemorySpace.VMEM_SHARED


class GridDimensionSemantics(enum.Enum):
    """Whether the programs along an axis of the grid may run in any order, and where."""

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


ARBITRARY = GridDimensionSemantics.ARBITRARY
CORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL
PARALLEL = GridDimensionSemantics.PARALLEL
SUBCORE_PARALLEL = GridDimensionSemantics.SUBCORE_PARALLEL


class CoreType(enum.Enum):
    """The cores of a TPU: for matrices and vectors, and those for sparse data."""

    TC = 0
    SC_SCALAR_SUBCORE = 1
    SC_VECTOR_SUBCORE = 2


class SideEffectType(enum.Enum):
    """What a kernel does besides computing its outputs, as far as the compiler must know."""

    PURE = "pure"
    DATAFLOW_SIDE_EFFECTING = "dataflow_side_effecting"
    SIDE_EFFECTING = "side_effecting"


@dataclasses.dataclass(frozen=True)
class CompilerParams(calls.CompilerParams):
    """What Mosaic is told of a kernel.

    Args:
      dimension_semantics: for each axis of the grid whether its programs depend on each other:
        ``"parallel"`` or ``"arbitrary"``.
      allow_input_fusion: for each input, whether what computes it may become part of the kernel.
      vmem_limit_bytes: how much vector memory the kernel may use.
      collective_id: what kernels on other devices that it meets have in common.
      has_side_effects: whether it runs even if nobody uses its outputs.
      flags: flags of the compiler.
      internal_scratch_in_bytes: how much memory the compiler may use for itself.
      serialization_format: the version of the form in which the kernel is handed on.
      disable_bounds_checks: whether accesses are trusted.
      disable_semaphore_checks: whether the state of semaphores at the end is trusted.
      skip_device_barrier: whether the barrier before the kernel is left out.
      allow_collective_id_without_custom_barrier: whether an identity is accepted without need.
      shape_invariant_numerics: whether results do not depend on how blocks are cut.
      use_tc_tiling_on_sc: whether sparse cores see the tiling of tensor cores.
      needs_layout_passes: whether the compiler works out layouts.
      fuse_transposed_lhs_in_matmul: whether transposed left factors are read as they lie.

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
        """The same parameters with some changed."""
        return dataclasses.replace(self, **changes)


def load(ref: Any, *, mask: Any = None) -> Any:
    """Reads a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      mask: booleans of the shape of what is read.
    """
    return _load(ref, mask=mask)


def store(ref: Any, val: Any, *, mask: Any = None) -> None:
    """Writes a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      val: an array of the shape and dtype of what is written.
      mask: booleans of that shape.
    """
    _store(ref, val, mask=mask)


def bitcast(x: Any, ty: Any) -> Any:
    """The bits of numbers as others of the same size.

    Example:
      >>> import numpy as np
      >>> bitcast(np.float32([1]), np.int32)
      Array([1065353216], dtype=int32)
    """
    return lax.bitcast_convert_type(x, ty)


def set_tpu_interpret_mode(params: InterpretParams | None = None) -> None:
    """Interprets all kernels that are lowered from now on.

    Args:
      params: how; None for the default.
    """
    set_interpret_mode(InterpretParams() if params is None else params)


def reset_tpu_interpret_mode_state() -> None:
    """Interprets those kernels again that ask for it."""
    set_interpret_mode(None)


def force_tpu_interpret_mode(params: InterpretParams | None = None) -> Any:
    """A context manager: all kernels that are lowered meanwhile are interpreted.

    Args:
      params: how; None for the default.
    """
    return force_interpret_mode(InterpretParams() if params is None else params)


def is_tpu_device() -> bool:
    """Whether programs run on a TPU where nothing else is said.

    Example:
      >>> is_tpu_device()
      False
    """
    return default_backend() == "tpu"
