# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of sizes of blocks and grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from olympus_ir.types.arrays import Array

from ..memory.annotations import IntLike

__all__ = ["align_to", "cdiv", "next_power_of_2", "strides_from_shape"]


@overload
def cdiv(a: int, b: int) -> int: ...


@overload
def cdiv(a: Array, b: IntLike) -> Array: ...


@overload
def cdiv(a: IntLike, b: Array) -> Array: ...


@overload
def cdiv(a: int | np.integer, b: int | np.integer) -> int | np.integer: ...


def cdiv(a: IntLike, b: IntLike) -> IntLike:
    """Returns the quotient rounded up: the number of blocks of size ``b`` that cover ``a``.

    Example:
      >>> cdiv(10, 4)
      3
    """
    return (a + b - 1) // b


def align_to(a: int, alignment: int) -> int:
    """Returns the smallest multiple of ``alignment`` that is at least ``a``.

    Example:
      >>> align_to(10, 4)
      12
    """
    return cdiv(a, alignment) * alignment


def next_power_of_2(x: int) -> int:
    """Returns the smallest power of two that is at least ``x``.

    Example:
      >>> next_power_of_2(10)
      16
    """
    if x < 0:
        raise ValueError("`next_power_of_2` requires a non-negative integer.")
    return 1 << max(x - 1, 0).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a dense row-major array, in elements.

    Example:
      >>> strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def is_symbolic(size: Any) -> bool:
    """Returns whether a size is a symbolic expression, whose value is known only at run time."""
    return hasattr(size, "dimension_as_value") and not hasattr(size, "dtype")
