# SPDX-License-Identifier: Apache-2.0
"""Lowering of the exchange of slices of different sizes, and of sending and receiving.

Accelerators have these operations. On the CPU the exchange is made of others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.point_to_point import precv_p, psend_p
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


# ---- sending and receiving ----


def _transfer(context: LoweringContext, axis_name: tuple, perm: tuple) -> dict[str, Any]:
    """The attributes of both sides. By one number a receiver finds its sender."""
    groups = axis_context_of(context, axis_name).groups(axis_name)
    pairs = [
        (int(group[source]), int(group[target])) for group in groups for source, target in perm
    ]
    return {
        "channel_handle": mlir.parsed("#stablehlo.channel_handle<handle = 1, type = 1>"),
        "source_target_pairs": mlir.i64_elements(np.asarray(pairs, np.int64).reshape(-1, 2)),
    }


def _psend(context: LoweringContext, operand: Any, *, axis_name: tuple, perm: tuple) -> Any:
    token = context.create("stablehlo.create_token", mlir.token_type(), ())
    attributes = _transfer(context, axis_name, perm)
    return context.create("stablehlo.send", mlir.token_type(), (operand, token), attributes)


def _precv(
    context: LoweringContext, token: Any, *, out_shape: Any, axis_name: tuple, perm: tuple
) -> Any:
    kinds = [*context.result_types, mlir.token_type()]
    attributes = _transfer(context, axis_name, perm)
    return context.operation("stablehlo.recv", kinds, [token], attributes).results[0]


for _platform in ("cuda", "rocm"):
    define_for_platform(psend_p, _platform, _psend)
    define_for_platform(precv_p, _platform, _precv)


def _refuse(context: LoweringContext, operand: Any, **params: Any) -> Any:
    name = context.equation.primitive.name
    raise NotImplementedError(
        f"{name} cannot be lowered for {', '.join(context.platforms)}: only GPUs send and receive "
        "in two steps. Use olympus.lax.ppermute, which works everywhere."
    )


lowering_rules.define(psend_p, _refuse)
lowering_rules.define(precv_p, _refuse)
