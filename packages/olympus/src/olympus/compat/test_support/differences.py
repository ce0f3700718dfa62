# SPDX-License-Identifier: Apache-2.0
"""Finite differences, and operations on trees of numbers that they need."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.trees.pytrees import tree_leaves, tree_map
from olympus_ir.types import dtypes

from ..comparisons import dtype_of

__all__ = ["STEP", "inner_prod", "is_python_scalar", "numerical_jvp", "scalar_mul"]

#: The default step of finite differences.
STEP = 1e-4


def is_python_scalar(val: Any) -> bool:
    """Returns whether a value is a number of Python, not one of NumPy.

    Example:
      >>> is_python_scalar(1.0)
      True
    """
    return isinstance(val, bool | int | float | complex) and not isinstance(val, np.generic)


def inner_prod(xs: Any, ys: Any) -> Any:
    """Returns the real part of the inner product of two trees of one structure.

    Example:
      >>> float(inner_prod([np.array([1.0, 2.0])], [np.array([3.0, 4.0])]))
      11.0
    """
    products = tree_map(lambda x, y: np.real(np.vdot(x, y)), xs, ys)
    total, *rest = tree_leaves(products)
    for product in rest:
        total = total + product
    return total


def scalar_mul(xs: Any, a: float) -> Any:
    """Returns a tree times a number, in the dtypes of the tree's leaves.

    Example:
      >>> scalar_mul((2.0, 3.0), 0.5)
      (1.0, 1.5)
    """

    def scaled(x: Any) -> Any:
        dtype = _dtype(x)
        return _like(x, np.multiply(x, np.array(a, dtype), dtype=dtype))

    return tree_map(scaled, xs)


def _dtype(x: Any) -> Any:
    """Returns a dtype; that of a number of Python holds all its digits."""
    return np.asarray(x).dtype if is_python_scalar(x) else dtype_of(x)


def _like(x: Any, result: Any) -> Any:
    return result.item() if is_python_scalar(x) else result


def _combined(operation: Callable[[Any, Any], Any], xs: Any, ys: Any) -> Any:
    return tree_map(
        lambda x, y: _like(x, operation(np.asarray(x), np.asarray(y, _dtype(x)))), xs, ys
    )


def _difference(x: Any, y: Any) -> Any:
    """Returns ``x - y``, where the difference of equal infinities is zero."""
    dtype = _dtype(x)
    if dtypes.issubdtype(dtype, np.integer) or dtype == dtypes.float0:
        return np.zeros(np.shape(x), dtypes.float0)
    with np.errstate(invalid="ignore"):
        return np.where(np.equal(x, y), np.array(0, dtype), np.subtract(x, y))


def numerical_jvp(f: Callable[..., Any], primals: Any, tangents: Any, eps: float = STEP) -> Any:
    """Returns the derivative of a function along a tangent, by central differences.

    Args:
      f: the function.
      primals: a sequence of its arguments.
      tangents: the tangent of each.
      eps: the step.

    Example:
      >>> float(numerical_jvp(lambda x: x**2, (3.0,), (1.0,)).round(3))
      6.0
    """
    step = scalar_mul(tangents, eps)
    after = f(*_combined(operator.add, primals, step))
    before = f(*_combined(operator.sub, primals, step))
    return scalar_mul(tree_map(_difference, after, before), 0.5 / eps)
