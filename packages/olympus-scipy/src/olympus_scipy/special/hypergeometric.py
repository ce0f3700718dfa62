# SPDX-License-Identifier: Apache-2.0
"""Hypergeometric functions of real numbers; DLMF chapters 13 and 15.

Functions are evaluated by their power series where the series converges fast. Elsewhere,
transformations of the DLMF map the argument to that region.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arguments import elementwise, with_derivatives
from .gamma_functions import gammasgn

__all__ = ["hyp1f1", "hyp2f1"]


def _is_pole(x: Any) -> Any:
    """Returns whether the gamma function has a pole at ``x``."""
    return (x <= 0.0) & (x == lax.floor(x))


def _gamma_quotient(numerators: tuple, denominators: tuple) -> Any:
    """Returns a quotient of products of gamma functions; it is zero at poles of the denominator."""
    logarithm = sum(lax.lgamma(x) for x in numerators) - sum(lax.lgamma(x) for x in denominators)
    sign = onp.ones_like(logarithm)
    for x in (*numerators, *denominators):
        sign = sign * onp.where(_is_pole(x), 1.0, gammasgn(onp.where(_is_pole(x), 1.0, x)))
    zero = onp.zeros_like(logarithm, dtype=bool)
    for x in denominators:
        zero = zero | _is_pole(x)
    return onp.where(zero, 0.0, sign * lax.exp(onp.where(zero, 0.0, logarithm)))


def _series(ratio: Any, like: Any, used: Any, count: int) -> Any:
    """Sums a series until its terms are negligible; the sum has the shape of ``like``.

    The first term is 1. Each later term is ``ratio(k)`` times the previous term. There are at
    most ``count`` later terms. The sum is 1 where the mask ``used`` is false.
    """
    limit = float(dtypes.finfo(like.dtype).eps)

    def proceed(state: Any) -> Any:
        k, term, last, total = state
        size = lax.max(lax.abs(term), lax.abs(last))
        going = used & (size > 0.1 * limit * lax.abs(total)) & (k < count)
        return lax.reduce_or(going, tuple(range(like.ndim)))

    def step(state: Any) -> Any:
        k, term, _, total = state
        following = onp.where(used, term * ratio(k), 0.0)
        return k + 1.0, following, term, total + following

    one = onp.ones_like(like)
    return lax.while_loop(proceed, step, (onp.zeros_like(like), one, one, one))[3]


# ---- Kummer's function ----


def _kummer_series(a: Any, b: Any, x: Any, used: Any) -> Any:
    return _series(lambda k: (a + k) / (b + k) * (x / (k + 1.0)), x, used, 3000)


def _kummer_asymptotic(a: Any, b: Any, x: Any, used: Any) -> Any:
    """Sums DLMF 13.7.2 for large positive x.

    The factor ``gamma(b) / gamma(a) exp(x) x^(a-b)`` is left out.
    """
    limit = float(dtypes.finfo(x.dtype).eps)
    term, total = onp.ones_like(x), onp.ones_like(x)
    done = ~used
    for k in range(40):
        following = term * ((1.0 - a + k) * (b - a + k) / ((k + 1.0) * x))
        # The series eventually diverges. The sum stops when terms are negligible or begin to grow.
        done = done | (lax.abs(following) > lax.abs(term))
        term = onp.where(done, 0.0, following)
        total = total + term
        done = done | (lax.abs(term) < 0.1 * limit * lax.abs(total))
    return total


def _hyp1f1_derivatives() -> list[Any]:
    """Returns the derivatives with respect to each operand."""

    def by_a(y: Any, a: Any, b: Any, x: Any) -> Any:
        return _difference(lambda value: _hyp1f1(value, b, x), a)

    def by_b(y: Any, a: Any, b: Any, x: Any) -> Any:
        return _difference(lambda value: _hyp1f1(a, value, x), b)

    def by_x(y: Any, a: Any, b: Any, x: Any) -> Any:
        return a / b * _hyp1f1(a + 1.0, b + 1.0, x)

    return [by_a, by_b, by_x]


@with_derivatives(*_hyp1f1_derivatives())
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    # Kummer's transformation, DLMF 13.2.39, avoids alternating signs.
    mirrored = x < 0.0
    c = onp.where(mirrored, b - a, a)
    y = lax.abs(x)
    polynomial = _is_pole(c)
    far = (y > 50.0) & (y > 2.0 * lax.abs(c) * onp.maximum(lax.abs(b - c), 1.0)) & ~polynomial
    legal = ~_is_pole(b) & (x == x)
    near = onp.where(~far & legal & (y < np.inf), y, 0.0)
    series = _kummer_series(onp.where(legal, c, 1.0), onp.where(legal, b, 1.0), near, legal & ~far)
    scale = onp.where(mirrored & ~far, lax.exp(-near), 1.0)
    used = far & legal
    big = onp.where(used, y, 100.0)
    d, e = onp.where(used, c, 1.0), onp.where(used, b, 1.0)
    logarithm = lax.lgamma(e) - lax.lgamma(d) + (d - e) * lax.log(big)
    sign = gammasgn(e) * gammasgn(d)
    growth = lax.exp(logarithm + onp.where(mirrored, 0.0, big))
    asymptotic = sign * growth * _kummer_asymptotic(d, e, big, used)
    result = onp.where(far, asymptotic, scale * series)
    result = onp.where(_is_pole(b), np.inf, result)
    result = onp.where(a == 0.0, 1.0, result)
    return onp.where((a == b) & ~_is_pole(b), lax.exp(x), result).astype(x.dtype)


def _difference(function: Any, at: Any) -> Any:
    """Differentiates with respect to a parameter by extrapolated central differences.

    Central differences of a smooth function keep about two thirds of its digits. Richardson
    extrapolation over three step widths keeps more.
    """
    eps = float(dtypes.finfo(at.dtype).eps)
    width = (eps ** (1.0 / 7.0)) * onp.maximum(1.0, lax.abs(at)) * 0.5
    estimates = []
    for factor in (1.0, 0.5, 0.25):
        step = (at + width * factor) - at  # the width after rounding
        estimates.append((function(at + step) - function(at - step)) / (2.0 * step))
    first = (4.0 * estimates[1] - estimates[0]) / 3.0
    second = (4.0 * estimates[2] - estimates[1]) / 3.0
    return (16.0 * second - first) / 15.0


@elementwise()
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates Kummer's confluent hypergeometric function; DLMF 13.2.2.

    Args:
      a: an array or scalar of real numbers.
      b: an array or scalar of real numbers.
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> hyp1f1(1.0, 2.0, 0.0)
      Array(1., dtype=float32)
    """
    return _hyp1f1(a, b, x)


# ---- Gauss's function ----


def _gauss_series(a: Any, b: Any, c: Any, x: Any, used: Any) -> Any:
    """Sums the series DLMF 15.2.1."""
    return _series(lambda k: (a + k) / (c + k) * ((b + k) / (k + 1.0)) * x, x, used, 4000)


def _near_one(a: Any, b: Any, c: Any, x: Any, used: Any) -> Any:
    """Applies DLMF 15.8.4 for x from 1/2 to 1, if c - a - b is not a whole number."""
    s = c - a - b
    y = 1.0 - x
    first = _gamma_quotient((c, s), (c - a, c - b)) * _gauss_series(a, b, 1.0 - s, y, used)
    second = _gamma_quotient((c, -s), (a, b)) * lax.exp(s * lax.log(y))
    return first + second * _gauss_series(c - a, c - b, 1.0 + s, y, used)


def _hyp2f1_derivatives() -> list[Any]:
    """Returns the derivatives with respect to each operand."""

    def by_a(y: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
        return _difference(lambda value: _hyp2f1(value, b, c, x), a)

    def by_b(y: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
        return _difference(lambda value: _hyp2f1(a, value, c, x), b)

    def by_c(y: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
        return _difference(lambda value: _hyp2f1(a, b, value, x), c)

    def by_x(y: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
        return a * b / c * _hyp2f1(a + 1.0, b + 1.0, c + 1.0, x)

    return [by_a, by_b, by_c, by_x]


@with_derivatives(*_hyp2f1_derivatives())
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    finite = _is_pole(a) | _is_pole(b)  # the function is a polynomial
    # Pfaff's transformation, DLMF 15.8.1, maps negative arguments to the interval from 0 to 1.
    left = (x < 0.0) & ~finite
    pre = onp.where(left, lax.exp(-a * lax.log1p(onp.where(left, -x, 0.0))), 1.0)
    p, q, z = a, onp.where(left, c - b, b), onp.where(left, x / (x - 1.0), x)
    finite = finite | _is_pole(q)
    excess = c - p - q
    whole = excess == lax.round(excess)
    # For whole c - a - b the two terms of DLMF 15.8.4 cancel. Their limit is taken from values at
    # neighboring parameters.
    legal = ((z < 1.0) | finite) & (x == x) & ~_is_pole(c)
    close = (z > 0.75) & legal & ~finite
    plain = legal & ~close
    series = _gauss_series(
        onp.where(plain, p, 1.0),
        onp.where(plain, q, 1.0),
        onp.where(plain, c, 1.0),
        onp.where(plain, z, 0.0),
        plain,
    )
    eps = float(dtypes.finfo(x.dtype).eps)
    shift = eps ** (1.0 / 3.0)
    e, f, g = onp.where(close, p, 0.3), onp.where(close, q, 0.4), onp.where(close, c, 1.5)
    inner = onp.where(close, z, 0.9)
    nudged = onp.where(close & whole, shift, 0.0).astype(x.dtype)
    upper = _near_one(e, f, g + nudged, inner, close)
    lower = _near_one(e, f, g - nudged, inner, close & whole)
    beyond = onp.where(whole, 0.5 * (upper + lower), upper)
    result = pre * onp.where(close, beyond, series)
    at_one = onp.where(c > a + b, _gamma_quotient((c, c - a - b), (c - a, c - b)), np.inf)
    result = onp.where((x == 1.0) & ~finite, at_one, result)
    result = onp.where((x > 1.0) & ~finite, np.inf, result)
    result = onp.where(_is_pole(c), np.inf, result)
    # Only the first term of the series is not zero.
    single = ((a == 0.0) | (b == 0.0) | (x == 0.0)) & (x == x)
    return onp.where(single, 1.0, result).astype(x.dtype)


@elementwise()
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Evaluates Gauss's hypergeometric function; DLMF 15.2.1.

    Args:
      a: an array or scalar of real numbers.
      b: an array or scalar of real numbers.
      c: an array or scalar of real numbers.
      x: an array or scalar of real numbers, at most 1.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> hyp2f1(1.0, 2.0, 3.0, 0.0)
      Array(1., dtype=float32)
    """
    return _hyp2f1(a, b, c, x)
