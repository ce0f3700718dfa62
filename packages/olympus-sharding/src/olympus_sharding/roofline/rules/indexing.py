# SPDX-License-Identifier: Apache-2.0
"""Costs of slices, gathers and scatters.

None of them touches the whole operand: a gather copies as many elements as its result has, and a
scatter reads and writes as many as its updates have.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    free,
    roofline_rules,
)

# An index is compared with both bounds, both answers are joined, and all indices of a window too.
_CHECKS_OF_AN_INDEX = 4


def _copied(context: RooflineRuleContext, indices: list[Any]) -> int:
    result = RooflineShape.from_aval(context.avals_out[0])
    return 2 * result.bytes + RooflineShape.total_bytes(indices)


@roofline_rules.define(lax.gather_p)
def _gather(
    context: RooflineRuleContext,
    operand: RooflineShape,
    indices: RooflineShape,
    *,
    mode: lax.GatherScatterMode,
    **_: Any,
) -> RooflineResult:
    checks = 0
    if mode == lax.GatherScatterMode.FILL_OR_DROP:
        filled = RooflineShape.from_aval(context.avals_out[0]).size
        checks = _CHECKS_OF_AN_INDEX * indices.size + filled
    moved = _copied(context, [context.avals_in[1]])
    return RooflineResult(unfused_flops=checks, unfused_hbm_bytes=moved)


@roofline_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(
    context: RooflineRuleContext, operand: RooflineShape, *starts: RooflineShape, **_: Any
) -> RooflineResult:
    return RooflineResult(unfused_hbm_bytes=_copied(context, list(context.avals_in[1:])))


@roofline_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(
    context: RooflineRuleContext,
    operand: RooflineShape,
    update: RooflineShape,
    *starts: RooflineShape,
    **_: Any,
) -> RooflineResult:
    moved = 2 * update.bytes + RooflineShape.total_bytes(list(context.avals_in[2:]))
    return RooflineResult(unfused_hbm_bytes=moved)


def _scatter(
    context: RooflineRuleContext,
    operand: RooflineShape,
    indices: RooflineShape,
    updates: RooflineShape,
    *,
    update_jaxpr: Any,
    **_: Any,
) -> RooflineResult:
    operations = 0 if update_jaxpr is None else len(update_jaxpr.eqns)
    return RooflineResult(
        unfused_flops=operations * updates.size,
        unfused_hbm_bytes=3 * updates.bytes + indices.bytes,
    )


for _primitive in (
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_sub_p,
    lax.scatter_mul_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    roofline_rules.define(_primitive, _scatter)
roofline_rules.define(lax.slice_p, free)
