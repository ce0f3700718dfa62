# SPDX-License-Identifier: Apache-2.0
"""`FlatTree`: the leaves of a pytree together with its structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..trees import pytrees

__all__ = ["FlatTree"]


class FlatTree(Sequence[Any]):
    """Leaves of a pytree, with the structure to put them together again.

    Args:
      vals: the leaves.
      tree: the structure.
      aux: data that comes along with the leaves, such as the specs of a `shard_map`.

    Example:
      >>> pair = FlatTree.flatten({"x": 1, "y": 2})
      >>> pair.map(lambda leaf: -leaf).unflatten()
      {'x': -1, 'y': -2}
    """

    __slots__ = ("_aux", "tree", "vals")

    def __init__(self, vals: Sequence[Any], tree: Any, aux: Any = None) -> None:
        if len(vals) != tree.num_leaves:
            raise ValueError(f"a structure of {tree.num_leaves} leaves, got {len(vals)} values")
        self.vals = tuple(vals)
        self.tree = tree
        self._aux = aux

    @classmethod
    def flatten(cls, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> FlatTree:
        """Takes a pytree apart."""
        return cls(*pytrees.tree_flatten(tree, is_leaf))

    def unflatten(self) -> Any:
        """Returns the pytree."""
        return pytrees.tree_unflatten(self.tree, self.vals)

    def update(self, new_vals: Sequence[Any]) -> FlatTree:
        """Returns the tree with other leaves."""
        return FlatTree(list(new_vals), self.tree, self._aux)

    def map(self, f: Callable[[Any], Any]) -> FlatTree:
        """Returns the tree of the results of a function of each leaf."""
        return self.update(list(map(f, self.vals)))

    def with_aux(self, aux: Any) -> FlatTree:
        """Returns the tree together with other data."""
        return FlatTree(self.vals, self.tree, aux)

    def unpack_aux(self) -> tuple[FlatTree, Any]:
        """Returns the tree alone, and the data that came along with it."""
        return FlatTree(self.vals, self.tree), self._aux

    def __len__(self) -> int:
        return len(self.vals)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.vals)

    def __getitem__(self, index: Any) -> Any:
        return self.vals[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlatTree) and (self.vals, self.tree) == (other.vals, other.tree)

    def __hash__(self) -> int:
        return hash((self.vals, self.tree))

    def __repr__(self) -> str:
        return f"FlatTree({self.unflatten()})"
