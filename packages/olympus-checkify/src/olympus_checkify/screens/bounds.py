# SPDX-License-Identifier: Apache-2.0
"""Interval arithmetic: bounds of the elements of values, for operations that cannot overflow.

A value between -1 and 1 times a finite value is finite, and so is the square root of a value that
is not negative. A screen need not check such results.

A rule ``(equation, *intervals) -> interval`` computes in double precision. `bounds_of_result`
rounds the bounds to the type of the result. Operations round monotonically, so the rounded bounds
hold for rounded elements. Functions that are approximated get a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from olympus_autodiff.rematerialization.policies import name_p
from olympus_ir import lax
from olympus_ir.lax.elementwise.arithmetic import add_any_p
from olympus_ir.lax.elementwise.conversion import stop_gradient_p
from olympus_ir.lax.shaping.rearrangement import stack_p, unstack_p
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.rules import RuleTable
from olympus_ir.types import dtypes

__all__ = [
    "Interval",
    "bounds_of_array",
    "bounds_of_result",
    "bounds_rules",
    "finite_part",
    "is_finite",
    "united",
]


class Interval(NamedTuple):
    """Bounds of the elements of a value.

    Attributes:
      low: the lower bound.
      high: the upper bound.
    """

    low: float = -math.inf
    high: float = math.inf

    @property
    def magnitude(self) -> float:
        """The largest absolute value of an element."""
        return max(-self.low, self.high)


BoundsRule: TypeAlias = Callable[..., Interval]

bounds_rules: RuleTable[BoundsRule] = RuleTable("bounds", package="olympus_checkify", folder=None)


def united(intervals: Sequence[Interval]) -> Interval:
    """Returns the smallest interval that contains the given intervals."""
    lows, highs = zip(*intervals, strict=True)
    return Interval(min(lows), max(highs))


def is_finite(interval: Interval, dtype: Any) -> bool:
    """Returns whether an interval holds only finite numbers of a real floating-point type."""
    return finite_part(interval, dtype) == interval


def finite_part(interval: Interval, dtype: Any) -> Interval:
    """Returns the finite numbers of a real floating-point type that lie in an interval."""
    largest = float(dtypes.finfo(dtype).max)
    return Interval(max(interval.low, -largest), min(interval.high, largest))


def bounds_of_array(array: np.ndarray) -> Interval:
    """Returns the bounds of a real array; an unbounded interval if an element is NaN."""
    if not array.size or np.isnan(array).any():
        return Interval()
    return Interval(float(array.min()), float(array.max()))


def bounds_of_result(equation: Equation, operands: Sequence[Interval]) -> Interval:
    """Returns the bounds of the results of an equation; unbounded if there is no rule.

    Args:
      equation: the equation.
      operands: the bounds of its operands.
    """
    rule = bounds_rules.find(equation.primitive)
    dtype = equation.outvars[0].aval.dtype
    if rule is None or not dtypes.issubdtype(dtype, np.floating):
        return Interval()
    with np.errstate(all="ignore"):
        low, high = rule(equation, *operands)
        if math.isnan(low) or math.isnan(high):
            return Interval()
        return Interval(_rounded(low, dtype, -math.inf), _rounded(high, dtype, math.inf))


def _rounded(bound: float, dtype: Any, outwards: float) -> float:
    """Rounds a bound outwards to a number of a type; tiny bounds may be flushed to zero."""
    information = dtypes.finfo(dtype)
    if 0 < abs(bound) < float(information.tiny) and (bound > 0) != (outwards > 0):
        return 0.0
    nearest = float(np.asarray(bound, np.float64).astype(dtype))
    if nearest == bound:
        return bound
    return float(np.nextafter(np.asarray(nearest, dtype), np.asarray(outwards, dtype)))


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _products(a: Interval, b: Interval) -> Interval:
    ends = [_product(x, y) for x in a for y in b]
    return Interval(min(ends), max(ends))


def _with_margin(interval: Interval, equation: Equation, errors: float = 4) -> Interval:
    """Returns an interval that also contains results with a relative error.

    Args:
      interval: the bounds of exact results.
      equation: the equation.
      errors: the error in units of the precision of the result's type.
    """
    error = errors * float(dtypes.finfo(equation.outvars[0].aval.dtype).eps)
    low, high = interval
    return Interval(low - abs(low) * error, high + abs(high) * error)


# ---- shapes, orders and parts ----


def _union(equation: Equation, *operands: Interval) -> Interval:
    return united(operands)


def _first(equation: Equation, first: Interval, *others: Interval) -> Interval:
    return first


for _primitive in (lax.concatenate_p, stack_p, lax.pad_p):
    bounds_rules.define(_primitive, _union)
for _primitive in (
    lax.broadcast_in_dim_p,
    lax.copy_p,
    lax.cummax_p,
    lax.cummin_p,
    lax.dynamic_slice_p,
    lax.reduce_max_p,
    lax.reduce_min_p,
    lax.reshape_p,
    lax.rev_p,
    lax.slice_p,
    lax.split_p,
    lax.squeeze_p,
    lax.tile_p,
    lax.transpose_p,
    name_p,
    stop_gradient_p,
    unstack_p,
):
    bounds_rules.define(_primitive, _first)


@bounds_rules.define(lax.select_n_p)
def _select(equation: Equation, which: Interval, *cases: Interval) -> Interval:
    return united(cases)


@bounds_rules.define(lax.clamp_p)
def _clamp(equation: Equation, low: Interval, value: Interval, high: Interval) -> Interval:
    return _minimum(equation, _maximum(equation, low, value), high)


@bounds_rules.define(lax.convert_element_type_p)
def _convert(equation: Equation, operand: Interval) -> Interval:
    dtype = equation.invars[0].aval.dtype
    if dtypes.issubdtype(dtype, np.bool_):
        return Interval(0, 1)
    if dtypes.issubdtype(dtype, np.integer) and math.isinf(operand.magnitude):
        information = dtypes.iinfo(dtype)
        return Interval(float(information.min), float(information.max))
    return operand


# ---- arithmetic ----


@bounds_rules.define(lax.add_p)
@bounds_rules.define(add_any_p)
def _add(equation: Equation, a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high)


@bounds_rules.define(lax.sub_p)
def _sub(equation: Equation, a: Interval, b: Interval) -> Interval:
    return Interval(a.low - b.high, a.high - b.low)


@bounds_rules.define(lax.mul_p)
def _mul(equation: Equation, a: Interval, b: Interval) -> Interval:
    if equation.invars[0] is equation.invars[1]:
        return _square(equation, a)
    return _products(a, b)


@bounds_rules.define(lax.div_p)
def _div(equation: Equation, a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        return Interval()
    return _products(a, Interval(1 / b.high, 1 / b.low))


@bounds_rules.define(lax.square_p)
def _square(equation: Equation, x: Interval) -> Interval:
    return _absolute_power(x, 2)


@bounds_rules.define(lax.integer_pow_p)
def _integer_pow(equation: Equation, x: Interval) -> Interval:
    exponent = equation.params["y"]
    if exponent < 0:
        return Interval()
    if exponent % 2 == 0:
        power = _absolute_power(x, exponent)
    else:
        power = Interval(_power(x.low, exponent), _power(x.high, exponent))
    return _with_margin(power, equation, exponent)


def _absolute_power(x: Interval, exponent: int) -> Interval:
    smallest = 0.0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    return Interval(_power(smallest, exponent), _power(x.magnitude, exponent))


def _power(x: float, exponent: int) -> float:
    return float(np.float64(x) ** exponent)


@bounds_rules.define(lax.abs_p)
def _abs(equation: Equation, x: Interval) -> Interval:
    return _absolute_power(x, 1)


@bounds_rules.define(lax.neg_p)
def _neg(equation: Equation, x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


@bounds_rules.define(lax.max_p)
def _maximum(equation: Equation, a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


@bounds_rules.define(lax.min_p)
def _minimum(equation: Equation, a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


# ---- functions ----


def _rising(function: Callable[[Any], Any]) -> BoundsRule:
    def rule(equation: Equation, x: Interval) -> Interval:
        return _with_margin(Interval(float(function(x.low)), float(function(x.high))), equation)

    return rule


for _primitive, _function in (
    (lax.asinh_p, np.arcsinh),
    (lax.atan_p, np.arctan),
    (lax.cbrt_p, np.cbrt),
    (lax.ceil_p, np.ceil),
    (lax.exp_p, np.exp),
    (lax.expm1_p, np.expm1),
    (lax.floor_p, np.floor),
    (lax.log1p_p, np.log1p),
    (lax.log_p, np.log),
    (lax.sqrt_p, np.sqrt),
):
    bounds_rules.define(_primitive, _rising(_function))


@bounds_rules.define(lax.exp2_p)
def _exp2(equation: Equation, x: Interval) -> Interval:
    # The result may be computed as exp(x log 2), with a relative error that grows with x.
    exact = Interval(float(np.exp2(x.low)), float(np.exp2(x.high)))
    return _with_margin(exact, equation, 4 + min(x.magnitude, 1024.0))


@bounds_rules.define(lax.round_p)
def _round(equation: Equation, x: Interval) -> Interval:
    return Interval(float(np.floor(x.low)), float(np.ceil(x.high)))


@bounds_rules.define(lax.rsqrt_p)
def _rsqrt(equation: Equation, x: Interval) -> Interval:
    if x.low <= 0:
        return Interval()
    return _with_margin(Interval(1 / math.sqrt(x.high), 1 / math.sqrt(x.low)), equation)


def _constant(low: float, high: float) -> BoundsRule:
    return lambda equation, *operands: Interval(low, high)


def _approximate(low: float, high: float) -> BoundsRule:
    return lambda equation, *operands: _with_margin(Interval(low, high), equation)


for _primitive, _rule in (
    (lax.atan2_p, _approximate(-math.pi, math.pi)),
    (lax.bessel_i0e_p, _approximate(0, 1)),
    (lax.bessel_i1e_p, _approximate(-1, 1)),
    (lax.cos_p, _constant(-1, 1)),
    (lax.erf_p, _approximate(-1, 1)),
    (lax.erfc_p, _approximate(0, 2)),
    (lax.logistic_p, _constant(0, 1)),
    (lax.sign_p, _constant(-1, 1)),
    (lax.sin_p, _constant(-1, 1)),
    (lax.tanh_p, _constant(-1, 1)),
):
    bounds_rules.define(_primitive, _rule)


# ---- sums and products ----


@bounds_rules.define(lax.reduce_sum_p)
def _reduce_sum(equation: Equation, x: Interval) -> Interval:
    shape = equation.invars[0].aval.shape
    count = math.prod(shape[axis] for axis in equation.params["axes"])
    return _with_margin(_products(x, Interval(count, count)), equation, count)


@bounds_rules.define(lax.dot_general_p)
def _dot_general(equation: Equation, a: Interval, b: Interval) -> Interval:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    count = math.prod(shape[axis] for axis in contracted)
    product = _products(a, b)
    return _with_margin(_products(product, Interval(count, count)), equation, count - 1)
