# SPDX-License-Identifier: Apache-2.0
"""Pytrees: nested containers of arrays, and functions of them.

A pytree is a leaf, or a tuple, list, dict, namedtuple, None, or a registered type whose children
are pytrees. Flattening returns the list of leaves and the structure (`PyTreeDef`). The C++ code of
jaxlib implements flattening, the structure and the loops of the functions here.

Registration is in `pytree_registry`, paths are in `pytree_paths`, prefixes in `pytree_prefix`. This
module re-exports the names of these modules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .._jaxlib import PyTreeDef, pytree_registry
from .._jaxlib import all_leaves as _all_leaves
from .._jaxlib import treedef_tuple as _treedef_tuple
from ..settings.sentinels import NOT_GIVEN
from .deep_trees import check_is_leaf, recursion_error, tree_flatten
from .pytree_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    flatten_one_level_with_keys,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from .pytree_prefix import (
    broadcast_prefix,
    equality_errors,
    equality_errors_of_structures,
    prefix_errors,
    spread_prefix,
    structure_mismatch,
    tree_broadcast,
)
from .pytree_registry import (
    Partial,
    default_registry,
    is_tree_node,
    none_leaf_registry,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static_field,
)
from .structures import PyTree, Structure

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "Structure",
    "all_leaves",
    "broadcast_prefix",
    "default_registry",
    "equality_errors",
    "equality_errors_of_structures",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "none_leaf_registry",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "spread_prefix",
    "static_field",
    "structure_mismatch",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[[Any], bool]

_flatten = pytree_registry.flatten


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> PyTree:
    """Returns the pytree with the given structure and leaves.

    Raises:
        ValueError: the number of leaves does not match the structure.

    Example:
        >>> tree_unflatten(tree_structure(("a", ["b"])), [1, 2])
        (1, [2])
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Returns the leaves of a pytree, in order.

    Example:
        >>> tree_leaves([1, {"a": 2}])
        [1, 2]
    """
    try:
        return _flatten(tree, is_leaf)[0]
    except SystemError as error:
        raise recursion_error(error) from None
    except TypeError:
        check_is_leaf(is_leaf)
        raise


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Returns the structure of a pytree, which is hashable and comparable.

    Example:
        >>> tree_structure([1, {"a": 2}])
        PyTreeDef([*, {'a': *}])
    """
    try:
        return _flatten(tree, is_leaf)[1]
    except SystemError as error:
        raise recursion_error(error) from None
    except TypeError:
        check_is_leaf(is_leaf)
        raise


def tree_map(
    f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Returns the tree of ``f(leaf, ...)`` for the leaves of one or several trees.

    Args:
        f: a function of a leaf from each tree.
        tree: the tree whose structure is used.
        *rest: trees with the same structure, or with subtrees in place of leaves.
        is_leaf: a function of a subtree of ``tree`` that returns whether to treat it as a leaf.

    Raises:
        ValueError: ``tree`` is not a prefix of one of the other trees; the message says where they
            differ.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
        {'a': 11, 'b': [22]}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(f, leaves))
    columns = [leaves]
    for other in rest:
        try:
            columns.append(treedef.flatten_up_to(other))
        except ValueError as error:
            raise structure_mismatch("tree_map tree", tree, other, is_leaf, error) from None
    return treedef.unflatten(map(f, *columns))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: PyTree,
    initializer: PyTree = NOT_GIVEN,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """Combines the leaves of a pytree from left to right, as `functools.reduce` does.

    Args:
        function: a function of the result so far and a leaf.
        tree: the pytree.
        initializer: the first result; by default the first leaf.
        is_leaf: a function of a subtree that returns whether to treat it as a leaf.

    Example:
        >>> tree_reduce(lambda total, x: total + x, [1, (2, 3)])
        6
    """
    leaves = tree_flatten(tree, is_leaf)[0]
    if initializer is NOT_GIVEN:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: PyTree,
    *,
    identity: Any = NOT_GIVEN,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combines the leaves of a pytree by an associative operation, as a balanced binary tree.

    Chains of dependent results are therefore short.

    Args:
        operation: an associative function of two leaves or results.
        tree: the pytree.
        identity: the result for a tree without leaves.
        is_leaf: a function of a subtree that returns whether to treat it as a leaf.

    Example:
        >>> tree_reduce_associative(lambda x, y: f"({x}{y})", ["a", "b", "c", "d"])
        '((ab)(cd))'
    """
    leaves = tree_flatten(tree, is_leaf)[0]
    if not leaves:
        if identity is NOT_GIVEN:
            raise TypeError(
                "tree_reduce_associative needs the argument identity for a tree without leaves."
            )
        return identity
    return _reduce_by_halves(operation, leaves)


def _reduce_by_halves(operation: Callable[[Any, Any], Any], leaves: list[Any]) -> Any:
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    return operation(
        _reduce_by_halves(operation, leaves[:middle]), _reduce_by_halves(operation, leaves[middle:])
    )


def tree_all(tree: PyTree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether all leaves of a pytree are true.

    Example:
        >>> tree_all([True, {"a": True, "b": False}])
        False
    """
    return all(tree_flatten(tree, is_leaf)[0])


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: PyTree
) -> PyTree:
    """Turns a tree of trees inside out.

    Args:
        outer_treedef: the structure of the outer tree.
        inner_treedef: the structure of the inner trees; if None, the structure of the first inner
          tree.
        pytree_to_transpose: a tree of the structure ``outer_treedef`` with trees of the structure
            ``inner_treedef`` as leaves.

    Raises:
        TypeError: the tree does not consist of inner trees inside an outer tree.
        ValueError: ``inner_treedef`` is None and there is no inner tree.

    Example:
        >>> tree_transpose(tree_structure([0, 0]), None, [{"a": 1}, {"a": 2}])
        {'a': [1, 2]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose, None)
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise ValueError(
                "tree_transpose needs the argument inner_treedef, because the outer tree "
                f"{outer_treedef} has no leaves."
            )
        inner = tree_flatten(subtrees[0], None)[1]
    else:
        inner = inner_treedef
    inner_size, outer_size = inner.num_leaves, outer_treedef.num_leaves
    if treedef.num_leaves != inner_size * outer_size:
        raise TypeError(
            f"tree_transpose: the tree to transpose has the structure\n    {treedef}\nand the "
            f"composition of the outer and the inner one is\n    "
            f"{outer_treedef.compose(inner)}"
        )
    columns = (leaves[position::inner_size] for position in range(inner_size))
    return inner.unflatten(map(outer_treedef.unflatten, columns))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether the elements of an iterable are all leaves.

    Args:
        iterable: the elements.
        is_leaf: a function of a subtree that returns whether to treat it as a leaf.

    Example:
        >>> all_leaves([1, 2]), all_leaves([1, [2]])
        (True, False)
    """
    if is_leaf is None:
        return _all_leaves(pytree_registry, iterable)
    elements = list(iterable)
    return elements == tree_leaves(elements, is_leaf)


def flatten_one_level(tree: PyTree) -> tuple[Iterable[Any], Any]:
    """Returns the children of a node, and the node's metadata.

    Raises:
        ValueError: ``tree`` is a leaf.

    Example:
        >>> flatten_one_level({"a": 1, "b": [2]})
        ((1, [2]), ('a', 'b'))
    """
    flat = pytree_registry.flatten_one_level(tree)
    if flat is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)} is the type of a leaf.")
    return flat


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple of trees.

    Example:
        >>> treedef_tuple([tree_structure(0), tree_structure([0])])
        PyTreeDef((*, [*]))
    """
    return _treedef_tuple(pytree_registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Returns the structures of a node's children.

    Example:
        >>> treedef_children(tree_structure((0, [0])))
        [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Returns whether a structure is a single leaf or a node without children.

    Example:
        >>> treedef_is_leaf(tree_structure(0)), treedef_is_leaf(tree_structure([0]))
        (True, False)
    """
    return treedef.num_nodes == 1
