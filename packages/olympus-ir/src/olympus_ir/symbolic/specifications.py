# SPDX-License-Identifier: Apache-2.0
"""Conversion of text specifications to symbolic shapes and types of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..trees import pytrees
from ..trees.pytree_prefix import spread_prefix
from ..types.avals import argument_aval
from ..types.shape_struct import ShapeDtypeStruct
from .parsing import parse_shape
from .scopes import SymbolicScope


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Returns the symbolic shape of a specification.

    Args:
      shape_spec: dimensions separated by commas. A dimension is an expression of numbers and
        variables with ``+``, ``-``, ``*``, ``^`` and the operations ``floordiv(a, 2)``, ``mod``,
        ``max`` and ``min``. ``_`` copies the dimension from ``like``. ``...`` at the end copies all
        remaining dimensions from ``like``. None is the same as ``"..."``.
      constraints: assumptions about the variables; see `SymbolicScope`.
      scope: the scope of the variables; by default a new scope.
      like: the shape that provides the dimensions for ``_`` and ``...``.

    Raises:
      ValueError: if the specification is not of this form, or both ``scope`` and
        ``constraints`` are given.

    Example:
      >>> symbolic_shape("a, 2*b, ...", like=(1, 1, 3))
      (a, 2*b, 3)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    if shape_spec is not None and not isinstance(shape_spec, str):
        raise ValueError(
            f"polymorphic shape spec should be None or a string. Found {shape_spec!r}."
        )
    return parse_shape("..." if shape_spec is None else shape_spec, scope, shape_spec, like)


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Returns the types of arguments, with symbolic shapes.

    Args:
      args: a pytree of arrays, or of `ShapeDtypeStruct`. They provide the dtypes, and the
        dimensions for ``_`` and ``...`` in the specifications.
      shapes_specs: a specification for `symbolic_shape`, or a pytree of specifications that is a
        prefix of ``args``. None leaves the shapes unchanged.
      constraints: assumptions about the variables; see `SymbolicScope`.
      scope: the scope of the variables; by default a new scope.

    Returns:
      A pytree of `ShapeDtypeStruct` like ``args``.

    Example:
      >>> import numpy as np
      >>> symbolic_args_specs((np.ones((3, 4), "float32"),), "a, _")
      (ShapeDtypeStruct(shape=(a, 4), dtype=float32),)
    """
    if isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    leaves, tree = pytrees.tree_flatten(args)
    specs = spread_prefix(shapes_specs, args, _is_spec)
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("Cannot use both `scope` and `constraints`")
    structs = []
    for leaf, spec in zip(leaves, specs, strict=True):
        aval = argument_aval(leaf)
        shape = symbolic_shape(spec, like=aval.shape, scope=scope)
        # An uncommitted array may be anywhere, and so may the argument that it stands for.
        is_committed = getattr(leaf, "_committed", True)
        sharding = getattr(leaf, "sharding", None) if is_committed else None
        structs.append(ShapeDtypeStruct(shape, aval.dtype, sharding=sharding))
    return pytrees.tree_unflatten(tree, structs)


def _is_spec(value: Any) -> bool:
    return value is None or isinstance(value, str)
