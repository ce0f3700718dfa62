# SPDX-License-Identifier: Apache-2.0
"""Batching of annotations: metadata, layout constraints and equal shardings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from ..batched_programs import batch_olympuspr_dims
from ..dimensions import all_at
from ..tables import BatchAxis, batching_rules, define_axis_rule


@batching_rules.define(lax.xla_metadata_value_p)
def _xla_metadata_value(
    axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any], **params: Any
) -> Any:
    return lax.xla_metadata_value_p.bind(*args, **params), batch_dims[0]


@batching_rules.define(lax.shard_alike_p)
def _shard_alike(axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any]) -> Any:
    args = all_at(args, axis_size, batch_dims, 0)
    return lax.shard_alike_p.bind(*args), [0, 0]


@batching_rules.define(lax.layout_constraint_p)
def _layout_constraint(
    axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any], *, layout: Any
) -> Any:
    """Batching rule of layout constraints, which puts the batch dimension outermost."""
    (x,), (dim,) = args, batch_dims
    order = [position + (position >= dim) for position in layout.major_to_minor]
    batched = type(layout)((dim, *order), layout.tiling, layout.sub_byte_element_size_in_bits)
    return lax.layout_constraint_p.bind(x, layout=batched), dim


def _call(primitive: Any) -> None:
    @define_axis_rule(primitive)
    def rule(axis: BatchAxis, args: Any, batch_dims: Any, *, jaxpr: Any, **params: Any) -> Any:
        batched, out_dims = batch_olympuspr_dims(jaxpr, axis, batch_dims)
        return primitive.bind(*args, jaxpr=batched, **params), out_dims


for _primitive in (lax.xla_metadata_call_p, lax.compute_on_p, lax.fused_call_p):
    _call(_primitive)
