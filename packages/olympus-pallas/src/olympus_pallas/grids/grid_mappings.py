# SPDX-License-Identifier: Apache-2.0
"""Grid mappings, the parameter ``grid_mapping`` of ``pallas_call`` for operands of known types."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.trees.pytrees import PyTreeDef
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.references import AbstractRef

from .block_mappings import BlockMapping
from .current_grid import inside_grid

__all__ = ["INDEX_DTYPE", "GridMapping", "dynamic_grid_dim"]


INDEX_DTYPE = np.dtype(np.int32)


class DynamicGridDim:
    """Placeholder for a size of the grid that is an operand of the call."""

    def __repr__(self) -> str:
        return "DynamicGridDim"


dynamic_grid_dim = DynamicGridDim()


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class GridMapping:
    """A grid of programs and the blocks that they see, for operands of given types.

    Attributes:
      grid: the sizes of the grid; `dynamic_grid_dim` for a size that is an operand.
      grid_names: names of the dimensions, or None.
      block_mappings: one for each input that is cut, then one for each output.
      index_map_tree: the structure of the arguments of index maps.
      index_map_avals: the types of these arguments: indices, then references to prefetched scalars.
      vmapped_dims: the dimensions that `vmap` has added, which `program_id` does not count.
      scratch_avals: the types of the references to scratch buffers.
      num_index_operands: the number of operands that are prefetched scalars.
      num_inputs: the number of inputs that are cut into blocks.
      num_outputs: the number of outputs.
      get_grid_indices: source of the index maps' indices, if they do not come from this grid.
      local_grid_env: the grid that `program_id` sees, if it is not this grid.
      debug: whether to print the mapping.
    """

    grid: tuple[Any, ...]
    grid_names: tuple[Any, ...] | None
    block_mappings: tuple[BlockMapping, ...]
    index_map_tree: PyTreeDef
    index_map_avals: tuple[Any, ...]
    vmapped_dims: tuple[int, ...]
    scratch_avals: tuple[Any, ...]
    num_index_operands: int
    num_inputs: int
    num_outputs: int
    get_grid_indices: Callable[..., Any] | None = None
    local_grid_env: Callable[..., Any] | None = None
    debug: bool = False

    def __repr__(self) -> str:
        return f"GridMapping(grid={self.grid}, block_mappings={self.block_mappings})"

    def replace(self, **changes: Any) -> GridMapping:
        """Returns the mapping with some fields changed."""
        return dataclasses.replace(self, **changes)

    def trace_env(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager in which `program_id` and `num_programs` see the grid."""
        return inside_grid(tuple([self.grid[dim] for dim in self.own_dims]))

    def to_lojax(self) -> GridMapping:
        """Returns the mapping itself, since it has no operands of high-level types to lower."""
        return self

    @property
    def static_grid(self) -> tuple[int, ...]:
        """The sizes of the grid, which must be known.

        Raises:
          ValueError: if some sizes are operands.
        """
        if self.num_dynamic_grid_bounds:
            raise ValueError(f"Expected a grid with fully static bounds, got {self.grid}")
        return self.grid

    @property
    def num_dynamic_grid_bounds(self) -> int:
        return sum(size is dynamic_grid_dim for size in self.grid)

    @property
    def num_scratch_operands(self) -> int:
        return len(self.scratch_avals)

    @property
    def own_dims(self) -> tuple[int, ...]:
        """The dimensions of the user's grid, without those that `vmap` added."""
        return tuple(dim for dim in range(len(self.grid)) if dim not in self.vmapped_dims)

    def check_semantics(self, kinds: Sequence[Any]) -> None:
        """Checks that there is one kind of semantics for each dimension of the user's grid.

        Raises:
          ValueError: there are more or fewer.
        """
        if len(kinds) != len(self.own_dims):
            raise ValueError(
                f"dimension_semantics={tuple(kinds)} has {len(kinds)} entries, but the grid has "
                f"{len(self.own_dims)} dimensions"
            )

    @property
    def block_mappings_output(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[self.num_inputs :]

    @property
    def in_shapes(self) -> list[ShapedArray]:
        """The types of the inputs, prefetched scalars first."""
        prefetched = [
            aval.inner_aval for aval in self.index_map_avals if isinstance(aval, AbstractRef)
        ]
        return [*prefetched, *(m.array_aval for m in self.block_mappings[: self.num_inputs])]

    @property
    def out_shapes(self) -> list[ShapedArray]:
        """The types of the outputs."""
        return [mapping.array_aval for mapping in self.block_mappings_output]

    # The kernel's operands are prefetched scalars, inputs, outputs and scratch buffers.

    @property
    def slice_index_ops(self) -> slice:
        return slice(0, self.num_index_operands)

    @property
    def slice_block_ops(self) -> slice:
        start = self.num_index_operands
        return slice(start, start + self.num_inputs + self.num_outputs)

    @property
    def slice_scratch_ops(self) -> slice:
        start = self.num_index_operands + self.num_inputs + self.num_outputs
        return slice(start, start + self.num_scratch_operands)

    def check_invariants(self) -> None:
        """Checks that the numbers of operands are consistent; a failure is an internal error."""
        assert len(self.block_mappings) == self.num_inputs + self.num_outputs, self
        assert len(self.index_map_avals) == len(self.grid) + self.num_index_operands, self
        for mapping in self.block_mappings:
            assert len(mapping.block_shape) == mapping.array_aval.ndim, mapping
            assert len(mapping.index_map_jaxpr.in_avals) == len(self.index_map_avals), mapping
