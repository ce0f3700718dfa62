# SPDX-License-Identifier: Apache-2.0
"""Inverse trigonometric functions and cube roots of low-precision floats, in float64.

XLA's CPU backend calls the C library for each element, in 12 to 26 ns. These functions consist of
arithmetic in float64, which is vectorized and takes 0.8 to 1.8 ns. Their error is below 0.51 units
in the last place; the error of the C library is up to 1.

The group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states

from .trigonometry import double, polynomial, quotient, times

# Coefficients of polynomials in t^2. They interpolate (atan(t)/t - 1)/t^2 for t up to 1, and
# (asin(t)/t - 1)/t^2 for t up to 1/2, at Chebyshev's points. The errors of the functions are 2^-34.
_ARC_TANGENT = [
    -0.3333333332694414,
    0.19999998154086215,
    -0.14285624891483525,
    0.11109392308322223,
    -0.09073553118976409,
    0.0758665283364667,
    -0.06246315194128317,
    0.047294798621813336,
    -0.02991311194551696,
    0.014072923344697239,
    -0.0042216579909296476,
    0.0005930437556365282,
]
_ARC_SINE = [
    0.16666666686085643,
    0.07499992404401838,
    0.04464766388813485,
    0.030269138728589183,
    0.023611817008891752,
    0.010574415516912909,
    0.030974540371355073,
]

# For operands below this, the rounded arc sine and arc tangent equal the operand.
_SMALL = 2.0**-13

# A third of the bits of a float32, plus this number, are the bits of its cube root within 4 %.
_THIRD_OF_BIAS = 0x2A5137A0


def _in_double(function: Any) -> Any:
    """Returns a function that computes in float64 and rounds to the dtype of its operands."""

    @functools.wraps(function)
    def rounded(*operands: Any) -> Any:
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        with config_states.enable_x64(True):
            value = function(*(_single(operand, shape) for operand in operands))
            return lax.convert_element_type(value, operands[0].dtype)

    return rounded


@_in_double
def arc_tangent(x: Any) -> Any:
    """Returns the arc tangent."""
    size = lax.abs(x)
    return _odd(x, _angle(size, lax.full_like(size, 1)))


@_in_double
def arc_sine(x: Any) -> Any:
    """Returns the arc sine."""
    is_large, angle = _angle_of_sine(x)
    rest = lax.sub(lax.full_like(angle, math.pi / 2), times(angle, 2.0))
    return _odd(x, _within_one(x, lax.select(is_large, rest, angle)))


@_in_double
def arc_cosine(x: Any) -> Any:
    """Returns the arc cosine."""
    is_large, angle = _angle_of_sine(x)
    double_angle = times(angle, 2.0)
    signed = lax.select(_is_signed(x), lax.neg(angle), angle)
    turned = lax.sub(lax.full_like(angle, math.pi), double_angle)
    near_end = lax.select(_is_signed(x), turned, double_angle)
    middle = lax.sub(lax.full_like(angle, math.pi / 2), signed)
    return _within_one(x, lax.select(is_large, near_end, middle))


@_in_double
def angle_of_point(y: Any, x: Any) -> Any:
    """Returns the angle of the point ``(x, y)``. The angle has the sign of ``y``."""
    angle = _angle(lax.abs(y), lax.abs(x))
    half_turn = lax.sub(lax.full_like(angle, math.pi), angle)
    value = _single(lax.select(_is_signed(x), half_turn, angle), angle.shape)
    is_nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    return lax.select(is_nan, lax.full_like(value, np.nan), _with_sign(y, value))


@_in_double
def cube_root(x: Any) -> Any:
    """Returns the cube root, by two steps of Halley's method."""
    bits = lax.bitcast_convert_type(lax.abs(x), np.uint32)
    third = lax.div(bits, lax.full_like(bits, 3))
    guess = lax.add(third, lax.full_like(bits, _THIRD_OF_BIAS))
    root, cube = double(lax.bitcast_convert_type(guess, np.float32)), lax.abs(double(x))
    for _ in range(2):
        power = lax.mul(lax.mul(root, root), root)
        above = lax.add(power, times(cube, 2.0))
        root = lax.mul(root, lax.div(above, lax.add(times(power, 2.0), cube)))
    root = lax.select(_is_signed(x), lax.neg(root), root)
    is_itself = lax.bitwise_or(lax.eq(x, lax.full_like(x, 0)), lax.bitwise_not(lax.is_finite(x)))
    return lax.select(is_itself, double(x), root)


def _single(x: Any, shape: tuple[int, ...]) -> Any:
    """Converts to single precision, and broadcasts to a shape."""
    x = lax.convert_element_type(x, np.float32)
    if x.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - x.ndim, len(shape))))


def _angle(high: Any, right: Any) -> Any:
    """Returns the angle of a point with nonnegative coordinates, in double precision.

    The angle of the origin is zero. The coordinates are compared in single precision, in which
    vectors have twice as many elements.
    """
    is_steep = lax.gt(high, right)
    short, long = lax.select(is_steep, right, high), lax.select(is_steep, high, right)
    one, infinity = lax.full_like(high, 1), lax.full_like(high, np.inf)
    are_infinite = lax.eq(short, infinity)
    is_origin = lax.eq(long, lax.full_like(high, 0))
    long = lax.select(lax.bitwise_or(are_infinite, is_origin), one, long)
    short = lax.select(are_infinite, one, short)
    tangent = quotient(double(short), double(long))
    angle = lax.mul(tangent, polynomial(lax.mul(tangent, tangent), [1.0, *_ARC_TANGENT]))
    return lax.select(is_steep, lax.sub(lax.full_like(angle, math.pi / 2), angle), angle)


def _angle_of_sine(x: Any) -> tuple[Any, Any]:
    """Returns whether ``abs(x)`` is above 1/2, and an angle in double precision.

    The angle is half of the arc cosine of ``abs(x)`` if ``abs(x)`` is above 1/2, and the arc sine
    of ``abs(x)`` otherwise.
    """
    size = lax.abs(x)
    half = lax.full_like(size, 0.5)
    is_large = lax.gt(size, half)
    # The subtraction is exact.
    above = lax.mul(half, lax.sub(lax.full_like(size, 1), size))
    square = double(lax.select(is_large, above, size))
    sine = lax.select(is_large, lax.sqrt(square), square)
    square = lax.select(is_large, square, lax.mul(square, square))
    return is_large, lax.mul(sine, polynomial(square, [1.0, *_ARC_SINE]))


def _odd(x: Any, value: Any) -> Any:
    """Returns the value of an odd function at ``x``, given its value at ``abs(x)``."""
    value = _with_sign(x, _single(value, x.shape))
    # False for NaNs, so NaNs are returned unchanged.
    is_large = lax.ge(lax.abs(x), lax.full_like(x, _SMALL))
    return lax.select(is_large, value, x)


def _with_sign(x: Any, value: Any) -> Any:
    """Returns nonnegative numbers of single precision with the signs of ``x``."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    sign = lax.bitwise_and(bits, lax.full_like(bits, 1 << 31))
    value = lax.bitcast_convert_type(value, np.uint32)
    return lax.bitcast_convert_type(lax.bitwise_or(value, sign), np.float32)


def _within_one(x: Any, value: Any) -> Any:
    is_defined = lax.le(lax.abs(x), lax.full_like(x, 1))
    return lax.select(is_defined, value, lax.full_like(value, np.nan))


def _is_signed(x: Any) -> Any:
    bits = lax.bitcast_convert_type(x, np.int32)
    return lax.lt(bits, lax.full_like(bits, 0))
