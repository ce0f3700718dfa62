# SPDX-License-Identifier: Apache-2.0
"""Cost of contractions."""

from __future__ import annotations

import math
from typing import Any

from olympus_ir import lax

from ..results import RooflineResult, RooflineRuleContext, RooflineShape, roofline_rules


@roofline_rules.define(lax.dot_general_p)
def _dot_general(
    context: RooflineRuleContext,
    lhs: RooflineShape,
    rhs: RooflineShape,
    *,
    dimension_numbers: Any,
    **_: Any,
) -> RooflineResult:
    (contracting, _), _ = dimension_numbers
    result = RooflineShape.from_aval(context.avals_out[0])
    operations = 2 * result.size * math.prod(lhs.shape[dim] for dim in contracting)
    moved = 0
    if not context.pin_lhs_in_vmem:
        moved += lhs.bytes + result.bytes
    if not context.pin_rhs_in_vmem:
        moved += rhs.bytes
    return RooflineResult(
        flops=operations, unfused_flops=operations, hbm_bytes=moved, unfused_hbm_bytes=moved
    )
