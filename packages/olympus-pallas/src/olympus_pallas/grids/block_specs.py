# SPDX-License-Identifier: Apache-2.0
"""How the arrays of a kernel are cut into blocks, one for each program of the grid."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

__all__ = [
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "Element",
    "Indirect",
    "NoBlockSpec",
    "RevisitMode",
    "Squeezed",
    "no_block_spec",
    "squeezed",
]


@dataclasses.dataclass(frozen=True)
class Blocked:
    """A dimension in blocks of one size; the index map counts blocks.

    Args:
      block_size: how many elements a block has along the dimension.
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Element:
    """A dimension in windows of one size; the index map counts elements, so windows may overlap.

    Args:
      block_size: how many elements a window has along the dimension.
      padding: how many elements the array seems to have before its first and after its last.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """A dimension of which a program sees one index and that the reference does not have."""


@dataclasses.dataclass(frozen=True)
class BoundedSlice:
    """A dimension of which a program sees a slice, whose size the index map says.

    Args:
      block_size: the largest size.
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Indirect:
    """A dimension of which a program sees elements at indices that the index map gives.

    Args:
      block_size: how many there are.
    """

    block_size: int


BlockDim: TypeAlias = Element | Squeezed | Blocked | BoundedSlice | Indirect
squeezed = Squeezed()


class RevisitMode(enum.Enum):
    """When a block that the pipeline has left may be visited again."""

    IMMEDIATE = "immediate"
    ANY = "any"


@dataclasses.dataclass(frozen=True)
class Buffered:
    """How many buffers the pipeline has for an operand.

    Args:
      buffer_count: the number of buffers.
      use_lookahead: whether blocks are fetched as soon as a buffer is free.
      revisit: when a block may be visited again.
    """

    buffer_count: int
    use_lookahead: bool = False
    revisit: RevisitMode | None = None


class NoBlockSpec:
    """Stands for a specification that was not given."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = NoBlockSpec()


@dataclasses.dataclass
class BlockSpec:
    """Which block of an array each program of the grid sees.

    Args:
      block_shape: the sizes of a block: integers, `Blocked`, `Element`, `Squeezed` ..., or None for
        a dimension of which a program sees one index and that the reference does not have.
        Without it, a program sees the whole array.
      index_map: from the program's place in the grid to the block's place in the array, counted
        in blocks. Without it, it is the first block.
      memory_space: the memory that the block lies in while the program runs.
      pipeline_mode: how the block is brought there.

    Example:
      >>> BlockSpec((8, 128), lambda i, j: (i, j)).block_shape
      (8, 128)
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any | None = None
    pipeline_mode: Buffered | None = None

    # Written out since parameters and fields are in different orders.
    def __init__(
        self,
        block_shape: Sequence[BlockDim | int | None] | None = None,
        index_map: Callable[..., Any] | None = None,
        pipeline_mode: Buffered | None = None,
        *,
        memory_space: Any | None = None,
    ) -> None:
        if callable(block_shape) and not callable(index_map):
            # Older programs give the index map first.
            block_shape, index_map = index_map, block_shape
        self.block_shape = block_shape
        self.index_map = index_map
        self.memory_space = memory_space
        self.pipeline_mode = pipeline_mode

    def replace(self, **changes: Any) -> BlockSpec:
        """The same specification with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_block_mapping(
        self,
        origin: str,
        array_aval: Any,
        *,
        index_map_avals: Sequence[Any],
        index_map_tree: Any,
        debug: bool = False,
    ) -> Any:
        """The specification for one array, checked and with its index map traced."""
        from .grid_specs import block_mapping  # it is made of specifications

        return block_mapping(self, origin, array_aval, index_map_avals, index_map_tree, debug)
