# SPDX-License-Identifier: Apache-2.0
"""Costs of collectives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from ..results import RooflineResult, RooflineRuleContext, RooflineShape, free, roofline_rules


def _over_axes(
    context: RooflineRuleContext, names: Any, total: Callable[[int], float], hops: Callable
) -> RooflineResult:
    """Returns the cost of a ring exchange; splits its total bytes evenly among the axes."""
    names = (names,) if isinstance(names, str) else tuple(names)
    named = [name for name in names if isinstance(name, str)]
    count = math.prod(context.mesh.shape[name] for name in named)
    return RooflineResult(
        ici_bytes={name: int(total(count) / len(named)) for name in named},
        ici_latency={name: int(hops(count)) for name in named},
    )


def _exchange(
    parameter: str, total: Callable[[int, int], float], hops: Callable[[int], float]
) -> Callable[..., RooflineResult]:
    def rule(context: RooflineRuleContext, *operands: RooflineShape, **params: Any) -> Any:
        size = sum(operand.bytes for operand in operands)
        return _over_axes(context, params[parameter], lambda n: total(size, n), hops)

    return rule


_sum_over_ring = _exchange("axes", lambda size, n: 2 * (n - 1) / n * size, lambda n: 2 * n)
_exchanges: dict[Primitive, Callable[..., RooflineResult]] = {
    lax.psum_p: _sum_over_ring,
    lax.psum_invariant_p: _sum_over_ring,
    lax.pmax_p: _sum_over_ring,
    lax.pmin_p: _sum_over_ring,
    lax.all_gather_p: _exchange("axis_name", lambda size, n: (n - 1) * size, lambda n: n),
    lax.reduce_scatter_p: _exchange("axis_name", lambda size, n: (n - 1) / n * size, lambda n: n),
    lax.all_to_all_p: _exchange("axis_name", lambda size, n: size * n / 4, lambda n: n / 2),
    lax.ppermute_p: _exchange("axis_name", lambda size, n: size, lambda n: 1),
}
for _primitive, _rule in _exchanges.items():
    roofline_rules.define(_primitive, _rule)
for _primitive in (lax.pvary_p, lax.axis_index_p, lax.pbroadcast_p):
    roofline_rules.define(_primitive, free)
