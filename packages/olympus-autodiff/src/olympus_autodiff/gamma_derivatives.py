# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the incomplete gamma function with respect to its parameter, as programs.

The derivatives are forward derivatives of the programs in `olympus_ir.expansions`. Exponentially
small factors common to P, Q and the density are cancelled before they underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.expansions.elementwise import expansion, full, polynomial, where
from olympus_ir.expansions.incomplete_gamma import (
    ASYMPTOTIC_FROM,
    asymptotic_slope,
    power_over_gamma,
    scaled_parts,
)

from .forward.jvp import jvp

__all__ = ["derivative", "igamma_grad_a", "random_gamma_grad"]

_LARGE = 10.0
# Coefficients c_k of digamma(a + 1) - log(a) = 1 / (2 a) - sum of c_k / a^(2k+2); DLMF 5.11.2.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def derivative(function: Callable[..., Any], position: int, *operands: Any) -> Any:
    """Returns the derivative of an elementwise function with respect to one operand, as an array.

    The derivative depends only on the operands. The result's tangent is the product of the
    derivative and the operand's tangent. The product can be transposed, unlike the loops of the
    function.
    """

    def of_one(operand: Any) -> Any:
        return function(*operands[:position], operand, *operands[position + 1 :])

    return jvp(of_one, (operands[position],), (lax.full_like(operands[position], 1),))[1]


def _log_minus_digamma(a: Any, x: Any) -> Any:
    """Returns ``log(x) - digamma(a + 1)``, without cancellation for large numbers."""
    large = a >= _LARGE
    big, small = where(large, a, _LARGE), where(large, 1.0, a)
    inverse = 1.0 / big
    remainder = 0.5 * inverse - inverse * inverse * polynomial(inverse * inverse, _DIGAMMA_SERIES)
    ratio = where(large, x, _LARGE) / big
    near = lax.abs(ratio - 1.0) < 0.5
    difference = (where(large, x, _LARGE) - big) / big
    log_ratio = where(
        near, lax.log1p(where(near, difference, 0.0)), lax.log(where(near, 1.0, ratio))
    )
    direct = lax.log(x) - lax.digamma(small + 1.0)
    return where(large, log_ratio - remainder, direct)


def _quantile_derivative(a: Any, x: Any) -> Any:
    """Returns ``-(dP/da) / (dP/dx)`` for positive and finite operands."""

    def parts(parameter: Any) -> tuple[Any, Any]:
        asymptotic, upper, part = scaled_parts(parameter, x)
        return part, (asymptotic, upper)

    part, slope, (asymptotic, upper) = jvp(parts, (a,), (full(a, 1.0),), has_aux=True)
    change = slope + _log_minus_digamma(a, x) * part
    near = asymptotic_slope(
        where(asymptotic, a, ASYMPTOTIC_FROM), where(asymptotic, (x - a) / a, 0.0)
    )
    return (x / a) * where(asymptotic, near, where(upper, change, -change))


def _inside(a: Any, x: Any) -> tuple[Any, Any, Any]:
    inside = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    return inside, where(inside, a, 1.0), where(inside, x, 1.0)


@expansion
def random_gamma_grad(a: Any, x: Any) -> Any:
    """Returns the derivative of a gamma quantile with respect to the shape parameter.

    The probability is held fixed.
    """
    inside, b, y = _inside(a, x)
    result = where(inside, _quantile_derivative(b, y), math.nan)
    return where((a > 0.0) & (x == 0.0), 0.0, result)


@expansion
def igamma_grad_a(a: Any, x: Any) -> Any:
    """Returns the derivative of the lower incomplete gamma function with respect to ``a``."""
    inside, b, y = _inside(a, x)
    density = power_over_gamma(b, y) * (b / y)
    result = where(inside, -density * _quantile_derivative(b, y), math.nan)
    return where((a > 0.0) & (x == 0.0), 0.0, result)
