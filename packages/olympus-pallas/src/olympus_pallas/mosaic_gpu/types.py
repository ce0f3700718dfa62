# SPDX-License-Identifier: Apache-2.0
"""Memory spaces of a GPU, buffers, barriers, block specifications, compiler parameters."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from olympus_ir.types import dtypes
from olympus_ir.types.annotations import DTypeLike
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.extended_dtypes import ExtendedDType
from olympus_ir.types.references import AbstractRef

from ..calls import pallas_call as calls
from ..grids import block_specs
from ..memory import spaces as memory
from .layouts import Layout, TMEMLayout

__all__ = [
    "ACC",
    "GMEM",
    "REGS",
    "SMEM",
    "TMEM",
    "Barrier",
    "BlockSpec",
    "ClusterBarrier",
    "CompilerParams",
    "CopyPartition",
    "LoweringSemantics",
    "MemorySpace",
    "OOBFillMode",
    "RefType",
    "Replicated",
    "SemaphoreType",
    "ShapeDtypeStruct",
    "TraceScope",
    "WGMMAAccumulatorRef",
]


class MemorySpace(enum.Enum):
    """Memory spaces of a GPU: global, shared and tensor memory, registers.

    A member is callable: a call with a shape and a dtype makes a buffer in that memory.

    Example:
      >>> MemorySpace.SMEM((64, 64), "float16").shape
      (64, 64)
    """

    GMEM = "gmem"
    SMEM = "smem"
    TMEM = "tmem"
    REGS = "regs"

    def __str__(self) -> str:
        return self.value

    def __call__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike | ExtendedDType,
        *,
        transforms: Sequence[Any] = (),
        packed: bool | None = None,
        collective: bool | None = None,
        layout: TMEMLayout | None = None,
    ) -> GPUMemoryRef:
        in_tensor_memory = self is MemorySpace.TMEM
        if not in_tensor_memory and (packed is not None or collective is not None or layout):
            raise ValueError(
                "packed, collective and layout belong to buffers in TMEM, not to those in "
                f"{self.name}"
            )
        if dtypes.is_extended(dtype):
            aval = ShapedArray(tuple(shape), dtype)
        else:
            aval = ShapedArray(tuple(shape), dtypes.dtype(dtype))
        return GPUMemoryRef(aval, self, tuple(transforms), layout, collective)

    def like(self, shape_dtype_like: Any) -> GPUMemoryRef:
        """Returns a buffer of the shape and dtype of another value."""
        return self(shape_dtype_like.shape, shape_dtype_like.dtype)


GMEM = MemorySpace.GMEM
SMEM = MemorySpace.SMEM
TMEM = MemorySpace.TMEM
REGS = MemorySpace.REGS


@dataclasses.dataclass(frozen=True)
class GPUMemoryRef(memory.MemoryRef):
    """A buffer in a GPU's memory.

    Args:
      inner_aval: the type of the buffer's contents.
      memory_space: memory space of the buffer.
      transforms: the layout of the elements in memory.
      layout: the distribution of the elements over tensor memory.
      collective: whether the buffer is split over two thread blocks of a cluster.
    """

    transforms: tuple[Any, ...] = ()
    layout: Any = None
    collective: bool | None = None


# ---- barriers ----


class BarrierDType(memory.SemaphoreDType):
    """The dtype of barriers that open after a number of arrivals."""

    __slots__ = ("collective_axes", "num_arrivals")

    def __init__(self, name: str, num_arrivals: int, collective_axes: tuple = ()) -> None:
        super().__init__(name, memory.barrier_semaphore)
        self.num_arrivals = num_arrivals
        self.collective_axes = collective_axes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BarrierDType) and (
            self.name,
            self.num_arrivals,
            self.collective_axes,
        ) == (other.name, other.num_arrivals, other.collective_axes)

    def __hash__(self) -> int:
        return hash((self.name, self.num_arrivals, self.collective_axes))


def _shape(num_barriers: int | Sequence[int]) -> tuple[int, ...]:
    return (num_barriers,) if isinstance(num_barriers, int) else tuple(num_barriers)


class _BarrierType:
    """Base class of the types of barriers."""

    def _dtype(self) -> BarrierDType:
        raise TypeError("a barrier type must define `_dtype`")

    def get_array_aval(self) -> ShapedArray:
        """Raises an error, since barriers are not arrays.

        Raises:
          ValueError: always.
        """
        raise ValueError("Barriers are not arrays")

    def get_ref_aval(self) -> AbstractRef:
        """Returns the type of the reference that the kernel takes."""
        return AbstractRef(ShapedArray(self.num_barriers, self._dtype()), SMEM)  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Barrier(_BarrierType):
    """Barriers of a block: threads and copies arrive, and threads wait for all arrivals.

    Args:
      num_arrivals: the number of arrivals that complete a phase of the barrier.
      num_barriers: the number or the shape of the barriers. An index of the reference selects one
        barrier.
      orders_tensor_core: whether the barrier orders the operations of tensor cores.

    Example:
      >>> Barrier(num_arrivals=2, num_barriers=3).get_ref_aval().shape
      (3,)
    """

    num_arrivals: int = 1
    num_barriers: int | Sequence[int] = 1
    orders_tensor_core: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_barriers", _shape(self.num_barriers))
        if self.num_arrivals < 1:
            raise ValueError(f"num_arrivals must be at least 1, but got {self.num_arrivals}")

    def _dtype(self) -> BarrierDType:
        return BarrierDType("barrier", self.num_arrivals)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterBarrier(_BarrierType):
    """Barriers of the blocks of a cluster. Each arrival counts in all blocks.

    Args:
      collective_axes: the axes of the cluster along which blocks meet.
      num_barriers: the number or the shape of the barriers.
      num_arrivals: the number of arrivals of each block that complete a phase of the barrier.
      orders_tensor_core: whether the barrier orders the operations of tensor cores.
      leader_tracked: whether only the first block waits.
    """

    collective_axes: tuple[Any, ...]
    num_barriers: int | Sequence[int] = 1
    num_arrivals: int = 1
    orders_tensor_core: bool = False
    leader_tracked: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_barriers", _shape(self.num_barriers))
        axes = []
        for axis in self.collective_axes:
            axes += axis if isinstance(axis, tuple) else (axis,)
        object.__setattr__(self, "_axes", tuple(axes))

    def _dtype(self) -> BarrierDType:
        return BarrierDType("cluster_barrier", self.num_arrivals, self._axes)  # type: ignore[attr-defined]


class SemaphoreType(enum.Enum):
    """The kinds of semaphores of a GPU, in global memory. A member describes one semaphore."""

    REGULAR = "regular"
    BARRIER = "barrier"

    def __call__(self, shape: tuple[int, ...]) -> memory.MemoryRef:
        kind = getattr(memory.SemaphoreType, self.name)
        return memory.MemoryRef(ShapedArray(tuple(shape), kind.dtype), GMEM)

    def get_array_aval(self) -> ShapedArray:
        """The type of the buffer's contents."""
        return self(()).get_array_aval().update(memory_space=GMEM)

    def get_ref_aval(self) -> AbstractRef:
        """Returns the type of the reference that the kernel takes."""
        return self(()).get_ref_aval()


# ---- accumulators ----

ACCUMULATOR = "accumulator"


class _Uninitialized:
    def __repr__(self) -> str:
        return "Uninitialized"


_uninitialized = _Uninitialized()


@dataclasses.dataclass(frozen=True, eq=False)
class WGMMAAccumulatorRef:
    """An accumulator of products, in registers. It starts at zero.

    Args:
      shape: the shape.
      dtype: the dtype of the sums.

    Example:
      >>> WGMMAAccumulatorRef((64, 64)).get_ref_aval().dtype
      dtype('float32')
    """

    shape: tuple[int, int]
    dtype: DTypeLike = np.float32
    _init: Any = _uninitialized

    @property
    def initial_value(self) -> Any:
        """The initial contents; None for zeros."""
        return None if self._init is _uninitialized else self._init

    def get_ref_aval(self) -> AbstractRef:
        """Returns the type of the reference that the kernel takes."""
        aval = ShapedArray(tuple(self.shape), dtypes.dtype(self.dtype))
        return AbstractRef(aval, REGS, ACCUMULATOR)

    @staticmethod
    def init(array: Any) -> WGMMAAccumulatorRef:
        """Returns an accumulator with an array as initial contents."""
        return WGMMAAccumulatorRef(array.shape, array.dtype, array)


ACC = WGMMAAccumulatorRef


# ---- blocks, copies, arrays ----


@dataclasses.dataclass
class BlockSpec(block_specs.BlockSpec):
    """The block of an array that each step sees, and its transforms in shared memory.

    Args:
      block_shape: the sizes of a block.
      index_map: function from the indices of the step to the index of the block.
      pipeline_mode: number of buffers, and other settings of the pipeline.
      transforms: the layout of the elements in memory.
      delay_release: the number of steps by which the reuse of the block's memory is delayed.
      collective_axes: axes of the cluster along which all blocks see the same block of the array.
      memory_space: the memory that holds the block.

    Example:
      >>> BlockSpec((64, 64), lambda i: (i, 0), delay_release=1).delay_release
      1
    """

    transforms: Sequence[Any] = ()
    delay_release: int = 0
    collective_axes: tuple[Hashable, ...] = ()

    def __init__(
        self,
        block_shape: Sequence[Any] | None = None,
        index_map: Callable[..., Any] | None = None,
        pipeline_mode: Any | None = None,
        transforms: Sequence[Any] = (),
        delay_release: int = 0,
        collective_axes: tuple[Hashable, ...] = (),
        *,
        memory_space: Any | None = None,
    ) -> None:
        super().__init__(block_shape, index_map, pipeline_mode, memory_space=memory_space)
        self.transforms = tuple(transforms)
        self.delay_release = delay_release
        self.collective_axes = collective_axes


class OOBFillMode(enum.IntEnum):
    """Values that a copy writes for elements outside of an array."""

    UNDEFINED = 0
    PROMISE_IN_BOUNDS = 1
    ZEROS = 2


@dataclasses.dataclass(frozen=True)
class _Partitioned:
    axis: int


@dataclasses.dataclass(frozen=True)
class _Replicated:
    pass


class CopyPartition:
    """Partition of a copy among blocks of a cluster.

    The copy arrives only at the barrier of the first block.
    """

    PARTITIONED = _Partitioned
    REPLICATED = _Replicated()


@dataclasses.dataclass(frozen=True)
class Replicated:
    """A dimension of a layout along which threads hold the same elements.

    Args:
      times: the number of threads that hold the same elements.
    """

    times: int


@dataclasses.dataclass(frozen=True)
class RefType:
    """An argument that is a reference.

    Args:
      transforms: the layout of the elements in memory.
    """

    transforms: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """The type of an array in registers.

    Args:
      shape: the shape.
      dtype: the dtype.
      layout: the distribution of the elements over threads.
    """

    shape: tuple[int, ...]
    dtype: DTypeLike
    layout: Layout


# ---- the compiler ----


class LoweringSemantics(enum.Enum):
    """Threads whose work a kernel's code describes: one lane, or all lanes of a warpgroup."""

    Lane = 1
    Warpgroup = 2


class TraceScope(enum.Enum):
    """Groups of threads, each of which has its own line in profiles: warps, or warpgroups."""

    WARP = "warp"
    WARPGROUP = "warpgroup"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompilerParams(calls.CompilerParams):
    """Parameters of the compiler for a kernel.

    Args:
      approx_math: whether mathematical functions may be less exact.
      dimension_semantics: for each axis of the grid ``"parallel"`` or ``"sequential"``.
      max_concurrent_steps: the number of steps in flight at once.
      unsafe_no_auto_barriers: whether the compiler adds no barriers to the kernel.
      reduction_scratch_bytes: the number of bytes of memory that reductions may use.
      profile_space: the number of events for which a profile has room.
      profile_dir: the path of the folder to which profiles are written.
      profile_trace_scope: whether each warp or each warpgroup has its own line in profiles.
      lowering_semantics: whether the kernel's code describes the work of a lane or of a warpgroup.

    Example:
      >>> CompilerParams(max_concurrent_steps=2).max_concurrent_steps
      2
    """

    approx_math: bool = False
    dimension_semantics: Sequence[Literal["parallel", "sequential"]] | None = None
    max_concurrent_steps: int = 1
    unsafe_no_auto_barriers: bool = False
    reduction_scratch_bytes: int = 2048
    profile_space: int = 0
    profile_dir: str = ""
    profile_trace_scope: TraceScope = TraceScope.WARPGROUP
    lowering_semantics: LoweringSemantics = LoweringSemantics.Lane

    def __post_init__(self) -> None:
        if self.dimension_semantics is not None:
            object.__setattr__(self, "dimension_semantics", tuple(self.dimension_semantics))
        if bool(self.profile_space) != bool(self.profile_dir):
            raise ValueError("profile_space and profile_dir must be given together")

    def replace(self, /, **changes: Any) -> CompilerParams:
        """Returns a copy of the parameters with some fields changed."""
        return dataclasses.replace(self, **changes)
