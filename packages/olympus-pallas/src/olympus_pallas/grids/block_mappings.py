# SPDX-License-Identifier: Apache-2.0
"""Block mappings: the blocks of an operand of known type, with a traced index map.

A `BlockSpec` is the user's description; a `BlockMapping` is the checked form for one array.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees.flattening import FlatFunction, function_source
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.references import AbstractRef

from ..memory.spaces import MemorySpace
from .block_dims import (
    BlockDim,
    Blocked,
    BoundedSlice,
    Buffered,
    Element,
    Indirect,
    Squeezed,
    block_size,
)
from .dynamic_shapes import are_dynamic_shapes_allowed
from .sizes import is_symbolic

if TYPE_CHECKING:
    from .block_specs import BlockSpec

__all__ = ["BlockMapping", "map_blocks"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BlockMapping:
    """The blocks of one operand that the programs of a grid see.

    Attributes:
      block_shape: one entry for each dimension of the array.
      transformed_block_aval: the type of the reference that the kernel takes.
      index_map_jaxpr: program from the indices in the grid to the index of the block.
      index_map_out_tree: the structure of the index map's result.
      array_aval: the type of the array.
      origin: name of the operand, for messages.
      transforms: transforms of the block in memory.
      pipeline_mode: number of buffers, and other settings of the pipeline.
      debug: whether to print the mapping.
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
        """The block's size along each dimension of the array; 1 for a squeezed dimension."""
        return tuple(map(block_size, self.block_shape))

    @property
    def squeezed_dims(self) -> tuple[int, ...]:
        """The dimensions that the reference does not have."""
        return tuple(dim for dim, size in enumerate(self.block_shape) if isinstance(size, Squeezed))

    @property
    def is_whole(self) -> bool:
        """Returns whether every program sees the whole array."""
        return self.sizes == self.array_aval.shape and not self.squeezed_dims

    def replace(self, **changes: Any) -> BlockMapping:
        """Returns the mapping with some fields changed."""
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        return f"BlockMapping(block_shape={self.block_shape})"


def _canonical_dim(dim: Any, origin: str) -> BlockDim:
    if dim is None:
        return Squeezed()
    if isinstance(dim, Blocked | Element | Squeezed | BoundedSlice | Indirect):
        return dim
    if isinstance(dim, int | np.integer):
        return Blocked(int(dim))
    if is_symbolic(dim):
        return Blocked(dim)
    raise ValueError(
        f"Unsupported block dimension type: {type(dim)} in the block shape for {origin}. A block "
        "shape holds integers, None, Blocked, Element and Squeezed."
    )


def map_blocks(
    spec: BlockSpec,
    origin: str,
    array_aval: ShapedArray,
    index_map_avals: Sequence[Any],
    index_map_tree: Any,
    debug: bool = False,
) -> BlockMapping:
    """Returns the block mapping of a specification for one array.

    Args:
      spec: the specification.
      origin: the operand's name, for messages.
      array_aval: the array's type.
      index_map_avals: the types of the index map's arguments.
      index_map_tree: the structure ``(args, kwargs)`` of these arguments.
      debug: whether to print the mapping.

    Returns:
      The `BlockMapping`.

    Raises:
      TypeError: if the block shape is not a sequence.
      ValueError: if the block shape does not fit the array, or the index map does not fit the block
        shape.
    """
    block_shape = _checked_block_shape(spec.block_shape, origin, array_aval)

    def first_block(*indices: Any) -> Any:
        return (0,) * len(block_shape)

    jaxpr, out_tree = _trace_index_map(
        spec.index_map or first_block, origin, block_shape, index_map_avals, index_map_tree
    )
    inner_shape = tuple(block_size(dim) for dim in block_shape if not isinstance(dim, Squeezed))
    memory_space = MemorySpace.DEFAULT if spec.memory_space is None else spec.memory_space
    return BlockMapping(
        block_shape,
        AbstractRef(ShapedArray(inner_shape, array_aval.dtype), memory_space),
        jaxpr,
        out_tree,
        array_aval,
        origin,
        pipeline_mode=spec.pipeline_mode,
        debug=debug,
    )


def _checked_block_shape(
    block_shape: Any, origin: str, array_aval: ShapedArray
) -> tuple[BlockDim, ...]:
    """Returns the block's dimensions, one for each dimension of the array."""
    shape: Any = array_aval.shape if block_shape is None else block_shape
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"The block shape for {origin} must be a sequence of sizes, got {block_shape!r}"
        )
    if any(map(is_symbolic, shape)) and not are_dynamic_shapes_allowed():
        raise ValueError(
            "shape polymorphism for Pallas does not support dynamically-shaped blocks. Block spec "
            f"for {origin} has block_shape: {tuple(shape)}. Give blocks of known sizes, and a grid "
            "of as many programs as there are blocks, or export under "
            "pallas_export_experimental(dynamic_shapes=True)."
        )
    dims = tuple(_canonical_dim(dim, origin) for dim in shape)
    if len(dims) != array_aval.ndim:
        raise ValueError(
            f"Block shape for {origin} (= {dims}) must have the same number of dimensions "
            f"as the array shape {array_aval.shape}."
        )
    for dim in dims:
        if block_size(dim) < 1:
            raise ValueError(
                f"Block shape for {origin} (= {dims}) must have positive sizes. Omit the "
                "block shape for the whole array, or give None for a single index."
            )
    return dims


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
    debug_info = DebugInfo.of("pallas_call index_map", index_map)
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
            f"match block_shape={block_shape}. It returned {count}."
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
