# SPDX-License-Identifier: Apache-2.0
"""Logarithm of the gamma function and its derivative, in double precision.

The operands have single precision or less. XLA's CPU backend calls the C library for the sine and
the tangent in the reflection of each element, so that nothing is vectorized: 9 ns an element. The
operations of this module are vectorized and take 1 to 2 ns.

Operands below 1/2 are reflected. Then operands y below 8 are increased by 8, so that Stirling's
series (Abramowitz and Stegun, 6.1.41 and 6.3.18) has an error of 2^-49. The increase multiplies the
gamma function by the polynomial y (y + 1) ... (y + 7), whose contribution is subtracted at the end.

The error is below 0.51 units in the last place. Next to zeros of the functions the error is 2^-45,
where XLA's functions have errors of 2^-20.

The group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states

from ...._jaxlib import digamma_at_zero
from .powers import log2
from .trigonometry import double, polynomial, quotient, times

# The number added to small operands y, and the coefficients of y (y + 1) ... (y + 7).
_SHIFT = 8.0
_FACTORS = [0.0, 5040.0, 13068.0, 13132.0, 6769.0, 1960.0, 322.0, 28.0, 1.0]
_SLOPE_OF_FACTORS = [k * factor for k, factor in enumerate(_FACTORS)][1:]

# Coefficients of Stirling's series in powers of 1/y^2: Bernoulli's numbers B_2n, divided by
# 2n (2n - 1) for the logarithm and by 2n for its derivative.
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]
_STIRLING = [b / ((2 * n) * (2 * n - 1)) for n, b in enumerate(_BERNOULLI, 1)]
_SLOPE_OF_STIRLING = [b / (2 * n) for n, b in enumerate(_BERNOULLI, 1)]

# Coefficients of the Taylor series of sin(pi t)/t and cos(pi t) in powers of t^2. For t up to 1/2
# the errors are 2^-51.
_SINE = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)]
_COSINE = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(11)]

# Coefficients for `powers.log2`, whose error is then 2^-53.
_LOGARITHM = [2 / math.log(2) / (2 * k + 1) for k in range(11)]


def _in_double(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a function that computes in double precision and rounds to the operand's dtype."""

    @functools.wraps(function)
    def rounded(operand: Any) -> Any:
        with config_states.enable_x64(True):
            x = double(lax.convert_element_type(operand, np.float32))
            return lax.convert_element_type(function(x), operand.dtype)

    return rounded


@_in_double
def log_gamma(x: Any) -> Any:
    """Returns the logarithm of the absolute value of the gamma function."""
    is_reflected, y, is_small, shifted = _shifted(x)
    inverse = quotient(lax.full_like(x, 1), shifted)
    series = lax.mul(inverse, polynomial(lax.mul(inverse, inverse), _STIRLING))
    half = lax.full_like(x, 0.5)
    stirling = lax.sub(lax.mul(lax.sub(shifted, half), _log(shifted)), shifted)
    stirling = lax.add(lax.add(stirling, lax.full_like(x, math.log(2 * math.pi) / 2)), series)
    factors = lax.select(is_small, polynomial(y, _FACTORS), lax.full_like(x, 1))
    sine, _ = _sine_of_half_turns(x)
    ratio = quotient(lax.abs(sine), factors)
    # One logarithm serves the factors and the reflection.
    taken_off = _log(lax.select(is_reflected, ratio, factors))
    reflected = lax.sub(lax.full_like(x, math.log(math.pi)), stirling)
    value = lax.sub(lax.select(is_reflected, reflected, stirling), taken_off)
    infinity = lax.full_like(x, np.inf)
    value = lax.select(lax.eq(lax.abs(x), infinity), infinity, value)
    return lax.select(lax.ne(x, x), x, value)


@_in_double
def digamma(x: Any) -> Any:
    """Returns the derivative of `log_gamma`; NaN at its poles, and at zero the value of XLA."""
    is_reflected, y, is_small, shifted = _shifted(x)
    one, zero = lax.full_like(x, 1), lax.full_like(x, 0)
    inverse = quotient(one, shifted)
    square = lax.mul(inverse, inverse)
    series = lax.add(times(inverse, 0.5), lax.mul(square, polynomial(square, _SLOPE_OF_STIRLING)))
    stirling = lax.sub(_log(shifted), series)
    factors = lax.select(is_small, polynomial(y, _FACTORS), one)
    slope = lax.select(is_small, polynomial(y, _SLOPE_OF_FACTORS), zero)
    sine, turns = _sine_of_half_turns(x)
    cosine = polynomial(lax.mul(turns, turns), _COSINE)
    # One division serves the factors and the reflection.
    both = lax.add(lax.mul(slope, sine), times(lax.mul(cosine, factors), math.pi))
    above = lax.select(is_reflected, both, slope)
    below = lax.select(is_reflected, lax.mul(factors, sine), factors)
    value = lax.sub(stirling, lax.div(above, below))
    is_pole = lax.bitwise_and(is_reflected, lax.eq(turns, zero))
    is_undefined = lax.bitwise_or(is_pole, lax.ne(x, x))
    value = lax.select(is_undefined, lax.full_like(x, np.nan), value)
    return lax.select(lax.eq(x, zero), lax.full_like(x, digamma_at_zero), value)


def _shifted(x: Any) -> tuple[Any, Any, Any, Any]:
    """Reflects operands below 1/2, and increases small operands by `_SHIFT`.

    Returns:
      Whether the operand was reflected; the operand after the reflection, which is at least 1/2;
      whether it is increased; and the operand after the increase.
    """
    is_reflected = lax.lt(x, lax.full_like(x, 0.5))
    y = lax.select(is_reflected, lax.sub(lax.full_like(x, 1), x), x)
    shift = lax.full_like(x, _SHIFT)
    is_small = lax.lt(y, shift)
    return is_reflected, y, is_small, lax.select(is_small, lax.add(y, shift), y)


def _sine_of_half_turns(x: Any) -> tuple[Any, Any]:
    """Returns sin(pi t) and t, the difference of the operand and the nearest whole number.

    sin(pi t) equals sin(pi x) except for the sign. cos(pi t) / sin(pi t) equals
    cos(pi x) / sin(pi x).
    """
    turns = lax.sub(x, lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    return lax.mul(turns, polynomial(lax.mul(turns, turns), _SINE)), turns


def _log(x: Any) -> Any:
    """Returns the natural logarithm of nonnegative numbers, with an error of 2^-52."""
    return times(log2(x, _LOGARITHM), math.log(2))
