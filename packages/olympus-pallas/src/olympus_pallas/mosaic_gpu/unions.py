# SPDX-License-Identifier: Apache-2.0
"""Unions of groups of buffers. The groups share memory, and one is in use at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.avals import ShapedArray

from .types import MemorySpace

__all__ = ["RefUnion"]


class RefUnion:
    """Union of groups of buffers that share memory. One group is in use at a time.

    The kernel receives a union of references and unpacks it: ``first, second = union``. Values
    written through one group must not be read through another. On simulated threads each group
    has separate memory.

    Args:
      *refs: the groups; each is a buffer or a pytree of buffers.

    Example:
      >>> from olympus_pallas.mosaic_gpu import SMEM
      >>> union = RefUnion(SMEM((8,), "float32"), [SMEM((4,), "float32")])
      >>> len(union.refs)
      2
    """

    refs: tuple[Any, ...] = ()
    transforms: tuple[Any, ...] = ()
    layout: Any = None
    collective: bool | None = None

    def __init__(self, *refs: PyTree) -> None:
        self.refs = refs

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the shared memory: bytes."""
        return np.dtype(np.int8)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shared memory, which is as large as the largest group."""
        return (max(map(_bytes, self.refs), default=0),)

    def get_array_aval(self) -> ShapedArray:
        """The type of the shared memory's contents."""
        return ShapedArray(self.shape, self.dtype)

    @property
    def memory_space(self) -> MemorySpace:
        """The memory space of the buffers."""
        leaves = pytrees.tree_leaves(self.refs)
        spaces = {leaf.memory_space for leaf in leaves}
        if len(spaces) != 1:
            raise ValueError(f"buffers that share memory lie in one memory, got {spaces}")
        return spaces.pop()

    def get_ref_aval(self) -> Any:
        """Returns the types of the references that the kernel takes, grouped as the buffers are."""
        return pytrees.tree_map(lambda leaf: leaf.get_ref_aval(), self.refs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.refs)

    def __len__(self) -> int:
        return len(self.refs)

    def __getitem__(self, position: int) -> Any:
        return self.refs[position]


def _bytes(group: Any) -> int:
    leaves = pytrees.tree_leaves(group)
    return sum(math.prod(ref.shape) * dtypes.itemsize_bits(ref.dtype) // 8 for ref in leaves)


pytrees.register_pytree_node(
    RefUnion, lambda union: (union.refs, None), lambda _, refs: RefUnion(*refs)
)
