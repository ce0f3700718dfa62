# SPDX-License-Identifier: Apache-2.0
"""Derivatives of elementwise operations.

For functions of one operand, the result's tangent is given as a function of the operand's tangent
``t``, the result ``y`` and the operand ``x``. Factors that do not depend on ``t`` are multiplied
first, and their product by ``t`` last. Thus one residual is kept, and the linear part is a single
operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config_states import strong_zeros
from olympus_ir.types import dtypes

from ..strong_products import strong_product
from ..tables import (
    RuleFor,
    broadcast_to,
    constant,
    from_output,
    jvp_rules,
    linear,
    number_like,
    partials,
    product_transpose,
    transpose_rules,
    unary_transpose,
    unbroadcast,
    zero_derivative,
)
from ..zeros import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    as_factor,
    aval_of,
    has_tangents,
    instantiate,
    zeros_like_aval,
)

add, sub, mul, div = lax.add_p.bind, lax.sub_p.bind, lax.mul_p.bind, lax.div_p.bind
neg, square, exp, log, rsqrt = (
    lax.neg_p.bind,
    lax.square_p.bind,
    lax.exp_p.bind,
    lax.log_p.bind,
    lax.rsqrt_p.bind,
)
eq, lt, gt, ge = lax.eq_p.bind, lax.lt_p.bind, lax.gt_p.bind, lax.ge_p.bind
select_n = lax.select_n_p.bind
real, imag = lax.real_p.bind, lax.imag_p.bind


def is_complex(value: Any) -> bool:
    return dtypes.issubdtype(aval_of(value).dtype, np.complexfloating)


def product(x: Any, y: Any) -> Any:
    if strong_zeros.value:
        return strong_product(x, y)
    return mul(x, y, out_dtype=None)


def quotient(x: Any, y: Any) -> Any:
    if strong_zeros.value:
        return strong_product(x, div(constant(1, y), y))
    return div(x, y)


def one_minus(x: Any) -> Any:
    return sub(constant(1, x), x)


def one_plus(x: Any) -> Any:
    return add(x, constant(1, x))


def _one_more_than(x: Any) -> Any:
    return add(number_like(1, x), x)  # in the order of JAX's programs


def _one_less(x: Any) -> Any:
    return sub(number_like(1, x), x)


def scaled(factor: float, x: Any) -> Any:
    return product(number_like(factor, x), x)


# ---- functions of one operand ----

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
HALF_SQRT_PI = math.sqrt(math.pi) / 2.0

_from_output = {
    lax.exp_p: lambda t, y, x: product(t, y),
    lax.exp2_p: lambda t, y, x: product(log(number_like(2, x)), product(t, y)),
    lax.log_p: lambda t, y, x: quotient(t, x),
    lax.log1p_p: lambda t, y, x: quotient(t, one_plus(x)),
    lax.sin_p: lambda t, y, x: product(t, lax.cos_p.bind(x)),
    lax.tan_p: lambda t, y, x: product(t, _one_more_than(square(y))),
    lax.asin_p: lambda t, y, x: product(t, rsqrt(_one_less(square(x)))),
    lax.acos_p: lambda t, y, x: product(t, neg(rsqrt(_one_less(square(x))))),
    lax.atan_p: lambda t, y, x: quotient(t, _one_more_than(square(x))),
    lax.sinh_p: lambda t, y, x: product(t, lax.cosh_p.bind(x)),
    lax.cosh_p: lambda t, y, x: product(t, lax.sinh_p.bind(x)),
    lax.asinh_p: lambda t, y, x: product(t, rsqrt(one_plus(square(x)))),
    lax.acosh_p: lambda t, y, x: product(t, _acosh_derivative(x)),
    lax.atanh_p: lambda t, y, x: product(
        lax.integer_pow_p.bind(add(constant(1, x), x), y=-1), quotient(t, one_minus(x))
    ),
    lax.sqrt_p: lambda t, y, x: product(t, div(number_like(0.5, y), y)),
    lax.rsqrt_p: lambda t, y, x: product(t, scaled(-0.5, div(y, x))),
    lax.cbrt_p: lambda t, y, x: product(t, scaled(1 / 3, lax.integer_pow_p.bind(y, y=-2))),
    lax.square_p: lambda t, y, x: product(t, scaled(2.0, x)),
    lax.erf_p: lambda t, y, x: scaled(TWO_OVER_SQRT_PI, product(t, exp(neg(square(x))))),
    lax.erfc_p: lambda t, y, x: scaled(-TWO_OVER_SQRT_PI, product(t, exp(neg(square(x))))),
    lax.erf_inv_p: lambda t, y, x: scaled(HALF_SQRT_PI, product(t, exp(square(y)))),
    lax.lgamma_p: lambda t, y, x: product(t, lax.digamma_p.bind(x)),
    lax.digamma_p: lambda t, y, x: product(t, lax.polygamma_p.bind(constant(1, x), x)),
}
for _primitive, _tangent in _from_output.items():
    jvp_rules.define(_primitive, from_output(_tangent))


def of_accuracy(cheap: Callable[[Any, Any, Any], Any], accurate: Callable[..., Any]) -> RuleFor:
    """Returns the jvp rule of a function whose caller may ask for the highest accuracy.

    Args:
      cheap: maps the tangent, the result and the operand to the result's tangent, by a formula
        that may cancel.
      accurate: maps the result, the operand and ``accuracy=`` to the derivative, at some cost.
    """

    def make(primitive: Primitive) -> Callable[..., Any]:
        def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
            (x,), (t,) = primals, tangents
            y = primitive.bind(x, **params)
            if params.get("accuracy") is not lax.AccuracyMode.HIGHEST:
                return y, cheap(t, y, x)
            return y, product(t, accurate(y, x, **params))

        return rule

    return RuleFor(make)


logistic = lax.logistic_p.bind
_by_accuracy = {
    lax.expm1_p: of_accuracy(
        lambda t, y, x: product(t, one_plus(y)), lambda y, x, **asked: exp(x, **asked)
    ),
    # (1 + y) (1 - y) is accurate near 1, where 1 - y^2 is not; further out it cancels, too.
    lax.tanh_p: of_accuracy(
        lambda t, y, x: product(add(t, product(t, y)), one_minus(y)),
        lambda y, x, **asked: scaled(
            4.0, product(logistic(scaled(2.0, x), **asked), logistic(scaled(-2.0, x), **asked))
        ),
    ),
    lax.logistic_p: of_accuracy(
        lambda t, y, x: product(t, product(y, one_minus(y))),
        lambda y, x, **asked: product(y, logistic(neg(x), **asked)),
    ),
}
for _primitive, _rule in _by_accuracy.items():
    jvp_rules.define(_primitive, _rule)


@jvp_rules.define(lax.cos_p)
def _cos_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    return lax.cos_p.bind(x, **params), neg(product(t, lax.sin_p.bind(x, **params)))


def _acosh_derivative(x: Any) -> Any:
    if is_complex(x):
        # For a negative real part, sqrt(x^2 - 1) is on another branch than this product of roots.
        return product(rsqrt(sub(x, constant(1, x))), rsqrt(one_plus(x)))
    return rsqrt(sub(square(x), constant(1, x)))


@jvp_rules.define(lax.abs_p)
def _abs_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x,), (t,) = primals, tangents
    y = lax.abs_p.bind(x)
    if is_complex(x):
        # The derivative at zero is taken to be zero.
        modulus = convert_dtype(y, aval_of(x).dtype)
        safe = select_n(
            eq(modulus, constant(0, modulus)), modulus, broadcast_to(constant(1, modulus), y.shape)
        )
        return y, real(product(t, div(lax.conj(x), safe)))
    return y, select_n(ge(x, constant(0, x)), neg(t), t)


@jvp_rules.define(lax.integer_pow_p)
def _integer_pow_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, y: int) -> Any:
    (x,), (t,) = primals, tangents
    result = lax.integer_pow_p.bind(x, y=y)
    if y == 0:
        return result, Zero.of(result)
    if y == 1:
        return result, t
    power = x if y == 2 else lax.integer_pow_p.bind(x, y=y - 1)
    return result, product(t, scaled(y, power))


# ---- functions that are constant almost everywhere, or map from or to integers ----

STEPS = (
    lax.sign_p,
    lax.floor_p,
    lax.ceil_p,
    lax.round_p,
    lax.is_finite_p,
    lax.eq_p,
    lax.ne_p,
    lax.lt_p,
    lax.le_p,
    lax.gt_p,
    lax.ge_p,
    lax.eq_to_p,
    lax.lt_to_p,
    lax.le_to_p,
    lax.stop_gradient_p,
    lax.bitcast_convert_type_p,
)
OF_INTEGERS = (
    lax.and_p,
    lax.or_p,
    lax.xor_p,
    lax.not_p,
    lax.shift_left_p,
    lax.shift_right_logical_p,
    lax.shift_right_arithmetic_p,
    lax.population_count_p,
    lax.clz_p,
    lax.mulhi_p,
)

for _primitive in STEPS:
    jvp_rules.define(_primitive, zero_derivative)
for _primitive in OF_INTEGERS:
    jvp_rules.exempt(_primitive, reason="takes integers only, which have no tangents")
jvp_rules.exempt(
    lax.nextafter_p,
    reason="its result differs from the operand in the last bit only; differentiate the operand",
)
for _primitive in (lax.to_edtype_p, lax.from_edtype_p):
    jvp_rules.exempt(_primitive, reason="the elements of extended dtypes have no tangents")


# ---- linear functions ----

LINEAR = (
    lax.neg_p,
    lax.real_p,
    lax.imag_p,
    lax.conj_p,
    lax.complex_p,
    lax.add_any_p,
    lax.reduce_precision_p,
    lax.copy_p,
    lax.stage_p,
    lax.stored_p,
)

for _primitive in LINEAR:
    jvp_rules.define(_primitive, linear)

transpose_rules.define(lax.neg_p, unary_transpose(lambda ct, x: neg(ct)))
transpose_rules.define(lax.copy_p, unary_transpose(lambda ct, x: lax.copy_p.bind(ct)))
transpose_rules.define(lax.stage_p, unary_transpose(lambda ct, x: ct))
transpose_rules.define(lax.stored_p, unary_transpose(lambda ct, x: ct))
transpose_rules.define(
    lax.reduce_precision_p,
    unary_transpose(lambda ct, x, **params: lax.reduce_precision_p.bind(ct, **params)),
)
# Cotangents pair with tangents without conjugation. The derivative of the imaginary part is
# therefore -i, and the gradient of a real function is the conjugate of the usual one.
transpose_rules.define(
    lax.real_p, unary_transpose(lambda ct, x: lax.complex_p.bind(ct, _strong_zero(ct)))
)
transpose_rules.define(
    lax.imag_p, unary_transpose(lambda ct, x: lax.complex_p.bind(_strong_zero(ct), neg(ct)))
)


def _strong_zero(like: Any) -> np.ndarray:
    """Returns a zero of a value's dtype that is not weakly typed."""
    return np.zeros((), aval_of(like).dtype)


@transpose_rules.define(lax.conj_p)
def _conj_transpose(cotangent: Any, x: Any, *, input_dtype: Any) -> list[Any]:
    if dtypes.issubdtype(input_dtype, np.complexfloating):
        return [lax.conj_p.bind(cotangent, input_dtype=aval_of(cotangent).dtype)]
    return [real(cotangent)]


@transpose_rules.define(lax.complex_p)
def _complex_transpose(cotangent: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(real(cotangent), x) if x.__class__ is UndefinedPrimal else None,
        unbroadcast(imag(neg(cotangent)), y) if y.__class__ is UndefinedPrimal else None,
    ]


@transpose_rules.define(lax.add_p)
def _add_transpose(cotangent: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(cotangent, x) if x.__class__ is UndefinedPrimal else None,
        unbroadcast(cotangent, y) if y.__class__ is UndefinedPrimal else None,
    ]


transpose_rules.define(lax.add_any_p, _add_transpose)


@transpose_rules.define(lax.sub_p)
def _sub_transpose(cotangent: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(cotangent, x) if x.__class__ is UndefinedPrimal else None,
        neg(unbroadcast(cotangent, y)) if y.__class__ is UndefinedPrimal else None,
    ]


@jvp_rules.define(lax.convert_element_type_p)
def _convert_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    new_dtype: Any,
    weak_type: bool,
    sharding: Any,
) -> Any:
    (x,), (t,) = primals, tangents
    y = lax.convert_element_type_p.bind(
        x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding
    )
    if not has_tangents(new_dtype):
        return y, Zero.of(y)
    return y, lax.convert_dtype(t, new_dtype, weak_type, sharding)


@transpose_rules.define(lax.convert_element_type_p)
def _convert_transpose(cotangent: Any, x: Any, *, sharding: Any, **params: Any) -> list[Any]:
    aval = x.aval
    if is_complex(cotangent) and not dtypes.issubdtype(aval.dtype, np.complexfloating):
        cotangent = real(cotangent)  # a conversion would warn that the imaginary part is dropped
    cotangent_aval = aval_of(cotangent)
    if aval.dtype == cotangent_aval.dtype and aval.weak_type == cotangent_aval.weak_type:
        return [cotangent]
    return [
        lax.convert_element_type_p.bind(
            cotangent, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
        )
    ]


# ---- arithmetic ----


@jvp_rules.define(lax.add_p)
def _add_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x, y), (tx, ty) = primals, tangents
    result = add(x, y)
    if ty.__class__ is Zero:
        return result, broadcast_to(tx, aval_of(result).shape)
    if tx.__class__ is Zero:
        return result, broadcast_to(ty, aval_of(result).shape)
    return result, add(tx, ty)


@jvp_rules.define(lax.sub_p)
def _sub_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x, y), (tx, ty) = primals, tangents
    result = sub(x, y)
    if ty.__class__ is Zero:
        return result, broadcast_to(tx, aval_of(result).shape)
    if tx.__class__ is Zero:
        return result, broadcast_to(neg(ty), aval_of(result).shape)
    return result, sub(tx, ty)


@jvp_rules.define(lax.mul_p)
def _mul_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, out_dtype: Any = None) -> Any:
    (x, y), (tx, ty) = primals, tangents
    result = mul(x, y, out_dtype=out_dtype)
    if strong_zeros.value and out_dtype is None:
        first = tx if tx.__class__ is Zero else strong_product(tx, y)
        second = ty if ty.__class__ is Zero else strong_product(x, ty)
        return result, add_tangents(first, second)
    first = tx if tx.__class__ is Zero else mul(tx, y, out_dtype=out_dtype)
    if ty.__class__ is Zero:
        return result, first
    return result, add_tangents(first, mul(x, ty, out_dtype=out_dtype))


def _as_operand(cotangent: Any, operand: Any) -> Any:
    """Returns the cotangent in the operand's dtype, which may differ from the product's dtype."""
    dtype = operand.aval.dtype
    return cotangent if aval_of(cotangent).dtype == dtype else convert_dtype(cotangent, dtype)


transpose_rules.define(
    lax.mul_p,
    product_transpose(
        lambda ct, x, y, out_dtype=None: product(_as_operand(ct, x), as_factor(y, ct)),
        lambda ct, x, y, out_dtype=None: product(as_factor(x, ct), _as_operand(ct, y)),
    ),
)
jvp_rules.define(
    lax.div_p,
    partials(
        lambda t, z, x, y: quotient(t, y),
        # This order of operations rounds as JAX does.
        lambda t, z, x, y: product(product(neg(t), x), lax.integer_pow_p.bind(y, y=-2)),
    ),
)
transpose_rules.define(lax.div_p, product_transpose(lambda ct, x, y: quotient(ct, y), None))


def _truncated(x: Any) -> Any:
    return product(lax.sign_p.bind(x), lax.floor_p.bind(lax.abs_p.bind(x)))


jvp_rules.define(
    lax.rem_p,
    partials(
        lambda t, z, x, y: t,
        lambda t, z, x, y: product(t, neg(_truncated(div(x, y)))),
    ),
)


def _over_squares(numerator: Any, x: Any, y: Any) -> Any:
    """Returns ``numerator / (x^2 + y^2)``; zero at the origin with strong zeros."""
    squares = add(square(x), square(y))
    if not strong_zeros.value:
        return div(numerator, squares)
    is_zero = eq(squares, constant(0, squares))
    one = broadcast_to(constant(1, squares), aval_of(squares).shape)
    return _where(lax.not_p.bind(is_zero), div(numerator, select_n(is_zero, squares, one)))


jvp_rules.define(
    lax.atan2_p,
    partials(
        lambda t, z, x, y: product(t, _over_squares(y, x, y)),
        lambda t, z, x, y: product(t, neg(_over_squares(x, x, y))),
    ),
)


def _share(x: Any, y: Any, extremum: Any) -> Any:
    """Returns the derivative of an extremum w.r.t. ``x``: 1 where ``x`` attains it; 1/2 at ties."""
    aval = aval_of(extremum)
    attained, tie = (
        convert_dtype(equal, aval.dtype, aval.weak_type) for equal in (eq(x, extremum), eq(x, y))
    )
    return sub(attained, scaled(0.5, tie))


for _primitive in (lax.max_p, lax.min_p):
    jvp_rules.define(
        _primitive,
        partials(
            lambda t, z, x, y: product(t, _share(x, y, z)),
            lambda t, z, x, y: product(t, _share(y, x, z)),
        ),
    )


def _pow_by_base(t: Any, z: Any, x: Any, y: Any) -> Any:
    aval = aval_of(y)
    x = convert_dtype(x, aval_of(z).dtype)  # a strong type, as of an exponent of that dtype
    if dtypes.issubdtype(aval.dtype, np.integer):
        # The factor y x^(y-1), which is zero if y is zero, even at x = 0.
        factor = convert_dtype(y, aval_of(x).dtype)
        is_zero = eq(y, constant(0, y))
        exponent = select_n(is_zero, y, broadcast_to(constant(1, y), aval.shape))
        return product(t, product(factor, lax.pow_p.bind(x, sub(exponent, constant(1, y)))))
    return product(t, product(y, lax.pow_p.bind(x, sub(y, constant(1, y)))))


def _pow_by_exponent(t: Any, z: Any, x: Any, y: Any) -> Any:
    # Where y > 0, the limit of log(x) x^y for x -> 0 is zero. To get it, replace zeros of x by
    # ones, whose logarithm is zero.
    aval = aval_of(x)
    one = broadcast_to(constant(1, x), aval.shape)
    return product(t, product(log(select_n(eq(x, constant(0, x)), x, one)), z))


jvp_rules.define(lax.pow_p, partials(_pow_by_base, _pow_by_exponent))


# ---- choices ----


@jvp_rules.define(lax.select_n_p)
def _select_n_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    which = primals[0]
    result = select_n(*primals)
    if all(t.__class__ is Zero for t in tangents[1:]):
        return result, Zero.of(result)
    return result, select_n(which, *map(instantiate, tangents[1:]))


@transpose_rules.define(lax.select_n_p)
def _select_n_transpose(cotangent: Any, which: Any, *cases: Any) -> list[Any]:
    zeros = None
    results: list[Any] = [None]
    for position, case in enumerate(cases):
        if case.__class__ is not UndefinedPrimal:
            results.append(None)
            continue
        if zeros is None:
            zeros = zeros_like_aval(case.aval.to_ct_aval())
        results.append(
            select_n(
                which, *(cotangent if other == position else zeros for other in range(len(cases)))
            )
        )
    return results


def _where(condition: Any, t: Any) -> Any:
    """Returns the tangent where a condition holds, and zeros elsewhere."""
    shape = aval_of(condition).shape
    t = broadcast_to(t, shape)
    return select_n(condition, zeros_like_aval(aval_of(t)), t)


jvp_rules.define(
    lax.clamp_p,
    partials(
        lambda t, z, low, x, high: _where(lax.and_p.bind(gt(low, x), lt(low, high)), t),
        lambda t, z, low, x, high: _where(lax.and_p.bind(gt(x, low), lt(x, high)), t),
        lambda t, z, low, x, high: _where(lt(high, x), t),
    ),
)
