# SPDX-License-Identifier: Apache-2.0
"""Lowering of sharding constraints: annotations for the partitioner of a program over a mesh."""

from __future__ import annotations

from typing import Any

from olympus_sharding.annotations.constraints import (
    concrete_sharding,
    reshard_p,
    sharding_constraint_p,
)

from .. import mlir
from ..context import LoweringContext
from ..layouts import typed_attribute
from ..tables import lowering_rules
from .transfer import constrain, constrained


@lowering_rules.define(sharding_constraint_p)
def _sharding_constraint(
    context: LoweringContext, operand: Any, *, sharding: Any, layout: Any = None, **params: Any
) -> Any:
    return constrained(context, operand, context.aval_out, sharding, layout)


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
