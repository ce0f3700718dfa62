# SPDX-License-Identifier: Apache-2.0
"""Lowering of `inspect_sharding` to a custom call that the partitioner replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_sharding.annotations.inspection import inspect_sharding_p

from ...._jaxlib import GSPMDSharding, NamedSharding, encode_inspect_sharding_callback
from ....arrays.spec_search import spec_of_hlo
from ....foreign.callback_errors import remember
from ....platforms.backends import default_sharding
from .. import isolation, mlir
from ..context import LoweringContext
from ..tables import lowering_rules


@lowering_rules.define(inspect_sharding_p)
def _inspect_sharding(
    context: LoweringContext, operand: Any, *, callback: Callable[[Any], Any]
) -> list[Any]:
    module, aval = context.module, context.avals_in[0]
    mesh = module.mesh
    module.is_for_devices = True
    if mesh is None:
        # Without partitioning, nothing would call the function.
        callback(default_sharding() if module.replicated is None else module.replicated)
        return []
    physical = mlir.physical_aval(aval)

    def callback_of_hlo(hlo: Any) -> None:
        try:
            spec = spec_of_hlo(hlo, mesh, physical.ndim)
            callback(
                GSPMDSharding(mesh._internal_device_list, hlo)
                if spec is None
                else NamedSharding(mesh, spec)
            )
        except BaseException as error:
            remember(error)
            raise

    # The configuration contains the function's address, so keep the function alive with the module.
    module.keep_alive.append(callback_of_hlo)
    isolation.expect_calls_from_compiler()
    context.operation(
        "stablehlo.custom_call",
        [mlir.aval_type(aval)],
        [operand],
        {
            "call_target_name": mlir.string("InspectSharding"),
            "has_side_effect": mlir.boolean(True),
            "api_version": mlir.i32(1),
            "backend_config": mlir.ir.StringAttr.get(
                encode_inspect_sharding_callback(callback_of_hlo), context=mlir.context()
            ),
        },
    )
    return []
