# SPDX-License-Identifier: Apache-2.0
"""Powers in double precision, for operands of single precision and less.

XLA's CPU backend calls the C library for each element, in 5 ns. These operations are vectorized and
take 3 ns. The power is 2^(y log2 |x|) in double precision. The errors of the logarithm and of the
exponential are below 2^-32 of the result. So the error of the power is at most 0.51 units in the
last place, as in the C library.

The logarithm is the series of the inverse hyperbolic tangent of (m - 1) / (m + 1), where the
mantissa m is between the square roots of 1/2 and 2. Special operands follow C's ``pow``.

Constant exponents halfway between two integers, such as -3/2, need products, a root and a division,
which take 1.2 ns. Their error is below 0.501 units.

The power in the group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states

from .trigonometry import double, polynomial, quotient, times

# Coefficients of two power series: log2(m) / s in powers of s^2, where s = (m - 1) / (m + 1), and
# 2^f in powers of f.
_LOGARITHM = [2 / math.log(2) / (2 * k + 1) for k in range(7)]
_EXPONENTIAL = [math.log(2) ** k / math.factorial(k) for k in range(10)]

_FRACTION_BITS = 52
_BIAS = 1023
_ROOT_OF_HALF = int(np.array(math.sqrt(0.5)).view(np.int64))

# In single precision, powers of two with larger exponents are infinite, and powers with exponents
# below the negative of this number are zero.
_LARGEST_EXPONENT = 200.0

# The largest exponent with which powers of float32 numbers stay within the range of float64.
_LARGEST_HALF = 7.5


def power(base: Any, exponent: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns powers rounded from double precision.

    Args:
      base: an array or a scalar.
      exponent: an array or a scalar.
      shape: the shape of the result.
      dtype: the dtype of the result, a float of at most 32 bits.
    """
    with config_states.enable_x64(True):
        x, y = (_wide(operand, shape, dtype) for operand in (base, exponent))
        size = lax.abs(x)
        one = lax.full_like(x, 1.0)
        logarithm = lax.mul(y, log2(size))
        # One to an infinite power is one.
        logarithm = lax.select(lax.eq(size, one), lax.full_like(x, 0.0), logarithm)
        value = _exp2(logarithm)
        is_whole = lax.eq(lax.floor(y), y)
        half = times(y, 0.5)
        is_odd = lax.bitwise_and(is_whole, lax.ne(lax.floor(half), half))
        bits = lax.bitcast_convert_type(x, np.int64)
        is_negative = lax.lt(bits, lax.full_like(bits, 0))  # -0.0 counts as negative
        value = lax.select(lax.bitwise_and(is_negative, is_odd), lax.neg(value), value)
        has_root = lax.bitwise_or(lax.eq(size, lax.full_like(x, np.inf)), is_whole)
        is_below = lax.lt(x, lax.full_like(x, 0.0))
        undefined = lax.bitwise_and(is_below, lax.bitwise_not(has_root))
        for operand in (x, y):
            undefined = lax.bitwise_or(undefined, lax.ne(operand, operand))
        value = lax.select(undefined, lax.full_like(value, np.nan), value)
        is_one = lax.bitwise_or(lax.eq(x, one), lax.eq(y, lax.full_like(y, 0.0)))
        return lax.convert_element_type(lax.select(is_one, one, value), dtype)


def is_half_integer(exponent: float) -> bool:
    """Returns whether `half_integer_power` supports an exponent."""
    return abs(exponent) <= _LARGEST_HALF and exponent % 1 == 0.5


def half_integer_power(
    base: Any, _: Any, *, exponent: float, shape: tuple[int, ...], dtype: Any
) -> Any:
    """Returns powers with an exponent halfway between two integers, rounded from double precision.

    Args:
      base: an array or a scalar.
      _: the exponent as an operand of the power, which is not read.
      exponent: the exponent, for which `is_half_integer` holds.
      shape: the shape of the result.
      dtype: the dtype of the result, a float of at most 32 bits.
    """
    with config_states.enable_x64(True):
        x = _wide(base, shape, dtype)
        size = lax.abs(x)
        value = lax.mul(lax.integer_pow(size, int(abs(exponent))), lax.sqrt(size))
        if exponent < 0:
            value = lax.div(lax.full_like(value, 1.0), value)
        # As in C, negative infinity has the same powers as infinity.
        undefined = lax.bitwise_and(lax.lt(x, lax.full_like(x, 0.0)), lax.is_finite(x))
        value = lax.select(undefined, lax.full_like(value, np.nan), value)
        return lax.convert_element_type(value, dtype)


def _wide(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns an operand, rounded to the dtype of the result, in double precision."""
    x = double(lax.convert_element_type(lax.convert_element_type(x, dtype), np.float32))
    return x if x.shape == shape else lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))


def log2(size: Any, coefficients: Sequence[float] = _LOGARITHM) -> Any:
    """Returns the binary logarithm of nonnegative numbers of double precision.

    Args:
      size: the numbers.
      coefficients: the coefficients of the series of log2(m) / s in powers of s^2, where
        s = (m - 1) / (m + 1) and m is the mantissa. More coefficients give more digits.
    """
    bits = lax.bitcast_convert_type(size, np.int64)
    shift = lax.full_like(bits, _FRACTION_BITS)
    above = lax.sub(bits, lax.full_like(bits, _ROOT_OF_HALF))
    whole = lax.shift_right_arithmetic(above, shift)
    mantissa = lax.bitcast_convert_type(lax.sub(bits, lax.shift_left(whole, shift)), np.float64)
    one = lax.full_like(mantissa, 1.0)
    ratio = quotient(lax.sub(mantissa, one), lax.add(mantissa, one))
    series = lax.mul(ratio, polynomial(lax.mul(ratio, ratio), coefficients))
    value = lax.add(double(lax.convert_element_type(whole, np.int32)), series)
    infinity = lax.full_like(size, np.inf)
    value = lax.select(lax.eq(size, infinity), infinity, value)
    return lax.select(lax.eq(size, lax.full_like(size, 0.0)), lax.neg(infinity), value)


def _exp2(x: Any) -> Any:
    """Returns powers of two. The exponents must not be NaN."""
    largest = lax.full_like(x, _LARGEST_EXPONENT)
    x = lax.max(lax.min(x, largest), lax.neg(largest))
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    fraction = polynomial(lax.sub(x, whole), _EXPONENTIAL)
    biased = lax.add(
        lax.convert_element_type(lax.convert_element_type(whole, np.int32), np.int64),
        lax.full_like(whole, _BIAS, dtype=np.int64),
    )
    scale = lax.shift_left(biased, lax.full_like(biased, _FRACTION_BITS))
    return lax.mul(fraction, lax.bitcast_convert_type(scale, np.float64))
