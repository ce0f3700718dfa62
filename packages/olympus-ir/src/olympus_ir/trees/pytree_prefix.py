# SPDX-License-Identifier: Apache-2.0
"""Trees that are prefixes of other trees, and explanations of differences between trees.

A tree is a prefix of another tree if the other tree results from replacing leaves of the prefix by
subtrees. Options such as ``in_axes`` are prefixes of the arguments that they apply to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from .._jaxlib import GetAttrKey, PyTreeDef, pytree_registry
from ..loading import deferred
from .deep_trees import tree_flatten
from .structures import PyTree, Structure, node_type

if TYPE_CHECKING:
    import difflib
else:
    difflib = deferred("difflib", milliseconds=1.0)

__all__ = [
    "broadcast_prefix",
    "equality_errors",
    "equality_errors_of_structures",
    "prefix_errors",
    "specification_mismatch",
    "spread_prefix",
    "structure_mismatch",
    "tree_broadcast",
]

IsLeaf = Callable[[Any], bool]


def broadcast_prefix(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[Any]:
    """Returns, for each leaf of a tree, the leaf of the prefix at or above it.

    Args:
        prefix_tree: the prefix.
        full_tree: the tree.
        is_leaf: a function of a subtree, in either tree, that returns whether to treat it as a
          leaf.

    Raises:
        ValueError: ``prefix_tree`` is not a prefix of ``full_tree``. The message says where they
          differ.

    Example:
        >>> broadcast_prefix([1, 2], ["a", ("b", "c")])
        [1, 2, 2]
    """
    prefix_leaves, prefix_treedef = tree_flatten(prefix_tree, is_leaf)
    try:
        subtrees = prefix_treedef.flatten_up_to(full_tree)
    except ValueError as error:
        raise structure_mismatch("prefix_tree", prefix_tree, full_tree, is_leaf, error) from None
    result: list[Any] = []
    for leaf, subtree in zip(prefix_leaves, subtrees, strict=True):
        result.extend([leaf] * tree_flatten(subtree, is_leaf)[1].num_leaves)
    return result


def spread_prefix(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[Any]:
    """Applies `broadcast_prefix` with an ``is_leaf`` that applies only to the prefix.

    In trees of options, such as axes, None is a leaf. In the arguments to which they apply, None is
    a node without leaves. ``full_tree`` may be a `Structure`.

    Example:
        >>> spread_prefix((0, None), ("a", ("b", None)), lambda axis: axis is None)
        [0, None]
    """
    prefix_leaves, prefix_treedef = tree_flatten(prefix_tree, is_leaf)
    try:
        if full_tree.__class__ is Structure:
            counts = full_tree.leaf_counts(prefix_treedef)
        else:
            subtrees = prefix_treedef.flatten_up_to(full_tree)
            counts = [tree_flatten(subtree)[1].num_leaves for subtree in subtrees]
    except ValueError as error:
        raise structure_mismatch("prefix_tree", prefix_tree, full_tree, is_leaf, error) from None
    result: list[Any] = []
    for leaf, count in zip(prefix_leaves, counts, strict=True):
        result.extend([leaf] * count)
    return result


def tree_broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Repeats the leaves of a prefix, so that the tree has the structure of ``full_tree``.

    Args:
        prefix_tree: the prefix.
        full_tree: the tree whose structure is used.
        is_leaf: a function of a subtree, in either tree, that returns whether to treat it as a
          leaf.

    Raises:
        ValueError: ``prefix_tree`` is not a prefix of ``full_tree``. The message says where they
          differ.

    Example:
        >>> tree_broadcast([1, 2], ["a", ("b", "c")])
        [1, (2, 2)]
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_flatten(full_tree, is_leaf)[1].unflatten(leaves)


# --- Explanations --------------------------------------------------------------------------------


def structure_mismatch(
    name: str, prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None, error: ValueError
) -> ValueError:
    """Returns the error that explains why ``prefix_tree``, called ``name``, is not a prefix."""
    explanations = prefix_errors(prefix_tree, full_tree, is_leaf)
    return explanations[0](name) if explanations else error


def specification_mismatch(
    name: str, prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None
) -> ValueError:
    """Returns the error for an option that is not a prefix. The message lists all differences."""
    errors = prefix_errors(prefix_tree, full_tree, is_leaf)
    details = "\n".join(f"  {error(name)}" for error in errors)
    return ValueError(
        f"{name} specification must be a tree prefix of the corresponding value; \n"
        f"  Mismatch details ({len(errors)} found):\n{details}"
    )


def prefix_errors(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[Callable[[str], ValueError]]:
    """Returns constructors of errors for the places where a tree is not a prefix of another.

    Each constructor takes the name of the prefix to show in the message, such as ``"vmap
    in_axes"``.

    Example:
        >>> (error,) = prefix_errors((0, [0]), (1, (2,)))
        >>> str(error("in_axes")).splitlines()[0]
        'pytree structure error: different types at key path'
    """
    return list(_prefix_errors((), prefix_tree, full_tree, is_leaf))


def _array_type(leaf: Any) -> str | None:
    """Returns the type of a traced or concrete array as text; None for other values."""
    aval = getattr(leaf, "aval", None)
    return None if aval is None or not hasattr(aval, "str_short") else aval.str_short()


def _prefix_errors(
    path: tuple[Any, ...], prefix: Any, full: Any, is_leaf: IsLeaf | None
) -> Iterator[Callable[[str], ValueError]]:
    if is_leaf is not None and is_leaf(prefix):
        return
    node, full_node = _children(prefix), _children(full)
    if node is None:
        return  # a leaf of the prefix stands for any subtree
    if type(prefix) is not node_type(full) or full_node is None:
        if full.__class__ is Structure and full.is_leaf:
            full_type = "a leaf"
        else:
            full_type = _array_type(full) or node_type(full)
        difference, explanation = (
            "different types",
            (
                f"has a subtree of type\n    {type(prefix)}\n"
                f"where the full pytree has one of the type\n    {full_type}."
            ),
        )
    elif mismatch := _node_mismatch(prefix, node, full_node):
        difference, explanation = mismatch
    else:
        keys, children, _ = node
        for key, child, full_child in zip(keys, children, full_node[1], strict=True):
            yield from _prefix_errors((*path, key), child, full_child, is_leaf)
        return

    def error(name: str) -> ValueError:
        where = name + "".join(map(str, path))
        return ValueError(
            f"pytree structure error: {difference} at key path\n    {where}\n"
            f"There, the prefix pytree {name} {explanation}"
        )

    yield error


def _node_mismatch(prefix: Any, node: _Node, full_node: _Node) -> tuple[str, str] | None:
    """Returns the difference of nodes of the same type: a short text, and the end of a sentence."""
    (keys, children, metadata), (full_keys, full_children, full_metadata) = node, full_node
    kind, length, full_length = type(prefix), len(children), len(full_children)
    if length != full_length and isinstance(prefix, list | tuple):
        return (
            f"different lengths of {kind.__name__}",
            (
                f"has a {kind.__name__} of length {length}, where the full pytree has one of "
                f"length {full_length}."
            ),
        )
    if length != full_length:
        only_one_has = sorted(map(_key_text, set(keys) ^ set(full_keys)))
        return (
            "different numbers of pytree children",
            (
                f"has a subtree of type\n    {kind}\n"
                f"with {length} child keys\n    {' '.join(map(_key_text, keys))}\n"
                f"where the full pytree has {full_length} child keys\n"
                f"    {' '.join(map(_key_text, full_keys))}\n"
                f"so the symmetric difference on key sets is\n    {' '.join(only_one_has)}"
                + only_in_one(keys, full_keys, "the prefix", "the full pytree", "\nthat is, ", ".")
            ),
        )
    if not _same_metadata(metadata, full_metadata):
        return (
            "different pytree metadata",
            (
                f"has a subtree of type\n    {kind}\nwith metadata\n    {metadata}\nwhere the full "
                f"pytree has one of the same type with metadata\n    {full_metadata}"
                f"{_difference(metadata, full_metadata)}"
                + only_in_one(keys, full_keys, "the prefix", "the full pytree", "\nso ", ".")
            ),
        )
    return None


def _difference(metadata: Any, full_metadata: Any) -> str:
    """Returns the lines in which two metadata texts differ, with the differences marked."""
    lines = difflib.ndiff(str(metadata).splitlines(), str(full_metadata).splitlines())
    return "\nthat is,\n" + "\n".join(f"    {line.rstrip()}" for line in lines)


# Keys, children and metadata.
_Node: TypeAlias = tuple[list[Any], list[Any], Any]


def _children(node: Any) -> _Node | None:
    """Returns keys, children and metadata of a node, or None for a leaf."""
    if node.__class__ is Structure:
        return node.one_level()
    flat = pytree_registry.flatten_one_level_with_keys(node)
    if flat is None:
        return None
    pairs, metadata = flat
    keys, children = [key for key, _ in pairs], [child for _, child in pairs]
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        # jaxlib gives all fields of a namedtuple the name of the first field.
        keys = [GetAttrKey(name) for name in node._fields]  # type: ignore[attr-defined]
        metadata = None if metadata is type(node) else metadata
    return keys, children, metadata


def _key_text(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "name", key)))


def only_in_one(
    keys: list[Any], other_keys: list[Any], name: str, other_name: str, before: str, after: str = ""
) -> str:
    """Describes the keys that only one of two nodes has; "" if both have the same keys.

    Args:
      keys: the keys of a node.
      other_keys: the keys of the other node.
      name: the name of the first node.
      other_name: the name of the other node.
      before: a text to put before the description.
      after: a text to put after the description.
    """
    parts = []
    for who, some, others in ((name, keys, other_keys), (other_name, other_keys, keys)):
        only_here = [
            repr(getattr(key, "key", getattr(key, "name", key)))
            for key in some
            if key not in others
        ]
        if only_here:
            parts.append(
                f"only {who} has the key{'s' * (len(only_here) > 1)} {', '.join(only_here)}"
            )
    return f"{before}{' and '.join(parts)}{after}" if parts else ""


def _same_metadata(first: Any, second: Any) -> bool:
    return first is second or bool(first == second)


def equality_errors(
    tree1: PyTree, tree2: PyTree, is_leaf: IsLeaf | None = None
) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """Yields the places where the structures of two trees differ.

    Yields:
        The path; descriptions of the first tree and of the second tree at the path; and the
        difference, as a clause.

    Example:
        >>> list(equality_errors([1, (2,)], [1, 2]))[0][1:]
        ("<class 'tuple'>", "<class 'int'>", 'their Python types differ')
    """
    yield from _equality_errors((), tree1, tree2, is_leaf)


def equality_errors_of_structures(
    treedef1: PyTreeDef, treedef2: PyTreeDef
) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """Yields the places where two structures differ, like `equality_errors` for trees.

    Example:
        >>> from olympus_ir.trees.pytrees import tree_structure
        >>> ((_, first, second, why),) = equality_errors_of_structures(
        ...     tree_structure([1, 2]), tree_structure((1, 2))
        ... )
        >>> first, second
        ("<class 'list'>", "<class 'tuple'>")
    """
    return equality_errors(Structure(treedef1), Structure(treedef2))


def _describe(tree: Any) -> str:
    is_leaf = tree.__class__ is Structure and tree.is_leaf
    return "pytree leaf" if is_leaf else f"{node_type(tree)}"


def _count(children: list[Any]) -> str:
    return f"{len(children)} child{'ren' * (len(children) != 1)}"


def _equality_errors(
    path: tuple[Any, ...], first: Any, second: Any, is_leaf: IsLeaf | None
) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    first_node, second_node = (
        None if is_leaf is not None and is_leaf(tree) else _children(tree)
        for tree in (first, second)
    )
    if first_node is None and second_node is None:
        return
    if node_type(first) is not node_type(second) or first_node is None or second_node is None:
        yield (path, _describe(first), _describe(second), "their Python types differ")
        return
    difference = _difference_of_nodes(node_type(first), first_node, second_node)
    if difference is not None:
        yield (path, *difference)
        return
    keys, children, _ = first_node
    for key, child, other_child in zip(keys, children, second_node[1], strict=True):
        yield from _equality_errors((*path, key), child, other_child, is_leaf)


def _difference_of_nodes(
    kind: Any, first: tuple[Any, Any, Any], second: tuple[Any, Any, Any]
) -> tuple[str, str, str] | None:
    """Describes how two nodes of one type differ, apart from their children.

    Returns:
      Descriptions of both nodes and of the difference; None if there is none.
    """
    keys, children, metadata = first
    other_keys, other_children, other_metadata = second
    if issubclass(kind, list | tuple) and len(children) != len(other_children):
        return (
            f"{kind.__name__} of length {len(children)}",
            f"{kind.__name__} of length {len(other_children)}",
            "the lengths do not match",
        )
    if len(children) != len(other_children):
        only_one_has = sorted(repr(_key_text(key)) for key in set(keys) ^ set(other_keys))
        return (
            f"{kind} with {_count(children)}",
            f"{kind} with {_count(other_children)}",
            (
                "the numbers of children do not match, with the symmetric difference of key sets: "
                f"{{{', '.join(only_one_has)}}}"
                + only_in_one(keys, other_keys, "the former", "the latter", ": ")
            ),
        )
    if not _same_metadata(metadata, other_metadata):
        return (
            f"{kind} with pytree metadata {metadata}",
            f"{kind} with pytree metadata {other_metadata}",
            "the pytree node metadata does not match"
            + only_in_one(keys, other_keys, "the former", "the latter", ": "),
        )
    return None
