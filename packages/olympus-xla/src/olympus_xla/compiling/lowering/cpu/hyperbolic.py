# SPDX-License-Identifier: Apache-2.0
"""Hyperbolic sine and cosine by one exponential.

XLA's CPU backend computes exp(x + log(1/2)) and exp(-x + log(1/2)), and for the sine expm1 as well.
This takes 1.3 ns per element for the sine and 0.57 ns for the cosine. The sums round x, so that the
error grows with x, to 30 units in the last place. Here the second exponential is the reciprocal of
the first, and near zero the sine is a polynomial. This takes 0.2 ns. The errors are below 2.1
units.

The exponential of a large operand would overflow before the result does. Such an operand is first
reduced by 4, which is exact, and the result is multiplied by exp(4).

The group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from typing import Any

from olympus_ir import lax

from .logarithms import in_single, with_sign
from .trigonometry import polynomial, times

# Coefficients of the Taylor series of (sinh(x)/x - 1)/x^2 in powers of x^2. Up to x = 1, the
# missing terms change sinh(x) by a relative error of at most 2^-32.
_SINE = [1 / math.factorial(2 * k + 1) for k in range(1, 6)]

_LARGE = 64.0
_SUBTRACTED = 4.0


@in_single
def hyperbolic_sine(x: Any) -> Any:
    """Returns the hyperbolic sine."""
    size = lax.abs(x)
    square = lax.mul(size, size)
    cube = lax.mul(size, square)
    near = lax.add(size, lax.mul(cube, polynomial(square, _SINE)))
    value = lax.select(lax.lt(size, lax.full_like(x, 1)), near, _half_of_exponentials(size, -1.0))
    # NaN remains as it is.
    return lax.select(lax.eq(x, x), with_sign(x, value), x)


@in_single
def hyperbolic_cosine(x: Any) -> Any:
    """Returns the hyperbolic cosine."""
    return _half_of_exponentials(lax.abs(x), 1.0)


def _half_of_exponentials(size: Any, sign: float) -> Any:
    """Returns (exp(size) + sign * exp(-size)) / 2 for a nonnegative ``size``."""
    is_large = lax.gt(size, lax.full_like(size, _LARGE))
    less = lax.sub(size, lax.full_like(size, _SUBTRACTED))
    half = times(lax.exp(lax.select(is_large, less, size)), 0.5)
    both = lax.add(half, lax.div(lax.full_like(half, sign / 4), half))
    return lax.select(is_large, times(half, math.exp(_SUBTRACTED)), both)
