# SPDX-License-Identifier: Apache-2.0
"""Lowering of sending and receiving as separate steps, which GPUs support."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.lax.point_to_point import precv_p, psend_p

from .. import mlir
from ..context import LoweringContext
from ..tables import define_for_platform, lowering_rules
from .collectives import axis_context_of


def _transfer(context: LoweringContext, axis_name: tuple, perm: tuple) -> dict[str, Any]:
    """Returns the attributes of sender and receiver, which share a channel."""
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
