# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and tangent in double precision, for operands of single precision and less.

XLA's CPU backend calls the C library for each element, in 4 to 40 ns. These functions consist of
arithmetic, which is vectorized and takes 0.5 to 1 ns. Their error is below 0.51 units in the last
place. The error of the C library is up to 0.56 units.

The argument is reduced by the method of Payne and Hanek ("Radian reduction for trigonometric
functions", 1983). The product of operand and 2/pi needs only those digits of 2/pi that the
operand's exponent selects.

The group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states
from olympus_ir.types import dtypes

from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static

# With fewer elements, the operations take longer to compile than they save.
SMALLEST = 4096

_DTYPES = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(dtypes.bfloat16))

# The bits of 2/pi after the binary point, preceded by a word of zeros.
_TWO_OVER_PI = (
    0,
    0xA2F9836E,
    0x4E441529,
    0xFC2757D1,
    0xF534DDC0,
    0xDB629599,
    0x3C439041,
    0xFE5163AB,
)

# Coefficients of the Taylor series of sin(t)/t and cos(t) in powers of t^2. Up to pi/4 the errors
# are 2^-37.
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(7)]

# Coefficients of the polynomial in t^2 that interpolates (sin(t)/t - 1)/t^2 at Chebyshev's points,
# for t up to pi/2. The relative error of the sine is 2^-41.
_LONG_SINE = [
    -0.16666666666658467,
    0.008333333330940365,
    -0.0001984126870905615,
    2.755712317437327e-06,
    -2.5036745008428295e-08,
    1.550250902793809e-10,
]

_SIGN = 1 << 31

# For operands below this, the rounded sine and tangent equal the operand.
_SMALL = 2.0**-13


def is_double_arithmetic(context: LoweringContext, aval: Any) -> bool:
    """Returns whether the functions of this module replace XLA's functions."""
    return (
        aval.dtype in _DTYPES
        and is_static(aval.shape)
        and math.prod(aval.shape) >= SMALLEST
        and is_for_this_cpu(context)
    )


def sine(operand: Any) -> Any:
    """Returns the sine."""
    with config_states.enable_x64(True):
        x = lax.convert_element_type(operand, np.float32)
        sign = _and(lax.bitcast_convert_type(x, np.uint32), _SIGN)
        half_turn, angle = _reduced_by_half_turns(x, 0.0, double(lax.abs(x)))
        value = _rounded(angle, lax.bitwise_xor(half_turn, sign), x, operand.dtype)
        is_small = lax.lt(lax.abs(x), lax.full_like(x, _SMALL))
        return lax.select(is_small, operand, value)


def cosine(operand: Any) -> Any:
    """Returns the cosine."""
    with config_states.enable_x64(True):
        x = lax.convert_element_type(operand, np.float32)
        size = double(lax.abs(x))
        near_right = lax.sub(lax.full_like(size, math.pi / 2), size)
        half_turn, angle = _reduced_by_half_turns(x, 0.5, near_right)
        return _rounded(angle, half_turn, x, operand.dtype)


def tangent(operand: Any) -> Any:
    """Returns the tangent."""
    with config_states.enable_x64(True):
        x = lax.convert_element_type(operand, np.float32)
        quadrant, angle = _reduced(x)
        sin, cos = _series(angle)
        is_odd = is_set(quadrant, 1)
        value = lax.div(lax.select(is_odd, lax.neg(cos), sin), lax.select(is_odd, sin, cos))
        value = lax.convert_element_type(value, operand.dtype)
        value = lax.select(lax.is_finite(x), value, lax.full_like(value, np.nan))
        is_small = lax.lt(lax.abs(x), lax.full_like(x, _SMALL))
        return lax.select(is_small, operand, value)


def _rounded(angle: Any, sign: Any, x: Any, dtype: Any) -> Any:
    """Returns the sine of an angle of at most pi/2, negated where the sign bit is set.

    The result is NaN where ``x`` is not finite.
    """
    series = polynomial(lax.mul(angle, angle), [1.0, *_LONG_SINE])
    value = lax.convert_element_type(lax.mul(angle, series), np.float32)
    bits = lax.bitwise_xor(lax.bitcast_convert_type(value, np.uint32), sign)
    value = lax.bitcast_convert_type(bits, np.float32)
    value = lax.select(lax.is_finite(x), value, lax.full_like(value, np.nan))
    return lax.convert_element_type(value, dtype)


def _is_below_half(x: Any) -> Any:
    """Returns whether magnitudes are below 1/2, too small for a reduction.

    The reduction of such numbers would need digits before the start of the table.
    """
    return lax.lt(lax.abs(x), lax.full_like(x, 0.5))


def _reduced_by_half_turns(x: Any, shift: float, angle_below_half: Any) -> tuple[Any, Any]:
    """Adds ``shift`` half turns to ``abs(x)``, then subtracts the nearest number of half turns.

    Args:
      x: the float32, in radians.
      shift: the number of half turns that are added to the absolute value.
      angle_below_half: the result where the absolute value is below 1/2.

    Returns:
      The sign bit, which is set if the number of half turns that are subtracted is odd, and the
      remaining angle, in double precision.
    """
    bits = lax.bitcast_convert_type(x, np.uint32)
    top, next_28, last_32 = _digits_for(_and(_shift_right(bits, 23), 255))
    # The mantissa times 2^-27, because the first of the digits has weight 1 in half turns.
    fraction = lax.bitwise_or(_and(bits, 0x7FFFFF), lax.full_like(bits, 123 << 23))
    mantissa = double(lax.bitcast_convert_type(fraction, np.float32))
    # Products of numbers with 24 and 28 bits are exact. Higher digits than needed are whole turns.
    turns = lax.mul(mantissa, double(top))
    if shift:
        turns = lax.add(turns, lax.full_like(turns, shift))
    rest = lax.add(double(next_28), times(double(last_32), 2.0**-32))
    rest = lax.mul(times(mantissa, 2.0**-28), rest)
    whole = lax.round(lax.add(turns, rest), lax.RoundingMethod.TO_NEAREST_EVEN)
    angle = times(lax.add(lax.sub(turns, whole), rest), math.pi)
    parity = lax.convert_element_type(lax.convert_element_type(whole, np.int32), np.uint32)
    is_below_half = _is_below_half(x)
    sign = lax.select(is_below_half, lax.full_like(parity, 0), _shift_left(parity, 31))
    return sign, lax.select(is_below_half, angle_below_half, angle)


def _reduced(x: Any) -> tuple[Any, Any]:
    """Returns the quadrant of a float32 and the remaining angle, in double precision.

    The angle is at most pi/4.
    """
    bits = lax.bitcast_convert_type(x, np.uint32)
    exponent = _and(_shift_right(bits, 23), 255)
    mantissa = double(lax.bitwise_or(_and(bits, 0x7FFFFF), lax.full_like(bits, 0x800000)))
    top, next_28, last_32 = map(double, _digits_for(exponent))
    # Products of numbers with 24 and 28 bits are exact.
    turns = times(lax.mul(mantissa, top), 2.0**-26)
    turns = lax.sub(turns, times(lax.floor(times(turns, 0.25)), 4.0))
    rest = lax.add(
        times(lax.mul(mantissa, next_28), 2.0**-54),
        times(lax.mul(mantissa, last_32), 2.0**-86),
    )
    quadrant = lax.round(lax.add(turns, rest), lax.RoundingMethod.TO_NEAREST_EVEN)
    angle = times(lax.add(lax.sub(turns, quadrant), rest), math.pi / 2)
    whole = lax.convert_element_type(quadrant, np.int32)
    is_negative = lax.lt(x, lax.full_like(x, 0))
    # Operands below 1/2 need no argument reduction. (It would read words of 2/pi that precede the
    # first word of the table.)
    is_reduced = _is_below_half(x)
    whole = lax.select(is_negative, lax.neg(whole), whole)
    angle = lax.select(is_negative, lax.neg(angle), angle)
    return (
        lax.select(is_reduced, lax.full_like(whole, 0), whole),
        lax.select(is_reduced, double(x), angle),
    )


def _digits_for(exponent: Any) -> tuple[Any, Any, Any]:
    """Returns the bits of 2/pi by which floats with this exponent are multiplied.

    The three results have 28, 28 and 32 bits. Two bits of the first result precede the binary
    point.
    """
    # The first digit needed has weight 2. Digits of higher weight give whole turns.
    high, middle, low = _words_from(lax.sub(exponent, lax.full_like(exponent, 120)))
    top = _shift_right(high, 4)
    next_28 = lax.bitwise_or(_shift_left(_and(high, 15), 24), _shift_right(middle, 8))
    last_32 = lax.bitwise_or(_shift_left(_and(middle, 255), 24), _shift_right(low, 8))
    return top, next_28, last_32


def _words_from(first: Any) -> list[Any]:
    """Returns 96 bits of 2/pi as three words, starting at bit ``first``."""
    index, shift = _shift_right(first, 5), _and(first, 31)
    words = [_word_at(index, offset) for offset in range(4)]
    complement = lax.sub(lax.full_like(shift, 31), shift)
    return [
        lax.bitwise_or(
            lax.shift_left(word, shift),
            lax.shift_right_logical(_shift_right(following, 1), complement),
        )
        for word, following in itertools.pairwise(words)
    ]


def _word_at(index: Any, offset: int) -> Any:
    """Returns the table's word at index (at most 4) plus offset."""
    word = lax.full_like(index, _TWO_OVER_PI[offset])
    for number in range(1, 5):
        is_it = lax.eq(index, lax.full_like(index, number))
        word = lax.select(is_it, lax.full_like(index, _TWO_OVER_PI[offset + number]), word)
    return word


def _series(angle: Any) -> tuple[Any, Any]:
    """Returns the sine and the cosine of an angle of at most pi/4."""
    square = lax.mul(angle, angle)
    return lax.mul(angle, polynomial(square, _SINE)), polynomial(square, _COSINE)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Returns the value of a polynomial; the constant coefficient comes first."""
    value = lax.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = lax.add(lax.mul(value, x), lax.full_like(x, coefficient))
    return value


def quotient(x: Any, y: Any) -> Any:
    """Returns the quotient of doubles, as an operation that XLA fuses with each of its users.

    XLA writes the result of a division that is used more than once to memory, instead of fusing
    the division. So the division here is used once, by a product with 2, which is exact.
    """
    return times(lax.div(times(x, 0.5), y), 2.0)


def times(x: Any, factor: float) -> Any:
    """Returns the product of an array and a number."""
    return lax.mul(x, lax.full_like(x, factor))


def double(x: Any) -> Any:
    """Converts numbers to double precision."""
    return lax.convert_element_type(x, np.float64)


def _and(x: Any, mask: int) -> Any:
    return lax.bitwise_and(x, lax.full_like(x, mask))


def _shift_right(x: Any, count: int) -> Any:
    return lax.shift_right_logical(x, lax.full_like(x, count))


def _shift_left(x: Any, count: int) -> Any:
    return lax.shift_left(x, lax.full_like(x, count))


def is_set(quadrant: Any, mask: int) -> Any:
    """Returns, for each integer, whether a bit of ``mask`` is set."""
    return lax.ne(_and(quadrant, mask), lax.full_like(quadrant, 0))
