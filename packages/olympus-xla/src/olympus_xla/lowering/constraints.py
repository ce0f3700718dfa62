# SPDX-License-Identifier: Apache-2.0
"""Lowering of constraints: annotations for the partitioner, where there is one."""

from __future__ import annotations

from typing import Any

from olympus_sharding.constraints import (
    concrete_sharding,
    reshard_p,
    sharding_constraint_p,
)

from .context import LoweringContext
from .tables import lowering_rules
from .transfer import constrain


@lowering_rules.define(sharding_constraint_p)
def _sharding_constraint(
    context: LoweringContext, operand: Any, *, sharding: Any, **params: Any
) -> Any:
    return constrain(context, operand, concrete_sharding(sharding))


@lowering_rules.define(reshard_p)
def _reshard(
    context: LoweringContext,
    operand: Any,
    *,
    dst_sharding: Any,
    concrete_mesh: Any,
    source_mesh: Any,
) -> Any:
    return constrain(context, operand, concrete_sharding(dst_sharding, concrete_mesh))
