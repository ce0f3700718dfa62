# SPDX-License-Identifier: Apache-2.0
"""The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""

from __future__ import annotations

import math
from typing import Any

from .. import lax
from .elementwise import any_of, epsilon, expansion, full, where
from .incomplete_gamma import stirling_remainder

__all__ = ["betainc", "log_beta", "log_gamma_growth"]

_STIRLING_FROM = 10.0
_MAX_ITERATIONS = 5000


def _log_ratio(x: Any, center: Any, distance: Any) -> Any:
    """Returns ``log(x / center)``, given an exact ``distance = x - center``."""
    near = lax.abs(distance) < 0.5 * center
    return where(
        near,
        lax.log1p(where(near, distance / center, 0.0)),
        lax.log(where(near, 1.0, x / center)),
    )


def _power_over_beta(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Returns ``x**a * y**b / beta(a, b)`` with ``y = 1 - x``.

    The product of the powers is largest at ``x = a / (a + b)``. For large a and b the exponents
    nearly cancel. Then x and y are divided by their values at the maximum before the powers are
    taken, and Stirling's approximation simplifies the remaining factor.
    """
    large = (a >= _STIRLING_FROM) & (b >= _STIRLING_FROM)
    c, d = where(large, a, _STIRLING_FROM), where(large, b, _STIRLING_FROM)
    total = c + d
    first, second = c / total, d / total
    u, v = where(large, x, 0.5), where(large, y, 0.5)
    # The distance of u from c / total, the maximum of u**c * v**d, to full relative precision.
    distance = (u * d - v * c) / total
    exponent = c * _log_ratio(u, first, distance) + d * _log_ratio(v, second, -distance)
    remainder = stirling_remainder(total) - stirling_remainder(c) - stirling_remainder(d)
    smooth = lax.exp(exponent + remainder) * lax.sqrt(c * second * (0.5 / math.pi))
    e, f = where(large, 1.0, a), where(large, 1.0, b)
    s, t = where(large, 0.5, x), where(large, 0.5, y)
    # Compute both logarithms from the smaller of x and y, which is more accurate.
    log_s = where(s < 0.5, lax.log(s), lax.log1p(-where(s < 0.5, 0.5, t)))
    log_t = where(t < 0.5, lax.log(t), lax.log1p(-where(t < 0.5, 0.5, s)))
    direct = lax.exp(e * log_s + f * log_t - log_beta(e, f))
    return where(large, smooth, direct)


def log_gamma_growth(a: Any, b: Any) -> Any:
    """Returns ``log(gamma(a + b) / gamma(a))``, where ``a`` and ``a + b`` are at least 10."""
    total = a + b
    return (
        b * (lax.log(a) - 1.0)
        + (total - 0.5) * lax.log1p(b / a)
        + stirling_remainder(total)
        - stirling_remainder(a)
    )


def log_beta(a: Any, b: Any) -> Any:
    """Returns the logarithm of the absolute value of the beta function."""
    small, other = lax.min(a, b), lax.max(a, b)
    large = (other >= _STIRLING_FROM) & (other + small >= _STIRLING_FROM)
    growth = log_gamma_growth(where(large, other, _STIRLING_FROM), where(large, small, 1.0))
    direct = lax.lgamma(where(large, 1.0, other)) - lax.lgamma(where(large, 1.0, other + small))
    return lax.lgamma(small) + where(large, -growth, direct)


def _continued_fraction(a: Any, b: Any, x: Any) -> Any:
    """Evaluates the fraction 1/(1+ d_1/(1+ d_2/(1+ ... by the modified algorithm of Lentz."""
    tiny = 1e-30
    limit = epsilon(x)

    def bounded(value: Any) -> Any:
        return where(lax.abs(value) < tiny, tiny, value)

    def proceed(state: Any) -> Any:
        n, active = state[0], state[1]
        return any_of(active & (n < _MAX_ITERATIONS))

    def step(state: Any) -> Any:
        m, active, c, d, value = state
        m = m + 1.0
        twice = a + 2.0 * m
        even = m * (b - m) * x / ((twice - 1.0) * twice)
        d = 1.0 / bounded(1.0 + even * d)
        c = bounded(1.0 + even / c)
        factor = c * d
        odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1.0))
        d = 1.0 / bounded(1.0 + odd * d)
        c = bounded(1.0 + odd / c)
        last = c * d
        value = where(active, value * (factor * last), value)
        return m, active & (lax.abs(last - 1.0) > limit), c, d, value

    start = 1.0 / bounded(1.0 - (a + b) * x / (a + 1.0))
    active = lax.full_like(x, True, dtype=bool)
    state = (full(x, 0.0), active, full(x, 1.0), start, start)
    return lax.while_loop(proceed, step, state)[4]


@expansion
def betainc(a: Any, b: Any, x: Any) -> Any:
    """Returns the regularized incomplete beta function."""
    valid = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf) & (x > 0.0) & (x < 1.0)
    p, q = where(valid, a, 1.0), where(valid, b, 1.0)
    u = where(valid, x, 0.5)
    v = 1.0 - u
    # The fraction converges fast for smaller u. For larger u, compute the complement.
    swapped = u > (p + 1.0) / (p + q + 2.0)
    c, d = where(swapped, q, p), where(swapped, p, q)
    s, t = where(swapped, v, u), where(swapped, u, v)
    part = _power_over_beta(c, d, s, t) * _continued_fraction(c, d, s) / c
    inside = where(swapped, 1.0 - part, part)
    return _at_limits(a, b, x, where(valid, inside, math.nan))


def _at_limits(a: Any, b: Any, x: Any, inside: Any) -> Any:
    """Replaces results by their limits where the distribution is concentrated at zero or one."""
    all_at_zero = (a == 0.0) | (b == math.inf)
    all_at_one = (b == 0.0) | (a == math.inf)
    result = where(all_at_zero | (x == 1.0), 1.0, inside)
    result = where((all_at_one & (x < 1.0)) | (x == 0.0), 0.0, result)
    legal = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    return where(legal & ~(all_at_zero & all_at_one), result, math.nan)
