# SPDX-License-Identifier: Apache-2.0
"""Conversion of functions that mutate references to functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..trees import pytrees
from . import primitives as references

__all__ = ["run_state"]

T = TypeVar("T")


def run_state(f: Callable[..., None]) -> Callable[[T], T]:
    """Converts a function that mutates references to a function of arrays.

    Args:
      f: takes a pytree of references and returns None.

    Returns:
      A function that maps the references' initial values to their final values.

    Raises:
      TypeError: ``f`` returns a value. The returned function raises this error.

    Example:
      >>> from olympus_ir import lax
      >>> def double(ref):
      ...     ref[...] = lax.mul(ref[...], 2.0)
      >>> run_state(double)(3.0)
      Array(6., dtype=float32, weak_type=True)
    """

    @functools.wraps(f)
    def of_arrays(init: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(init)
        refs = [references.new_ref(leaf) for leaf in leaves]
        result = f(pytrees.tree_unflatten(tree, refs))
        if result is not None:
            raise TypeError(
                f"a function for run_state writes its results to references and returns None; "
                f"it returned {result!r}"
            )
        return pytrees.tree_unflatten(tree, [references.freeze(ref) for ref in refs])

    return of_arrays
