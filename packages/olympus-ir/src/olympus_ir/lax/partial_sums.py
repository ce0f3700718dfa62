# SPDX-License-Identifier: Apache-2.0
"""Where collectives find what they do with partial sums: values that types call unreduced.

Such values are made inside `shard_map`, by the package that has it, which installs the operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..types.avals import get_aval

__all__ = ["install", "is_unreduced", "operation"]

_operations: dict[str, Callable[..., Any]] = {}


def install(**operations: Callable[..., Any]) -> None:
    """Sets the operations by name: ``pcast``, ``psum``, ``psum_scatter`` and others."""
    _operations.update(operations)


def operation(name: str) -> Callable[..., Any]:
    """The operation of a name.

    Raises:
      ValueError: if types cannot tell partial sums from other values, outside of `shard_map`.
    """
    found = _operations.get(name)
    if found is None:
        raise ValueError(
            f"{name} with unreduced or reduced values: only inside shard_map with check_vma=True "
            "do types tell values that are to be summed, or have been, from others"
        )
    return found


def is_unreduced(value: Any, axes: tuple) -> bool:
    """Whether the devices along the axes hold the terms of a value that is their sum."""
    layout = get_aval(value).layout
    return layout is not None and not layout.spec.unreduced.isdisjoint(axes)
