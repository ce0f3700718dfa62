# SPDX-License-Identifier: Apache-2.0
"""Lowering of tokens, and of `dce_sink`, which keeps values from dead-code elimination."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from .. import mlir
from ..context import LoweringContext
from ..tables import lowering_rules


@lowering_rules.define(lax.create_token_p)
def _create_token(context: LoweringContext) -> Any:
    return context.create("stablehlo.create_token", mlir.token_type(), ())


@lowering_rules.define(lax.after_all_p)
def _after_all(context: LoweringContext, *tokens: Any) -> Any:
    return context.create("stablehlo.after_all", mlir.token_type(), tokens)


@lowering_rules.define(lax.dce_sink_p)
def _dce_sink(context: LoweringContext, *operands: Any, prevent_mlir_dce: bool) -> list[Any]:
    if prevent_mlir_dce:
        layouts = [tuple(reversed(range(len(aval.shape)))) for aval in context.avals_in]
        context.custom_call(
            "dce_sink",
            [],
            operands,
            backend_config={},
            has_side_effect=True,
            operand_layouts=layouts,
            result_layouts=[],
        )
    return []
