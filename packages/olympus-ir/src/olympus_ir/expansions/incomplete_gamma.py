# SPDX-License-Identifier: Apache-2.0
"""The incomplete gamma functions.

With `D(a, x) = x^a e^-x / Gamma(a + 1)`, the lower function is `P = D S` with a power series `S`
(DLMF 8.7.1), and the upper function is `Q = D F` with a continued fraction `F` (DLMF 8.9.2), which
is used if x is larger than a. Both need more terms for larger a. If a is above 100 and x is near a,
Temme's uniform asymptotic expansion (DLMF 8.12) is used instead. For small a and x, Q has its own
series, because 1 - P would cancel.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from .. import lax
from .elementwise import any_of, derived, epsilon, expansion, full, is_double, polynomial, where

__all__ = [
    "ASYMPTOTIC_FROM",
    "asymptotic_slope",
    "deviance",
    "igamma",
    "igammac",
    "power_over_gamma",
    "scaled_parts",
    "stirling_remainder",
]

ASYMPTOTIC_FROM = 100.0
_TRANSITION = 0.3  # the largest |x - a| / a for which the asymptotic expansion is used
_LARGEST_ETA = 0.34  # the largest absolute value of eta there
_STIRLING_FROM = 10.0
_MAX_ITERATIONS = 2000


# ---- the asymptotic expansion ----


@functools.cache
def _temme_coefficients(orders: int, terms: int) -> tuple[tuple[float, ...], ...]:
    """Returns Taylor coefficients of the functions c_k of DLMF 8.12.9, for k below ``orders``.

    The equation eta^2 / 2 = mu - log(1 + mu) implies mu' = eta (1 + mu) / mu, which gives the
    series of mu. Then c_0 = 1 / mu - 1 / eta and c_k = c_{k-1}' / eta + (-1)^k g_k / mu, where g_k
    is chosen to cancel the pole. Leaves out the last coefficients of each function whose terms are
    below a hundredth of a rounding error wherever the expansion is used.
    """
    count = terms + 2 * orders + 2
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, count + 1):
        square = sum((mu[i] * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append(mu[n - 1] / (n + 1) - square / 2)
    inverse = [Fraction(1)]  # the reciprocal of the series of mu / eta
    for n in range(1, count):
        inverse.append(-sum((mu[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    current = inverse[1:]
    found = [current]
    for _ in range(1, orders):
        pole = current[1]
        current = [
            (n + 2) * current[n + 2] - pole * inverse[n + 1] for n in range(len(current) - 2)
        ]
        found.append(current)
    smallest = 1e-18 if terms > 8 else 1e-9
    return tuple(
        tuple(map(float, row[: _last_needed(k, row[:terms], smallest) + 1]))
        for k, row in enumerate(found)
    )


def _last_needed(k: int, coefficients: list[Fraction], smallest: float) -> int:
    """Returns the last power of eta whose term in the expansion is not too small."""
    sizes = (
        abs(coefficient) * _LARGEST_ETA**n / ASYMPTOTIC_FROM**k
        for n, coefficient in enumerate(coefficients)
    )
    return max((n for n, size in enumerate(sizes) if size > smallest), default=0)


def _temme_size(a: Any) -> tuple[int, int]:
    """Returns the numbers of functions and of their coefficients that the operand's dtype needs."""
    return (8, 16) if is_double(a) else (3, 8)


def deviance(mu: Any) -> Any:
    """Returns ``(mu - log1p(mu)) / mu**2`` for mu near zero, from the series of atanh."""
    two = mu + 2.0
    r = mu / two
    series = polynomial(r * r, [1.0 / (2 * k + 3) for k in range(12 if is_double(mu) else 5)])
    return 1.0 / two - 2.0 * r * series / (two * two)


def _temme(a: Any, mu: Any) -> tuple[Any, Any]:
    """Returns the two quantities of Temme's expansion.

    These are ``eta * sqrt(a / 2)``, and the sum of ``c_k(eta) / a**k`` divided by
    ``sqrt(2 pi a)``.
    """
    ratio = lax.sqrt(2.0 * deviance(mu))
    eta = mu * ratio
    inverse = 1.0 / a
    total = full(a, 0.0)
    for coefficients in reversed(_temme_coefficients(*_temme_size(a))):
        total = total * inverse + polynomial(eta, coefficients)
    return eta * lax.sqrt(0.5 * a), total * lax.rsqrt(2.0 * math.pi * a)


# ---- the common factor ----

# Coefficients c_k of log(Gamma(a + 1)) = (a + 1/2) log(a) - a + log(2 pi) / 2 + sum of c_k /
# a^(2k+1); DLMF 5.11.1.
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
)


def stirling_remainder(a: Any) -> Any:
    """Returns the remainder of Stirling's approximation of ``log(gamma(a))``, for a >= 10."""
    inverse = 1.0 / a
    count = len(_STIRLING) if is_double(a) else 3
    return inverse * polynomial(inverse * inverse, _STIRLING[:count])


def power_over_gamma(a: Any, x: Any) -> Any:
    """Returns ``x**a * exp(-x) / gamma(a + 1)`` without overflow or loss of digits."""
    large = a >= _STIRLING_FROM
    big = where(large, a, _STIRLING_FROM)
    big_x = where(large, x, _STIRLING_FROM)
    mu = (big_x - big) / big
    near = lax.abs(mu) < _TRANSITION
    near_mu = where(near, mu, 0.0)
    far = mu - lax.log(where(near, 1.0, big_x / big))
    exponent = where(near, near_mu * near_mu * deviance(near_mu), far)
    smooth = lax.exp(-big * exponent - stirling_remainder(big)) * lax.rsqrt(2.0 * math.pi * big)
    small = where(large, 1.0, a)
    # Above this bound on x, the exponential is zero, and the power must stay finite.
    bounded = lax.min(where(large, 1.0, x), full(x, 1e4 if is_double(x) else 1e3))
    # Multiply twice by the root of the exponential, which may underflow although the product does
    # not.
    root = lax.exp(-0.5 * (bounded + lax.lgamma(small + 1.0)))
    direct = root * lax.pow(bounded, small) * root
    return where(large, smooth, direct)


# ---- series and continued fraction ----


def _power_series(a: Any, x: Any) -> Any:
    """Returns the sum of ``x**n / ((a + 1) ... (a + n))`` over n from 0."""
    limit = 0.1 * epsilon(a)

    def proceed(state: Any) -> Any:
        _, term, total = state
        return any_of(term > limit * total)

    def step(state: Any) -> Any:
        n, term, total = state
        n = n + 1.0
        term = term * (x / (a + n))
        return n, term, total + term

    one = full(a, 1.0)
    return lax.while_loop(proceed, step, (0.0 * one, one, one))[2]


def _continued_fraction(a: Any, x: Any) -> Any:
    """Returns ``Gamma(a, x) x**-a exp(x)`` for x above a, by Steed's algorithm.

    All denominators are positive. For integer a, a factor of the terms becomes zero and the
    fraction ends, but the derivative of the fraction with respect to a does not end there. The
    iteration therefore stops when a bound of the terms is small enough; this bound has no zero
    factors.
    """
    limit = 0.1 * epsilon(a)

    def proceed(state: Any) -> Any:
        n, bound, value = state[0], state[1], state[-1]
        return any_of((bound > limit * value) & (n < _MAX_ITERATIONS))

    def step(state: Any) -> Any:
        n, bound, b, d, change, value = state
        n = n + 1.0
        excess = a - n
        b = b + 2.0
        last, d = d, 1.0 / (b + n * excess * d)
        shrinking = n * last * d
        change = -(shrinking * excess * change)
        bound = bound * shrinking * lax.max(lax.abs(excess), full(a, 0.5))
        return n, bound, b, d, change, value + change

    b = x + 1.0 - a
    first = 1.0 / b
    return lax.while_loop(proceed, step, (full(a, 0.0), first, b, first, first, first))[-1]


# Coefficients c_k of 1 / Gamma(1 + a) = 1 + sum of c_k a^k, k from 1; Abramowitz and Stegun,
# 6.1.34.
_RECIPROCAL_GAMMA = (
    0.5772156649015329,
    -0.6558780715202538,
    -0.0420026350340952,
    0.1665386113822915,
    -0.0421977345555443,
    -0.0096219715278770,
    0.0072189432466630,
    -0.0011651675918591,
    -0.0002152416741149,
    0.0001280502823882,
    -0.0000201348547807,
    -0.0000012504934821,
    0.0000011330272320,
    -0.0000002056338417,
    0.0000000061160950,
    0.0000000050020075,
    -0.0000000011812746,
    0.0000000001043427,
    0.0000000000077823,
    -0.0000000000036968,
    0.0000000000005100,
    -0.0000000000000206,
    -0.0000000000000054,
    0.0000000000000014,
)


def _upper_near_zero(a: Any, x: Any) -> Any:
    """Returns Q for small a and x, from a power series without cancellation.

    The formula is ``1 - x^a / Gamma(1 + a) (1 + a sum of (-x)^n / (n! (a + n)))``.
    """
    excess = a * polynomial(a, _RECIPROCAL_GAMMA)  # 1 / Gamma(1 + a) - 1
    power_minus_one = lax.expm1(a * lax.log(x))
    term, total = full(x, 1.0), full(x, 0.0)
    for n in range(1, 20 if is_double(x) else 12):
        term = term * (x * (-1.0 / n))
        total = total + term / (a + float(n))
    first = power_minus_one * (1.0 + excess) + excess
    return -first - (1.0 + power_minus_one) * (1.0 + excess) * a * total


# ---- the functions ----


class _Regimes:
    """The choice of a method for each element: flags, and operands for each method.

    Outside the region of a method, the operands are replaced by harmless values.
    """

    def __init__(self, a: Any, x: Any) -> None:
        infinity = full(a, math.inf)
        self.valid = (a > 0.0) & (x > 0.0) & (a < infinity) & (x < infinity)
        a, x = where(self.valid, a, 1.0), where(self.valid, x, 1.0)
        mu = (x - a) / a
        self.asymptotic = (a >= ASYMPTOTIC_FROM) & (lax.abs(mu) < _TRANSITION)
        self.upper = (x > 1.1) & (x > a) & ~self.asymptotic
        self.lower = ~self.asymptotic & ~self.upper
        self.a, self.x, self.mu = a, x, mu

    def temme(self) -> tuple[Any, Any]:
        return _temme(
            where(self.asymptotic, self.a, ASYMPTOTIC_FROM), where(self.asymptotic, self.mu, 0.0)
        )

    def fraction(self) -> Any:
        return _continued_fraction(where(self.upper, self.a, 1.0), where(self.upper, self.x, 1.0))

    def series(self) -> Any:
        return _power_series(where(self.lower, self.a, 1.0), where(self.lower, self.x, 0.0))


def _lower_and_upper(a: Any, x: Any) -> tuple[Any, Any]:
    """Returns P and Q for positive and finite operands; `_at_limits` inserts the limits."""
    regimes = _Regimes(a, x)
    a, x = regimes.a, regimes.x
    y, remainder = regimes.temme()
    remainder = remainder * lax.exp(-y * y)
    factor = power_over_gamma(a, x)
    # Clip rounding errors above 1, so the difference is not negative.
    lower = lax.min(factor * regimes.series(), full(a, 1.0))
    upper = factor * a * regimes.fraction()
    near_zero = regimes.lower & (x <= 1.1) & (lower > 0.5)
    complement = where(
        near_zero,
        _upper_near_zero(where(near_zero, a, 0.5), where(near_zero, x, 0.5)),
        1.0 - lower,
    )
    p = where(regimes.upper, 1.0 - upper, lower)
    q = where(regimes.upper, upper, complement)
    p = where(regimes.asymptotic, 0.5 * lax.erfc(-y) - remainder, p)
    q = where(regimes.asymptotic, 0.5 * lax.erfc(y) + remainder, q)
    return p, q


def _at_limits(a: Any, x: Any, inside: Any, at_zero: float, at_infinity: float) -> Any:
    """Inserts the limits at x = 0, a = infinity, a = 0 and x = infinity."""
    result = where(x == 0.0, at_zero, inside)
    result = where(a == math.inf, at_zero, result)
    result = where((a == 0.0) | (x == math.inf), at_infinity, result)
    undefined = (a < 0.0) | (x < 0.0) | ((a == 0.0) & (x == 0.0))
    # XLA assumes that max(x, 0) and powers of absolute values are at least 0, even for NaN.
    undefined = undefined | (a != a) | (x != x)
    return where(undefined, math.nan, result)


@expansion
def igamma(a: Any, x: Any) -> Any:
    """Returns the regularized lower incomplete gamma function."""
    return _at_limits(a, x, _lower_and_upper(a, x)[0], 0.0, 1.0)


@expansion
def igammac(a: Any, x: Any) -> Any:
    """Returns the regularized upper incomplete gamma function."""
    return _at_limits(a, x, _lower_and_upper(a, x)[1], 1.0, 0.0)


def scaled_parts(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Returns P or Q divided by their common factor D, for derivatives with respect to ``a``.

    Returns:
      Flags of the elements that use the asymptotic expansion, whose quotients have no meaning;
      flags of the elements for which Q is divided instead of P; and the quotients.
    """
    regimes = _Regimes(a, x)
    part = where(regimes.upper, regimes.a * regimes.fraction(), regimes.series())
    return regimes.asymptotic, regimes.upper, part


def asymptotic_slope(a: Any, mu: Any) -> Any:
    """Returns the derivative of Q with respect to ``a``, divided by ``D``, for x near a large a.

    Q is ``erfc(y) / 2 + exp(-y^2) S / sqrt(2 pi a)`` with ``y = eta sqrt(a / 2)`` and the sum S of
    ``c_k(eta) / a^k``; see `_temme`. For fixed x, the derivatives of ``y^2`` and ``eta`` are
    ``-log1p(mu)`` and ``-mu / (a eta)``. All terms have the factor ``exp(-y^2)``, and
    ``D sqrt(2 pi a) = exp(-y^2 - remainder)`` with Stirling's remainder.
    """
    ratio = lax.sqrt(2.0 * deviance(mu))
    eta, inverse = mu * ratio, 1.0 / a
    total = slope = weighted = full(a, 0.0)
    for k, coefficients in reversed(list(enumerate(_temme_coefficients(*_temme_size(a))))):
        value = polynomial(eta, coefficients)
        total = total * inverse + value
        slope = slope * inverse + polynomial(eta, derived(coefficients))
        weighted = weighted * inverse + float(k) * value
    change = (lax.log1p(mu) - 0.5 * inverse) * total - inverse * (slope / ratio + weighted)
    parts = 1.0 / ratio - 0.5 * eta + change
    return lax.exp(stirling_remainder(a)) * parts
