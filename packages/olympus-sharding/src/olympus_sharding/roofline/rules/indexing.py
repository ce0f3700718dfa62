# SPDX-License-Identifier: Apache-2.0
"""Costs of slices, gathers and scatters."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    free,
    moved_bytes,
    roofline_rules,
)


def _moving(context: RooflineRuleContext, *operands: RooflineShape, **_: Any) -> Any:
    return RooflineResult(unfused_hbm_bytes=moved_bytes(context))


for _primitive in (lax.gather_p, lax.scatter_p, lax.dynamic_slice_p, lax.dynamic_update_slice_p):
    roofline_rules.define(_primitive, _moving)
roofline_rules.define(lax.slice_p, free)
