# SPDX-License-Identifier: Apache-2.0
"""Sizes of blocks and grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["align_to", "cdiv", "next_power_of_2", "strides_from_shape"]


def cdiv(a: Any, b: Any) -> Any:
    """How many blocks of size ``b`` cover ``a`` elements: the quotient rounded up.

    Example:
      >>> cdiv(10, 4)
      3
    """
    return (a + b - 1) // b


def align_to(a: int, alignment: int) -> int:
    """The smallest multiple of ``alignment`` that is not below ``a``.

    Example:
      >>> align_to(10, 4)
      12
    """
    return cdiv(a, alignment) * alignment


def next_power_of_2(x: int) -> int:
    """The smallest power of two that is not below ``x``.

    Example:
      >>> next_power_of_2(10)
      16
    """
    if x < 0:
        raise ValueError("`next_power_of_2` requires a non-negative integer.")
    return 1 << max(x - 1, 0).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """How many elements lie between neighbours along each dimension of a dense array.

    Example:
      >>> strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def is_symbolic(size: Any) -> bool:
    """Whether a size is an expression in variables, whose value is known at run time."""
    return hasattr(size, "dimension_as_value") and not hasattr(size, "dtype")
