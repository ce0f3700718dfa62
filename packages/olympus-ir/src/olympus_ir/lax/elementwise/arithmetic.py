# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic, rounding, and the parts of complex numbers.

The operands of an operation have equal dtypes. Their shapes are equal, except that scalars and
dimensions of size one are broadcast. Python scalars have the default dtype of their type.
"""

from __future__ import annotations

import enum

import numpy as np

from ...programs.primitives import instruction
from ...types import dtypes
from ...types.annotations import DTypeLike
from ...types.avals import ShapedArray
from ..core.declarations import (
    Anything,
    ComplexFloating,
    Floating,
    Inexact,
    Number,
    SignedNumber,
    binary,
    broadcast_operands,
    check_dtype,
    common_placement,
    elementwise_primitive,
    fixed_dtype,
    real_dtype,
    result_weak_type,
    unary,
)
from ..core.values import Array, ArrayLike, dtype_of
from .conversion import convert_element_type

__all__ = [
    "RoundingMethod",
    "abs",
    "abs_p",
    "add",
    "add_any_p",
    "add_p",
    "ceil",
    "ceil_p",
    "complex",
    "complex_p",
    "conj",
    "conj_p",
    "div",
    "div_p",
    "floor",
    "floor_p",
    "imag",
    "imag_p",
    "integer_pow",
    "integer_pow_p",
    "is_finite",
    "is_finite_p",
    "max",
    "max_p",
    "min",
    "min_p",
    "mul",
    "mul_p",
    "neg",
    "neg_p",
    "nextafter",
    "nextafter_p",
    "pow",
    "pow_p",
    "real",
    "real_p",
    "reciprocal",
    "rem",
    "rem_p",
    "round",
    "round_p",
    "sign",
    "sign_p",
    "square",
    "square_p",
    "sub",
    "sub_p",
]


class RoundingMethod(enum.IntEnum):
    """The rule of `round` for numbers halfway between two integers.

    Attributes:
      AWAY_FROM_ZERO: 0.5 becomes 1, 2.5 becomes 3, -0.5 becomes -1.
      TO_NEAREST_EVEN: 0.5 becomes 0, 2.5 becomes 2, 1.5 becomes 2.
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


neg_p = unary("neg", Number, linear_in=True)
sign_p = unary("sign", Number)
floor_p = unary("floor", Floating)
ceil_p = unary("ceil", Floating)
round_p = unary("round", Floating)
is_finite_p = unary("is_finite", Floating, result=fixed_dtype(np.bool_))
square_p = unary("square", Number)
abs_p = unary("abs", SignedNumber, result=real_dtype)
real_p = unary("real", ComplexFloating, result=real_dtype, linear_in=True)
imag_p = unary("imag", ComplexFloating, result=real_dtype, linear_in=True)
conj_p = unary(
    "conj",
    (np.complexfloating, np.float32, np.float64),
    result=lambda dtype, input_dtype=None: dtypes.to_complex_dtype(dtype),
    linear_in=True,
)
complex_p = binary(
    "complex",
    (np.float32, np.float64),
    result=lambda real_part, imaginary_part: dtypes.to_complex_dtype(real_part),
    linear_in=True,
)
add_p = binary("add", Number, numpy_name="add", linear_in=True)
sub_p = binary("sub", Number, numpy_name="subtract", linear_in=True)
mul_p = binary(
    "mul",
    Number,
    numpy_name="multiply",
    result=lambda x, y, out_dtype=None: x if out_dtype is None else np.dtype(out_dtype),
    linear_in=(0, 1),  # bilinear: linear in each operand for a fixed other operand
)
div_p = binary("div", Number, numpy_name="divide", linear_in=(0,))
rem_p = binary("rem", (np.integer, np.floating), numpy_name="remainder")
max_p = binary("max", Anything, numpy_name="maximum")
min_p = binary("min", Anything, numpy_name="minimum")
nextafter_p = binary("nextafter", Floating, numpy_name="nextafter")
integer_pow_p = instruction("integer_pow", family="elementwise")
integer_pow_p.elementwise = True
pow_p = instruction("pow", family="elementwise")
pow_p.elementwise = True
# The sum of cotangents: like `add`, but for any values that have a tangent space.
add_any_p = elementwise_primitive("add_any", Anything, Anything, linear_in=True)


@integer_pow_p.def_abstract_eval
def _integer_pow_shape(x: ShapedArray, *, y: int) -> ShapedArray:
    check_dtype("integer_pow", x, Number)
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(
            "Integers cannot be raised to negative powers, got "
            f"integer_pow({x.str_short(short_dtypes=True)}, {y}). Convert the base to a float."
        )
    return x


@pow_p.def_abstract_eval
def _pow_shape(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", x, Inexact, 0)
    check_dtype("pow", y, (np.integer, np.floating, np.complexfloating), 1)
    if x.dtype != y.dtype and not dtypes.issubdtype(y.dtype, np.integer):
        raise TypeError(
            "pow requires an inexact base, and an exponent that is an integer or of the base's "
            f"dtype, got {dtypes.name_of(x.dtype)} and {dtypes.name_of(y.dtype)}. Use "
            "olympus.numpy.power, which promotes dtypes, or lax.convert_element_type."
        )
    avals = (x, y)
    shape = broadcast_operands("pow", avals)
    return ShapedArray(shape, x.dtype, result_weak_type(avals), **common_placement(avals))


# ---- arithmetic ----


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the sum ``x + y``.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.add(1.0, 2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return add_p.bind(x, y)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the difference ``x - y``.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.sub(5, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    return sub_p.bind(x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Computes the product ``x * y``.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of the same dtype and a compatible shape.
      out_dtype: the dtype of the result; by default the operands' dtype. Operands of different
        dtypes are converted to it.

    Returns:
      An array of the operands' common shape, of ``out_dtype`` if given and otherwise of the
      operands' dtype.

    Raises:
      TypeError: if the operands differ in dtype without ``out_dtype``, or their dtype is not
        accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.mul(2, 3)
      Array(6, dtype=int32, weak_type=True)
    """
    if out_dtype is not None and dtype_of(x) != dtype_of(y):
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(x, y, out_dtype=out_dtype)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the quotient ``x / y``; integers are rounded toward zero.

    The quotient of an integer and zero has all bits set; it is -1 for signed integers. The quotient
    of the smallest signed integer and -1 is the smallest integer itself.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.div(-7, 2)
      Array(-3, dtype=int32, weak_type=True)
    """
    return div_p.bind(x, y)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the remainder of ``x / y``, with the sign of ``x``.

    The remainder of integers divided by zero is ``x``.

    Args:
      x: an array or scalar of integers or floats.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.rem(-7, 2)
      Array(-1, dtype=int32, weak_type=True)
    """
    return rem_p.bind(x, y)


def neg(x: ArrayLike) -> Array:
    """Computes the negation ``-x``.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.neg(2.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    return neg_p.bind(x)


def sign(x: ArrayLike) -> Array:
    """Computes the sign of ``x``: -1, 0 or 1; ``x / abs(x)`` for complex numbers; NaN for NaN.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.sign(-3)
      Array(-1, dtype=int32, weak_type=True)
    """
    return sign_p.bind(x)


def abs(x: ArrayLike) -> Array:
    """Computes the absolute value, which is real for complex numbers too.

    Args:
      x: an array or scalar of signed integers, floats or complex numbers.

    Returns:
      An array of the shape of ``x`` and the dtype of its elements' real part.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.abs(-3)
      Array(3, dtype=int32, weak_type=True)
    """
    return abs_p.bind(x)


def square(x: ArrayLike) -> Array:
    """Computes the square ``x * x``.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.square(3)
      Array(9, dtype=int32, weak_type=True)
    """
    return square_p.bind(x)


def reciprocal(x: ArrayLike) -> Array:
    """Computes the reciprocal ``1 / x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.reciprocal(4.0)
      Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(x, y=-1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Computes the power ``x ** y`` for a Python integer ``y``.

    Args:
      x: an array or scalar of numbers.
      y: the exponent; not negative if ``x`` is an array of integers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if ``x`` is an array of integers and ``y`` is negative.

    Example:
      >>> from olympus_ir import lax
      >>> lax.integer_pow(2.0, -3)
      Array(0.125, dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(x, y=y)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the power ``x ** y`` of a floating or complex base.

    Args:
      x: an array or scalar of floats or complex numbers.
      y: integers, or an array or scalar of the dtype of ``x``, of a compatible shape.

    Returns:
      An array of the dtype of ``x`` and the operands' common shape.

    Raises:
      TypeError: if ``x`` is neither floating nor complex, or the dtype of ``y`` is neither an
        integer dtype nor the dtype of ``x``.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.pow(4.0, 0.5)
      Array(2., dtype=float32, weak_type=True)
    """
    return pow_p.bind(x, y)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """Selects the larger of ``x`` and ``y``; NaN if either is NaN.

    Compares complex numbers lexicographically.

    Args:
      x: an array or scalar.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.max(2, 3)
      Array(3, dtype=int32, weak_type=True)
    """
    return max_p.bind(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """Selects the smaller of ``x`` and ``y``; NaN if either is NaN.

    Compares complex numbers lexicographically.

    Args:
      x: an array or scalar.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.min(2, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    return min_p.bind(x, y)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Returns the next representable number after ``x1`` in the direction of ``x2``.

    Args:
      x1: an array or scalar of floats.
      x2: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.nextafter(1.0, 2.0)
      Array(1.0000001, dtype=float32, weak_type=True)
    """
    return nextafter_p.bind(x1, x2)


# ---- rounding ----


def floor(x: ArrayLike) -> Array:
    """Rounds down: the largest integer not above ``x``, as a float.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.floor(-1.5)
      Array(-2., dtype=float32, weak_type=True)
    """
    return floor_p.bind(x)


def ceil(x: ArrayLike) -> Array:
    """Rounds up: the smallest integer not below ``x``, as a float.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.ceil(-1.5)
      Array(-1., dtype=float32, weak_type=True)
    """
    return ceil_p.bind(x)


def round(
    x: ArrayLike, rounding_method: RoundingMethod | int = RoundingMethod.AWAY_FROM_ZERO
) -> Array:
    """Rounds to the nearest integer, as a float.

    Args:
      x: an array or scalar of floats.
      rounding_method: the result for numbers halfway between two integers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.round(2.5)
      Array(3., dtype=float32, weak_type=True)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: ArrayLike) -> Array:
    """Returns whether each element is neither infinite nor NaN.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of booleans of the shape of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.is_finite(1e10)
      Array(True, dtype=bool, weak_type=True)
    """
    return is_finite_p.bind(x)


# ---- complex numbers ----


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Makes the complex number ``x + iy`` from two real numbers.

    Args:
      x: an array or scalar of floats of 32 or 64 bits.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the complex dtype whose parts have the operands' dtype.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.complex(1.0, 2.0)
      Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_p.bind(x, y)


def real(x: ArrayLike) -> Array:
    """Returns the real part of a complex number.

    Args:
      x: an array or scalar of complex numbers.

    Returns:
      An array of floats of the shape of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.real(1 + 2j)
      Array(1., dtype=float32, weak_type=True)
    """
    return real_p.bind(x)


def imag(x: ArrayLike) -> Array:
    """Returns the imaginary part of a complex number.

    Args:
      x: an array or scalar of complex numbers.

    Returns:
      An array of floats of the shape of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.imag(1 + 2j)
      Array(2., dtype=float32, weak_type=True)
    """
    return imag_p.bind(x)


def conj(x: ArrayLike) -> Array:
    """Returns the complex conjugate.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of complex numbers of the shape of ``x``, even if ``x`` is real.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.conj(1 + 2j)
      Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p.bind(x, input_dtype=dtype_of(x))
