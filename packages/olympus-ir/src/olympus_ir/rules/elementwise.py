# SPDX-License-Identifier: Apache-2.0
"""Printing rules of elementwise operations."""

from __future__ import annotations

from .. import lax
from ..programs.print_rules import hide, printing_rules

for _primitive in (
    lax.cbrt_p,
    lax.cos_p,
    lax.exp_p,
    lax.exp2_p,
    lax.expm1_p,
    lax.log_p,
    lax.log1p_p,
    lax.logistic_p,
    lax.rsqrt_p,
    lax.sin_p,
    lax.sqrt_p,
    lax.tan_p,
    lax.tanh_p,
):
    printing_rules.define(_primitive, hide(accuracy=None))
printing_rules.define(lax.mul_p, hide(out_dtype=None))
printing_rules.define(lax.convert_element_type_p, hide(sharding=None))
