# SPDX-License-Identifier: Apache-2.0
"""Kinds of block dimensions, and the number of buffers of an operand."""

from __future__ import annotations

import dataclasses
import enum
from typing import TypeAlias

__all__ = [
    "BlockDim",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "Element",
    "Indirect",
    "RevisitMode",
    "Squeezed",
    "block_size",
    "squeezed",
]


@dataclasses.dataclass(frozen=True)
class Blocked:
    """A dimension cut into blocks of equal size; the index map counts blocks.

    Args:
      block_size: the number of elements of a block along the dimension.
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Element:
    """A dimension of windows of equal size, which may overlap: the index map counts elements.

    Args:
      block_size: the number of elements of a window along the dimension.
      padding: the numbers of padding elements before the array's first element and after its last.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """A dimension along which a program sees a single index; the reference lacks this dimension."""


@dataclasses.dataclass(frozen=True)
class BoundedSlice:
    """A dimension along which a program sees a slice. The index map returns the slice.

    Args:
      block_size: the largest size of a slice.
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Indirect:
    """A dimension along which a program sees the elements at indices given by the index map.

    Args:
      block_size: the number of these elements.
    """

    block_size: int


BlockDim: TypeAlias = Element | Squeezed | Blocked | BoundedSlice | Indirect
squeezed = Squeezed()


class RevisitMode(enum.Enum):
    """Modes of visiting a block again after the pipeline has left it."""

    IMMEDIATE = "immediate"
    ANY = "any"


@dataclasses.dataclass(frozen=True)
class Buffered:
    """Number of buffers that the pipeline has for an operand.

    Args:
      buffer_count: the number of buffers.
      use_lookahead: whether blocks are fetched as soon as a buffer is free.
      revisit: when a block may be visited again.
    """

    buffer_count: int
    use_lookahead: bool = False
    revisit: RevisitMode | None = None


def block_size(dim: BlockDim) -> int:
    """Returns the size of a block along a dimension; 1 for a squeezed dimension."""
    return 1 if isinstance(dim, Squeezed) else dim.block_size
