# SPDX-License-Identifier: Apache-2.0
"""Sizes of dimensions, constant or symbolic, under the names of JAX's private module."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation
from olympus_ir.symbolic.expressions import max_dim

from .programs import definitely_equal

__all__ = [
    "definitely_equal_one_of_dim",
    "dilate_dim",
    "divide_shape_sizes",
    "stride_dim",
]


def definitely_equal_one_of_dim(d1: Any, dlist: Iterable[Any]) -> bool:
    """Returns whether a size is known to equal one of others.

    Example:
      >>> definitely_equal_one_of_dim(2, [1, 2])
      True
    """
    return any(definitely_equal(d1, size) for size in dlist)


def dilate_dim(d: Any, dilation: Any) -> Any:
    """Returns a size after ``dilation - 1`` holes are put between neighbors.

    Example:
      >>> dilate_dim(5, 2)
      9
    """
    return max_dim(1 + dilation * (d - 1), 0)


def stride_dim(d: Any, window_size: Any, window_stride: Any) -> Any:
    """Returns how many windows fit into a size.

    Example:
      >>> stride_dim(7, 3, 2)
      3
    """
    return max_dim((d - window_size) // window_stride + 1, 0)


def divide_shape_sizes(s1: Sequence[Any], s2: Sequence[Any]) -> Any:
    """Returns the number of elements of a shape divided by that of another.

    Raises:
      InconclusiveDimensionOperation: the quotient is not known to be an integer.

    Example:
      >>> divide_shape_sizes((2, 6), (3,))
      4
    """
    dividend, divisor = math.prod(s1), math.prod(s2)
    if definitely_equal(dividend, divisor):
        return 1
    quotient, rest = divmod(dividend, divisor)
    if not definitely_equal(rest, 0):
        raise InconclusiveDimensionOperation(
            f"Cannot divide evenly the sizes of shapes {tuple(s1)} and {tuple(s2)}. The remainder "
            f"{rest} should be 0."
        )
    return quotient
