# SPDX-License-Identifier: Apache-2.0
"""Costs of reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.reductions import AXIS_REDUCTIONS

from ..results import RooflineResult, RooflineRuleContext, RooflineShape, roofline_rules, unfused


def _reduction(context: RooflineRuleContext, *operands: RooflineShape, **_: Any) -> Any:
    result_size = RooflineShape.from_aval(context.avals_out[0]).size
    return unfused(context, operands[0].size - result_size)


for _primitive in (*AXIS_REDUCTIONS, lax.reduce_p):
    roofline_rules.define(_primitive, _reduction)


def _cumulative(flops_per_element: int) -> Callable[..., RooflineResult]:
    def rule(context: RooflineRuleContext, x: RooflineShape, *, axis: int, **_: Any) -> Any:
        return unfused(context, flops_per_element * x.shape[axis])

    return rule


for _primitive in (lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p):
    roofline_rules.define(_primitive, _cumulative(1))
roofline_rules.define(lax.cumlogsumexp_p, _cumulative(2))
