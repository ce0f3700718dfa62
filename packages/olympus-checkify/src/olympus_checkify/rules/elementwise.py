# SPDX-License-Identifier: Apache-2.0
"""Checks of elementwise operations: NaN, and division by zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.elementwise.arithmetic import add_any_p
from olympus_ir.lax.elementwise.conversion import stage_p, stop_gradient_p, stored_p
from olympus_ir.programs.olympuspr import Equation

from ..errors import DivisionByZeroError, Error, Site
from ..tables import Enabled, Outcome, error_rules
from .checked_results import any_of, found, with_nan_check

# The results of all other elementwise operations are checked; see `checked_results`.
_EXEMPT = {
    "it makes no NaN of finite numbers": (
        lax.abs_p,
        add_any_p,
        lax.ceil_p,
        lax.complex_p,
        lax.conj_p,
        lax.copy_p,
        lax.floor_p,
        lax.imag_p,
        lax.max_p,
        lax.min_p,
        lax.neg_p,
        lax.nextafter_p,
        lax.real_p,
        lax.round_p,
        lax.sign_p,
        stage_p,
        stop_gradient_p,
        stored_p,
    ),
    "as in JAX, conversions are not checked": (lax.convert_element_type_p, lax.reduce_precision_p),
    "its results are truth values": (
        *(lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.is_finite_p),
        *(lax.eq_to_p, lax.lt_to_p, lax.le_to_p),
    ),
    "its results are integers or truth values": (
        *(lax.and_p, lax.or_p, lax.xor_p, lax.not_p, lax.mulhi_p, lax.population_count_p),
        *(lax.clz_p, lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p),
    ),
}
for _reason, _primitives in _EXEMPT.items():
    for _primitive in _primitives:
        error_rules.exempt(_primitive, reason=_reason)


@error_rules.define(lax.div_p)
def _div(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    if DivisionByZeroError in enabled:
        divisor = operands[1]
        zero = lax.eq(divisor, lax.full_like(divisor, 0))
        site = Site(DivisionByZeroError, (), equation.source_info)
        error = found(error, equation, site, any_of(zero))
    return with_nan_check(equation, enabled, error, operands)
