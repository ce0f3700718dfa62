# SPDX-License-Identifier: Apache-2.0
"""Helpers of elementwise expansions: broadcasting, and 32-bit floats for 16-bit operands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..lax.core.values import dtype_of, shape_of
from ..lax.elementwise.conversion import convert_dtype
from ..types.dtypes import finfo

__all__ = ["any_of", "derived", "epsilon", "expansion", "full", "is_double", "polynomial", "where"]


def expansion(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of an expansion: broadcasts the operands to a common shape before the call.

    The expansion gets 16-bit floats as 32-bit floats.
    """

    @functools.wraps(function)
    def expanded(*operands: Any) -> Any:
        shape = np.broadcast_shapes(*map(shape_of, operands))
        dtype = dtype_of(operands[0])
        wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        result = function(*(_spread(operand, shape, wide) for operand in operands))
        return convert_dtype(result, dtype)

    return expanded


def _spread(operand: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    operand = lax.convert_element_type(operand, dtype)
    old_shape = shape_of(operand)
    if old_shape == shape:
        return operand
    return lax.broadcast_in_dim(operand, shape, tuple(range(len(old_shape))))


def is_double(x: Any) -> bool:
    return x.dtype == np.float64


def epsilon(x: Any) -> float:
    """Returns the distance from 1 to the next larger number of the operand's dtype."""
    return float(finfo(x.dtype).eps)


def full(x: Any, value: float) -> Any:
    """Returns an array of the operand's shape and dtype, filled with ``value``."""
    return lax.full_like(x, value)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Selects elements by a condition; one of the two values may be a Python scalar."""
    if isinstance(x, int | float):
        x = full(y, x)
    if isinstance(y, int | float):
        y = full(x, y)
    return lax.select(condition, x, y)


def any_of(condition: Any) -> Any:
    return lax.reduce_or(condition, tuple(range(len(shape_of(condition)))))


def derived(coefficients: Sequence[float]) -> list[float]:
    """Returns the coefficients of the derivative of a polynomial."""
    return [power * coefficient for power, coefficient in enumerate(coefficients)][1:] or [0.0]


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluates a polynomial. The constant coefficient comes first.

    Its derivative is the polynomial of the derived coefficients. That of the steps of Horner's
    scheme would be three times as long for each order, and compile as slowly.
    """

    def value(x: Any) -> list[Any]:
        total = full(x, coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total * x + coefficient
        return [total]

    def value_and_tangent(x: Any, tangent: Any) -> list[Any]:
        return [polynomial(x, coefficients), polynomial(x, derived(coefficients)) * tangent]

    return lax.custom_jvp_call_p.bind(x, subfuns=(value, value_and_tangent), symbolic_zeros=False)[
        0
    ]
