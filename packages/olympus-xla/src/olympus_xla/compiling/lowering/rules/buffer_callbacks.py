# SPDX-License-Identifier: Apache-2.0
"""Lowering of callbacks that access buffers directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.programs.tracing import evaluation_trace, set_current_trace
from olympus_ir.trees import pytrees

from ....foreign.buffer_callbacks import buffer_callback_p
from ....foreign.callback_errors import calling_back
from .. import mlir
from ..context import LoweringContext
from ..mlir import ir
from ..platforms import by_platform
from ..tables import lowering_rules

_TARGETS = {
    "cpu": "xla_buffer_python_cpu_callback",
    "cuda": "xla_buffer_python_gpu_callback",
    "rocm": "xla_buffer_python_gpu_callback",
}


@lowering_rules.define(buffer_callback_p)
def _buffer_callback(
    context: LoweringContext,
    *operands: Any,
    callback: Callable[..., None],
    in_tree: Any,
    out_tree: Any,
    has_side_effect: bool,
    input_output_aliases: tuple,
    command_buffer_compatible: bool,
    **params: Any,
) -> list[Any]:
    if len(context.platforms) > 1:

        def emit(inner: LoweringContext) -> list[Any]:
            return _buffer_callback(
                inner,
                *operands,
                callback=callback,
                in_tree=in_tree,
                out_tree=out_tree,
                has_side_effect=has_side_effect,
                input_output_aliases=input_output_aliases,
                command_buffer_compatible=command_buffer_compatible,
            )

        return by_platform(context, emit, context.result_types)
    platform = next(iter(context.platforms))
    target = _TARGETS.get(platform)
    if target is None:
        raise ValueError(
            f"`buffer_callback` is not supported on {platform}: it runs on {', '.join(_TARGETS)}"
        )
    count = len(operands)

    def on_buffers(execution: Any, *buffers: Any) -> None:
        args, kwargs = pytrees.tree_unflatten(in_tree, buffers[:count])
        out = pytrees.tree_unflatten(out_tree, buffers[count:])
        with calling_back(), set_current_trace(evaluation_trace):
            callback(execution, out, *args, **kwargs)

    module = context.module
    index = len(module.host_callbacks)
    errors = module.callback_errors
    module.host_callbacks.append(on_buffers if errors is None else errors.guarding(on_buffers, ()))
    ui64 = ir.IntegerType.get_unsigned(64, context=mlir.context())
    attributes = {}
    if command_buffer_compatible and platform != "cpu":
        attributes["mhlo.frontend_attributes"] = mlir.dictionary(
            {"xla_command_buffer_compatible": mlir.string("true")}
        )

    def row_major(aval: Any) -> range:
        return range(len(mlir.physical_aval(aval).shape))[::-1]

    return context.custom_call(
        target,
        context.result_types,
        operands,
        backend_config={"index": ir.IntegerAttr.get(ui64, index)},
        has_side_effect=has_side_effect,
        operand_layouts=list(map(row_major, context.avals_in)),
        result_layouts=list(map(row_major, context.avals_out)),
        operand_output_aliases=dict(input_output_aliases),
        attributes=attributes,
    )
