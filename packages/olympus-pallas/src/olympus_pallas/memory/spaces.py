# SPDX-License-Identifier: Apache-2.0
"""Memory spaces, and the buffers and semaphores that kernels allocate in them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import DTypeLike
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.extended_dtypes import ExtendedDType, extended
from olympus_ir.types.references import AbstractRef

__all__ = ["MemoryRef", "MemorySpace", "SemaphoreType", "TpuMemorySpace"]


class MemorySpace(enum.Enum):
    """Memory spaces of every platform.

    A member is callable. Called with a shape and a dtype, it returns a scratch buffer in that
    memory.

    Example:
      >>> MemorySpace.ANY((8, 128), "float32").shape
      (8, 128)
    """

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
    HOST = "host"

    def __str__(self) -> str:
        return self.value

    @api_boundary
    def __call__(self, shape: Sequence[int], dtype: DTypeLike | ExtendedDType) -> MemoryRef:
        return MemoryRef(_inner_aval(shape, dtype), self)


class TpuMemorySpace(enum.Enum):
    """Memory spaces of a TPU: memories of the core, and HBM.

    A member is callable. Called with a shape and a dtype, it returns a scratch buffer in that
    memory.

    Example:
      >>> TpuMemorySpace.VMEM((8, 128), "float32").memory_space
      VMEM
    """

    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    SEMAPHORE = "semaphore_mem"
    HBM = "hbm"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name

    @api_boundary
    def __call__(self, shape: Sequence[int], dtype: DTypeLike | ExtendedDType) -> MemoryRef:
        return MemoryRef(_inner_aval(shape, dtype), self)


# JAX, too, calls this class `MemorySpace`.
TpuMemorySpace.__name__ = TpuMemorySpace.__qualname__ = "MemorySpace"


@dataclasses.dataclass(frozen=True)
class MemoryRef:
    """A buffer that a kernel allocates.

    Args:
      inner_aval: the type of the buffer's contents.
      memory_space: memory space of the buffer.
    """

    inner_aval: ShapedArray
    memory_space: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    def get_array_aval(self) -> Any:
        """The type of the buffer's contents."""
        return self.inner_aval

    def get_ref_aval(self) -> AbstractRef:
        """The type of the reference that the kernel takes."""
        return AbstractRef(self.inner_aval, self.memory_space)


def _inner_aval(shape: Sequence[int], dtype: Any) -> ShapedArray:
    return ShapedArray(tuple(shape), dtype if dtypes.is_extended(dtype) else dtypes.dtype(dtype))


# ---- semaphores ----


class semaphore_dtype(extended):
    """The abstract scalar type of semaphores."""


class semaphore(semaphore_dtype):
    """The abstract scalar type of semaphores that count signals of programs."""


class dma_semaphore(semaphore_dtype):
    """The abstract scalar type of semaphores that count copied bytes."""


class barrier_semaphore(semaphore_dtype):
    """The abstract scalar type of semaphores at which devices meet."""


class SemaphoreDType(ExtendedDType):
    """The dtype of semaphores of one kind."""

    __slots__ = ("_name", "type")

    def __init__(self, name: str, scalar_type: type) -> None:
        self._name = name
        self.type = scalar_type

    @property
    def name(self) -> str:
        return self._name

    @property
    def itemsize(self) -> int:
        return 4

    def physical_element_aval(self) -> ShapedArray:
        return ShapedArray((), np.dtype(np.int32))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemaphoreDType) and other._name == self._name

    def __hash__(self) -> int:
        return hash((SemaphoreDType, self._name))


class SemaphoreType(enum.Enum):
    """The kinds of semaphores of a TPU. A member describes one semaphore.

    Called with a shape, a member returns the description of an array of semaphores.

    Example:
      >>> SemaphoreType.DMA((2,)).shape
      (2,)
    """

    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    @property
    def dtype(self) -> SemaphoreDType:
        return _SEMAPHORE_DTYPES[self]

    @api_boundary
    def __call__(self, shape: Sequence[int]) -> MemoryRef:
        return MemoryRef(ShapedArray(tuple(shape), self.dtype), TpuMemorySpace.SEMAPHORE)

    def get_array_aval(self) -> ShapedArray:
        """The type of the buffer's contents."""
        return self(()).get_array_aval()

    def get_ref_aval(self) -> AbstractRef:
        """The type of the reference that the kernel takes."""
        return self(()).get_ref_aval()


_SEMAPHORE_DTYPES = {
    SemaphoreType.REGULAR: SemaphoreDType("semaphore", semaphore),
    SemaphoreType.DMA: SemaphoreDType("dma_sem", dma_semaphore),
    SemaphoreType.BARRIER: SemaphoreDType("barrier_semaphore", barrier_semaphore),
}
