# SPDX-License-Identifier: Apache-2.0
"""Kernels for TPUs: memory spaces, parameters of Mosaic, pipelines, and units of a core.

The folder may import `core_maps`, `calls` and the layers below them.
"""

from __future__ import annotations

from typing import Any

from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_xla.platforms.backends import default_backend

from ..grids.grid_specs import PrefetchScalarGridSpec as PrefetchScalarGridSpec
from ..memory.access import load as _load
from ..memory.access import store as _store
from ..memory.annotations import RefLike
from ..memory.constraints import with_memory_space_constraint as with_memory_space_constraint
from ..memory.spaces import SemaphoreType as SemaphoreType
from ..memory.spaces import TpuMemorySpace as MemorySpace
from ..memory.spaces import dma_semaphore as dma_semaphore
from ..mlir.building import KernelLoweringError as LoweringException
from ..operations.transfers import async_copy as async_copy
from ..operations.transfers import async_remote_copy as async_remote_copy
from ..operations.transfers import get_barrier_semaphore as get_barrier_semaphore
from ..operations.transfers import make_async_copy as make_async_copy
from ..operations.transfers import make_async_remote_copy as make_async_remote_copy
from ..operations.transfers import sync_copy as sync_copy
from ..settings.interpret_modes import force_interpret_mode, set_interpret_mode
from ..settings.interpret_params import InterpretParams as InterpretParams
from .buffered_refs import BufferedRef as BufferedRef
from .buffered_refs import BufferedRefBase as BufferedRefBase
from .buffered_refs import BufferType as BufferType
from .cores import core_barrier as core_barrier
from .cores import run_on_first_core as run_on_first_core
from .info import ChipVersion as ChipVersion
from .info import Tiling as Tiling
from .info import TpuInfo as TpuInfo
from .info import get_tpu_info as get_tpu_info
from .info import get_tpu_info_for_chip as get_tpu_info_for_chip
from .matrix_unit import matmul_acc_lhs as matmul_acc_lhs
from .matrix_unit import matmul_pop as matmul_pop
from .matrix_unit import matmul_push_rhs as matmul_push_rhs
from .meshes import create_tensorcore_mesh as create_tensorcore_mesh
from .packing import einshape as einshape
from .packing import pack_elementwise as pack_elementwise
from .packing import stochastic_round as stochastic_round
from .packing import trace_value as trace_value
from .packing import unpack_elementwise as unpack_elementwise
from .parameters import CompilerParams as CompilerParams
from .parameters import CoreType as CoreType
from .parameters import GridDimensionSemantics as GridDimensionSemantics
from .parameters import SideEffectType as SideEffectType
from .pipelines import emit_pipeline as emit_pipeline
from .pipelines import emit_pipeline_with_allocations as emit_pipeline_with_allocations
from .random_numbers import sample_block as sample_block
from .random_numbers import stateful_bernoulli as stateful_bernoulli
from .random_numbers import stateful_bits as stateful_bits
from .random_numbers import stateful_normal as stateful_normal
from .random_numbers import stateful_uniform as stateful_uniform
from .random_numbers import to_pallas_key as to_pallas_key
from .vector_unit import bitcast as bitcast
from .vector_unit import prng_random_bits as prng_random_bits
from .vector_unit import prng_seed as prng_seed
from .vector_unit import roll as roll
from .vector_unit import touch as touch

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
    "BufferType",
    "BufferedRef",
    "BufferedRefBase",
    "ChipVersion",
    "CompilerParams",
    "CoreType",
    "GridDimensionSemantics",
    "InterpretParams",
    "LoweringException",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "SemaphoreType",
    "SideEffectType",
    "Tiling",
    "TpuInfo",
    "async_copy",
    "async_remote_copy",
    "bitcast",
    "core_barrier",
    "create_tensorcore_mesh",
    "dma_semaphore",
    "einshape",
    "emit_pipeline",
    "emit_pipeline_with_allocations",
    "force_tpu_interpret_mode",
    "get_barrier_semaphore",
    "get_tpu_info",
    "get_tpu_info_for_chip",
    "is_tpu_device",
    "load",
    "make_async_copy",
    "make_async_remote_copy",
    "matmul_acc_lhs",
    "matmul_pop",
    "matmul_push_rhs",
    "pack_elementwise",
    "prng_random_bits",
    "prng_seed",
    "reset_tpu_interpret_mode_state",
    "roll",
    "run_on_first_core",
    "sample_block",
    "set_tpu_interpret_mode",
    "stateful_bernoulli",
    "stateful_bits",
    "stateful_normal",
    "stateful_uniform",
    "stochastic_round",
    "store",
    "sync_copy",
    "to_pallas_key",
    "touch",
    "trace_value",
    "unpack_elementwise",
    "with_memory_space_constraint",
]

CMEM = MemorySpace.CMEM
HBM = MemorySpace.HBM
SEMAPHORE = MemorySpace.SEMAPHORE
SMEM = MemorySpace.SMEM
VMEM = MemorySpace.VMEM
VMEM_SHARED = MemorySpace.VMEM_SHARED


ARBITRARY = GridDimensionSemantics.ARBITRARY
CORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL
PARALLEL = GridDimensionSemantics.PARALLEL
SUBCORE_PARALLEL = GridDimensionSemantics.SUBCORE_PARALLEL


def load(ref: RefLike, *, mask: ArrayLike | None = None) -> Array:
    """Reads a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      mask: a boolean array of the shape of the elements read.

    Returns:
      An array of the reference's shape and dtype.
    """
    return _load(ref, mask=mask)


def store(ref: RefLike, val: ArrayLike, *, mask: ArrayLike | None = None) -> None:
    """Writes a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      val: an array of the shape and dtype of the elements written.
      mask: a boolean array of the shape of ``val``.
    """
    _store(ref, val, mask=mask)


def set_tpu_interpret_mode(params: InterpretParams | None = None) -> None:
    """Interprets all kernels that are lowered from now on.

    Args:
      params: the parameters of interpretation; None for the default ones.
    """
    set_interpret_mode(InterpretParams() if params is None else params)


def reset_tpu_interpret_mode_state() -> None:
    """Undoes `set_tpu_interpret_mode`."""
    set_interpret_mode(None)


def force_tpu_interpret_mode(params: InterpretParams | None = None) -> Any:
    """Context manager that interprets all kernels that are lowered within it.

    Args:
      params: the parameters of interpretation; None for the default ones.

    Returns:
      The context manager.
    """
    return force_interpret_mode(InterpretParams() if params is None else params)


def is_tpu_device() -> bool:
    """Returns whether the default backend is a TPU.

    Example:
      >>> is_tpu_device()
      False
    """
    return default_backend() == "tpu"
