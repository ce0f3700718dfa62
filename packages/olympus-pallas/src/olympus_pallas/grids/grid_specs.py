# SPDX-License-Identifier: Apache-2.0
"""Grids of programs, and what each program sees of the operands.

A `GridSpec` is what the user says; a `GridMapping` is the same for given operands, checked, with
index maps traced into olympusprs. It is a parameter of ``pallas_call``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees.flattening import FlatFunction, function_source
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.references import AbstractRef

from .block_specs import (
    BlockDim,
    Blocked,
    BlockSpec,
    BoundedSlice,
    Buffered,
    Element,
    Indirect,
    NoBlockSpec,
    Squeezed,
    no_block_spec,
)
from ..memory.spaces import MemorySpace

__all__ = [
    "BlockMapping",
    "GridMapping",
    "GridSpec",
    "PrefetchScalarGridSpec",
    "block_mapping",
    "dynamic_grid_dim",
]

INDEX_DTYPE = np.dtype(np.int32)


class DynamicGridDim:
    """Stands for the size of a dimension of the grid that is an operand."""

    def __repr__(self) -> str:
        return "DynamicGridDim"


dynamic_grid_dim = DynamicGridDim()


@dataclasses.dataclass(init=False)
class GridSpec:
    """How many programs run, and what each sees of inputs and outputs.

    Args:
      grid: the numbers of programs along each dimension, integers or scalar arrays.
      in_specs: one `BlockSpec` an input, as the inputs are structured.
      out_specs: one an output.
      scratch_shapes: the buffers that each program works with.

    Example:
      >>> GridSpec(grid=(4,)).grid
      (4,)
    """

    grid: tuple[Any, ...]
    grid_names: tuple[Any, ...] | None
    in_specs: Any
    out_specs: Any
    scratch_shapes: Any = ()

    # How many of the first inputs are read before the programs run; they are not cut into blocks.
    num_scalar_prefetch = 0

    def __init__(
        self,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ) -> None:
        self.grid, self.grid_names = _grid_and_names(grid)
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list | tuple) else in_specs
        self.out_specs = tuple(out_specs) if isinstance(out_specs, list | tuple) else out_specs
        if isinstance(scratch_shapes, list):
            scratch_shapes = tuple(scratch_shapes)
        self.scratch_shapes = scratch_shapes


@dataclasses.dataclass(init=False)
class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps see the first inputs, which are integers in scalar memory.

    Args:
      num_scalar_prefetch: how many inputs these are. Index maps take references to them after the
        indices of the grid, kernels before all others.
      grid: the numbers of programs along each dimension.
      in_specs: one `BlockSpec` an input that is not prefetched.
      out_specs: one an output.
      scratch_shapes: the buffers that each program works with.

    Example:
      >>> PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,)).num_scalar_prefetch
      1
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ) -> None:
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


def is_symbolic(size: Any) -> bool:
    """Whether a size is an expression in variables, whose value is known at run time."""
    return hasattr(size, "dimension_as_value") and not hasattr(size, "dtype")


def _grid_and_names(grid: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    if isinstance(grid, int | np.integer):
        return (int(grid),), None
    if not isinstance(grid, tuple | list):
        grid = (grid,)
    if grid and all(isinstance(size, tuple) for size in grid):
        return tuple(size for _, size in grid), tuple(name for name, _ in grid)
    for size in grid:
        if not (isinstance(size, int | np.integer) or hasattr(size, "dtype") or is_symbolic(size)):
            raise ValueError(
                f"Grid must be a tuple of integers or olympus.Array, got {tuple(grid)!r}"
            )
    return tuple(int(s) if isinstance(s, int | np.integer) else s for s in grid), None


# ---- blocks of given arrays ----


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BlockMapping:
    """Which block of one operand each program sees.

    Attributes:
      block_shape: one entry a dimension of the array.
      transformed_block_aval: the type of the reference that the kernel is given.
      index_map_jaxpr: from the program's indices to the block's place.
      index_map_out_tree: the structure of what the index map returned.
      array_aval: the type of the array.
      origin: which operand it is, for messages.
      transforms: how the block is stored.
      pipeline_mode: how the block is brought to where the kernel sees it.
      debug: whether to print what comes of it.
    """

    block_shape: tuple[BlockDim, ...]
    transformed_block_aval: AbstractRef
    index_map_jaxpr: ClosedOlympuspr
    index_map_out_tree: Any
    array_aval: ShapedArray
    origin: str
    transforms: tuple[Any, ...] = ()
    pipeline_mode: Buffered | None = None
    debug: bool = False

    @property
    def block_aval(self) -> AbstractRef:
        return self.transformed_block_aval

    @property
    def sizes(self) -> tuple[int, ...]:
        """The block's size along each dimension of the array; 1 where it is squeezed."""
        return tuple(map(block_size, self.block_shape))

    @property
    def squeezed_dims(self) -> tuple[int, ...]:
        """The dimensions that the reference does not have."""
        return tuple(dim for dim, size in enumerate(self.block_shape) if isinstance(size, Squeezed))

    @property
    def is_whole(self) -> bool:
        """Whether every program sees the whole array."""
        return self.sizes == self.array_aval.shape and not self.squeezed_dims

    def replace(self, **changes: Any) -> BlockMapping:
        """The same with some fields changed."""
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        return f"BlockMapping(block_shape={self.block_shape})"


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class GridMapping:
    """A grid of programs and the blocks that they see, for operands of given types.

    Attributes:
      grid: the sizes; `dynamic_grid_dim` for those that are operands.
      grid_names: names of the dimensions, where they have some.
      block_mappings: one for each input that is cut, then one for each output.
      index_map_tree: the structure of the arguments of index maps.
      index_map_avals: their types: indices, then references to prefetched scalars.
      vmapped_dims: the dimensions that `vmap` has added, which `program_id` does not count.
      scratch_avals: the types of the references to scratch buffers.
      num_index_operands: how many operands are prefetched scalars.
      num_inputs: how many inputs are cut into blocks.
      num_outputs: how many outputs there are.
      get_grid_indices: how index maps get their indices, where not from the grid.
      local_grid_env: what `program_id` sees, where not the grid.
      debug: whether to print what comes of it.
    """

    grid: tuple[Any, ...]
    grid_names: tuple[Any, ...] | None
    block_mappings: tuple[BlockMapping, ...]
    index_map_tree: Any
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
        """The same with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def static_grid(self) -> tuple[int, ...]:
        """The sizes, all of which must be known.

        Raises:
          ValueError: where some are operands.
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
        """The dimensions of the grid that the user asked for."""
        return tuple(dim for dim in range(len(self.grid)) if dim not in self.vmapped_dims)

    @property
    def block_mappings_output(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[self.num_inputs :]

    @property
    def in_shapes(self) -> list[ShapedArray]:
        """The types of the inputs, those that are prefetched first."""
        prefetched = [
            aval.inner_aval for aval in self.index_map_avals if isinstance(aval, AbstractRef)
        ]
        return [*prefetched, *(m.array_aval for m in self.block_mappings[: self.num_inputs])]

    @property
    def out_shapes(self) -> list[ShapedArray]:
        """The types of the outputs."""
        return [mapping.array_aval for mapping in self.block_mappings_output]

    # The kernel's operands: prefetched scalars, inputs and outputs, scratch buffers.

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
        """Checks that the numbers of operands fit together; an error is ours."""
        assert len(self.block_mappings) == self.num_inputs + self.num_outputs, self
        assert len(self.index_map_avals) == len(self.grid) + self.num_index_operands, self
        for mapping in self.block_mappings:
            assert len(mapping.block_shape) == mapping.array_aval.ndim, mapping
            assert len(mapping.index_map_jaxpr.in_avals) == len(self.index_map_avals), mapping


def block_size(dim: BlockDim) -> int:
    """How many elements of a dimension a block has."""
    return 1 if isinstance(dim, Squeezed) else dim.block_size


def _canonical_dim(dim: Any, origin: str) -> BlockDim:
    if dim is None:
        return Squeezed()
    if isinstance(dim, Blocked | Element | Squeezed | BoundedSlice | Indirect):
        return dim
    if isinstance(dim, int | np.integer):
        return Blocked(int(dim))
    raise ValueError(
        f"Unsupported block dimension type: {type(dim)} in the block shape for {origin}. A block "
        "shape holds integers, None, Blocked, Element and Squeezed."
    )


def block_mapping(
    spec: BlockSpec | NoBlockSpec,
    origin: str,
    array_aval: ShapedArray,
    index_map_avals: Sequence[Any],
    index_map_tree: Any,
    debug: bool = False,
) -> BlockMapping:
    """A specification for one array, checked and with its index map traced.

    Args:
      spec: the specification.
      origin: which operand the array is, for messages.
      array_aval: the array's type.
      index_map_avals: the types of the index map's arguments.
      index_map_tree: their structure, that of ``(args, kwargs)``.
      debug: whether to print what comes of it.

    Raises:
      ValueError: where the block shape does not fit the array, or the index map the block shape.
    """
    if isinstance(spec, NoBlockSpec) or spec is None:
        spec = BlockSpec()
    if not isinstance(spec, BlockSpec):
        raise TypeError(f"The block specification for {origin} must be a BlockSpec, got {spec!r}")
    shape: Any = array_aval.shape if spec.block_shape is None else spec.block_shape
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"The block shape for {origin} must be a sequence of sizes, got {spec.block_shape!r}"
        )
    if any(map(is_symbolic, shape)):
        raise ValueError(
            "shape polymorphism for Pallas does not support dynamically-shaped blocks. Block spec "
            f"for {origin} has block_shape: {tuple(shape)}. Give blocks of known sizes, and a grid "
            "of as many programs as there are blocks."
        )
    block_shape = tuple(_canonical_dim(dim, origin) for dim in shape)
    if len(block_shape) != array_aval.ndim:
        raise ValueError(
            f"Block shape for {origin} (= {block_shape}) must have the same number of dimensions "
            f"as the array shape {array_aval.shape}."
        )
    for dim in block_shape:
        if block_size(dim) < 1:
            raise ValueError(
                f"Block shape for {origin} (= {block_shape}) must have positive sizes. Leave the "
                "block shape away for the whole array, or give None for a single index."
            )

    def first_block(*indices: Any) -> Any:
        return (0,) * len(block_shape)

    jaxpr, out_tree = _trace_index_map(
        spec.index_map or first_block, origin, block_shape, index_map_avals, index_map_tree
    )
    inner_shape = tuple(block_size(dim) for dim in block_shape if not isinstance(dim, Squeezed))
    memory_space = MemorySpace.DEFAULT if spec.memory_space is None else spec.memory_space
    mapping = BlockMapping(
        block_shape,
        AbstractRef(ShapedArray(inner_shape, array_aval.dtype), memory_space),
        jaxpr,
        out_tree,
        array_aval,
        origin,
        pipeline_mode=spec.pipeline_mode,
        debug=debug,
    )
    return mapping


def _trace_index_map(
    index_map: Callable[..., Any],
    origin: str,
    block_shape: tuple[BlockDim, ...],
    avals: Sequence[Any],
    tree: Any,
) -> tuple[ClosedOlympuspr, Any]:
    def as_tuple(*args: Any) -> Any:
        place = index_map(*args)
        return tuple(place) if isinstance(place, tuple | list) else (place,)

    flat = FlatFunction(as_tuple, tree)
    where = function_source(index_map)
    debug_info = DebugInfo("pallas_call index_map", index_map)
    olympuspr, consts = trace_to_olympuspr(flat, avals, debug_info)
    if consts:
        shown = [f"{dtypes.name_of(np.asarray(c).dtype)}{list(np.shape(c))}" for c in consts]
        raise ValueError(
            f"Index map function {where} for {origin} must not capture constants: {shown}. Compute "
            "with Python numbers, or pass them as prefetched scalars "
            "(PrefetchScalarGridSpec(num_scalar_prefetch=...))."
        )
    count = len(flat.out_tree.children())
    if count != len(block_shape):
        raise ValueError(
            f"Index map function {where} for {origin} must return {len(block_shape)} values to "
            f"match block_shape={block_shape}. Currently returning {count} values:"
        )
    if len(olympuspr.outvars) < count:
        raise ValueError(
            f"Index map function {where} for {origin} must return integer scalars. It returned "
            f"{flat.out_tree}."
        )
    for position, atom in enumerate(olympuspr.outvars):
        aval = atom.aval
        if aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
            raise ValueError(
                f"Index map function {where} for {origin} must return integer scalars. "
                f"Output[{position}] has type {aval}."
            )
    return ClosedOlympuspr(olympuspr, consts), flat.out_tree
