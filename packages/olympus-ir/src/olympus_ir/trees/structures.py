# SPDX-License-Identifier: Apache-2.0
"""Trees given only by their structure.

This module inspects a structure without building its containers. Constructors of users' classes may
inspect their leaves, and may fail or act differently if the leaves are placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from .._jaxlib import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    PyTreeDef,
    SequenceKey,
    pytree_registry,
)

__all__ = ["PyTree", "Structure", "node_type"]

# A tree of containers such as tuples, lists and dictionaries, with values at its leaves.
PyTree: TypeAlias = Any

_leaf = pytree_registry.flatten(0)[1]


class Structure:
    """A tree given only by its structure.

    Args:
        treedef: the structure.
    """

    __slots__ = ("treedef",)

    def __init__(self, treedef: PyTreeDef) -> None:
        self.treedef = treedef

    @property
    def is_leaf(self) -> bool:
        return self.treedef.node_data() is None

    def one_level(self) -> tuple[list[Any], list[Structure], Any] | None:
        """Returns the root's keys, children and metadata; None for a leaf.

        The keys of a registered type are positions if the type's constructor rejects placeholders.
        """
        data = self.treedef.node_data()
        if data is None:
            return None
        kind, metadata = data
        children = self.treedef.children()
        if kind is dict:
            keys: list[Any] = [DictKey(key) for key in metadata]
            metadata = tuple(metadata)
        elif kind is tuple or kind is list or kind is type(None):
            keys = [SequenceKey(position) for position in range(len(children))]
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            keys = [GetAttrKey(name) for name in kind._fields]  # type: ignore[attr-defined]
        else:
            keys = _keys_of_registered(data, len(children))
        return keys, [Structure(child) for child in children], metadata

    def paths(self) -> list[tuple[Any, ...]]:
        """Returns the path to each leaf.

        Example:
            >>> Structure(pytree_registry.flatten({"a": (1, 2)})[1]).paths()[1]
            (DictKey(key='a'), SequenceKey(idx=1))
        """
        return list(self._paths(()))

    def _paths(self, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        node = self.one_level()
        if node is None:
            yield path
            return
        keys, children, _ = node
        for key, child in zip(keys, children, strict=True):
            yield from child._paths((*path, key))

    def leaf_counts(self, prefix: PyTreeDef) -> list[int]:
        """Returns the number of leaves below each leaf of a prefix.

        Raises:
            ValueError: ``prefix`` is not a prefix of the structure.
        """
        counts: list[int] = []
        _count_leaves(prefix, self.treedef, counts)
        return counts


def _count_leaves(prefix: PyTreeDef, treedef: PyTreeDef, counts: list[int]) -> None:
    data = prefix.node_data()
    if data is None:
        counts.append(treedef.num_leaves)
        return
    if prefix == treedef:
        counts += [1] * treedef.num_leaves
        return
    children, full_children = prefix.children(), treedef.children()
    if data != treedef.node_data() or len(children) != len(full_children):
        raise ValueError(f"{prefix} is not a prefix of {treedef}")
    for child, full_child in zip(children, full_children, strict=True):
        _count_leaves(child, full_child, counts)


def node_type(tree: Any) -> type:
    """Returns the type of a tree's root, given the tree or a `Structure`."""
    if tree.__class__ is not Structure:
        return type(tree)
    data = tree.treedef.node_data()
    return Structure if data is None else data[0]


def _keys_of_registered(data: Any, count: int) -> list[Any]:
    """Returns the keys of a node of a registered type, from an instance with placeholders."""
    node = PyTreeDef.from_node_data_and_children(pytree_registry, data, [_leaf] * count)
    try:
        flat = pytree_registry.flatten_one_level_with_keys(node.unflatten(range(count)))
        keys = [key for key, _ in flat[0]] if flat is not None else []
    except Exception:  # a user's constructor may raise anything
        keys = []
    return (
        keys if len(keys) == count else [FlattenedIndexKey(position) for position in range(count)]
    )
