# SPDX-License-Identifier: Apache-2.0
"""Special functions of doubles by plain formulas, element by element.

Where possible, the methods differ from those of compiled programs. Integrals are computed by
quadrature, and sums by their definition. Section and formula numbers refer to the Digital Library
of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from . import numerics

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]

_EPSILON = 2.0**-53
_elementwise: Callable[..., Callable[..., np.ndarray]] = functools.partial(
    np.vectorize, otypes=[np.float64]
)


# ---- incomplete gamma functions ----

# Coefficients of the remainder of Stirling's approximation of log(gamma(a)); DLMF 5.11.1.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_remainder(a: float) -> float:
    return sum(value / a ** (2 * k + 1) for k, value in enumerate(_STIRLING))


def _log_density(a: float, x: float) -> float:
    """Computes the logarithm of ``x^a e^-x / gamma(a + 1)``."""
    if a < 10:
        return a * math.log(x) - x - math.lgamma(a + 1)
    mu = (x - a) / a
    if abs(mu) < 0.1:
        # mu - log(1 + mu) without cancellation.
        deviance = sum((-mu) ** n / n for n in range(2, 20))
    else:
        deviance = mu - math.log(x / a)
    return -a * deviance - _stirling_remainder(a) - 0.5 * math.log(2 * math.pi * a)


def _lower_series(a: float, x: float) -> float:
    """Computes the sum of ``x^n / ((a + 1) ... (a + n))`` over n from 0 (DLMF 8.7.1)."""
    term = total = 1.0
    n = 0
    while term > _EPSILON * total:
        n += 1
        term *= x / (a + n)
        total += term
    return total


def _upper_fraction(a: float, x: float) -> float:
    """Computes the continued fraction DLMF 8.9.2 from its end, with more terms for x near a."""
    terms = int(60 + 400 / (1 + abs(x - a)) + 10 * math.sqrt(a + x))
    value = 0.0
    for n in range(terms, 0, -1):
        value = n * (n - a) / (x + 2 * n + 1 - a - value)
    return 1 / (x + 1 - a - value)


def _upper_near_zero(a: float, x: float) -> float:
    """Computes 1 - P for small a, from expm1 of the logarithm of ``x^a / gamma(1 + a)``."""
    # log(gamma(1 + a)) as an integral of digamma, accurate for small a.
    nodes, weights = np.polynomial.legendre.leggauss(20)
    points = 1 + a * (nodes + 1) / 2
    log_gamma = float(a / 2 * np.sum(weights * numerics.digamma(points)))
    power = a * math.log(x) - log_gamma
    total, factorial = 0.0, 1.0
    for n in range(1, 25):
        factorial *= -x / n
        total += factorial / (a + n)
    return -math.expm1(power) - math.exp(power) * a * total


def _gamma_limit(a: float, x: float, lower: bool) -> float | None:
    """Returns the value on the boundary of the domain or outside of it; None inside the domain."""
    if not (a >= 0 and x >= 0) or a == x == 0:
        return math.nan
    if a == 0 or x == math.inf:
        return 1.0 if lower else 0.0
    if x == 0 or a == math.inf:
        return 0.0 if lower else 1.0
    return None


@_elementwise
def igamma(a: float, x: float) -> float:
    """Computes the regularized lower incomplete gamma function."""
    limit = _gamma_limit(a, x, lower=True)
    if limit is not None:
        return limit
    factor = math.exp(_log_density(a, x))
    if x > a and x > 1.1:
        return 1 - factor * a * _upper_fraction(a, x)
    return factor * _lower_series(a, x)


@_elementwise
def igammac(a: float, x: float) -> float:
    """Computes the regularized upper incomplete gamma function."""
    limit = _gamma_limit(a, x, lower=False)
    if limit is not None:
        return limit
    factor = math.exp(_log_density(a, x))
    if x > a and x > 1.1:
        return factor * a * _upper_fraction(a, x)
    lower = factor * _lower_series(a, x)
    return _upper_near_zero(a, x) if x <= 1.1 and lower > 0.5 else 1 - lower


@_elementwise
def random_gamma_grad(a: float, x: float) -> float:
    """Computes the derivative ``-(dP/da) / (dP/dx)`` of a gamma quantile with respect to ``a``.

    P and Q are the regularized lower and upper incomplete gamma functions. With ``t = x e^s``, P is
    the integral of ``exp(a s - x (e^s - 1))`` over s < 0, times a factor. Q is the integral over s
    > 0, times the same factor. Differentiation with respect to ``a`` multiplies both integrands by
    ``log(t) - digamma(a)``; the term ``digamma(a)`` comes from the factor.
    """
    if not (a > 0 and x >= 0) or a == math.inf:
        return 0.0 if a == math.inf and x == 0 else math.nan
    if x in (0.0, math.inf):
        return x and math.nan
    upper = x > a
    distance, weights = _half_line()
    s = distance if upper else -distance
    with np.errstate(all="ignore"):
        exponent = a * s - x * np.expm1(s)
        factor = math.log(x) + s - float(numerics.digamma(a))
        values = np.where(exponent > -800, np.exp(np.maximum(exponent, -800)) * factor, 0.0)
    # The density is x^(a-1) e^-x, and dt = t ds. For x <= a the integral gives dP/da. For x > a it
    # gives dQ/da, which is -dP/da.
    integral = x * float(np.sum(weights * values))
    return integral if upper else -integral


@functools.cache
def _half_line() -> tuple[np.ndarray, np.ndarray]:
    """Returns nodes and weights of double exponential quadrature over all positive numbers."""
    step = 1 / 64
    tau = np.arange(-4.5, 60.0, step)
    nodes = np.exp(tau - np.exp(-tau))
    return nodes, step * nodes * (1 + np.exp(-tau))


@_elementwise
def igamma_grad_a(a: float, x: float) -> float:
    """Computes the derivative of `igamma` with respect to its first operand."""
    if a > 0 and x == 0:
        return 0.0
    if not (a > 0 and x > 0) or math.inf in (a, x):
        return math.nan
    return -math.exp(_log_density(a, x)) * a / x * float(random_gamma_grad(a, x))


# ---- zeta functions ----

# The coefficients B(2k) / (2k)! of the Euler-Maclaurin formula; DLMF 2.10.1.
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)
_DIRECT_TERMS = 16


@_elementwise
def zeta(s: float, q: float) -> float:
    """Computes the Hurwitz zeta function (DLMF 25.11.1) by the Euler-Maclaurin formula."""
    if s == 1:
        return math.inf
    if not s > 1 or math.isnan(q):
        return math.nan
    if q <= 0:
        if q == math.floor(q):
            return math.inf if s % 2 == 0 else math.nan
        if s != math.floor(s):
            return math.nan
    total = 0.0
    count = _DIRECT_TERMS + max(0, math.ceil(-q))
    for n in range(count):
        total += _power(q + n, -s)
    point = q + count
    last = _power(point, -s)
    total += last * point / (s - 1) + 0.5 * last
    factor = s * last / point
    for k, coefficient in enumerate(_EULER_MACLAURIN):
        total += coefficient * factor
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (point * point)
    return total


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


@_elementwise
def polygamma(m: float, x: float) -> float:
    """Computes the m-th derivative of digamma (DLMF 5.15.1); digamma itself if m is 0."""
    if m == 0:
        return float(numerics.digamma(x))
    if not m > 0 or m != math.floor(m):
        return math.nan
    sign = 1.0 if m % 2 else -1.0
    return sign * math.exp(math.lgamma(m + 1)) * float(zeta(m + 1, x))


# ---- Bessel functions ----


def _bessel_integral(x: float, order: int) -> float:
    """Computes the integral DLMF 10.32.3, divided by ``exp(x)``, by the trapezoidal rule.

    The rule converges fast for periodic functions.
    """
    angle = (np.arange(200) + 0.5) * (math.pi / 200)
    return float(np.mean(np.exp(x * (np.cos(angle) - 1)) * np.cos(order * angle)))


def _bessel_asymptotic(x: float, order: int) -> float:
    """Computes the asymptotic series DLMF 10.40.1, divided by ``exp(x)``."""
    term = total = 1.0
    for k in range(1, 30):
        term *= -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total / math.sqrt(2 * math.pi * x)


@_elementwise
def bessel_i0e(x: float) -> float:
    """Computes the modified Bessel function of order 0, divided by ``exp(abs(x))``."""
    if math.isnan(x) or math.isinf(x):
        return x if math.isnan(x) else 0.0
    return _bessel_integral(abs(x), 0) if abs(x) < 100 else _bessel_asymptotic(abs(x), 0)


@_elementwise
def bessel_i1e(x: float) -> float:
    """Computes the modified Bessel function of order 1, divided by ``exp(abs(x))``."""
    if math.isnan(x) or math.isinf(x):
        return x if math.isnan(x) else math.copysign(0.0, x)
    if abs(x) < 1:  # DLMF 10.25.2, because the integral loses digits for small numbers
        term = total = x / 2
        for k in range(1, 12):
            term *= x * x / (4 * k * (k + 1))
            total += term
        return total * math.exp(-abs(x))
    size = _bessel_integral(abs(x), 1) if abs(x) < 100 else _bessel_asymptotic(abs(x), 1)
    return math.copysign(size, x)


# ---- the incomplete beta function ----


@_elementwise
def betainc(a: float, b: float, x: float) -> float:
    """Computes the regularized incomplete beta function by a continued fraction (DLMF 8.17.22)."""
    if not (a >= 0 and b >= 0 and 0 <= x <= 1):
        return math.nan
    at_zero, at_one = a == 0 or b == math.inf, b == 0 or a == math.inf
    if at_zero and at_one:
        return math.nan
    if x in (0.0, 1.0):
        return x
    if at_zero or at_one:
        return 1.0 if at_zero else 0.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_part(b, a, 1 - x, x)
    return _beta_part(a, b, x, 1 - x)


def _beta_part(a: float, b: float, x: float, y: float) -> float:
    terms = int(100 + 5 * math.sqrt(a + b))
    value = 1.0
    for m in range(terms, 0, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + even / (1 + odd / value)
    value = 1 - (a + b) * x / ((a + 1) * value)
    return math.exp(_log_beta_density(a, b, x, y)) / (a * value)


def _log_beta_density(a: float, b: float, x: float, y: float) -> float:
    """Computes the logarithm of ``x^a y^b / beta(a, b)``."""
    if min(a, b) < 10:
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        return a * math.log(x) + b * math.log(y) - log_beta
    total = a + b
    distance = (x * b - y * a) / total  # measure x from the maximum of the density, at a / (a + b)
    exponent = a * _log_ratio(distance * total / a, x * total / a)
    exponent += b * _log_ratio(-distance * total / b, y * total / b)
    remainder = _stirling_remainder(total) - _stirling_remainder(a) - _stirling_remainder(b)
    return exponent + remainder + 0.5 * math.log(a * b / total / (2 * math.pi))


def _log_ratio(excess: float, ratio: float) -> float:
    return math.log1p(excess) if abs(excess) < 0.5 else math.log(ratio)
