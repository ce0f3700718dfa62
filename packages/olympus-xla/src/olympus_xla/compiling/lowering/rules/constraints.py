# SPDX-License-Identifier: Apache-2.0
"""Lowering of sharding constraints: annotations for the partitioner of a program over a mesh."""

from __future__ import annotations

from typing import Any

from olympus_ir.types.layouts import axes_of_entry, entries_of
from olympus_ir.types.placement import NamedSharding, PartitionSpec
from olympus_sharding.annotations.constraints import (
    concrete_sharding,
    reshard_p,
    sharding_constraint_p,
)

from .. import mlir
from ..context import LoweringContext
from ..layouts import typed_attribute
from ..tables import lowering_rules
from .annotations import constrain_layout
from .transfer import constrain


@lowering_rules.define(sharding_constraint_p)
def _sharding_constraint(
    context: LoweringContext, operand: Any, *, sharding: Any, layout: Any = None, **params: Any
) -> Any:
    operand = constrain(
        context, operand, _with_layout(concrete_sharding(sharding), context.aval_out)
    )
    return operand if layout is None else constrain_layout(context, operand, layout)


def _with_layout(sharding: Any, aval: Any) -> Any:
    """Adds the explicit axes of a value's type to a constraint over auto axes."""
    if aval.layout is None or type(sharding) is not NamedSharding:
        return sharding
    entries = []
    partitions = (*sharding.spec, *(None,) * (aval.ndim - len(sharding.spec)))
    for own, asked in zip(entries_of(aval), partitions, strict=True):
        if asked is PartitionSpec.UNCONSTRAINED:
            entries.append(asked if own is None else own)
        else:
            axes = tuple(dict.fromkeys((*axes_of_entry(own), *axes_of_entry(asked))))
            entries.append(axes if len(axes) > 1 else (axes[0] if axes else None))
    return NamedSharding(sharding.mesh, sharding.spec.update(partitions=tuple(entries)))


@lowering_rules.define(reshard_p)
def _reshard(
    context: LoweringContext,
    operand: Any,
    *,
    dst_sharding: Any,
    concrete_mesh: Any,
    source_mesh: Any,
) -> Any:
    mesh = dst_sharding.mesh
    if not mesh.explicit_axes or context.module.mesh is None:
        return operand  # the compiler chooses the sharding from here on
    if not mesh.auto_axes:
        return constrain(context, operand, concrete_sharding(dst_sharding, concrete_mesh))
    aval, symbol = context.aval_out, context.module.mesh_symbol(mesh)
    attribute = typed_attribute(dst_sharding.spec, mlir.physical_aval(aval).ndim, mesh, symbol)
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (operand,), {"sharding": attribute}
    )
