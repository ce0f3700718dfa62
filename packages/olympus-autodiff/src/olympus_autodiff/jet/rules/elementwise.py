# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of elementwise operations: recurrences between the coefficients of two series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes

from ...rules.elementwise import LINEAR, OF_INTEGERS, STEPS
from ...tables import broadcast_to, constant, shape_of
from ...zeros import aval_of
from ..definitions import def_deriv
from ..series import (
    Series,
    convolution,
    integral,
    order_of,
    product,
    series_composition,
    series_exp,
    series_integer_power,
    series_log,
    series_product,
    series_quotient,
    series_root_power,
    series_rotation,
    terms_or_zeros,
    times,
    total,
    velocity,
    zero_series,
)
from ..tables import bound, jet_rules, linear_prop, termwise, zero_prop
from ..trace import by_jvp_rule

Terms = Sequence[Any]
LOG_2 = float(np.log(2.0))
TWO_OVER_SQRT_PI = float(2.0 / np.sqrt(np.pi))


# ---- functions that are linear, piecewise linear or piecewise constant ----

for _primitive in LINEAR:
    jet_rules.define(_primitive, bound(linear_prop, _primitive))

for _primitive in (
    lax.add_p,
    lax.sub_p,
    lax.max_p,
    lax.min_p,
    lax.clamp_p,
    lax.rem_p,
    lax.select_n_p,
):
    jet_rules.define(_primitive, bound(termwise, _primitive))

for _primitive in (*STEPS, *OF_INTEGERS):
    jet_rules.define(_primitive, bound(zero_prop, _primitive))


@jet_rules.define(lax.abs_p)
def _abs_jet(primals: Terms, series: Terms) -> Any:
    is_complex = dtypes.issubdtype(aval_of(primals[0]).dtype, np.complexfloating)
    return (by_jvp_rule if is_complex else termwise)(lax.abs_p, primals, series)


@jet_rules.define(lax.convert_element_type_p)
def _convert_jet(primals: Terms, series: Terms, *, new_dtype: Any, **params: Any) -> Any:
    (x,), (terms,) = primals, series
    bind = lax.convert_element_type_p.bind
    result = bind(x, new_dtype=new_dtype, **params)
    if not dtypes.issubdtype(new_dtype, np.inexact):
        return result, zero_series
    return result, [bind(term, new_dtype=new_dtype, **params) for term in terms]


# ---- arithmetic ----


def product_rule(bind: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the rule of a bilinear operation."""

    def rule(primals: Terms, series: Terms, **params: Any) -> Any:
        (x, y), (x_terms, y_terms) = primals, series
        result = bind(x, y, **params)
        if y_terms is zero_series:
            return result, [bind(term, y, **params) for term in x_terms]
        if x_terms is zero_series:
            return result, [bind(x, term, **params) for term in y_terms]
        xs, ys = [x, *x_terms], [y, *y_terms]
        return result, [
            total([bind(xs[j], ys[k - j], **params) for j in range(k + 1)])
            for k in range(1, len(xs))
        ]

    return rule


jet_rules.define(lax.mul_p, product_rule(lax.mul_p.bind))


@jet_rules.define(lax.div_p)
def _div_jet(primals: Terms, series: Terms) -> Any:
    (x, y), (x_terms, y_terms) = primals, series
    result = lax.div_p.bind(x, y)
    if y_terms is zero_series:
        return result, [lax.div_p.bind(term, y) for term in x_terms]
    quotient = [result]
    for k in range(1, len(y_terms) + 1):
        rest = convolution([y, *y_terms], quotient, k, 1, k + 1)
        rest = lax.neg(rest) if x_terms is zero_series else lax.sub_p.bind(x_terms[k - 1], rest)
        quotient.append(lax.div_p.bind(rest, y))
    return result, quotient[1:]


@jet_rules.define(lax.square_p)
def _square_jet(primals: Terms, series: Terms) -> Any:
    (x,), (terms,) = primals, series
    return lax.square_p.bind(x), series_product([x, *terms], [x, *terms])[1:]


@jet_rules.define(lax.integer_pow_p)
def _integer_pow_jet(primals: Terms, series: Terms, *, y: int) -> Any:
    (x,), (terms,) = primals, series
    result = lax.integer_pow_p.bind(x, y=y)
    if y == 0:
        return result, zero_series
    power = series_integer_power([x, *terms], abs(y))
    if y < 0:
        one = broadcast_to(constant(1, x), shape_of(x))
        zero = times(0, one)
        power = series_quotient([one, *[zero] * len(terms)], power, result)
    return result, power[1:]


# ---- functions of one operand with a recurrence ----

Recurrence = Callable[[Any, Series, Any], Series]


def _recurrence(primitive: Primitive, function: Recurrence) -> None:
    """Defines the Taylor rule of a primitive by a recurrence for the result's coefficients.

    Args:
      primitive: a primitive of one operand.
      function: takes the operand's value, the operand's higher coefficients and the result's value.
        It returns all coefficients of the result; the zeroth is ignored.
    """

    def rule(primals: Terms, series: Terms, **params: Any) -> Any:
        (x,), (terms,) = primals, series
        result = primitive.bind(x, **params)
        return result, function(x, terms, result)[1:]

    jet_rules.define(primitive, rule)


def _one_plus(x: Any) -> Any:
    return lax.add_p.bind(x, constant(1, x))


def _tangent_series(sign: float) -> Recurrence:
    """Returns the recurrence of a function with ``y' = (1 + sign y^2) x'``."""

    def recurrence(x: Any, terms: Series, value: Any) -> Series:
        moved, result = [None, *velocity(terms)], [value]
        slopes: list[Any] = []
        for k in range(1, len(moved)):
            square = convolution(result, result, k - 1, 0, k)
            slopes.append(times(sign, square) if k > 1 else _one_plus(times(sign, square)))
            rates = total([product(moved[j], slopes[k - j]) for j in range(1, k + 1)])
            result.append(lax.div_p.bind(rates, constant(k, rates)))
        return result

    return recurrence


def _logistic_series(x: Any, terms: Series, value: Any) -> Series:
    """Returns the coefficients of the function with ``y' = y (1 - y) x'``."""
    moved, result = [None, *velocity(terms)], [value]
    slopes: list[Any] = []
    for k in range(1, len(moved)):
        square = convolution(result, result, k - 1, 0, k)
        slopes.append(lax.sub_p.bind(result[k - 1], square))
        rates = total([product(moved[j], slopes[k - j]) for j in range(1, k + 1)])
        result.append(lax.div_p.bind(rates, constant(k, rates)))
    return result


_recurrence(lax.exp_p, lambda x, terms, y: series_exp(terms, y))
_recurrence(lax.exp2_p, lambda x, terms, y: series_exp(terms, y, LOG_2))
_recurrence(lax.expm1_p, lambda x, terms, y: series_exp(terms, _one_plus(y)))
_recurrence(lax.log_p, lambda x, terms, y: series_log([x, *terms], y))
_recurrence(lax.log1p_p, lambda x, terms, y: series_log([_one_plus(x), *terms], y))
_recurrence(lax.sqrt_p, lambda x, terms, y: series_root_power([x, *terms], y, 0.5))
_recurrence(lax.rsqrt_p, lambda x, terms, y: series_root_power([x, *terms], y, -0.5))
_recurrence(lax.cbrt_p, lambda x, terms, y: series_root_power([x, *terms], y, 1 / 3))
_recurrence(lax.tan_p, _tangent_series(1))
_recurrence(lax.tanh_p, _tangent_series(-1))
_recurrence(lax.logistic_p, _logistic_series)
_recurrence(lax.sin_p, lambda x, terms, y: series_rotation(terms, y, lax.cos_p.bind(x), -1)[0])
_recurrence(lax.cos_p, lambda x, terms, y: series_rotation(terms, lax.sin_p.bind(x), y, -1)[1])
_recurrence(lax.sinh_p, lambda x, terms, y: series_rotation(terms, y, lax.cosh_p.bind(x), 1)[0])
_recurrence(lax.cosh_p, lambda x, terms, y: series_rotation(terms, lax.sinh_p.bind(x), y, 1)[1])


# ---- functions of one operand with a simple derivative ----


def _one_minus(x: Any) -> Any:
    return lax.sub(constant(1, x), x)


_derivatives: dict[Primitive, Callable[[Any], Any]] = {
    lax.asin_p: lambda x: lax.rsqrt(_one_minus(lax.square(x))),
    lax.acos_p: lambda x: lax.neg(lax.rsqrt(_one_minus(lax.square(x)))),
    lax.atan_p: lambda x: lax.integer_pow(_one_plus(lax.square(x)), -1),
    lax.asinh_p: lambda x: lax.rsqrt(_one_plus(lax.square(x))),
    lax.acosh_p: lambda x: lax.mul(lax.rsqrt(lax.sub(x, constant(1, x))), lax.rsqrt(_one_plus(x))),
    lax.atanh_p: lambda x: lax.integer_pow(_one_minus(lax.square(x)), -1),
    lax.erf_p: lambda x: times(TWO_OVER_SQRT_PI, lax.exp(lax.neg(lax.square(x)))),
    lax.erfc_p: lambda x: times(-TWO_OVER_SQRT_PI, lax.exp(lax.neg(lax.square(x)))),
    lax.lgamma_p: lax.digamma,
    lax.digamma_p: lambda x: lax.polygamma(lax.full_like(x, 1), x),
}
for _primitive, _derivative in _derivatives.items():
    def_deriv(_primitive, _derivative)


# ---- powers ----


@jet_rules.define(lax.pow_p)
def _pow_jet(primals: Terms, series: Terms) -> Any:
    (x, y), (x_terms, y_terms) = primals, series
    result = lax.pow_p.bind(x, y)
    discrete = not dtypes.issubdtype(aval_of(y).dtype, np.inexact)
    if y_terms is zero_series or discrete:
        if x_terms is zero_series:
            return result, zero_series
        return result, _power_of_moving(x, list(x_terms), y, result)
    order = order_of(series)
    if x_terms is zero_series:
        # Where y > 0, the limit of log(x) x^y for x -> 0 is zero. To get it, replace zeros of x by
        # ones, whose logarithm is zero.
        one = broadcast_to(constant(1, x), shape_of(x))
        rate = lax.log(lax.select_n(lax.eq(x, constant(0, x)), x, one))
        exponent = [product(term, rate) for term in y_terms]
    else:
        logarithm = series_log([x, *x_terms], lax.log(x))
        exponent = series_product(logarithm, [y, *terms_or_zeros(y, y_terms, order)])[1:]
    return result, series_exp(exponent, result)[1:]


def _power_of_moving(x: Any, terms: Series, y: Any, result: Any) -> Series:
    """Returns the terms of a power with a constant exponent, by the binomial series at the base.

    The coefficients are computed as powers, without division by the base, which may be zero. A
    zero binomial coefficient makes the term zero, even if the power is infinite.
    """
    exponent = y
    if aval_of(y).dtype != aval_of(x).dtype:
        exponent = lax.convert_element_type(y, aval_of(x).dtype)
    shape = shape_of(result)
    outer = [result]
    binomial, lowered, factor = constant(1, exponent), y, exponent
    for k in range(1, len(terms) + 1):
        binomial = lax.div(product(binomial, factor), constant(k, exponent))
        factor = lax.sub(factor, constant(1, factor))
        lowered = lax.sub(lowered, constant(1, lowered))
        coefficient = broadcast_to(product(binomial, lax.pow_p.bind(x, lowered)), shape)
        ended = broadcast_to(lax.eq(binomial, constant(0, binomial)), shape)
        outer.append(lax.select_n(ended, coefficient, times(0, lax.full_like(coefficient, 1))))
    return series_composition(outer, terms)[1:]


@jet_rules.define(lax.atan2_p)
def _atan2_jet(primals: Terms, series: Terms) -> Any:
    """Returns the angle and its terms, by the derivative ``(y' x - x' y) / (x^2 + y^2)``."""
    order = order_of(series)
    result = lax.atan2_p.bind(*primals)
    shape = shape_of(result)
    ys, xs = (
        [broadcast_to(term, shape) for term in (value, *terms_or_zeros(value, terms, order))]
        for value, terms in zip(primals, series, strict=True)
    )
    y_rates, x_rates = velocity(ys[1:]), velocity(xs[1:])
    turning = [
        lax.sub_p.bind(first, second)
        for first, second in zip(
            series_product(y_rates, xs[:-1]), series_product(x_rates, ys[:-1]), strict=True
        )
    ]
    squares = map(
        lax.add_p.bind, series_product(xs[:-1], xs[:-1]), series_product(ys[:-1], ys[:-1])
    )
    return result, integral(series_quotient(turning, list(squares)))
