# SPDX-License-Identifier: Apache-2.0
"""Builder of Mosaic kernels, with vectors and the TPU's memories."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

from ...memory.spaces import MemorySpace, SemaphoreDType, SemaphoreType, TpuMemorySpace
from ...mlir.attributes import index_type, parsed_type
from ...mlir.building import BOOL, INT32, KernelBuilder, element_of, element_type
from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules

__all__ = ["MosaicBuilder", "MosaicKernel", "memory_name", "memref_type", "storage_dtype"]


@dataclasses.dataclass
class MosaicKernel:
    """State of a whole kernel during lowering.

    Attributes:
      program_ids: the program's index along each dimension of the user's grid.
      grid: the sizes of these dimensions.
      name: the kernel's name, for messages.
      mesh_axes: names and sizes of the axes of the mesh of devices.
      core_axes: map from names of axes of cores to axes of the grid.
    """

    program_ids: list[Any]
    grid: tuple[Any, ...]
    name: str
    mesh_axes: tuple[tuple[Any, int], ...] = ()
    core_axes: dict[Any, int] = dataclasses.field(default_factory=dict)


def storage_dtype(dtype: Any) -> Any:
    """Returns the dtype of elements in memory; booleans are stored as integers."""
    return INT32 if dtype == BOOL else np.dtype(dtype)


def memory_name(space: Any) -> str:
    """Returns the TPU's name of a memory space."""
    if space is None or space is MemorySpace.DEFAULT:
        return "vmem"
    if space is MemorySpace.KEY:
        return "smem"
    if isinstance(space, TpuMemorySpace):
        return space.value
    if space in (MemorySpace.ANY, MemorySpace.HOST):
        return space.value
    raise ValueError(f"a TPU has no memory space {space!r}; see tpu.MemorySpace")


_SEMAPHORES = {
    SemaphoreType.REGULAR.dtype: "!tpu.semaphore",
    SemaphoreType.BARRIER.dtype: "!tpu.semaphore",
    SemaphoreType.DMA.dtype: "!tpu.dma_semaphore",
}


def memref_type(shape: Sequence[int], dtype: Any, space: str) -> Any:
    """Returns the type of an array in one of the TPU's memories."""
    if dtypes.issubdtype(dtype, dtypes.prng_key):
        physical = dtype.physical_element_aval()
        shape, dtype = (*shape, *physical.shape), physical.dtype
    if isinstance(dtype, SemaphoreDType):
        element = _SEMAPHORES[dtype]
    else:
        element = str(element_type(storage_dtype(dtype)))
    dims = "".join(f"{size}x" for size in shape)
    return parsed_type(f"memref<{dims}{element}, #tpu.memory_space<{space}>>")


class MosaicBuilder(KernelBuilder):
    """Builds the operations of a Mosaic kernel."""

    __slots__ = ()

    rules = mosaic_rules
    language = "Mosaic"

    def shaped_type(self, shape: Sequence[int], mlir_element: Any) -> Any:
        return ir.VectorType.get(list(shape), mlir_element, loc=mlir.unknown_location())

    def splat(self, scalar: Any, shape: Sequence[int]) -> Any:
        return self.broadcast_to(scalar, shape)

    def broadcast_to(self, value: Any, shape: Sequence[int]) -> Any:
        """Broadcasts a scalar, or an array of lower rank or with dimensions of size 1."""
        if self.shape_of(value) == tuple(shape):
            return value
        kind = self.shaped_type(shape, element_of(value))
        return self.create("vector.broadcast", kind, (value,))

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        """Reshapes a value; the shape () gives a scalar."""
        old_shape = self.shape_of(value)
        if old_shape == tuple(shape):
            return value
        if not old_shape:
            return self.broadcast_to(value, shape)
        if not shape:
            position = mlir.i64_array([0] * len(old_shape))
            return self.create(
                "vector.extract", element_of(value), (value,), {"static_position": position}
            )
        source = _before_reshape(value)
        if source is not None and self.shape_of(source) == tuple(shape):
            return source
        kind = self.shaped_type(shape, element_of(value))
        return self.create("vector.shape_cast", kind, (value,))

    def as_index(self, value: Any, dtype: Any = INT32) -> Any:
        """Converts an integer to the type ``index``."""
        if isinstance(value, int):
            return self.index(value)
        value = cast(self, value, dtype, INT32)
        return self.create("arith.index_cast", index_type(), (value,))

    def inline(self, fun: Callable[..., Any], operands: Sequence[Any], avals: Any = None) -> Any:
        """Traces a function of lax operations for given types, and lowers it in place."""
        avals = self.avals_in if avals is None else avals
        avals = [ShapedArray(aval.shape, aval.dtype) for aval in avals]
        closed = trace_to_closed(lambda *args: [fun(*args)], avals)
        (result,) = self.lower(closed, operands)
        return result


def _before_reshape(value: Any) -> Any:
    """Returns the operand of the reshape that made a value; None if there is none."""
    operation = getattr(value.owner, "operation", None)
    if operation is None or operation.name != "vector.shape_cast":
        return None
    return operation.operands[0]
