# SPDX-License-Identifier: Apache-2.0
"""Lowering of the exchange of slices of different sizes.

Accelerators have an operation for the exchange. On the CPU, gathers replace it.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.lax.ragged_exchange import exchange_by_gathering
from olympus_ir.programs.tracing import extend_axes

from .. import mlir
from ..context import LoweringContext
from ..tables import define_for_platform, lowering_rules
from .collectives import axis_context_of


@lowering_rules.define(lax.ragged_all_to_all_p)
def _ragged_all_to_all(
    context: LoweringContext, *operands: Any, axis_name: tuple, axis_index_groups: tuple | None
) -> Any:
    groups = axis_context_of(context, axis_name).groups(axis_name, axis_index_groups)
    config = {
        "replica_groups": mlir.i64_elements(groups),
        "channel_id": mlir.i64(context.module.new_channel()),
    }
    return context.custom_call(
        "ragged_all_to_all", context.result_types, operands, backend_config=config
    )[0]


def _ragged_all_to_all_of_gathered(
    context: LoweringContext, *operands: Any, axis_name: tuple, **params: Any
) -> Any:
    mesh = axis_context_of(context, axis_name)
    with extend_axes(dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))):
        return context.inline_function(
            exchange_by_gathering, operands, {"axis_name": axis_name, **params}
        )


define_for_platform(lax.ragged_all_to_all_p, "cpu", _ragged_all_to_all_of_gathered)
