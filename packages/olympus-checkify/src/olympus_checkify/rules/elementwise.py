# SPDX-License-Identifier: Apache-2.0
"""Checks of elementwise operations: NaN, and division by zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation

from ..errors import DivisionByZeroError, Error, Site
from ..tables import Enabled, Outcome, error_rules
from .checked_results import any_of, check_results_for_nans, found, with_nan_check

check_results_for_nans(
    (
        lax.acos_p,
        lax.acosh_p,
        lax.add_p,
        lax.asin_p,
        lax.asinh_p,
        lax.atan_p,
        lax.atan2_p,
        lax.atanh_p,
        lax.cbrt_p,
        lax.cos_p,
        lax.cosh_p,
        lax.digamma_p,
        lax.erf_p,
        lax.erf_inv_p,
        lax.erfc_p,
        lax.exp_p,
        lax.exp2_p,
        lax.expm1_p,
        lax.integer_pow_p,
        lax.lgamma_p,
        lax.log_p,
        lax.log1p_p,
        lax.logistic_p,
        lax.mul_p,
        lax.pow_p,
        lax.rem_p,
        lax.rsqrt_p,
        lax.sin_p,
        lax.sinh_p,
        lax.sqrt_p,
        lax.square_p,
        lax.sub_p,
        lax.tan_p,
        lax.tanh_p,
    )
)


@error_rules.define(lax.div_p)
def _div(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    if DivisionByZeroError in enabled:
        divisor = operands[1]
        zero = lax.eq(divisor, lax.full_like(divisor, 0))
        site = Site(DivisionByZeroError, (), equation.source_info)
        error = found(error, equation, site, any_of(zero))
    return with_nan_check(equation, enabled, error, operands)
