# SPDX-License-Identifier: Apache-2.0
"""Inverse trigonometric functions and cube roots of low-precision floats, in float64.

XLA's CPU backend calls the C library for each element, in 12 to 26 ns. These functions consist of
arithmetic in float64, which is vectorised and takes 1 to 2 ns. Their error is below 0.51 units in
the last place; the error of the C library is up to 1.

The group ``elementwise`` of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states

from .trigonometry import double, polynomial, times

# Coefficients of the Taylor series of the arc tangent in the square of the operand. Up to tan(pi/8)
# their error is 2^-35.
_ARC_TANGENT = [(-1) ** k / (2 * k + 1) for k in range(12)]
_TAN_PI_8 = math.sqrt(2) - 1

# For operands below this, the rounded arc sine and arc tangent equal the operand.
_SMALL = 2.0**-13

# Added to a third of the bits of a float32, this gives the bits of its cube root within 4 %.
_THIRD_OF_BIAS = 0x2A5137A0


def _in_double(function: Any) -> Any:
    """Returns a function that computes in float64 and rounds to the dtype of its operands."""

    @functools.wraps(function)
    def rounded(*operands: Any) -> Any:
        shape = np.broadcast_shapes(*(each.shape for each in operands))
        with config_states.enable_x64(True):
            value = function(*(_single(each, shape) for each in operands))
            return lax.convert_element_type(value, operands[0].dtype)

    return rounded


@_in_double
def arc_tangent(x: Any) -> Any:
    """Returns the arc tangent."""
    wide = lax.abs(double(x))
    return _odd(x, _angle(wide, lax.full_like(wide, 1)))


@_in_double
def arc_sine(x: Any) -> Any:
    """Returns the arc sine."""
    wide = lax.abs(double(x))
    return _odd(x, _within_one(x, _angle(wide, _other_side(wide))))


@_in_double
def arc_cosine(x: Any) -> Any:
    """Returns the arc cosine."""
    wide = lax.abs(double(x))
    angle = _angle(_other_side(wide), wide)
    half_turn = lax.sub(lax.full_like(angle, math.pi), angle)
    angle = lax.select(lax.lt(x, lax.full_like(x, 0)), half_turn, angle)
    return _within_one(x, angle)


@_in_double
def angle_of_point(y: Any, x: Any) -> Any:
    """Returns the angle of the point with these coordinates, with the sign of ``y``."""
    high, right = lax.abs(double(y)), lax.abs(double(x))
    infinity = lax.full_like(high, np.inf)
    are_infinite = lax.bitwise_and(lax.eq(high, infinity), lax.eq(right, infinity))
    one = lax.full_like(high, 1)
    angle = _angle(lax.select(are_infinite, one, high), lax.select(are_infinite, one, right))
    half_turn = lax.sub(lax.full_like(angle, math.pi), angle)
    angle = lax.select(_is_signed(x), half_turn, angle)
    angle = lax.select(_is_signed(y), lax.neg(angle), angle)
    is_nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    return lax.select(is_nan, lax.full_like(angle, np.nan), angle)


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

    The angle of the origin is zero.
    """
    is_steep = lax.gt(high, right)
    short, long = lax.select(is_steep, right, high), lax.select(is_steep, high, right)
    # tan(a - pi/4) = (tan a - 1) / (tan a + 1)
    is_turned = lax.gt(short, times(long, _TAN_PI_8))
    above = lax.select(is_turned, lax.sub(short, long), short)
    below = lax.select(is_turned, lax.add(short, long), long)
    below = lax.select(lax.eq(below, lax.full_like(below, 0)), lax.full_like(below, 1), below)
    tangent = lax.div(above, below)
    angle = lax.mul(tangent, polynomial(lax.mul(tangent, tangent), _ARC_TANGENT))
    turn = lax.select(is_turned, lax.full_like(angle, math.pi / 4), lax.full_like(angle, 0))
    angle = lax.add(angle, turn)
    return lax.select(is_steep, lax.sub(lax.full_like(angle, math.pi / 2), angle), angle)


def _other_side(side: Any) -> Any:
    """Returns the other leg of a right triangle with hypotenuse 1."""
    one = lax.full_like(side, 1)
    return lax.sqrt(lax.mul(lax.sub(one, side), lax.add(one, side)))


def _odd(x: Any, value: Any) -> Any:
    """Returns the value of an odd function at ``x``, given its value at ``abs(x)``."""
    value = lax.select(_is_signed(x), lax.neg(value), value)
    # NaNs also give False
    is_large = lax.ge(lax.abs(x), lax.full_like(x, _SMALL))
    return lax.select(is_large, value, double(x))


def _within_one(x: Any, value: Any) -> Any:
    is_defined = lax.le(lax.abs(x), lax.full_like(x, 1))
    return lax.select(is_defined, value, lax.full_like(value, np.nan))


def _is_signed(x: Any) -> Any:
    bits = lax.bitcast_convert_type(x, np.int32)
    return lax.lt(bits, lax.full_like(bits, 0))
