# SPDX-License-Identifier: Apache-2.0
"""Lowering of callbacks: custom calls into the interpreter.

The executable holds the Python functions, and refers to each by an index. XLA passes read-only
views of its buffers, which are valid during the call, and does not check the results. The wrappers
below copy operands and check results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import callbacks
from olympus_ir.programs.tracing import evaluation_trace, set_current_trace
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import (
    io_effect,
    ordered_debug_effect,
    ordered_effects,
    ordered_io_effect,
)
from olympus_ir.types.placement import PartitionSpec

from ....arrays.transfer import put_leaf
from ....foreign.callback_errors import calling_back
from .. import mlir
from ..context import LoweringContext, ModuleLowering
from ..mlir import ir
from ..platforms import by_platform
from ..shardings import spec_attribute
from ..tables import lowering_rules

_TARGETS = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}
# Targets whose calls the partitioner keeps on each device, with the device's shards of the
# arguments.
_PARTITIONED_TARGETS = {
    name: target.replace("xla_ffi_", "xla_ffi_partitioned_") for name, target in _TARGETS.items()
}


def _wrapper(
    context: LoweringContext, run: Callable[..., Sequence[Any]], params: dict[str, Any]
) -> Callable[..., tuple]:
    """Returns the function that XLA calls with NumPy views. It calls ``run`` on arrays."""
    name, source = context.equation.primitive.name, context.equation.source_info
    to_array = _array_maker()
    wide = enable_x64.value

    def call(*views: Any) -> tuple:
        # XLA's threads have no current trace and no settings of a thread, and a calling thread may
        # be tracing.
        with calling_back(name, source), set_current_trace(evaluation_trace), enable_x64(wide):
            operands = [to_array(view) for view in views if view is not None]
            return tuple(np.asarray(result) for result in run(*operands, **params))

    return call


def _array_maker() -> Callable[[Any], Any]:
    return lambda view: put_leaf(np.array(view))


def emit_callback(
    context: LoweringContext,
    function: Callable[..., tuple],
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    effect: Any = None,
    on_each_device: bool = False,
) -> list[Any]:
    """Builds a call of a Python function of NumPy arrays.

    Calls with the same ordered effect run in the order of the program.
    """
    is_ordered = effect is not None and effect in ordered_effects
    results, token = python_call(
        context,
        function,
        operands,
        operand_avals,
        result_avals,
        has_side_effect=has_side_effect,
        token=context.tokens[effect] if is_ordered else None,
        on_each_device=on_each_device,
    )
    if is_ordered:
        context.tokens[effect] = token
    return results


def python_call(
    context: LoweringContext,
    function: Callable[..., tuple],
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    token: Any = None,
    on_each_device: bool = False,
    sharding: Any = None,
) -> tuple[list[Any], Any]:
    """Builds a call of a Python function of NumPy arrays.

    Args:
      context: the block.
      function: takes views, which are valid during the call, and returns a tuple of arrays.
      operands: the values of the function's arguments.
      operand_avals: the types of the arguments.
      result_avals: the types of the function's results.
      has_side_effect: whether to call the function even if its results are not used.
      token: the token for which the call waits; None if order does not matter.
      on_each_device: whether each device calls the function with its own shards of the arguments.
      sharding: the sharding attribute of the call; None for the default.

    Returns:
      The results' values, and the token after the call, or None.
    """
    token_types = [] if token is None else [mlir.token_type()]
    kinds = token_types + [mlir.aval_type(aval) for aval in result_avals]
    if len(context.platforms) > 1:

        def emit(inner: LoweringContext) -> list[Any]:
            results, after = python_call(
                inner,
                function,
                operands,
                operand_avals,
                result_avals,
                has_side_effect=has_side_effect,
                token=token,
                on_each_device=on_each_device,
                sharding=sharding,
            )
            return results if token is None else [after, *results]

        return _without_token(by_platform(context, emit, kinds), token)
    module = context.module
    target = _target(context, token, on_each_device)
    if module.callback_errors is not None:
        physical = [mlir.physical_aval(aval) for aval in result_avals]
        function = module.callback_errors.guarding(function, physical)
    index = len(module.host_callbacks)
    module.host_callbacks.append(function if token is None else _with_token(function))
    ui64 = ir.IntegerType.get_unsigned(64, context=mlir.context())
    no_layout: list[Sequence[int]] = [()] * len(token_types)

    def row_major(aval: ShapedArray) -> Sequence[int]:
        return range(len(mlir.physical_aval(aval).shape))[::-1]

    if sharding is not None:
        placed = {"sdy.sharding": sharding}
    elif on_each_device:
        # The partitioner must know on which device a call takes whole arrays.
        placed = _on_first_device(module, len(kinds))
    else:
        placed = _on_first_device(module, len(kinds))
        if placed:
            operands = list(map(_whole, [context] * len(operands), operands, operand_avals))
    results = context.custom_call(
        target,
        kinds,
        [*([] if token is None else [token]), *operands],
        backend_config={"index": ir.IntegerAttr.get(ui64, index)},
        has_side_effect=has_side_effect,
        operand_layouts=no_layout + [row_major(aval) for aval in operand_avals],
        result_layouts=no_layout + [row_major(aval) for aval in result_avals],
        attributes=placed,
    )
    return _without_token(results, token)


def _target(context: LoweringContext, token: Any, on_each_device: bool) -> str:
    """Returns the target of the custom call, which depends on the platform.

    Raises:
      NotImplementedError: the platform has no callbacks.
      ValueError: the call is ordered and runs on each device.
    """
    platform = next(iter(context.platforms))
    target = _TARGETS.get(platform)
    if target is None:
        raise NotImplementedError(
            f"callbacks cannot be lowered for {platform}: they run on {', '.join(_TARGETS)}"
        )
    if not on_each_device:
        return target
    if token is not None and context.module.num_partitions > 1:
        raise ValueError(
            "ordered effects are not supported for more than 1 device where each of them calls "
            "back with its own part (partitioned=True): the devices run at the same time"
        )
    return _PARTITIONED_TARGETS[platform]


def _without_token(values: list[Any], token: Any) -> tuple[list[Any], Any]:
    return (values, None) if token is None else (values[1:], values[0])


def _with_token(function: Callable[..., tuple]) -> Callable[..., tuple]:
    """Wraps a function for a call that also takes and returns a token.

    XLA passes None in place of each token, and the first result stands for the token.
    """
    return lambda *views: (None, *function(*views))


def _on_first_device(module: ModuleLowering, num_results: int) -> dict[str, Any]:
    """Returns the attributes that place a call on a program's first device.

    The call takes whole arrays. There are no attributes inside a manual region (`shard_map`), where
    each device calls the function with its own shards.
    """
    if module.num_partitions == 1 or module.axis_context is not None:
        return {}
    # A call without results also needs an entry.
    shardings = ", ".join([f"<@{module.first_device_symbol()}, []>"] * max(num_results, 1))
    return {"sdy.sharding": mlir.parsed(f"#sdy.sharding_per_value<[{shardings}]>")}


def _whole(context: LoweringContext, operand: Any, aval: ShapedArray) -> Any:
    """Replicates an operand, because the partitioner cannot move it directly to one device."""
    mesh = context.module.mesh
    if mesh is None:
        return operand
    physical = mlir.physical_aval(aval)
    attribute = spec_attribute(
        PartitionSpec(), physical.ndim, mesh=context.module.mesh_symbol(mesh)
    )
    return context.operation(
        "sdy.sharding_constraint", [mlir.aval_type(aval)], (operand,), {"sharding": attribute}
    ).result


def _debugging(run: Callable[..., Any], effect_of: Callable[[dict[str, Any]], Any]) -> Any:
    def rule(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        emit_callback(
            context,
            _wrapper(context, run, params),
            operands,
            context.avals_in,
            (),
            has_side_effect=True,
            effect=effect_of(params),
            on_each_device=params["partitioned"],
        )
        return []

    return rule


lowering_rules.define(
    lax.debug_print_p,
    _debugging(
        callbacks.run_debug_print,
        lambda params: ordered_debug_effect if params["ordered"] else None,
    ),
)
lowering_rules.define(
    lax.debug_callback_p,
    _debugging(callbacks.run_debug_callback, lambda params: params["effect"]),
)


@lowering_rules.define(lax.pure_callback_p)
def _pure_callback(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    return emit_callback(
        context,
        _wrapper(context, callbacks.run_callback, params),
        operands,
        context.avals_in,
        context.avals_out,
        has_side_effect=False,
    )


@lowering_rules.define(lax.io_callback_p)
def _io_callback(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    return emit_callback(
        context,
        _wrapper(context, callbacks.run_callback, params),
        operands,
        context.avals_in,
        context.avals_out,
        has_side_effect=True,
        effect=ordered_io_effect if params["ordered"] else io_effect,
    )
