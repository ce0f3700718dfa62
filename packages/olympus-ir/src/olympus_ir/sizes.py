# SPDX-License-Identifier: Apache-2.0
"""The larger and the smaller one of two sizes, which may be symbolic dimensions."""

from __future__ import annotations

from typing import Any

from .tracing import is_constant_dim

__all__ = ["max_dim", "min_dim"]


def max_dim(d1: Any, d2: Any) -> Any:
    """Returns the larger of two sizes of dimensions, which may be symbolic.

    Example:
      >>> max_dim(3, 4)
      4
    """
    if is_constant_dim(d1) and is_constant_dim(d2):
        return max(d1, d2)
    from .symbolic import max_dim as symbolic_max  # loaded with the first symbolic dimension

    return symbolic_max(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """Returns the smaller of two sizes of dimensions, which may be symbolic."""
    if is_constant_dim(d1) and is_constant_dim(d2):
        return min(d1, d2)
    from .symbolic import min_dim as symbolic_min  # as above

    return symbolic_min(d1, d2)
