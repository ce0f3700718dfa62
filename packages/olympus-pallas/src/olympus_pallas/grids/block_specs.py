# SPDX-License-Identifier: Apache-2.0
"""Block specifications: the block of an array that each program of the grid sees."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.types.avals import ShapedArray

from .block_dims import BlockDim, Buffered
from .block_mappings import BlockMapping, map_blocks

__all__ = ["BlockSpec", "NoBlockSpec", "block_mapping", "no_block_spec"]


class NoBlockSpec:
    """Placeholder for a specification that is not given."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = NoBlockSpec()


@dataclasses.dataclass
class BlockSpec:
    """The block of an array that each program of the grid sees.

    Args:
      block_shape: for each dimension, the size of a block, as an integer or a `Blocked`, `Element`,
        `Squeezed`, `BoundedSlice` or `Indirect`. None means `Squeezed`: a program sees a single
        index along the dimension, and the reference lacks the dimension. Without ``block_shape``, a
        program sees the whole array.
      index_map: function from the program's indices in the grid to the index of the block. The
        index counts blocks, except along the dimensions of some kinds, such as `Element`, whose
        docstrings say what the function returns. Without ``index_map``, every program sees the
        first block.
      memory_space: the memory that holds the block while the program runs.
      pipeline_mode: number of buffers, and other settings of the pipeline.

    Example:
      >>> BlockSpec((8, 128), lambda i, j: (i, j)).block_shape
      (8, 128)
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any | None = None
    pipeline_mode: Buffered | None = None

    # The constructor is written by hand, since the order of the parameters differs from that of the
    # fields.
    def __init__(
        self,
        block_shape: Sequence[BlockDim | int | None] | None = None,
        index_map: Callable[..., Any] | None = None,
        pipeline_mode: Buffered | None = None,
        *,
        memory_space: Any | None = None,
    ) -> None:
        if callable(block_shape) and not callable(index_map):
            # Older programs pass the index map first.
            block_shape, index_map = index_map, block_shape
        self.block_shape = block_shape
        self.index_map = index_map
        self.memory_space = memory_space
        self.pipeline_mode = pipeline_mode

    def replace(self, **changes: Any) -> BlockSpec:
        """Returns the specification with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_block_mapping(
        self,
        origin: str,
        array_aval: ShapedArray,
        *,
        index_map_avals: Sequence[Any],
        index_map_tree: Any,
        debug: bool = False,
    ) -> BlockMapping:
        """Returns the specification's block mapping for one array."""
        return map_blocks(self, origin, array_aval, index_map_avals, index_map_tree, debug)


def block_mapping(
    spec: BlockSpec | NoBlockSpec | None,
    origin: str,
    array_aval: ShapedArray,
    index_map_avals: Sequence[Any],
    index_map_tree: Any,
    debug: bool = False,
) -> BlockMapping:
    """Returns the block mapping of one operand, even if no specification is given.

    Args:
      spec: the specification; without a specification, every program sees the whole array.
      origin: the operand's name, for messages.
      array_aval: the array's type.
      index_map_avals: the types of the index map's arguments.
      index_map_tree: the structure ``(args, kwargs)`` of these arguments.
      debug: whether to print the mapping.

    Returns:
      The `BlockMapping`.

    Raises:
      TypeError: if ``spec`` is not a block specification, or its block shape is not a sequence.
      ValueError: if the block shape does not fit the array, or the index map does not fit the block
        shape.
    """
    if isinstance(spec, NoBlockSpec) or spec is None:
        spec = BlockSpec()
    if not isinstance(spec, BlockSpec):
        raise TypeError(f"The block specification for {origin} must be a BlockSpec, got {spec!r}")
    return map_blocks(spec, origin, array_aval, index_map_avals, index_map_tree, debug)
