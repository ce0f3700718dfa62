# SPDX-License-Identifier: Apache-2.0
"""Gamma and related functions (DLMF chapter 5): beta, digamma, zeta, factorials."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.expansions.incomplete_beta import log_beta, log_gamma_growth
from olympus_ir.lax.core.values import dtype_of
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import inlined, outlined

from ..arguments import elementwise, floats, is_complex, reals, refuse_complex, with_derivatives

__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]


# ---- the gamma function ----


@inlined()
def gammaln(x: ArrayLike) -> Array:
    """Evaluates the logarithm of the absolute value of the gamma function; DLMF 5.2.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> round(float(gammaln(5.0)), 4)
      3.1781
    """
    (x,) = floats("gammaln", x)
    return lax.lgamma(x)


@outlined()
def gammasgn(x: ArrayLike) -> Array:
    """Evaluates the sign of the gamma function; the sign is NaN at the poles left of zero.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> gammasgn(-0.5)
      Array(-1., dtype=float32)
    """
    (x,) = reals("gammasgn", x)
    whole = lax.floor(x)
    sign = onp.where(whole % 2.0 == 0.0, 1.0, -1.0)
    sign = onp.where(x == whole, np.nan, sign)
    # The sign at -0.0 is the limit from the left, and at 0.0 the limit from the right.
    sign = onp.where(x != x, x, sign)
    return onp.where(x > 0.0, 1.0, onp.where(x == 0.0, onp.copysign(1.0, x), sign)).astype(x.dtype)


@outlined()
def gamma(x: ArrayLike) -> Array:
    """Evaluates the gamma function; DLMF 5.2.1.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the shape of the operand.

    Example:
      >>> round(float(gamma(0.5)), 4)
      1.7725
    """
    (x,) = floats("gamma", x)
    if is_complex(x):
        at_pole = (lax.imag(x) == 0.0) & (lax.real(x) <= 0.0)
        at_pole = at_pole & (lax.real(x) == lax.floor(lax.real(x)))
        undefined = onp.array(complex(np.nan, np.nan), x.dtype)
        return onp.where(at_pole, undefined, lax.exp(loggamma(onp.where(at_pole, 1.0, x))))
    return gammasgn(x) * lax.exp(lax.lgamma(x))


@outlined()
def loggamma(x: ArrayLike) -> Array:
    """Evaluates the principal branch of the logarithm of the gamma function; DLMF 5.2.

    Args:
      x: an array or scalar of numbers; the result is NaN for negative real numbers.

    Returns:
      An array of inexact dtype, of the shape of the operand.

    Example:
      >>> round(float(loggamma(5.0)), 4)
      3.1781
    """
    (x,) = floats("loggamma", x)
    if is_complex(x):
        return _complex_loggamma(x)
    return onp.where(x < 0.0, np.nan, lax.lgamma(x))


# The coefficients B(2k) / (2k (2k - 1)) of Stirling's series; DLMF 5.11.1.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SHIFT = 8


def _stirling(z: Any) -> Any:
    inverse = 1.0 / z
    square = inverse * inverse
    series = onp.zeros_like(z)
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    return (z - 0.5) * lax.log(z) - z + 0.5 * math.log(2 * math.pi) + series * inverse


@with_derivatives(lambda y, z: _complex_digamma(z))
def _complex_loggamma(z: Any) -> Any:
    """Evaluates the complex loggamma by Stirling's series, after reflection and recurrence.

    The branches follow Hare: Computing the principal branch of log-Gamma. J. Algorithms 25 (1997).
    """
    reflected = (lax.real(z) < 0.5) & (lax.abs(lax.imag(z)) < _SHIFT)
    w = onp.where(reflected, 1.0 - z, z)
    far = (lax.real(w) >= _SHIFT) | (lax.abs(lax.imag(w)) >= _SHIFT)
    shifted = onp.where(far, 0.0, 1.0).astype(z.dtype)
    result = _stirling(w + _SHIFT * shifted)
    for step in range(_SHIFT):
        result = result - shifted * lax.log(onp.where(far, 1.0, w + float(step)))
    turns = onp.floor(0.5 * lax.real(z) + 0.25)
    turn = lax.complex(onp.zeros_like(turns), onp.copysign(2.0 * math.pi, lax.imag(z)) * turns)
    safe = onp.where(reflected, z, 0.5)
    reflection = math.log(math.pi) + turn - lax.log(_sine_of_pi(safe)) - result
    return onp.where(reflected, reflection, result)


def _sine_of_pi(z: Any) -> Any:
    x, y = lax.real(z), lax.imag(z)
    half_turns = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    angle = math.pi * (x - half_turns)
    sign = onp.where(half_turns % 2.0 == 0.0, 1.0, -1.0).astype(x.dtype)
    y = math.pi * y
    return lax.complex(sign * lax.sin(angle) * lax.cosh(y), sign * lax.cos(angle) * lax.sinh(y))


def _complex_digamma(z: Any) -> Any:
    reflected = (lax.real(z) < 0.5) & (lax.abs(lax.imag(z)) < _SHIFT)
    w = onp.where(reflected, 1.0 - z, z)
    result = onp.zeros_like(z)
    for step in range(_SHIFT):
        result = result - 1.0 / (w + float(step))
    w = w + float(_SHIFT)
    inverse = 1.0 / w
    square = inverse * inverse
    series = onp.zeros_like(z)
    for k, coefficient in reversed(list(enumerate(_STIRLING))):
        series = (series + coefficient * (2 * k + 1)) * square
    result = result + lax.log(w) - 0.5 * inverse - series
    angle = math.pi * onp.where(reflected, z, 0.5)
    return onp.where(reflected, result - math.pi * lax.cos(angle) / lax.sin(angle), result)


@inlined()
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates the regularized lower incomplete gamma function; DLMF 8.2.4.

    Args:
      a: an array or scalar of positive numbers.
      x: an array or scalar of nonnegative numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      TypeError: an operand is complex.

    Example:
      >>> gammainc(1.0, 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    a, x = floats("gammainc", a, x)
    return lax.igamma(a, x)


@inlined()
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates the regularized upper incomplete gamma function; DLMF 8.2.4.

    Args:
      a: an array or scalar of positive numbers.
      x: an array or scalar of nonnegative numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      TypeError: an operand is complex.

    Example:
      >>> gammaincc(1.0, 0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    a, x = floats("gammaincc", a, x)
    return lax.igammac(a, x)


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Evaluates the logarithm of the multivariate gamma function; DLMF 35.3.

    Args:
      a: an array or scalar of real numbers, larger than ``(d - 1) / 2``.
      d: the dimension, a known integer.

    Returns:
      A floating array of the shape of ``a``.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(multigammaln(3.0, 2)), 4)
      1.5502
    """
    d = concrete_or_error(int, d, "d argument of multigammaln")
    (a,) = reals("multigammaln", a)
    offsets = (np.arange(d) * 0.5).astype(a.dtype)
    terms = lax.lgamma(onp.expand_dims(a, -1) - lax.broadcast_to_rank(offsets, a.ndim + 1))
    return onp.sum(terms, axis=-1) + 0.25 * d * (d - 1) * math.log(math.pi)


# ---- the beta function ----


@with_derivatives(
    lambda y, a, b: lax.digamma(a) - lax.digamma(a + b),
    lambda y, a, b: lax.digamma(b) - lax.digamma(a + b),
)
def _log_beta(a: Any, b: Any) -> Any:
    return log_beta(a, b)


@elementwise()
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Evaluates the logarithm of the absolute value of the beta function; DLMF 5.12.

    Args:
      a: an array or scalar of real numbers.
      b: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(betaln(2.0, 3.0)), 4)
      -2.4849
    """
    return _log_beta(a, b)


@elementwise()
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Evaluates the beta function ``gamma(a) * gamma(b) / gamma(a + b)``; DLMF 5.12.1.

    Args:
      a: an array or scalar of real numbers.
      b: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(beta(2.0, 3.0)), 4)
      0.0833
    """
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(_log_beta(a, b))


@inlined()
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates the regularized incomplete beta function; DLMF 8.17.2.

    Args:
      a: an array or scalar of positive numbers.
      b: an array or scalar of positive numbers.
      x: an array or scalar of numbers from 0 to 1.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> betainc(1.0, 1.0, 1.0)
      Array(1., dtype=float32, weak_type=True)
    """
    args = floats("betainc", a, b, x)
    refuse_complex("betainc", args)
    return lax.betainc(*args)


# ---- factorials ----


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Evaluates the factorial ``gamma(n + 1)``; zero for negative numbers.

    Args:
      n: an array or scalar of real numbers.
      exact: must be False: arrays have no integers of arbitrary size.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      NotImplementedError: ``exact`` is true.

    Example:
      >>> factorial(1)
      Array(1., dtype=float32, weak_type=True)
    """
    if exact:
        raise NotImplementedError(
            "factorial with exact=True: arrays have no integers of arbitrary size; use "
            "math.factorial for Python integers."
        )
    return _factorial(n)


@outlined()
def _factorial(n: Any) -> Array:
    (n,) = floats("factorial", n)
    return onp.where(n < 0.0, 0.0, lax.exp(lax.lgamma(n + 1.0)))


@with_derivatives(
    lambda y, z, m: y * (lax.digamma(z + m) - lax.digamma(z)),
    lambda y, z, m: y * lax.digamma(z + m),
)
def _poch(z: Any, m: Any) -> Any:
    total = z + m
    large = (z >= 10.0) & (total >= 10.0)
    growth = log_gamma_growth(onp.where(large, z, 10.0), onp.where(large, m, 1.0))
    logarithm = onp.where(large, growth, lax.lgamma(total) - lax.lgamma(z))
    ratio = lax.exp(logarithm) * gammasgn(total) * gammasgn(z)
    # If both arguments are poles, the reflection formula gives the limit of the quotient.
    is_pole = (z <= 0.0) & (z == lax.floor(z))
    still_pole = is_pole & (total <= 0.0) & (total == lax.floor(total))
    inside = onp.where(still_pole, z, -1.0)
    step = onp.where(still_pole, m, 0.0)
    sign = onp.where(step % 2.0 == 0.0, 1.0, -1.0)
    reflected = sign * lax.exp(lax.lgamma(1.0 - inside) - lax.lgamma(1.0 - inside - step))
    ratio = onp.where(still_pole, reflected, onp.where(is_pole, 0.0, ratio))
    return onp.where(m == 0.0, 1.0, ratio).astype(z.dtype)


@elementwise()
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Evaluates the rising factorial (Pochhammer symbol) ``gamma(z + m) / gamma(z)``; DLMF 5.2.5.

    Args:
      z: an array or scalar of real numbers.
      m: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> poch(1.0, 0.0)
      Array(1., dtype=float32)
    """
    return _poch(z, m)


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Evaluates the number of ways to choose ``k`` of ``N`` items.

    Args:
      N: an array or scalar of real numbers.
      k: an array or scalar of real numbers.
      repetition: whether items may be chosen repeatedly.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> comb(3, 0)
      Array(1., dtype=float32, weak_type=True)
    """
    return _combinations_again(N, k) if repetition else _combinations(N, k)


@elementwise("comb")
def _combinations(N: Any, k: Any) -> Any:
    outside = ~((k >= 0.0) & (N >= 0.0) & (k <= N))  # the mask is also true where an operand is NaN
    n, m = onp.where(outside, 1.0, N), onp.where(outside, 0.0, k)
    value = lax.exp(-lax.log1p(n) - _log_beta(n - m + 1.0, m + 1.0))
    return onp.where(outside, 0.0, onp.where(m == 0.0, 1.0, value))


@elementwise("comb")
def _combinations_again(N: Any, k: Any) -> Any:
    return onp.where((k == 0.0) & (N >= 0.0), 1.0, _combinations(N + k - 1.0, k))


# ---- zeta functions ----


@inlined()
def digamma(x: ArrayLike) -> Array:
    """Evaluates the logarithmic derivative of the gamma function; DLMF 5.2.2.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> digamma(1.0) < -0.57
      Array(True, dtype=bool, weak_type=True)
    """
    (x,) = floats("digamma", x)
    return lax.digamma(x)


@inlined()
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates the derivative of order ``n`` of `digamma`; DLMF 5.15.

    Args:
      n: an array or scalar of nonnegative integers.
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: ``n`` does not have an integer dtype.

    Example:
      >>> polygamma(1, 1.0) > 1.64
      Array(True, dtype=bool, weak_type=True)
    """
    dtype = dtype_of(n)
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(
            f"Argument `n` to polygamma must be of integer type. Got dtype {dtypes.name_of(dtype)}."
        )
    n, x = floats("polygamma", n, x)
    return lax.polygamma(n, x)


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Evaluates the Hurwitz zeta function: the sum of ``(k + q)**-x`` over k >= 0; DLMF 25.11.

    Args:
      x: an array or scalar of real numbers.
      q: an array or scalar of real numbers. Unlike in SciPy, it is required.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      NotImplementedError: ``q`` is not given.

    Example:
      >>> zeta(1.0, 1.0)
      Array(inf, dtype=float32, weak_type=True)
    """
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q=1 to compute it for x > 1 as a Hurwitz "
            "zeta function."
        )
    return _zeta(x, q)


@inlined()
def _zeta(x: Any, q: Any) -> Any:
    x, q = floats("zeta", x, q)
    return lax.zeta(x, q)


def bernoulli(n: int) -> Array:
    """Returns the Bernoulli numbers B_0 to B_n; DLMF 24.2.

    Args:
      n: a known nonnegative integer.

    Returns:
      A floating array of shape (n + 1,).

    Raises:
      ValueError: ``n`` is negative.
      MemoryError: there is too little memory for the numbers.

    Example:
      >>> bernoulli(2)[:2]
      Array([ 1. , -0.5], dtype=float32)
    """
    n = concrete_or_error(operator.index, n, "n argument of bernoulli")
    if n < 0:
        raise ValueError(f"n must be a non-negative integer, got {n}.")
    # The recurrence uses exact fractions: B_m is minus the sum of binomial(m + 1, k) B_k / (m + 1)
    # over k < m.
    values = np.zeros(n + 1)
    numbers = [Fraction(1)]
    for m in range(1, min(n, _LAST_FINITE_BERNOULLI) + 1):
        if m > 1 and m % 2:
            numbers.append(Fraction(0))
            continue
        total = sum((math.comb(m + 1, k) * value for k, value in enumerate(numbers)), Fraction(0))
        numbers.append(-total / (m + 1))
    dtype = dtypes.default_float_dtype()
    with np.errstate(over="ignore"):
        values[: len(numbers)] = [_as_float(value) for value in numbers]
        values[_LAST_FINITE_BERNOULLI + 2 :: 4] = math.inf
        values[_LAST_FINITE_BERNOULLI + 4 :: 4] = -math.inf
        return onp.asarray(values.astype(dtype))


# The index of the last nonzero Bernoulli number that is finite in double precision. Later numbers
# are zero, or infinite with alternating signs. The index is a multiple of four, so the last finite
# number is negative.
_LAST_FINITE_BERNOULLI = 300


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
