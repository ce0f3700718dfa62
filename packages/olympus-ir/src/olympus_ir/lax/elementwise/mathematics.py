# SPDX-License-Identifier: Apache-2.0
"""Elementwise mathematical functions: exponentials, roots, trigonometric and special functions."""

from __future__ import annotations

import enum

from ...diagnostics.traceback_filtering import api_boundary
from ..core.declarations import Floating, Inexact, binary, unary
from ..core.values import Array, ArrayLike

__all__ = [
    "AccuracyMode",
    "Tolerance",
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
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
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "digamma",
    "digamma_p",
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
    "lgamma",
    "lgamma_p",
    "log",
    "log1p",
    "log1p_p",
    "log_p",
    "logistic",
    "logistic_p",
    "rsqrt",
    "rsqrt_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "sqrt",
    "sqrt_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]


class AccuracyMode(enum.Enum):
    """Accuracy levels for operations with the parameter ``accuracy``."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The maximal error of an operation with the parameter ``accuracy``.

    Args:
      atol: the absolute error.
      rtol: the relative error.
      ulps: the error in units of the last place.
    """

    __slots__ = ("atol", "rtol", "ulps")

    @api_boundary
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
atan2_p = binary("atan2", Inexact, numpy_name="arctan2")
erf_p = unary("erf", Floating)
erfc_p = unary("erfc", Floating)
erf_inv_p = unary("erf_inv", Floating)
lgamma_p = unary("lgamma", Floating)
digamma_p = unary("digamma", Floating)


# ---- exponentials, logarithms, roots ----


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the exponential of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.exp(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return exp_p.bind(x, accuracy=accuracy)


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes two to the power of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.exp2(3.0)
      Array(8., dtype=float32, weak_type=True)
    """
    return exp2_p.bind(x, accuracy=accuracy)


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes ``exp(x) - 1``, accurately even for small ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.expm1(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return expm1_p.bind(x, accuracy=accuracy)


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the natural logarithm of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.log(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return log_p.bind(x, accuracy=accuracy)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes ``log(1 + x)``, accurately even for small ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.log1p(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return log1p_p.bind(x, accuracy=accuracy)


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the logistic function ``1 / (1 + exp(-x))``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.logistic(0.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return logistic_p.bind(x, accuracy=accuracy)


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the square root of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.sqrt(4.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return sqrt_p.bind(x, accuracy=accuracy)


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the reciprocal square root ``1 / sqrt(x)``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.rsqrt(4.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    return rsqrt_p.bind(x, accuracy=accuracy)


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the real cube root of ``x``.

    Args:
      x: an array or scalar of floats.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.cbrt(8.0) > 1.99
      Array(True, dtype=bool, weak_type=True)
    """
    return cbrt_p.bind(x, accuracy=accuracy)


# ---- trigonometric and hyperbolic functions ----


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the sine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.sin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return sin_p.bind(x, accuracy=accuracy)


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the cosine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.cos(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return cos_p.bind(x, accuracy=accuracy)


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the tangent of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.tan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return tan_p.bind(x, accuracy=accuracy)


def asin(x: ArrayLike) -> Array:
    """Computes the inverse sine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.asin(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return asin_p.bind(x)


def acos(x: ArrayLike) -> Array:
    """Computes the inverse cosine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.acos(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return acos_p.bind(x)


def atan(x: ArrayLike) -> Array:
    """Computes the inverse tangent of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.atan(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atan_p.bind(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes the angle of the point with ordinate ``x`` and abscissa ``y``.

    Args:
      x: an array or scalar of floats or complex numbers.
      y: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.atan2(0.0, 1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atan2_p.bind(x, y)


def sinh(x: ArrayLike) -> Array:
    """Computes the hyperbolic sine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.sinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return sinh_p.bind(x)


def cosh(x: ArrayLike) -> Array:
    """Computes the hyperbolic cosine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.cosh(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return cosh_p.bind(x)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Computes the hyperbolic tangent of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.
      accuracy: the error that a compiler may make; None for the compiler's default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.tanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return tanh_p.bind(x, accuracy=accuracy)


def asinh(x: ArrayLike) -> Array:
    """Computes the inverse hyperbolic sine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.asinh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return asinh_p.bind(x)


def acosh(x: ArrayLike) -> Array:
    """Computes the inverse hyperbolic cosine of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.acosh(1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return acosh_p.bind(x)


def atanh(x: ArrayLike) -> Array:
    """Computes the inverse hyperbolic tangent of ``x``.

    Args:
      x: an array or scalar of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.atanh(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return atanh_p.bind(x)


# ---- special functions ----


def erf(x: ArrayLike) -> Array:
    """Computes the error function of ``x``.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.erf(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return erf_p.bind(x)


def erfc(x: ArrayLike) -> Array:
    """Computes the complementary error function ``1 - erf(x)``, accurately even for large ``x``.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.erfc(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return erfc_p.bind(x)


def erf_inv(x: ArrayLike) -> Array:
    """Computes the inverse of the error function, for ``x`` from -1 to 1.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.erf_inv(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return erf_inv_p.bind(x)


def lgamma(x: ArrayLike) -> Array:
    """Computes the logarithm of the absolute value of the gamma function.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.lgamma(3.0) > 0.69
      Array(True, dtype=bool, weak_type=True)
    """
    return lgamma_p.bind(x)


def digamma(x: ArrayLike) -> Array:
    """Computes the derivative of the logarithm of the gamma function.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.digamma(2.0) > 0.42
      Array(True, dtype=bool, weak_type=True)
    """
    return digamma_p.bind(x)
