# SPDX-License-Identifier: Apache-2.0
"""Powers and roots; greatest common divisors and least common multiples of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.compilation import compiled, inlined, outlined
from ..core.promotion import (
    check_arraylike,
    convert,
    ensure_array,
    promote_args_inexact,
    promote_args_numeric,
    promote_shapes,
    promote_types_of,
    result_type_of,
    scalar_like,
    spread,
)
from .arithmetic import absolute

__all__ = [
    "cbrt",
    "float_power",
    "gcd",
    "lcm",
    "pow",
    "power",
    "reciprocal",
    "sqrt",
    "square",
]


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns ``x1`` to the power of ``x2``, elementwise.

    An exponent that is a Python integer becomes a constant of the compiled program.

    Args:
      x1: the base.
      x2: the exponent; not negative if both operands are integers.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Raises:
      TypeError: both operands are integers, and the exponent is known at trace time and negative.

    Example:
      >>> power(2.0, 10)
      Array(1024., dtype=float32, weak_type=True)
    """
    kind = x2.__class__
    if kind is int or kind is bool or isinstance(x2, np.integer):
        exponent: Any = x2
        return _integer_power(x1, int(exponent))
    if kind is np.ndarray:
        _refuse_negative_exponents(x1, x2)
    return _power(x1, x2)


def _refuse_negative_exponents(x1: Any, x2: Any) -> None:
    if x2.dtype.kind != "i" or not x2.size or x2.min() >= 0:
        return
    if dtypes.issubdtype(ensure_array(x1).dtype, np.integer):
        raise TypeError(
            "Integers cannot be raised to negative powers, got the exponent "
            f"{x2.min()} in an array of shape {x2.shape}. Convert the base to a float."
        )


def _raised_to_integer(x1: Any, y: int) -> Any:
    x1, _ = promote_args_numeric.single("power", x1)
    return lax.integer_pow(x1, y)


_integer_power = compiled(_raised_to_integer, ("y",), inline=True, name="power")


def _raised(x1: Any, x2: Any) -> Any:
    check_arraylike("power", x1, x2)
    if dtypes.issubdtype(ensure_array(x2).dtype, np.integer):
        base_dtype, _ = result_type_of(x1)
        if dtypes.issubdtype(base_dtype, np.inexact):
            result_type_of(x1, x2)  # This raises an error under strict promotion.
            # Integer exponents stay integers. They have no derivative, so the derivative of the
            # power needs no logarithm.
            return lax.pow(*promote_shapes("power", ensure_array(x1), ensure_array(x2)))
    x1, x2, dtype = promote_args_numeric.pair("power", x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        return _power_of_integers(x1, x2, dtype)
    return lax.pow(x1, x2)


_power = compiled(_raised, inline=True, name="power")
pow = power


# Only this number of low bits of an exponent is used. An exponent above 63 makes 64-bit integers
# overflow, unless the base is 0, 1 or -1. The powers of these three bases are correct nevertheless.
_EXPONENT_BITS = 6


def _power_of_integers(base: Any, exponent: Any, dtype: Any) -> Any:
    """Computes powers of integers by repeated squaring."""
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    zero_base = lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero))
    result = where(zero_base, zero, one)
    for bit in range(_EXPONENT_BITS):
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
        if bit + 1 < _EXPONENT_BITS:
            base = lax.mul(base, base)
            exponent = lax.shift_right_logical(exponent, one)
    return result


@inlined()
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns ``x`` to the power of ``y`` as floats, elementwise.

    Args:
      x: the base.
      y: the exponent.

    Returns:
      An array of the operands' broadcast shape and of their common floating or complex dtype.

    Example:
      >>> float_power(2, -1)
      Array(0.5, dtype=float32, weak_type=True)
    """
    x, y, _ = promote_args_inexact.pair("float_power", x, y)
    return lax.pow(x, y)


@inlined()
def square(x: ArrayLike, /) -> Array:
    """Returns the square, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> square(-3)
      Array(9, dtype=int32, weak_type=True)
    """
    x, _ = promote_args_numeric.single("square", x)
    return lax.square(x)


@inlined()
def reciprocal(x: ArrayLike, /) -> Array:
    """Returns ``1 / x`` as floats, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> reciprocal(4)
      Array(0.25, dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("reciprocal", x)
    return lax.integer_pow(x, -1)


@inlined()
def sqrt(x: ArrayLike, /) -> Array:
    """Returns the square root, elementwise; NaN for negative real numbers.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> sqrt(9)
      Array(3., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("sqrt", x)
    return lax.sqrt(x)


@inlined()
def cbrt(x: ArrayLike, /) -> Array:
    """Returns the real cube root, elementwise.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Example:
      >>> cbrt(-8.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("cbrt", x)
    return lax.cbrt(x)


# ---- divisors and multiples of integers ----


def _integers(name: str, x1: Any, x2: Any) -> tuple[Array, Array]:
    check_arraylike(name, x1, x2)
    x1, x2 = promote_types_of(name, x1, x2)
    x1, x2 = ensure_array(x1), ensure_array(x2)
    if not dtypes.issubdtype(x1.dtype, np.integer):
        raise ValueError(f"Arguments to olympus.numpy.{name} must be integers.")
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    return spread(x1, shape), spread(x2, shape)


@outlined()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Returns the greatest common divisor, elementwise.

    Args:
      x1: an array or scalar of integers.
      x2: an array or scalar of integers.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> gcd(12, 18)
      Array(6, dtype=int32, weak_type=True)
    """
    x1, x2 = _integers("gcd", x1, x2)
    if x1.ndim:
        x1, x2 = convert(x1, x1.dtype), convert(x2, x2.dtype)
    zero = scalar_like(0, x1)

    def unfinished(pair: Any) -> Any:
        return lax.reduce_or(lax.ne(pair[1], zero), tuple(range(pair[1].ndim)))

    def euclid(pair: Any) -> Any:
        larger, smaller = pair
        go_on = lax.ne(smaller, zero)
        # A pair is finished once its smaller number is zero.
        remainder = where(go_on, lax.rem(larger, smaller), zero)
        return where(go_on, smaller, larger), remainder

    return lax.while_loop(unfinished, euclid, (absolute(x1), absolute(x2)))[0]


@outlined()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Returns the least common multiple, elementwise.

    Args:
      x1: an array or scalar of integers.
      x2: an array or scalar of integers.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> lcm(4, 6)
      Array(12, dtype=int32, weak_type=True)
    """
    x1, x2 = _integers("lcm", x1, x2)
    x1, x2 = absolute(x1), absolute(x2)
    zero = scalar_like(0, x1)
    divisor = gcd(x1, x2)
    safe = where(lax.eq(divisor, zero), scalar_like(1, divisor), divisor)
    return where(lax.eq(divisor, zero), zero, lax.mul(x1, lax.div(x2, safe)))
