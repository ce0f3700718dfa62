# SPDX-License-Identifier: Apache-2.0
"""Conversion, maximum, minimum and comparison of sizes of dimensions, which may be symbolic."""

from __future__ import annotations

import math
import operator
from typing import Any

from ...diagnostics.errors import InconclusiveDimensionOperation
from ...programs.tracing import is_constant_dim

__all__ = ["as_size", "is_at_most", "largest_size", "max_dim", "min_dim"]


def as_size(value: Any) -> Any:
    """Converts a user's size to a Python integer. Returns a symbolic dimension unchanged.

    Raises:
      TypeError: if ``value`` is neither an integer nor a symbolic dimension.

    Example:
      >>> import numpy as np
      >>> as_size(np.int32(3))
      3
    """
    return operator.index(value) if is_constant_dim(value) else value


def max_dim(d1: Any, d2: Any) -> Any:
    """Returns the larger of two sizes of dimensions, which may be symbolic.

    Example:
      >>> max_dim(3, 4)
      4
    """
    if is_constant_dim(d1) and is_constant_dim(d2):
        return max(d1, d2)
    return (d2 if is_constant_dim(d1) else d1).larger(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """Returns the smaller of two sizes of dimensions, which may be symbolic.

    Example:
      >>> min_dim(3, 5)
      3
    """
    if is_constant_dim(d1) and is_constant_dim(d2):
        return min(d1, d2)
    return (d2 if is_constant_dim(d1) else d1).smaller(d1, d2)


def is_at_most(d1: Any, d2: Any) -> bool:
    """Returns whether a size is at most another size for all values of symbolic dimensions.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> a, b = symbolic_shape("a, b")
      >>> is_at_most(a, a + 1), is_at_most(a, b)
      (True, False)
    """
    if is_constant_dim(d1) and is_constant_dim(d2):
        return d1 <= d2
    try:
        return bool(d1 <= d2)
    except InconclusiveDimensionOperation:
        return False


def largest_size(size: Any) -> int:
    """Returns the largest value that a size of a dimension can have.

    Raises:
      InconclusiveDimensionOperation: if a symbolic dimension has no known upper bound.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> (a,) = symbolic_shape("a", constraints=["a <= 8"])
      >>> largest_size(2 * a), largest_size(3)
      (16, 3)
    """
    if is_constant_dim(size):
        return operator.index(size)
    _, upper = size.bounds()
    return int(size) if upper == math.inf else int(upper)  # the conversion raises an error
