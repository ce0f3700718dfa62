# SPDX-License-Identifier: Apache-2.0
"""Lowering of `shard_map` to a manual region of Shardy's dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.manual.primitive import shard_map_p

from .. import mlir
from ..context import LoweringContext
from ..names import scope_of
from ..program_passes import prepared_in
from ..shardings import sharding_text
from ..tables import lowering_rules
from . import partial_sums as partial_sums
from .calls import ordered_effects_of
from .collectives import AxisContext, manual_axes_attribute


def _shardings(
    symbol: str,
    num_tokens: int,
    specs: Sequence[PartitionSpec],
    avals: Sequence[Any],
    open_dimensions: bool,
) -> Any:
    shardings = [f"<@{symbol}, []>"] * num_tokens
    shardings += [
        sharding_text(symbol, spec, mlir.physical_aval(aval).ndim, open_dimensions)
        for spec, aval in zip(specs, avals, strict=True)
    ]
    return mlir.parsed(f"#sdy.sharding_per_value<[{', '.join(shardings)}]>")


@lowering_rules.define(shard_map_p)
def _shard_map(
    context: LoweringContext,
    *operands: Any,
    mesh: Any,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    jaxpr: ClosedOlympuspr,
    newly_manual_axes: frozenset,
    **params: Any,
) -> list[Any]:
    module = context.module
    saved = module.axis_context
    axes = AxisContext(mesh.axis_names, mesh.axis_sizes)
    if mesh.size == 1 or not newly_manual_axes:
        module.axis_context = saved or axes
        try:
            return context.lower(jaxpr, operands)
        finally:
            module.axis_context = saved
    symbol = module.mesh_symbol(mesh)
    if saved is None:
        axes = AxisContext(mesh.axis_names, mesh.axis_sizes, mesh.axis_names, symbol)
    else:
        # A nested region refers to the same mesh, and makes further axes manual.
        axes = saved
    axes = axes.with_manual(newly_manual_axes)
    manual = [axis for axis in mesh.axis_names if axis in newly_manual_axes]
    # The compiler may shard the parts further over the axes that are not manual.
    is_partial = len(newly_manual_axes) < len(mesh.axis_names)
    # Ordered effects are ordered only within a device, because devices run concurrently.
    effects = ordered_effects_of(jaxpr)
    count = len(effects)
    token_types = [mlir.token_type()] * count
    region = context.operation(
        "sdy.manual_computation",
        [*token_types, *context.result_types],
        [*(context.tokens[effect] for effect in effects), *operands],
        {
            "in_shardings": _shardings(symbol, count, in_specs, context.avals_in, is_partial),
            "out_shardings": _shardings(symbol, count, out_specs, context.avals_out, is_partial),
            "manual_axes": manual_axes_attribute(manual),
        },
        regions=1,
    )
    part_types = [mlir.aval_type(aval) for aval in jaxpr.in_avals]
    inner = context.region(region, 0, [*token_types, *part_types])
    arguments = list(inner.block.arguments)
    inner.tokens.update(zip(effects, arguments[:count], strict=True))
    inner.name_prefix = scope_of(context, "shard_map")
    module.axis_context = axes
    try:
        results = inner.lower(prepared_in(inner, jaxpr), arguments[count:])
    finally:
        module.axis_context = saved
    inner.end_region([*(inner.tokens[effect] for effect in effects), *results], "sdy.return")
    values = list(region.results)
    context.tokens.update(zip(effects, values[:count], strict=True))
    return values[count:]
