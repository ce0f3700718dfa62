# SPDX-License-Identifier: Apache-2.0
"""Flattening of pytrees, with errors for deep trees and for leaf tests that are no functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._jaxlib import PyTreeDef, pytree_registry
from .structures import PyTree

__all__ = ["check_is_leaf", "recursion_error", "tree_flatten"]

_flatten = pytree_registry.flatten


def recursion_error(error: SystemError) -> Exception:
    """Returns the error to raise in place of an error that a pytree function of jaxlib raised.

    If a tree is nested more deeply than Python's recursion limit, jaxlib raises SystemError from
    RecursionError. Other errors are returned unchanged.

    Args:
      error: the error of jaxlib's function.
    """
    cause = error.__cause__
    return RecursionError(*cause.args) if isinstance(cause, RecursionError) else error


def check_is_leaf(is_leaf: Any) -> None:
    """Raises TypeError if an ``is_leaf`` is given that is no function."""
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(f"is_leaf must be a function of a subtree, got {is_leaf!r}") from None


def tree_flatten(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], PyTreeDef]:
    """Returns the leaves of a pytree, in order, and its structure.

    Args:
        tree: the pytree.
        is_leaf: a function of a subtree that returns whether to treat it as a leaf.

    Raises:
        RecursionError: the tree is nested too deeply, or contains itself.

    Example:
        >>> tree_flatten({"a": 1, "b": (2, None)})
        ([1, 2], PyTreeDef({'a': *, 'b': (*, None)}))
    """
    try:
        return _flatten(tree, is_leaf)
    except SystemError as error:
        raise recursion_error(error) from None
    except TypeError:
        check_is_leaf(is_leaf)
        raise
