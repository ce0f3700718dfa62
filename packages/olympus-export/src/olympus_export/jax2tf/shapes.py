# SPDX-License-Identifier: Apache-2.0
"""Specifications of symbolic shapes as tuples (`PolyShape`) instead of strings."""

from __future__ import annotations

from typing import Any

__all__ = ["PolyShape", "as_text"]


class PolyShape(tuple):
    """A specification of a shape: sizes, names of variables, ``"_"``, and ``...`` at the end.

    Example:
      >>> PolyShape("b", ...)
      ('b', Ellipsis)
    """

    def __new__(cls, *dim_specs: Any) -> PolyShape:
        return super().__new__(cls, dim_specs)


def as_text(spec: Any) -> Any:
    """Returns a specification as a text that `symbolic_shape` can read."""
    if isinstance(spec, PolyShape):
        return ", ".join("..." if part is ... else str(part) for part in spec)
    return spec
