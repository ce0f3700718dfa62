# SPDX-License-Identifier: Apache-2.0
"""Paths to the leaves of pytrees, and functions of trees that take or return paths."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias, TypeVar

from .._jaxlib import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    PyTreeDef,
    SequenceKey,
    pytree_registry,
)
from .deep_trees import recursion_error
from .pytree_prefix import structure_mismatch
from .structures import PyTree

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "SequenceKey",
    "flatten_one_level_with_keys",
    "generate_key_paths",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
]

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath: TypeAlias = tuple[KeyEntry, ...]

_flatten_with_path = pytree_registry.flatten_with_path


def tree_flatten_with_path(
    tree: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Flattens a pytree to pairs of path and leaf, and its structure.

    Args:
        tree: the pytree.
        is_leaf: a function of a subtree that returns whether to treat it as a leaf.
        is_leaf_takes_path: whether ``is_leaf`` also takes the path, as its first argument.

    Example:
        >>> tree_flatten_with_path({"a": [1]})[0]
        [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    if is_leaf is not None and not is_leaf_takes_path:
        is_subtree_leaf = is_leaf
        return _flatten_with_path(tree, lambda _, subtree: is_subtree_leaf(subtree))
    try:
        return _flatten_with_path(tree, is_leaf)
    except SystemError as error:
        raise recursion_error(error) from None


def tree_leaves_with_path(
    tree: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """Returns pairs of path and leaf, like `tree_flatten_with_path` without the structure.

    Example:
        >>> [keystr(path) for path, _ in tree_leaves_with_path({"a": [1, 2]})]
        ["['a'][0]", "['a'][1]"]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


_leaf = object()


def tree_map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """Returns a tree with ``f(path, leaf, ...)`` for the leaves of one or several trees.

    Args:
        f: a function of a path and of a leaf from each tree.
        tree: the tree whose structure is used.
        *rest: trees with the same structure, or with subtrees in place of leaves.
        is_leaf: a function of a subtree of ``tree`` that returns whether to treat it as a leaf.
        is_leaf_takes_path: whether ``is_leaf`` also takes the path, as its first argument.

    Example:
        >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": 1})
        {'a': "['a']=1"}
    """
    paths_and_leaves, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = zip(*paths_and_leaves, strict=True) if paths_and_leaves else ((), ())
    columns = [paths, leaves]
    for other in rest:
        try:
            columns.append(treedef.flatten_up_to(other))
        except ValueError as error:
            # The choice of leaves may depend on paths. So compare with a tree in which the object
            # `_leaf` stands for each leaf.
            prefix = treedef.unflatten([_leaf] * len(leaves))
            name = "tree_map_with_path tree"
            raise structure_mismatch(
                name, prefix, other, lambda subtree: subtree is _leaf, error
            ) from None
    return treedef.unflatten(map(f, *columns))


def generate_key_paths(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> list[tuple[KeyPath, Any]]:
    """Returns pairs of path and leaf; an older name of `tree_leaves_with_path`.

    Example:
        >>> generate_key_paths({"a": 1})
        [((DictKey(key='a'),), 1)]
    """
    return tree_flatten_with_path(tree, is_leaf)[0]


def flatten_one_level_with_keys(tree: PyTree) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Returns the children of a node as pairs of key and child, and the node's metadata.

    Raises:
        ValueError: ``tree`` is a leaf.

    Example:
        >>> flatten_one_level_with_keys({"a": 1})
        (((DictKey(key='a'), 1),), ('a',))
    """
    flat = pytree_registry.flatten_one_level_with_keys(tree)
    if flat is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)} is the type of a leaf.")
    pairs, metadata = flat
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        # jaxlib gives all fields of a namedtuple the name of the first field.
        pairs = [(GetAttrKey(name), child) for name, child in zip(tree._fields, tree, strict=True)]  # type: ignore[attr-defined]
    return pairs, metadata


def _simple_name(key: Any) -> str:
    match key:
        case DictKey() | FlattenedIndexKey():
            return str(key.key)
        case SequenceKey():
            return str(key.idx)
        case GetAttrKey():
            return key.name
    return str(key)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Returns a path as text.

    Args:
        keys: the path, a tuple of keys.
        simple: whether to show bare names and numbers, without brackets, quotes and dots.
        separator: the text between the keys.

    Example:
        >>> path = (DictKey("a"), SequenceKey(1), GetAttrKey("b"))
        >>> keystr(path)
        "['a'][1].b"
        >>> keystr(path, simple=True, separator="/")
        'a/1/b'
    """
    return separator.join(map(_simple_name if simple else str, keys))
