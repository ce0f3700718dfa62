# SPDX-License-Identifier: Apache-2.0
"""Parts of pytrees, chosen by their paths, that differentiation treats as constants."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytree_paths
from olympus_ir.types.annotations import PyTree

__all__ = ["stop_gradient_at"]

# A pattern, a sequence of patterns, or a predicate that takes a path of keys and a leaf.
Where: TypeAlias = str | Sequence[str] | Callable[[pytree_paths.KeyPath, Any], bool]


@api_boundary
def stop_gradient_at(tree: PyTree, where: Where) -> PyTree:
    """Stops the gradients of a pytree's leaves whose paths match.

    A pattern has one part for each key of a path; slashes separate the parts. ``*``, ``?`` and
    ``[...]`` match within a key, and ``**`` matches any number of keys. A pattern that matches a
    subtree stops all leaves below it: ``"encoder"``, ``"encoder/*"`` and ``"encoder/**"`` stop the
    same leaves. Dictionary keys, indices and attribute names are written as by ``keystr(path,
    simple=True, separator="/")``.

    Args:
      tree: a pytree of arrays.
      where: a pattern or a sequence of patterns; or a predicate ``where(path, leaf)``. Paths have
        the form that `tree_map_with_path` passes.

    Returns:
      A pytree with the structure and values of ``tree``. The chosen leaves have no derivative.

    Raises:
      TypeError: ``where`` is none of these.
      ValueError: a pattern matches no leaf.

    Example:
      >>> from olympus_autodiff import grad
      >>> def loss(tree):
      ...     tree = stop_gradient_at(tree, "encoder/*")
      ...     return tree["encoder"]["w"] * tree["head"]
      >>> slopes = grad(loss)({"encoder": {"w": 2.0}, "head": 3.0})
      >>> float(slopes["encoder"]["w"]), float(slopes["head"])
      (0.0, 2.0)
    """
    if callable(where):
        chosen = where
    else:
        chosen = _predicate(tree, _patterns(where))
    return pytree_paths.tree_map_with_path(
        lambda path, leaf: lax.stop_gradient(leaf) if chosen(path, leaf) else leaf, tree
    )


def _patterns(where: Any) -> list[str]:
    patterns = [where] if isinstance(where, str) else where
    if not isinstance(patterns, Sequence) or not all(
        isinstance(pattern, str) for pattern in patterns
    ):
        raise TypeError(
            "`where` must be a pattern such as 'encoder/*', a sequence of patterns, or a function "
            f"of a path and a leaf; got {where!r}"
        )
    return list(patterns)


def _predicate(tree: Any, patterns: list[str]) -> Callable[[pytree_paths.KeyPath, Any], bool]:
    """Returns a predicate that is true for paths that match one of the patterns."""
    paths = [_written(path) for path, _ in pytree_paths.tree_leaves_with_path(tree)]
    split = [pattern.split("/") for pattern in patterns]
    for pattern, parts in zip(patterns, split, strict=True):
        if not any(_matches(parts, path.split("/")) for path in paths):
            shown = ", ".join(map(repr, paths[:10])) + (", ..." if len(paths) > 10 else "")
            raise ValueError(f"the pattern {pattern!r} matches no leaf; the paths are {shown}")
    return lambda path, _: any(_matches(parts, _written(path).split("/")) for parts in split)


def _written(path: pytree_paths.KeyPath) -> str:
    return pytree_paths.keystr(path, simple=True, separator="/")


def _matches(pattern: list[str], keys: list[str]) -> bool:
    """Returns whether a pattern matches a path of keys, or a prefix of the path."""
    if not pattern:
        return True
    first, *rest = pattern
    if first == "**":
        return any(_matches(rest, keys[start:]) for start in range(len(keys) + 1))
    return bool(keys) and fnmatch.fnmatchcase(keys[0], first) and _matches(rest, keys[1:])
