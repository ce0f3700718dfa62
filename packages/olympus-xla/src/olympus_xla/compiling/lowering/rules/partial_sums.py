# SPDX-License-Identifier: Apache-2.0
"""Lowering of partial sums over manual axes.

A cast changes only the type of an operand, so it lowers to no operation. Sums and gathers lower to
collective operations.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_sharding.manual.partial_sums import (
    all_gather_reduced_p,
    preduced_p,
    reduced_vary_cast_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)

from ..context import LoweringContext
from ..tables import lowering_rules


def _cast(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return operand


for _primitive in (vary_unreduced_cast_p, reduced_vary_cast_p, preduced_p):
    lowering_rules.define(_primitive, _cast)


@lowering_rules.define(unreduced_psum_p)
def _psum(context: LoweringContext, operand: Any, *, axes: tuple) -> Any:
    return lowering_rules[lax.psum_p](context, operand, axes=axes, axis_index_groups=None)


@lowering_rules.define(unreduced_reduce_scatter_p)
def _reduce_scatter(context: LoweringContext, operand: Any, **params: Any) -> Any:
    rule = lowering_rules[lax.reduce_scatter_p]
    return rule(context, operand, axis_index_groups=None, **params)


@lowering_rules.define(all_gather_reduced_p)
def _all_gather(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return lowering_rules[lax.all_gather_p](context, operand, axis_index_groups=None, **params)
