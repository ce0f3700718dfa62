# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic and mathematical functions.

Operands of one operation have equal dtypes; their shapes are equal but for scalars and dimensions
of size one. Python scalars have the default dtype of their type.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .. import dtypes
from ..avals import ShapedArray
from ..primitives import instruction
from .families import (
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
from .values import Array, ArrayLike, dtype_of

__all__ = [
    "AccuracyMode",
    "RoundingMethod",
    "Tolerance",
    "abs",
    "abs_p",
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "add",
    "add_any_p",
    "add_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "atan",
    "atan2",
    "atan2_p",
    "atan_p",
    "atanh",
    "atanh_p",
    "cbrt",
    "cbrt_p",
    "ceil",
    "ceil_p",
    "complex",
    "complex_p",
    "conj",
    "conj_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "digamma",
    "digamma_p",
    "div",
    "div_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expm1",
    "expm1_p",
    "floor",
    "floor_p",
    "imag",
    "imag_p",
    "integer_pow",
    "integer_pow_p",
    "is_finite",
    "is_finite_p",
    "lgamma",
    "lgamma_p",
    "log",
    "log1p",
    "log1p_p",
    "log_p",
    "logistic",
    "logistic_p",
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
    "rsqrt",
    "rsqrt_p",
    "sign",
    "sign_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "sqrt",
    "sqrt_p",
    "square",
    "square_p",
    "sub",
    "sub_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]

__all__ = [
    "AccuracyMode",
    "RoundingMethod",
    "Tolerance",
    "abs",
    "abs_p",
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "add",
    "add_any_p",
    "add_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "atan",
    "atan2",
    "atan2_p",
    "atan_p",
    "atanh",
    "atanh_p",
    "cbrt",
    "cbrt_p",
    "ceil",
    "ceil_p",
    "complex",
    "complex_p",
    "conj",
    "conj_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "digamma",
    "digamma_p",
    "div",
    "div_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expm1",
    "expm1_p",
    "floor",
    "floor_p",
    "imag",
    "imag_p",
    "integer_pow",
    "integer_pow_p",
    "is_finite",
    "is_finite_p",
    "lgamma",
    "lgamma_p",
    "log",
    "log1p",
    "log1p_p",
    "log_p",
    "logistic",
    "logistic_p",
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
    "rsqrt",
    "rsqrt_p",
    "sign",
    "sign_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "sqrt",
    "sqrt_p",
    "square",
    "square_p",
    "sub",
    "sub_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]


class RoundingMethod(enum.IntEnum):
    """What `round` does with numbers halfway between two integers.

    Attributes:
      AWAY_FROM_ZERO: 0.5 becomes 1, 2.5 becomes 3, -0.5 becomes -1.
      TO_NEAREST_EVEN: 0.5 becomes 0, 2.5 becomes 2, 1.5 becomes 2.
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """How exact a mathematical function must be, for the operations with ``accuracy``."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The largest error that an operation with ``accuracy`` may have.

    Args:
      atol: absolute.
      rtol: relative.
      ulps: in units of the last place.
    """

    __slots__ = ("atol", "rtol", "ulps")

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0.0 or rtol < 0.0 or ulps < 0:
            raise ValueError(
                f"Tolerances must be non-negative, got atol={atol}, rtol={rtol}, ulps={ulps}"
            )
        if atol == rtol == ulps == 0:
            raise ValueError("At least one of atol, rtol and ulps must be set")
        self.atol = atol
        self.rtol = rtol
        self.ulps = ulps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and (self.atol, self.rtol, self.ulps) == (
            other.atol,
            other.rtol,
            other.ulps,
        )

    def __hash__(self) -> int:
        return hash((self.atol, self.rtol, self.ulps))

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"


Accuracy = Tolerance | AccuracyMode | None

neg_p = unary("neg", Number, linear_in=True)
sign_p = unary("sign", Number)
floor_p = unary("floor", Floating)
ceil_p = unary("ceil", Floating)
round_p = unary("round", Floating)
is_finite_p = unary("is_finite", Floating, result=fixed_dtype(np.bool_))
exp_p = unary("exp", Inexact)
exp2_p = unary("exp2", Inexact)
expm1_p = unary("expm1", Inexact)
log_p = unary("log", Inexact)
log1p_p = unary("log1p", Inexact)
tanh_p = unary("tanh", Inexact)
logistic_p = unary("logistic", Inexact)
sin_p = unary("sin", Inexact)
cos_p = unary("cos", Inexact)
tan_p = unary("tan", Inexact)
asin_p = unary("asin", Inexact)
acos_p = unary("acos", Inexact)
atan_p = unary("atan", Inexact)
sinh_p = unary("sinh", Inexact)
cosh_p = unary("cosh", Inexact)
asinh_p = unary("asinh", Inexact)
acosh_p = unary("acosh", Inexact)
atanh_p = unary("atanh", Inexact)
sqrt_p = unary("sqrt", Inexact)
rsqrt_p = unary("rsqrt", Inexact)
cbrt_p = unary("cbrt", Floating)
square_p = unary("square", Number)
abs_p = unary("abs", SignedNumber, result=real_dtype)
real_p = unary("real", ComplexFloating, result=real_dtype, linear_in=True)
imag_p = unary("imag", ComplexFloating, result=real_dtype, linear_in=True)
conj_p = unary(
    "conj",
    (np.complexfloating, np.float32, np.float64),
    result=lambda dtype, input_dtype: dtypes.to_complex_dtype(dtype),
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
    result=lambda x, y, out_dtype: x if out_dtype is None else np.dtype(out_dtype),
    linear_in=(0, 1),  # in each, the other one being given
)
div_p = binary("div", Number, numpy_name="divide", linear_in=(0,))
rem_p = binary("rem", (np.integer, np.floating), numpy_name="remainder")
max_p = binary("max", Anything, numpy_name="maximum")
min_p = binary("min", Anything, numpy_name="minimum")
atan2_p = binary("atan2", Inexact, numpy_name="arctan2")
nextafter_p = binary("nextafter", Floating, numpy_name="nextafter")
erf_p = unary("erf", Floating)
erfc_p = unary("erfc", Floating)
erf_inv_p = unary("erf_inv", Floating)
lgamma_p = unary("lgamma", Floating)
digamma_p = unary("digamma", Floating)
integer_pow_p = instruction("integer_pow", family="elementwise")
pow_p = instruction("pow", family="elementwise")
# The sum of cotangents: as `add`, but for any values that have a tangent space.
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
    """The sum ``x + y``.

    Args:
      x: an array or scalar of numbers.
      y: one of the same dtype and of a compatible shape.

    Raises:
      TypeError: where the dtypes differ or the shapes do not fit.

    Example:
      >>> from olympus_ir import lax
      >>> lax.add(1.0, 2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return add_p.bind(x, y)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """The difference ``x - y``."""
    return sub_p.bind(x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: Any = None) -> Array:
    """The product ``x * y``.

    Args:
      x: an array or scalar of numbers.
      y: one of the same dtype and of a compatible shape.
      out_dtype: the dtype of the result, the operands' where not given.
    """
    return mul_p.bind(x, y, out_dtype=out_dtype)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient ``x / y``; of integers, rounded toward zero.

    Integers divided by zero give -1, and the smallest signed integer divided by -1 itself.
    """
    return div_p.bind(x, y)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder of ``x / y``, with the sign of ``x``. Of integers divided by zero: ``x``."""
    return rem_p.bind(x, y)


def neg(x: ArrayLike) -> Array:
    """The negative ``-x``."""
    return neg_p.bind(x)


def sign(x: ArrayLike) -> Array:
    """The sign of ``x``: -1, 0 or 1; of complex numbers ``x / abs(x)``; NaN where ``x`` is NaN."""
    return sign_p.bind(x)


def abs(x: ArrayLike) -> Array:
    """The absolute value; of complex numbers, a real one."""
    return abs_p.bind(x)


def square(x: ArrayLike) -> Array:
    """The square ``x * x``."""
    return square_p.bind(x)


def reciprocal(x: ArrayLike) -> Array:
    """The reciprocal ``1 / x``."""
    return integer_pow_p.bind(x, y=-1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """The power ``x ** y`` for one Python integer ``y``."""
    return integer_pow_p.bind(x, y=y)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """The power ``x ** y`` of an inexact base; exponents are integers or of the base's dtype."""
    return pow_p.bind(x, y)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of ``x`` and ``y``, NaN where one is NaN; complex numbers in lexical order."""
    return max_p.bind(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of ``x`` and ``y``, NaN where one is NaN; complex numbers in lexical order."""
    return min_p.bind(x, y)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after ``x1`` in the direction of ``x2``."""
    return nextafter_p.bind(x1, x2)


# ---- rounding ----


def floor(x: ArrayLike) -> Array:
    """The largest integer not above ``x``, as a float."""
    return floor_p.bind(x)


def ceil(x: ArrayLike) -> Array:
    """The smallest integer not below ``x``, as a float."""
    return ceil_p.bind(x)


def round(
    x: ArrayLike, rounding_method: RoundingMethod | int = RoundingMethod.AWAY_FROM_ZERO
) -> Array:
    """The nearest integer, as a float; `RoundingMethod` says what happens halfway."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: ArrayLike) -> Array:
    """Whether ``x`` is neither infinite nor NaN."""
    return is_finite_p.bind(x)


# ---- exponentials, logarithms, roots ----


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The exponential of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for its default.
    """
    return exp_p.bind(x, accuracy=accuracy)


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Two to the power of ``x``."""
    return exp2_p.bind(x, accuracy=accuracy)


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """``exp(x) - 1``, exact also for small ``x``."""
    return expm1_p.bind(x, accuracy=accuracy)


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The natural logarithm of ``x``."""
    return log_p.bind(x, accuracy=accuracy)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """``log(1 + x)``, exact also for small ``x``."""
    return log1p_p.bind(x, accuracy=accuracy)


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The logistic function ``1 / (1 + exp(-x))``."""
    return logistic_p.bind(x, accuracy=accuracy)


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The square root of ``x``."""
    return sqrt_p.bind(x, accuracy=accuracy)


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The reciprocal square root ``1 / sqrt(x)``."""
    return rsqrt_p.bind(x, accuracy=accuracy)


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The real cube root of ``x``."""
    return cbrt_p.bind(x, accuracy=accuracy)


# ---- trigonometric and hyperbolic functions ----


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The sine of ``x``."""
    return sin_p.bind(x, accuracy=accuracy)


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The cosine of ``x``."""
    return cos_p.bind(x, accuracy=accuracy)


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The tangent of ``x``."""
    return tan_p.bind(x, accuracy=accuracy)


def asin(x: ArrayLike) -> Array:
    """The inverse sine of ``x``."""
    return asin_p.bind(x)


def acos(x: ArrayLike) -> Array:
    """The inverse cosine of ``x``."""
    return acos_p.bind(x)


def atan(x: ArrayLike) -> Array:
    """The inverse tangent of ``x``."""
    return atan_p.bind(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angle of the point whose ordinate is ``x`` and whose abscissa is ``y``."""
    return atan2_p.bind(x, y)


def sinh(x: ArrayLike) -> Array:
    """The hyperbolic sine of ``x``."""
    return sinh_p.bind(x)


def cosh(x: ArrayLike) -> Array:
    """The hyperbolic cosine of ``x``."""
    return cosh_p.bind(x)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The hyperbolic tangent of ``x``."""
    return tanh_p.bind(x, accuracy=accuracy)


def asinh(x: ArrayLike) -> Array:
    """The inverse hyperbolic sine of ``x``."""
    return asinh_p.bind(x)


def acosh(x: ArrayLike) -> Array:
    """The inverse hyperbolic cosine of ``x``."""
    return acosh_p.bind(x)


def atanh(x: ArrayLike) -> Array:
    """The inverse hyperbolic tangent of ``x``."""
    return atanh_p.bind(x)


# ---- complex numbers ----


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The complex number ``x + iy`` of two real ones."""
    return complex_p.bind(x, y)


def real(x: ArrayLike) -> Array:
    """The real part of a complex number."""
    return real_p.bind(x)


def imag(x: ArrayLike) -> Array:
    """The imaginary part of a complex number."""
    return imag_p.bind(x)


def conj(x: ArrayLike) -> Array:
    """The complex conjugate; the result of a real ``x`` is complex, too."""
    return conj_p.bind(x, input_dtype=dtype_of(x))


# ---- special functions ----


def erf(x: ArrayLike) -> Array:
    """The error function of ``x``."""
    return erf_p.bind(x)


def erfc(x: ArrayLike) -> Array:
    """The complementary error function ``1 - erf(x)``, exact also for large ``x``."""
    return erfc_p.bind(x)


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of the error function, for ``x`` from -1 to 1."""
    return erf_inv_p.bind(x)


def lgamma(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return lgamma_p.bind(x)


def digamma(x: ArrayLike) -> Array:
    """The derivative of the logarithm of the gamma function."""
    return digamma_p.bind(x)
