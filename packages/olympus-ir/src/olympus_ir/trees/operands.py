# SPDX-License-Identifier: Apache-2.0
"""Flattening of the arguments and results of traced functions.

Some leaves of pytrees represent several operands. A view of a reference represents the reference
and the indices of the view. During tracing, a pytree node replaces such a leaf. The leaves of the
node are the operands, and unflattening the node returns the original leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import pytrees

__all__ = ["flatten_operands", "opened", "register_compound_operand"]

# Maps the type of a compound leaf to a function that returns the node that replaces the leaf.
_nodes: dict[type, Callable[[Any], Any]] = {}
_compound_types: set[type] = set()


def register_compound_operand(leaf_type: type, node: Callable[[Any], Any]) -> None:
    """Registers a type of leaves, each of which stands for several operands.

    Args:
      leaf_type: the type of the leaves.
      node: a function that converts a leaf to a pytree node. The leaves of the node are the
        operands, and unflattening the node returns an instance of ``leaf_type``.
    """
    _nodes[leaf_type] = node
    _compound_types.add(leaf_type)


def flatten_operands(tree: Any) -> tuple[list[Any], Any]:
    """Returns the operands in a pytree, and the structure with nodes for compound leaves."""
    leaves, structure = pytrees.tree_flatten(tree)
    if _compound_types.isdisjoint(map(type, leaves)):
        return leaves, structure
    return pytrees.tree_flatten(opened(tree))


def opened(tree: Any) -> Any:
    """Replaces each leaf that stands for several operands by a node with these as leaves."""
    leaves, structure = pytrees.tree_flatten(tree)
    if _compound_types.isdisjoint(map(type, leaves)):
        return tree
    return pytrees.tree_unflatten(structure, [_open(leaf) for leaf in leaves])


def _open(leaf: Any) -> Any:
    node = _nodes.get(type(leaf))
    return leaf if node is None else node(leaf)
