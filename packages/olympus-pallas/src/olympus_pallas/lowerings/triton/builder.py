# SPDX-License-Identifier: Apache-2.0
"""Builder of Triton kernels, with pointers and with tensors whose sizes are powers of two."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

from ...mlir.attributes import parsed_type
from ...mlir.building import INT32, KernelBuilder, element_of, element_type, product
from ...mlir.tables import triton_rules

__all__ = ["TritonBuilder", "TritonKernel", "pointer_type"]


@dataclasses.dataclass
class TritonKernel:
    """State of a whole kernel during lowering.

    Attributes:
      program_ids: the program's index along each dimension of the user's grid.
      grid: the sizes of these dimensions.
      name: the kernel's name, for messages.
    """

    program_ids: list[Any]
    grid: tuple[int, ...]
    name: str


def pointer_type(mlir_element: Any) -> Any:
    """Returns the type of pointers to elements in the GPU's global memory."""
    return parsed_type(f"!tt.ptr<{mlir_element}>")


class TritonBuilder(KernelBuilder):
    """Builds the operations of a Triton kernel."""

    __slots__ = ()

    rules = triton_rules
    language = "Triton"

    def shaped_type(self, shape: Sequence[int], mlir_element: Any) -> Any:
        return ir.RankedTensorType.get(list(shape), mlir_element, loc=mlir.unknown_location())

    def splat(self, scalar: Any, shape: Sequence[int]) -> Any:
        return self.create("tt.splat", self.shaped_type(shape, scalar.type), (scalar,))

    def check_aval(self, aval: Any) -> None:
        shape = getattr(aval, "shape", ())
        size = product(shape)
        if size & (size - 1) or not size:
            raise ValueError(
                "The Triton lowering of kernels requires that all operations have array results "
                f"whose size is a power of 2. Encountered an array of shape {shape} in the kernel "
                f"{self.kernel.name}. Pad the blocks, and use loads and stores with masks."
            )

    # ---- shapes ----

    def arange(self, start: int, stop: int) -> Any:
        """Returns the integers of a range whose length is a power of two, in 32 bits."""
        kind = self.shaped_type((stop - start,), element_type(INT32))
        attributes = {"start": mlir.i32(start), "end": mlir.i32(stop)}
        return self.create("tt.make_range", kind, (), attributes)

    def expand_dims(self, value: Any, axis: int) -> Any:
        shape = list(self.shape_of(value))
        shape.insert(axis, 1)
        kind = self.shaped_type(shape, element_of(value))
        return self.create("tt.expand_dims", kind, (value,), {"axis": mlir.i32(axis)})

    def broadcast_to(self, value: Any, shape: Sequence[int]) -> Any:
        """Broadcasts a scalar, or an array with dimensions of size 1."""
        old_shape = self.shape_of(value)
        if old_shape == tuple(shape):
            return value
        if not old_shape:
            return self.splat(value, shape)
        return self.create("tt.broadcast", self.shaped_type(shape, element_of(value)), (value,))

    def along(self, value: Any, axis: int, shape: Sequence[int]) -> Any:
        """Broadcasts a vector along one dimension of a shape."""
        for dim in range(len(shape)):
            if dim != axis:
                value = self.expand_dims(value, dim)
        return self.broadcast_to(value, shape)

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        """Reshapes a value."""
        old_shape = self.shape_of(value)
        if old_shape == tuple(shape):
            return value
        if not old_shape:
            return self.splat(value, shape)
        if not shape:
            return self.create("tt.unsplat", element_of(value), (value,))
        return self.create("tt.reshape", self.shaped_type(shape, element_of(value)), (value,))
