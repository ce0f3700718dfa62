# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic: sums, products, quotients, signs, extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.compilation import compiled, inlined, outlined
from ..core.promotion import (
    check_arraylike,
    constant,
    convert,
    ensure_array,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    result_type_of,
    scalar_like,
    spread,
)
from ..reductions.cumulative import cumulative_product, cumulative_sum_of
from ..reductions.extremes import maximum_along, minimum_along
from ..reductions.sums import product_along, sum_along
from .ufunc import ufunc

__all__ = [
    "abs",
    "absolute",
    "add",
    "copysign",
    "divide",
    "divmod",
    "fabs",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "positive",
    "remainder",
    "sign",
    "signbit",
    "subtract",
    "true_divide",
]

_bool = np.dtype(bool)


# ---- sums and products ----


def _add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the sum of two arrays, elementwise; for booleans, whether at least one is true.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> add(1, 2.5)
      Array(3.5, dtype=float32, weak_type=True)
    """
    x, y, dtype = promote_args.pair("add", x, y)
    return lax.bitwise_or(x, y) if dtype is _bool else lax.add(x, y)


def _multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the product of two arrays, elementwise; for booleans, whether both are true.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> multiply(2, 1.5)
      Array(3., dtype=float32, weak_type=True)
    """
    x, y, dtype = promote_args.pair("multiply", x, y)
    return lax.bitwise_and(x, y) if dtype is _bool else lax.mul(x, y)


def _subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the difference of two arrays, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> subtract(1, 3)
      Array(-2, dtype=int32, weak_type=True)
    """
    x, y, _ = promote_args.pair("subtract", x, y)
    return lax.sub(x, y)


def _negative(x: ArrayLike, /) -> Array:
    """Returns the negative of an array, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> negative(2)
      Array(-2, dtype=int32, weak_type=True)
    """
    x, _ = promote_args.single("negative", x)
    return lax.neg(x)


def _at_add(a: Any, indices: Any, b: Any) -> Any:
    if a.dtype is _bool:
        return a.at[indices].max(convert(ensure_array(b), _bool))
    return a.at[indices].add(b)


def _at_subtract(a: Any, indices: Any, b: Any) -> Any:
    return a.at[indices].subtract(b)


def _at_multiply(a: Any, indices: Any, b: Any) -> Any:
    if a.dtype is _bool:
        return a.at[indices].min(convert(ensure_array(b), _bool))
    return a.at[indices].multiply(b)


def _at_maximum(a: Any, indices: Any, b: Any) -> Any:
    return convert(a, result_type_of(a, b)[0]).at[indices].max(b)


def _at_minimum(a: Any, indices: Any, b: Any) -> Any:
    return convert(a, result_type_of(a, b)[0]).at[indices].min(b)


def _sum(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    return sum_along(a, axis, dtype, keepdims, initial, where, promote_integers=True)


def _product(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    return product_along(a, axis, dtype, keepdims, initial, where, promote_integers=True)


def _largest(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a = a if dtype is None else ensure_array(a).astype(dtype)
    return maximum_along(a, axis, keepdims, initial, where)


def _smallest(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a = a if dtype is None else ensure_array(a).astype(dtype)
    return minimum_along(a, axis, keepdims, initial, where)


add = ufunc(
    _add,
    2,
    1,
    name="add",
    identity=0,
    call=compiled(_add, inline=True, name="add"),
    reduce=_sum,
    accumulate=cumulative_sum_of,
    at=_at_add,
)
multiply = ufunc(
    _multiply,
    2,
    1,
    name="multiply",
    identity=1,
    call=compiled(_multiply, inline=True, name="multiply"),
    reduce=_product,
    accumulate=cumulative_product,
    at=_at_multiply,
)
subtract = ufunc(
    _subtract,
    2,
    1,
    name="subtract",
    call=compiled(_subtract, inline=True, name="subtract"),
    at=_at_subtract,
)
negative = ufunc(
    _negative, 1, 1, name="negative", call=compiled(_negative, inline=True, name="negative")
)


@inlined()
def positive(x: ArrayLike, /) -> Array:
    """Returns the numbers of an array, unchanged.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> positive(-2)
      Array(-2, dtype=int32, weak_type=True)
    """
    return as_array(promote_args.single("positive", x)[0])


# ---- absolute values and signs ----


@inlined()
def absolute(x: ArrayLike, /) -> Array:
    """Returns the absolute value, elementwise; for complex numbers it is real.

    Args:
      x: an array or scalar.

    Returns:
      An array of the shape and dtype of ``x``. If ``x`` is complex, the dtype is the real dtype of
      the same precision.

    Example:
      >>> absolute(-1.5), absolute(3 + 4j)
      (Array(1.5, dtype=float32, weak_type=True), Array(5., dtype=float32, weak_type=True))
    """
    x, dtype = promote_args.single("absolute", x)
    if dtype is _bool or dtypes.issubdtype(dtype, np.unsignedinteger):
        return as_array(x)
    return lax.abs(x)


abs = absolute


@inlined()
def fabs(x: ArrayLike, /) -> Array:
    """Returns the absolute value of real numbers as floats, elementwise.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Raises:
      TypeError: if ``x`` is complex.

    Example:
      >>> fabs(-2)
      Array(2., dtype=float32, weak_type=True)
    """
    x, dtype = promote_args_inexact.single("fabs", x)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("ufunc 'fabs' does not support complex dtypes; use absolute")
    return lax.abs(x)


@inlined()
def sign(x: ArrayLike, /) -> Array:
    """Returns -1, 0 or 1 by the sign of each number; for complex numbers ``x / abs(x)``.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> sign(-0.5)
      Array(-1., dtype=float32, weak_type=True)
    """
    x, _ = promote_args.single("sign", x)
    return lax.sign(x)


@outlined()
def signbit(x: ArrayLike, /) -> Array:
    """Returns whether the sign bit is set, elementwise. It is set for negative numbers and -0.0.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      A boolean array of the shape of ``x``.

    Raises:
      ValueError: if ``x`` is complex.

    Example:
      >>> signbit(-0.0)
      Array(True, dtype=bool)
    """
    x, dtype = promote_args.single("signbit", x)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(f"signbit is not well defined for {dtypes.name_of(dtype)}")
    if dtype is _bool or dtypes.issubdtype(dtype, np.unsignedinteger):
        return spread(np.zeros((), bool), np.shape(x))
    if dtypes.issubdtype(dtype, np.signedinteger):
        return lax.lt(x, np.zeros((), dtype))
    bits = dtypes.itemsize_bits(dtype)
    integer = np.dtype(f"int{bits}")
    pattern = lax.bitcast_convert_type(x, integer)
    return convert(lax.shift_right_arithmetic(pattern, np.array(bits - 1, integer)), _bool)


@outlined()
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the magnitudes of ``x1`` with the signs of ``x2``, elementwise.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of real numbers.

    Returns:
      An array of the operands' broadcast shape and common floating dtype.

    Raises:
      TypeError: if an operand is complex.

    Example:
      >>> copysign(2.0, -0.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args_inexact.pair("copysign", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("copysign does not support complex-valued inputs")
    return where(signbit(x2), lax.neg(lax.abs(x1)), lax.abs(x1))


# ---- quotients ----


@inlined()
def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the quotient of two arrays, elementwise; integers are converted to floats.

    Args:
      x1: the dividend.
      x2: the divisor.

    Returns:
      An array of the operands' broadcast shape and of their common floating or complex dtype.

    Example:
      >>> true_divide(1, 2)
      Array(0.5, dtype=float32, weak_type=True)
    """
    x1, x2, _ = promote_args_inexact.pair("true_divide", x1, x2)
    return lax.div(x1, x2)


divide = true_divide


@outlined()
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the quotient of two arrays rounded down, elementwise.

    Args:
      x1: the dividend.
      x2: the divisor.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Raises:
      TypeError: if an operand is complex.

    Example:
      >>> floor_divide(-7, 2)
      Array(-4, dtype=int32, weak_type=True)
    """
    x1, x2, dtype = promote_args_numeric.pair("floor_divide", x1, x2)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return lax.div(x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        quotient = lax.div(x1, x2)
        signs_differ = lax.ne(lax.sign(x1), lax.sign(x2))
        inexact = lax.ne(lax.rem(x1, x2), np.zeros((), dtype))
        return where(
            lax.bitwise_and(signs_differ, inexact), lax.sub(quotient, constant(1, x1)), quotient
        )
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x1, x2, dtype)[0]


def _float_divmod(x1: Any, x2: Any, dtype: Any) -> tuple[Any, Any]:
    """Returns the quotient rounded down and the remainder with the divisor's sign, as in Python."""
    zero, one = np.zeros((), dtype), constant(1, x1)
    remainder = lax.rem(x1, x2)
    # x1 - remainder is a multiple of x2 up to rounding. If x2 is zero, x1 itself is divided.
    quotient = lax.div(where(lax.eq(x2, zero), x1, lax.sub(x1, remainder)), x2)
    wrong_sign = lax.bitwise_and(lax.ne(remainder, zero), lax.ne(lax.sign(x2), lax.sign(remainder)))
    shape = np.broadcast_shapes(np.shape(x1), np.shape(x2))
    remainder, quotient = spread(remainder, shape), spread(quotient, shape)
    wrong_sign = spread(wrong_sign, shape)
    remainder = lax.select(wrong_sign, lax.add(remainder, x2), remainder)
    quotient = lax.select(wrong_sign, lax.sub(quotient, one), quotient)
    return lax.round(quotient), remainder


@outlined()
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the remainder of a division, with the sign of the divisor, elementwise.

    Args:
      x1: the dividend.
      x2: the divisor. The remainder of an integer divided by zero is zero.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> remainder(-7, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    x1, x2, dtype = promote_args_numeric.pair("remainder", x1, x2)
    zero = np.zeros((), dtype)
    if dtypes.issubdtype(dtype, np.integer):
        # The remainder of a division by zero is defined as zero.
        x2 = where(lax.eq(x2, zero), lax.full_like(x2, 1), x2)
    remainder = lax.rem(x1, x2)
    nonzero = lax.ne(remainder, zero)
    wrong_sign = lax.ne(lax.lt(remainder, zero), lax.lt(x2, zero))
    return lax.select(lax.bitwise_and(wrong_sign, nonzero), lax.add(remainder, x2), remainder)


mod = remainder


@outlined()
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns the remainder of a division, with the sign of the dividend, elementwise.

    Args:
      x1: the dividend.
      x2: the divisor.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> fmod(-7, 3)
      Array(-1, dtype=int32, weak_type=True)
    """
    x1, x2, dtype = promote_args_numeric.pair("fmod", x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        x2 = where(lax.eq(x2, np.zeros((), dtype)), lax.full_like(x2, 1), x2)
    return lax.rem(x1, x2)


@outlined()
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Returns `floor_divide` and `remainder` at once.

    Args:
      x1: the dividend.
      x2: the divisor.

    Returns:
      Two arrays of the operands' broadcast shape and common dtype: the quotient and the remainder.

    Raises:
      TypeError: if an operand is complex.

    Example:
      >>> divmod(7, 3)
      (Array(2, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))
    """
    x1, x2, dtype = promote_args_numeric.pair("divmod", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError("divmod does not support complex-valued inputs")
    if dtypes.issubdtype(dtype, np.integer):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2, dtype)


# ---- extremes ----


def _maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the larger of two numbers, elementwise; NaN if one is NaN.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> maximum(1, 2.5)
      Array(2.5, dtype=float32, weak_type=True)
    """
    x, y, _ = promote_args.pair("maximum", x, y)
    return lax.max(x, y)


def _minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the smaller of two numbers, elementwise; NaN if one is NaN.

    Args:
      x: an array or scalar.
      y: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> minimum(1, 2.5)
      Array(1., dtype=float32, weak_type=True)
    """
    x, y, _ = promote_args.pair("minimum", x, y)
    return lax.min(x, y)


maximum = ufunc(
    _maximum,
    2,
    1,
    name="maximum",
    call=compiled(_maximum, inline=True, name="maximum"),
    reduce=_largest,
    at=_at_maximum,
)
minimum = ufunc(
    _minimum,
    2,
    1,
    name="minimum",
    call=compiled(_minimum, inline=True, name="minimum"),
    reduce=_smallest,
    at=_at_minimum,
)


@outlined()
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Returns the larger of two numbers, elementwise. If one is NaN, returns the other number.

    Args:
      x1: an array or scalar.
      x2: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> fmax(float("nan"), 1.0)
      Array(1., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args.pair("fmax", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        extreme = where(lax.ne(x1, x1), x2, maximum(x1, x2))
        return where(lax.ne(x2, x2), x1, extreme)
    return where(lax.bitwise_or(lax.gt(x1, x2), lax.ne(x2, x2)), x1, x2)


@outlined()
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Returns the smaller of two numbers, elementwise. If one is NaN, returns the other number.

    Args:
      x1: an array or scalar.
      x2: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and common dtype.

    Example:
      >>> fmin(float("nan"), 1.0)
      Array(1., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args.pair("fmin", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        extreme = where(lax.ne(x1, x1), x2, minimum(x1, x2))
        return where(lax.ne(x2, x2), x1, extreme)
    return where(lax.bitwise_or(lax.lt(x1, x2), lax.ne(x2, x2)), x1, x2)


@outlined()
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns 0 for negative numbers, 1 for positive ones, and ``x2`` for zero.

    Args:
      x1: an array or scalar of real numbers.
      x2: the value at zero.

    Returns:
      An array of the operands' broadcast shape and common floating dtype.

    Raises:
      TypeError: if an operand is complex.

    Example:
      >>> heaviside(-1.5, 0.5), heaviside(0.0, 0.5)
      (Array(0., dtype=float32, weak_type=True), Array(0.5, dtype=float32, weak_type=True))
    """
    check_arraylike("heaviside", x1, x2)
    x1, x2 = promote_dtypes_inexact(ensure_array(x1), ensure_array(x2))
    if dtypes.issubdtype(x1.dtype, np.complexfloating):
        raise TypeError("heaviside does not support complex-valued inputs")
    zero, one = scalar_like(0, x1), scalar_like(1, x1)
    result = where(lax.eq(x1, zero), x2, x1)
    return where(lax.lt(x1, zero), zero, where(lax.gt(x1, zero), one, result))
