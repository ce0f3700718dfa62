# SPDX-License-Identifier: Apache-2.0
"""Lowering of sharding constraints: annotations for the partitioner of a program over a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.types.layouts import axes_of_entry, entries_of
from olympus_ir.types.placement import UNSPECIFIED, NamedSharding, PartitionSpec
from olympus_sharding.annotations.constraints import (
    concrete_sharding,
    reshard_p,
    sharding_constraint_p,
)

from ....arrays.layouts import Layout
from .. import mlir
from ..context import LoweringContext
from ..layouts import typed_attribute
from ..tables import lowering_rules
from .transfer import constrain, constrain_layout


@lowering_rules.define(sharding_constraint_p)
def _sharding_constraint(
    context: LoweringContext, operand: Any, *, sharding: Any, layout: Any = None, **params: Any
) -> Any:
    return _constrained(context, operand, context.aval_out, sharding, layout)


def placed(
    context: LoweringContext,
    values: Sequence[Any],
    avals: Sequence[Any],
    shardings: Sequence[Any],
    layouts: Sequence[Any],
) -> Sequence[Any]:
    """Constrains the operands or results of a call.

    Args:
      context: the state of lowering.
      values: the values.
      avals: their types.
      shardings: for each value a sharding, or `UNSPECIFIED`.
      layouts: for each value a layout, or None.

    Returns:
      The constrained values.
    """
    if all(sharding is UNSPECIFIED for sharding in shardings):
        return values
    return [
        value
        if sharding is UNSPECIFIED
        else _constrained(
            context, value, aval, sharding, layout if isinstance(layout, Layout) else None
        )
        for value, aval, sharding, layout in zip(values, avals, shardings, layouts, strict=True)
    ]


def _constrained(
    context: LoweringContext, value: Any, aval: Any, sharding: Any, layout: Layout | None
) -> Any:
    value = constrain(context, value, _with_layout(concrete_sharding(sharding), aval), aval)
    return value if layout is None else constrain_layout(context, value, aval, layout)


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
