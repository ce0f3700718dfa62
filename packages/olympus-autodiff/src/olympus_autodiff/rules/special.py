# SPDX-License-Identifier: Apache-2.0
"""Derivatives of special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes

from .. import gamma_derivatives, zeta_derivatives
from ..tables import broadcast_to, constant, from_output, jvp_rules, partials
from ..zeros import aval_of
from .elementwise import exp, log, neg, product, sub

add, select_n = lax.add_p.bind, lax.select_n_p.bind
lgamma, digamma = lax.lgamma_p.bind, lax.digamma_p.bind


def _not_by(name: str, operands: str) -> Any:
    def term(*arguments: Any) -> Any:
        raise ValueError(
            f"{name} cannot be differentiated with respect to {operands}: no formula is known. "
            "Stop the gradient there with lax.stop_gradient, or give a rule with "
            "olympus.custom_jvp."
        )

    return term


# ---- incomplete gamma functions ----


def _gamma_density(a: Any, x: Any) -> Any:
    logarithm = add(neg(x), product(sub(a, constant(1, a)), log(x)))
    return exp(sub(logarithm, lgamma(a)))


jvp_rules.define(
    lax.igamma_p,
    partials(
        lambda t, y, a, x: product(t, lax.igamma_grad_a_p.bind(a, x)),
        lambda t, y, a, x: product(t, _gamma_density(a, x)),
    ),
)
jvp_rules.define(
    lax.igammac_p,
    partials(
        lambda t, y, a, x: neg(product(t, lax.igamma_grad_a_p.bind(a, x))),
        lambda t, y, a, x: neg(product(t, _gamma_density(a, x))),
    ),
)
jvp_rules.define(
    lax.igamma_grad_a_p,
    partials(
        lambda t, y, a, x: product(
            t, _by_parameter(gamma_derivatives.igamma_grad_a, aval_of(y).shape, a, x)
        ),
        lambda t, y, a, x: product(t, product(_gamma_density(a, x), sub(log(x), digamma(a)))),
    ),
)


def _sample_by_sample(y: Any, a: Any, x: Any) -> Any:
    """Returns the derivative of ``y = -(dP/da) / (dP/dx)`` with respect to the sample ``x``.

    The logarithm of the density is ``(a-1) log(x) - x`` up to a constant.
    """
    slope = sub(lax.div_p.bind(sub(a, constant(1, a)), x), constant(1, x))
    return neg(add(sub(log(x), digamma(a)), product(y, slope)))


jvp_rules.define(
    lax.random_gamma_grad_p,
    partials(
        lambda t, y, a, x: product(
            t, _by_parameter(gamma_derivatives.random_gamma_grad, aval_of(y).shape, a, x)
        ),
        lambda t, y, a, x: product(t, _sample_by_sample(y, a, x)),
    ),
)


def _by_parameter(function: Any, shape: Any, a: Any, x: Any) -> Any:
    return gamma_derivatives.derivative(function, 0, broadcast_to(a, shape), broadcast_to(x, shape))


# ---- zeta functions ----


def _zeta_slope(shape: Any, s: Any, q: Any) -> Any:
    return zeta_derivatives.zeta_grad_s(broadcast_to(s, shape), broadcast_to(q, shape))


jvp_rules.define(
    lax.zeta_p,
    partials(
        lambda t, y, s, q: product(t, _zeta_slope(aval_of(y).shape, s, q)),
        lambda t, y, s, q: product(t, neg(product(s, lax.zeta_p.bind(add(s, constant(1, s)), q)))),
    ),
)
jvp_rules.define(
    lax.polygamma_p,
    partials(
        _not_by("polygamma", "the order m"),
        lambda t, y, m, x: product(t, lax.polygamma_p.bind(add(m, constant(1, m)), x)),
    ),
)


# ---- Bessel functions ----

jvp_rules.define(
    lax.bessel_i0e_p,
    from_output(
        lambda t, y, x: product(t, sub(lax.bessel_i1e_p.bind(x), product(lax.sign_p.bind(x), y)))
    ),
)


def _bessel_i1e_tangent(t: Any, y: Any, x: Any) -> Any:
    # The formula for the slope divides by x. Close to zero, the slope is its limit, one half.
    shape = aval_of(x).shape
    smallest = constant(np.finfo(np.dtype(np.float32)).eps, x)
    if aval_of(x).dtype != np.float32:
        smallest = constant(float(dtypes.finfo(aval_of(x).dtype).eps), x)
    away = lax.gt_p.bind(lax.abs_p.bind(x), smallest)
    safe = select_n(away, broadcast_to(smallest, shape), x)
    slope = sub(
        lax.bessel_i0e_p.bind(safe),
        product(y, add(lax.sign_p.bind(safe), lax.integer_pow_p.bind(safe, y=-1))),
    )
    half = broadcast_to(constant(0.5, x), shape)
    return product(t, select_n(away, half, slope))


jvp_rules.define(lax.bessel_i1e_p, from_output(_bessel_i1e_tangent))


# ---- the incomplete beta function ----


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    above = product(sub(b, constant(1, b)), lax.log1p_p.bind(neg(x), accuracy=None))
    below = product(sub(a, constant(1, a)), log(x))
    return exp(sub(add(above, below), log_beta))


jvp_rules.define(
    lax.regularized_incomplete_beta_p,
    partials(
        _not_by("betainc", "a and b"),
        _not_by("betainc", "a and b"),
        lambda t, y, a, b, x: product(_beta_density(a, b, x), t),
    ),
)
