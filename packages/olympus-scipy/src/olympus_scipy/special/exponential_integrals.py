# SPDX-License-Identifier: Apache-2.0
"""Exponential, sine and cosine integrals (DLMF chapters 6 and 8), and the dilogarithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.expansions.elementwise import polynomial
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import elementwise, reals, with_derivatives

__all__ = ["exp1", "expi", "expn", "sici", "spence"]


def _in_wide_floats(function: Any, *operands: Any) -> Any:
    """Applies a function in 32 bits to floats of 16 bits."""
    dtype = operands[0].dtype
    if dtypes.finfo(dtype).bits >= 32:
        return function(*operands)
    return function(*(operand.astype(np.float32) for operand in operands)).astype(dtype)


# ---- exponential integrals ----


def _entire_part(x: Any, count: int) -> Any:
    """Returns the sum of ``x**k / (k k!)`` over k >= 1."""

    def step(k: Any, state: Any) -> Any:
        term, total = state
        number = (k + 1).astype(x.dtype)
        term = term * (x / number)
        return term, total + term / number

    return lax.fori_loop(0, count, step, (onp.ones_like(x), onp.zeros_like(x)))[1]


def _tail_fraction(x: Any, count: int = 80) -> Any:
    """Evaluates ``exp(x) E1(x)`` for x >= 1 by the even part of the continued fraction DLMF 6.9.1.

    The fraction is ``1 / (x + 1 - 1 / (x + 3 - 4 / (x + 5 - ...``.
    """

    def step(k: Any, value: Any) -> Any:
        number = (count - k).astype(x.dtype)
        return number * number / (x + 2.0 * number + 1.0 - value)

    return 1.0 / (x + 1.0 - lax.fori_loop(0, count, step, onp.zeros_like(x)))


@with_derivatives(lambda y, x: onp.where(x < 0.0, np.nan, -lax.exp(-x) / x))
def _exp1(x: Any) -> Any:
    small = x <= 1.0
    near = onp.where(small & (x > 0.0), x, 1.0)
    series = -np.euler_gamma - lax.log(near) - _entire_part(-near, 24)
    far = onp.where(small, 1.0, x)
    tail = lax.exp(-far) * _tail_fraction(onp.minimum(far, 1e30))
    result = onp.where(small, series, tail)
    result = onp.where(x == np.inf, 0.0, result)
    return onp.where(x > 0.0, result, onp.where(x == 0.0, np.inf, np.nan)).astype(x.dtype)


@with_derivatives(lambda y, x: lax.exp(x) / x)
def _expi(x: Any) -> Any:
    left = x < 0.0
    negative = -_exp1(onp.where(left, -x, 1.0))
    bound = 20.0 if x.dtype == np.float32 else 40.0
    near = onp.where((x > 0.0) & (x <= bound), x, 1.0)
    series = np.euler_gamma + lax.log(near) + _entire_part(near, 64 if bound == 20.0 else 130)
    far = onp.where(x > bound, x, bound)
    term, total = onp.ones_like(x), onp.ones_like(x)
    for k in range(1, int(bound) - 1):
        term = term * (float(k) / far)
        total = total + term
    asymptotic = onp.where(far == np.inf, np.inf, lax.exp(far) / far * total)
    result = onp.where(x > bound, asymptotic, series)
    result = onp.where(x == 0.0, -np.inf, onp.where(x > 0.0, result, np.nan))
    return onp.where(left, negative, result).astype(x.dtype)


@outlined()
def exp1(x: ArrayLike) -> Array:
    """Evaluates the exponential integral E1; DLMF 6.2.1.

    It is the integral of ``exp(-t) / t`` from ``x`` to infinity.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> exp1(0.0)
      Array(inf, dtype=float32)
    """
    (x,) = reals("exp1", x)
    return _in_wide_floats(_exp1, x)


@outlined()
def expi(x: ArrayLike) -> Array:
    """Evaluates the exponential integral Ei; DLMF 6.2.5.

    It is the principal value of the integral of ``exp(t) / t`` from negative infinity to ``x``.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> expi(0.0)
      Array(-inf, dtype=float32)
    """
    (x,) = reals("expi", x)
    return _in_wide_floats(_expi, x)


_MAX_TERMS = 200


def _expn_derivative(y: Any, n: Any, x: Any) -> Any:
    return -_expn(n - 1.0, x)


@with_derivatives(None, _expn_derivative)
def _expn(n: Any, x: Any) -> Any:
    """Evaluates `expn`; DLMF 8.19.

    Sums the power series up to ``x = 1``, and evaluates the continued fraction above 1.
    """
    legal = (n >= 0.0) & (n == lax.floor(n)) & (x >= 0.0)
    order = onp.where(legal & (n > 0.0), n, 1.0)
    near = onp.where(legal & (x > 0.0) & (x <= 1.0), x, 1.0)
    series = _expn_series(order, near)
    far = onp.where(legal & (x > 1.0), onp.minimum(x, 1e30), 2.0)
    fraction = lax.exp(-far) * _expn_fraction(order, far)
    result = onp.where(x <= 1.0, series, fraction)
    at_zero = onp.where(order > 1.0, 1.0 / onp.where(order > 1.0, order - 1.0, 1.0), np.inf)
    result = onp.where(x == 0.0, at_zero, onp.where(x == np.inf, 0.0, result))
    lowest = lax.exp(-x) / x  # the exponential integral of order 0
    result = onp.where(n == 0.0, onp.where(x == np.inf, 0.0, lowest), result)
    return onp.where(legal, result, np.nan).astype(x.dtype)


def _expn_series(n: Any, x: Any) -> Any:
    """Sums the series DLMF 8.19.8, whose term k = n - 1 has a logarithm and a digamma function."""
    last = n - 1.0
    power = lax.exp(last * lax.log(x) - lax.lgamma(n))
    sign = onp.where(last % 2.0 == 0.0, 1.0, -1.0)
    special = sign * power * (lax.digamma(n) - lax.log(x))

    def step(k: Any, state: Any) -> Any:
        term, total = state
        number = k.astype(x.dtype)
        difference = number - last
        contribution = term / onp.where(difference == 0.0, 1.0, difference)
        total = total - onp.where(difference == 0.0, 0.0, contribution)
        return term * (-x / (number + 1.0)), total

    _, total = lax.fori_loop(0, 24, step, (onp.ones_like(x), onp.zeros_like(x)))
    return special + total


def _expn_fraction(n: Any, x: Any) -> Any:
    """Evaluates ``exp(x)`` times `expn` by the even part of the continued fraction DLMF 8.19.17.

    The fraction is ``1 / (x + n - 1 n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...``.
    """

    def step(k: Any, value: Any) -> Any:
        number = (_MAX_TERMS - k).astype(x.dtype)
        return number * (n + number - 1.0) / (x + n + 2.0 * number - value)

    return 1.0 / (x + n - lax.fori_loop(0, _MAX_TERMS, step, onp.zeros_like(x)))


@elementwise()
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates the generalized exponential integral; DLMF 8.19.3.

    It is the integral of ``exp(-x t) / t**n`` from 1 to infinity.

    Args:
      n: an array or scalar of nonnegative whole numbers.
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> expn(2, 0.0)
      Array(1., dtype=float32)
    """
    return _in_wide_floats(_expn, n, x)


# ---- sine and cosine integrals ----

_SERIES_UP_TO = 4.0


def _auxiliary_functions(x: Any) -> tuple[Any, Any]:
    """Evaluates f and g of DLMF 6.2.17 for x >= 4.

    ``exp(i x) E1(i x)`` is ``g - i f``; its continued fraction gives both.
    """
    z = lax.complex(onp.zeros_like(x), x)
    value = onp.zeros_like(z)

    def step(k: Any, value: Any) -> Any:
        number = (80 - k).astype(z.dtype)
        return number * number / (z + 2.0 * number + 1.0 - value)

    whole = 1.0 / (z + 1.0 - lax.fori_loop(0, 80, step, value))
    return -lax.imag(whole), lax.real(whole)


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    size = lax.abs(x)
    small = size <= _SERIES_UP_TO
    near = onp.where(small & (size > 0.0), size, 1.0)
    square = near * near
    sine_terms = [(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(16)]
    cosine_terms = [(-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(1, 17)]
    sine = near * polynomial(square, sine_terms)
    cosine = np.euler_gamma + lax.log(near) + square * polynomial(square, cosine_terms)
    infinite = size == np.inf
    far = onp.where(small | infinite, _SERIES_UP_TO, size)
    f, g = _auxiliary_functions(far)
    far_sine = 0.5 * math.pi - f * lax.cos(far) - g * lax.sin(far)
    far_cosine = f * lax.sin(far) - g * lax.cos(far)
    sine = onp.where(small, onp.where(size == 0.0, 0.0, sine), far_sine)
    cosine = onp.where(small, onp.where(size == 0.0, -np.inf, cosine), far_cosine)
    sine = onp.where(infinite, 0.5 * math.pi, sine)
    cosine = onp.where(infinite, onp.where(x < 0.0, np.nan, 0.0), cosine)
    nan = x != x
    return (
        onp.where(nan, x, lax.sign(x) * sine).astype(x.dtype),
        onp.where(nan, x, cosine).astype(x.dtype),
    )


@_sici.defjvp
def _sici_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x,), (t,) = primals, tangents
    return _sici(x), (t * onp.sinc(x / math.pi), t * lax.cos(x) / x)


@outlined()
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Evaluates the sine and cosine integrals; DLMF 6.2.9 and 6.2.11.

    Args:
      x: an array or scalar of real numbers. The cosine integral of a negative number is that of
        its absolute value; that of negative infinity is NaN.

    Returns:
      A pair of floating arrays of the shape of ``x``: the sine integral and the cosine integral.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> sici(0.0)[0]
      Array(0., dtype=float32)
    """
    (x,) = reals("sici", x)
    if dtypes.finfo(x.dtype).bits < 32:
        sine, cosine = _sici(x.astype(np.float32))
        return sine.astype(x.dtype), cosine.astype(x.dtype)
    return _sici(x)


# ---- the dilogarithm ----

# Coefficients B_2k / (2k + 1)! of the power series of Li2(1 - exp(-u)) in u, which converges for
# |u| < 2 pi.
_DILOGARITHM = (
    1 / 36,
    -1 / 3600,
    1 / 211680,
    -1 / 10886400,
    1 / 526901760,
    -691 / 16999766784000,
    1 / 1120863744000,
    -3617 / 181400588328960000,
    43867 / 97072790126247936000,
    -174611 / 16860010916664115200000,
)


def _spence_near_one(x: Any) -> Any:
    """Evaluates Li2(1 - x) for x from 1/2 to 2, by the power series in u = -log(x)."""
    u = -lax.log(x)
    square = u * u
    return u * (1.0 - 0.25 * u + square * polynomial(square, _DILOGARITHM))


@with_derivatives(lambda y, x: _spence_derivative(x))
def _spence(x: Any) -> Any:
    inverted = x > 2.0
    inner = onp.where(inverted, 1.0 / onp.where(inverted, x, 1.0), x)
    legal = inner > 0.0
    inner = onp.where(legal, inner, 0.75)
    low = inner < 0.5
    value = _spence_near_one(onp.where(low, 1.0 - inner, inner))
    logs = lax.log(inner) * lax.log1p(-onp.where(low, inner, 0.25))
    value = onp.where(low, math.pi**2 / 6.0 - logs - value, value)
    logarithm = lax.log(onp.where(inverted, x, 1.0))
    value = onp.where(inverted, -0.5 * logarithm * logarithm - value, value)
    value = onp.where(x == 0.0, math.pi**2 / 6.0, value)
    return onp.where((x >= 0.0) & (x < np.inf), value, np.nan).astype(x.dtype)


def _spence_derivative(x: Any) -> Any:
    """Evaluates ``log(x) / (1 - x)``, which is -1 at 1."""
    distance = x - 1.0
    tiny = lax.abs(distance) < 1e-4
    quotient = lax.log(x) / onp.where(tiny, 1.0, -distance)
    return onp.where(tiny, -1.0 + distance * (0.5 - distance / 3.0), quotient)


def spence(x: ArrayLike) -> Array:
    """Evaluates Spence's function; DLMF 25.12.

    It is the integral of ``log(t) / (1 - t)`` from 1 to ``x``.

    Args:
      x: an array or scalar of float32 or float64.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: ``x`` has an unsupported dtype.

    Example:
      >>> spence(1.0)
      Array(-0., dtype=float32)
    """
    x = onp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"spence: x.dtype={dtypes.name_of(x.dtype)} is not supported; convert it to float32 or "
            "float64."
        )
    return _spence_compiled(x)


_spence_compiled = outlined()(_spence)
