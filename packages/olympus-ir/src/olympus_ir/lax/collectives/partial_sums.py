# SPDX-License-Identifier: Apache-2.0
"""Collectives of partial sums, which the types of values mark as unreduced.

Partial sums arise inside `shard_map`. The package that provides `shard_map` installs the operations
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...types.avals import get_aval

__all__ = ["install", "is_unreduced", "operation"]

_operations: dict[str, Callable[..., Any]] = {}


def install(**operations: Callable[..., Any]) -> None:
    """Installs the operations, by names such as ``pcast``, ``psum`` and ``psum_scatter``."""
    _operations.update(operations)


def operation(name: str) -> Callable[..., Any]:
    """Returns the operation that was installed under a name.

    Raises:
      ValueError: if no operation was installed under this name, because no package with
        `shard_map` is loaded.
    """
    found = _operations.get(name)
    if found is None:
        raise ValueError(
            f"{name} accepts unreduced or reduced values only inside shard_map with "
            "check_vma=True, where types distinguish them from other values"
        )
    return found


def is_unreduced(value: Any, axes: tuple) -> bool:
    """Returns whether the devices along the axes hold the terms of a sum."""
    layout = get_aval(value).layout
    return layout is not None and not layout.spec.unreduced.isdisjoint(axes)
