# SPDX-License-Identifier: Apache-2.0
"""Elementwise exponentials and logarithms, `hypot` and `sinc`.

Integer operands are converted to a floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.compilation import compiled, inlined, outlined
from ..core.custom_derivatives import custom_jvp
from ..core.promotion import convert, ensure_array, promote_args_inexact, scalar_like, spread
from .ufunc import ufunc

__all__ = [
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "sinc",
]


# ---- exponentials and logarithms ----


@inlined()
def exp(x: ArrayLike, /) -> Array:
    """Returns the exponential, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> exp(0)
      Array(1., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("exp", x)
    return lax.exp(x)


@inlined()
def exp2(x: ArrayLike, /) -> Array:
    """Returns two to the power of each number, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> exp2(3)
      Array(8., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("exp2", x)
    return lax.exp2(x)


@inlined()
def expm1(x: ArrayLike, /) -> Array:
    """Returns ``exp(x) - 1``, elementwise. It is precise for small numbers too.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> expm1(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("expm1", x)
    return lax.expm1(x)


@inlined()
def log(x: ArrayLike, /) -> Array:
    """Returns the natural logarithm, elementwise; NaN for negative real numbers.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> log(1)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("log", x)
    return lax.log(x)


@inlined()
def log1p(x: ArrayLike, /) -> Array:
    """Returns ``log(1 + x)``, elementwise. It is precise for small numbers too.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> log1p(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("log1p", x)
    return lax.log1p(x)


@inlined()
def log2(x: ArrayLike, /) -> Array:
    """Returns the logarithm to base 2, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> log2(8.0)
      Array(3., dtype=float32)
    """
    x, dtype = promote_args_inexact.single("log2", x)
    if dtypes.issubdtype(dtype, np.complexfloating):
        result = lax.log(x)
        real, imaginary = lax.real(result), lax.imag(result)
        divisor = lax.log(np.array(2, real.dtype))
        return lax.complex(lax.div(real, divisor), lax.div(imaginary, divisor))
    return lax.div(convert(lax.log(x), dtype), lax.log(np.array(2, dtype)))


@inlined()
def log10(x: ArrayLike, /) -> Array:
    """Returns the logarithm to base 10, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> log10(1000.0)
      Array(3., dtype=float32)
    """
    x, _ = promote_args_inexact.single("log10", x)
    x = ensure_array(lax.log(x))
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        real, imaginary = lax.real(x), lax.imag(x)
        factor = np.array(1 / np.log(10), real.dtype)
        return lax.complex(lax.mul(real, factor), lax.mul(imaginary, factor))
    return lax.mul(x, np.array(1 / np.log(10), x.dtype))


def times_constant(x: Any, factor: float) -> Any:
    """Multiplies by a constant of the same dtype and weak type."""
    return lax.mul(x, scalar_like(factor, x))


def _logaddexp_values(x1: Any, x2: Any) -> Any:
    larger = lax.max(x1, x2)
    difference = lax.sub(x1, x2)
    # The difference of equal infinities is NaN; their sum is the right result.
    is_nan, total = lax.ne(difference, difference), lax.add(x1, x2)
    finite = lax.add(larger, lax.log1p(lax.exp(lax.neg(lax.abs(difference)))))
    return lax.select(is_nan, total, finite)


_logaddexp_values.__name__ = "logaddexp"  # the name of the equation in olympusprs
_logaddexp_of_floats = custom_jvp(_logaddexp_values)


@_logaddexp_of_floats.defjvp
def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
    x1, x2 = primals
    result = _logaddexp_of_floats(x1, x2)
    return result, _weighted_tangents(tangents, [lax.exp(_difference(x, result)) for x in (x1, x2)])


def _difference(x: Any, y: Any) -> Any:
    """Returns ``x - y``, and zero where both are the same infinity."""
    same = lax.eq(x, y)
    return where(same, scalar_like(0, y), lax.sub(x, y))


def _weighted_tangents(tangents: Any, weights: Any) -> Any:
    first, second = (lax.mul(t, w) for t, w in zip(tangents, weights, strict=True))
    return lax.add(first, second)


def _logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns ``log(exp(x1) + exp(x2))`` without overflow, elementwise.

    Args:
      x1: an array or scalar.
      x2: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and of their common floating or complex dtype.

    Example:
      >>> logaddexp(-1000.0, -2000.0)
      Array(-1000., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args_inexact.pair("logaddexp", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        return _complex_logaddexp(*_equal_shapes(x1, x2))
    if np.ndim(x1) and np.ndim(x2):
        x1, x2 = _equal_shapes(x1, x2)
    return _logaddexp_of_floats(x1, x2)


def _equal_shapes(x1: Any, x2: Any) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(np.shape(x1), np.shape(x2))
    return spread(x1, shape), spread(x2, shape)


def _complex_logaddexp(x1: Any, x2: Any) -> Any:
    """Returns `logaddexp` of complex numbers, with imaginary parts in [-pi, pi].

    The operand with the larger real part is factored out.
    """
    first_larger = lax.gt(lax.real(x1), lax.real(x2))
    larger, smaller = lax.select(first_larger, x1, x2), lax.select(first_larger, x2, x1)
    same = lax.eq(x1, x2)
    zero = lax.full_like(larger, 0)
    difference = lax.select(same, zero, lax.sub(smaller, larger))
    result = lax.add(larger, lax.log1p(lax.exp(difference)))
    real, angle = lax.real(result), lax.imag(result)
    turn = scalar_like(2 * np.pi, angle)
    angle = lax.sub(angle, lax.mul(turn, lax.round(lax.div(angle, turn))))
    return lax.complex(real, angle)


@custom_jvp
def _logaddexp2_of_floats(x1: Any, x2: Any) -> Any:
    larger = lax.max(x1, x2)
    difference = lax.sub(x1, x2)
    is_nan, total = lax.ne(difference, difference), lax.add(x1, x2)
    small = lax.log1p(lax.exp2(lax.neg(lax.abs(difference))))
    finite = lax.add(larger, lax.mul(scalar_like(1 / float(np.log(2)), small), small))
    return lax.select(is_nan, total, finite)


@_logaddexp2_of_floats.defjvp
def _logaddexp2_jvp(primals: Any, tangents: Any) -> Any:
    x1, x2 = primals
    result = _logaddexp2_of_floats(x1, x2)
    return result, _weighted_tangents(
        tangents, [lax.exp2(_difference(x, result)) for x in (x1, x2)]
    )


def _logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns ``log2(2 ** x1 + 2 ** x2)`` without overflow, elementwise.

    Args:
      x1: an array or scalar.
      x2: an array or scalar.

    Returns:
      An array of the operands' broadcast shape and of their common floating or complex dtype.

    Example:
      >>> logaddexp2(3.0, 3.0)
      Array(4., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args_inexact.pair("logaddexp2", x1, x2)
    x1, x2 = _equal_shapes(x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        base = scalar_like(float(np.log(2)), x1)
        return lax.div(_complex_logaddexp(lax.mul(x1, base), lax.mul(x2, base)), base)
    return _logaddexp2_of_floats(x1, x2)


logaddexp = ufunc(
    _logaddexp,
    2,
    1,
    name="logaddexp",
    identity=-np.inf,
    call=compiled(_logaddexp, inline=True, name="logaddexp"),
)
logaddexp2 = ufunc(
    _logaddexp2,
    2,
    1,
    name="logaddexp2",
    identity=-np.inf,
    call=compiled(_logaddexp2, inline=True, name="logaddexp2"),
)


@outlined()
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns ``sqrt(x1 ** 2 + x2 ** 2)`` without overflow, elementwise.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of real numbers.

    Returns:
      An array of the operands' broadcast shape and common floating dtype.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> hypot(3.0, 4.0)
      Array(5., dtype=float32, weak_type=True)
    """
    x1, x2, dtype = promote_args_inexact.pair("hypot", x1, x2)
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. For such inputs, consider "
            "using `abs(x)` to get the absolute value."
        )
    zero, one, infinity = (scalar_like(value, x1) for value in (0, 1, np.inf))
    x1, x2 = lax.abs(x1), lax.abs(x2)
    infinite = lax.bitwise_or(lax.eq(x1, infinity), lax.eq(x2, infinity))
    larger, smaller = lax.max(x1, x2), lax.min(x1, x2)
    is_zero = lax.eq(larger, zero)
    ratio = lax.div(smaller, where(is_zero, one, larger))
    length = lax.mul(larger, lax.sqrt(lax.add(one, lax.square(ratio))))
    return where(infinite, infinity, where(is_zero, larger, length))


@custom_jvp
def _sinc_at_zero(x: Any) -> Any:
    """Evaluates ``sin(x) / x`` at zero, with derivatives of all orders."""
    return lax.full_like(x, 1)


@_sinc_at_zero.defjvp
def _sinc_at_zero_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _sinc_at_zero(x), lax.mul(_sinc_derivative_at_zero(x, 1), t)


def _sinc_derivative_at_zero(x: Any, order: int) -> Any:
    """Returns the derivative of order ``order`` of ``sin(x) / x`` at zero."""

    @custom_jvp
    def derivative(x: Any) -> Any:
        value = 0.0 if order % 2 else (-1.0) ** (order // 2) / (order + 1)
        return lax.full_like(x, value)

    @derivative.defjvp
    def derivative_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return derivative(x), lax.mul(_sinc_derivative_at_zero(x, order + 1), t)

    return derivative(x)


@outlined()
def sinc(x: ArrayLike, /) -> Array:
    """Returns ``sin(pi x) / (pi x)``, and 1 for zero, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> sinc(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    x, _ = promote_args_inexact.single("sinc", x)
    is_zero = lax.eq(x, scalar_like(0, x))
    angle = times_constant(x, np.pi)
    safe = where(is_zero, scalar_like(1, x), angle)
    return where(is_zero, _sinc_at_zero(angle), lax.div(lax.sin(safe), safe))
