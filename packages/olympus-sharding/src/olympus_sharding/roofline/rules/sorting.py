# SPDX-License-Identifier: Apache-2.0
"""Cost of sorting."""

from __future__ import annotations

import math
from typing import Any

from olympus_ir import lax

from ..results import RooflineResult, RooflineRuleContext, RooflineShape, roofline_rules, unfused


@roofline_rules.define(lax.sort_p)
def _sort(
    context: RooflineRuleContext, *operands: RooflineShape, dimension: int, **_: Any
) -> RooflineResult:
    length = max(operands[0].shape[dimension], 2)
    return unfused(context, operands[0].size * math.ceil(math.log2(length)))
