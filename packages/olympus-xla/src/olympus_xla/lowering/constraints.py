# SPDX-License-Identifier: Apache-2.0
"""Lowering of constraints: annotations for the partitioner, where there is one."""

from __future__ import annotations

from typing import Any

from olympus_sharding.constraints import (
    concrete_sharding,
    reshard_p,
    sharding_constraint_p,
)

from .._jaxlib import NamedSharding
from ..spec_search import spec_of_hlo
from . import mlir
from .context import LoweringContext
from .shardings import spec_attribute
from .tables import lowering_rules


@lowering_rules.define(sharding_constraint_p)
def _sharding_constraint(
    context: LoweringContext, operand: Any, *, sharding: Any, **params: Any
) -> Any:
    return constrain(context, operand, concrete_sharding(sharding))


@lowering_rules.define(reshard_p)
def _reshard(
    context: LoweringContext, operand: Any, *, dst_sharding: Any, concrete_mesh: Any
) -> Any:
    return constrain(context, operand, concrete_sharding(dst_sharding, concrete_mesh))


def constrain(context: LoweringContext, operand: Any, sharding: Any) -> Any:
    """Asks the partitioner to lay a value out as a sharding says."""
    module = context.module
    if module.mesh is None:
        return operand  # on one device there is nothing to divide
    aval = context.aval_out
    if type(sharding) is not NamedSharding:
        spec = spec_of_hlo(sharding._to_xla_hlo_sharding(aval.ndim), module.mesh, aval.ndim)
        if spec is None:
            raise ValueError(
                f"with_sharding_constraint cannot express {sharding} over the mesh of the program, "
                f"{module.mesh}. Use a NamedSharding."
            )
        sharding = NamedSharding(module.mesh, spec)
    ndim = mlir.physical_aval(aval).ndim
    attribute = spec_attribute(sharding.spec, ndim, mesh=module.mesh_symbol(sharding.mesh))
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (operand,), {"sharding": attribute}
    )
