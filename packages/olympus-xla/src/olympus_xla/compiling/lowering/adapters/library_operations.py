# SPDX-License-Identifier: Apache-2.0
"""Functions in JAX's form that build operations, for lowering rules of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.tracing import evaluation_trace, set_current_trace

from ....foreign.callback_errors import calling_back
from .. import mlir
from ..mlir import ir
from ..rules.callbacks import python_call
from ..shardings import spec_attribute
from .rule_context import LoweringRuleContext, lowering_context


def flatten_ir_values(xs: Any) -> list[Any]:
    """Returns one list of the values in ``xs``, whose items are values or sequences of values."""
    flat: list[Any] = []
    for x in xs:
        flat.extend([x] if isinstance(x, ir.Value | ir.Type) else x)
    return flat


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any | None,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Builds a call of a Python function of NumPy arrays.

    Args:
      ctx: the context of the equation.
      callback: the function; it returns a sequence of arrays.
      token: the token for which the call waits; None if order does not matter.
      operands: the values of the function's arguments.
      operand_avals: the types of the arguments.
      result_avals: the types of the function's results.
      has_side_effect: whether the function must be called even if its results are not used.
      returns_token: whether a call with a token also returns a token.
      partitioned: whether each device calls the function with its own shards of the arguments.
      sharding: the sharding of the call over the devices, as an attribute of Shardy's dialect;
        None to call the function once.

    Returns:
      The results' values, the token after the call (None if there is none), and the object that
      must live as long as the executable.
    """
    block = lowering_context(ctx)
    results, token = python_call(
        block,
        _checked(callback, [mlir.physical_aval(aval) for aval in result_avals]),
        flatten_ir_values(operands),
        operand_avals,
        result_avals,
        has_side_effect=has_side_effect,
        token=token,
        on_each_device=partitioned,
        sharding=sharding,
    )
    return results, token if returns_token else None, callback


def _checked(callback: Callable[..., Any], avals: Sequence[Any]) -> Callable[..., tuple]:
    """Returns the function that XLA calls. It copies operands, and checks the types of results."""

    def call(*views: Any) -> tuple:
        with calling_back(), set_current_trace(evaluation_trace):
            results = callback(*(np.array(view) for view in views if view is not None))
        arrays = tuple(map(np.asarray, results))
        if len(arrays) != len(avals):
            raise RuntimeError(
                f"Mismatched number of outputs from callback. Expected: {len(avals)}, Actual: "
                f"{len(arrays)}"
            )
        for position, (array, aval) in enumerate(zip(arrays, avals, strict=True)):
            if (array.shape, array.dtype) != (aval.shape, aval.dtype):
                raise RuntimeError(
                    f"Incorrect output {position} from callback: expected {aval.str_short()}, got "
                    f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
                )
        return arrays

    return call


def lower_with_sharding_in_types(ctx: LoweringRuleContext, op: Any, aval: Any) -> Any:
    """Constrains a value to the sharding of its type, if the type has one.

    Args:
      ctx: the context of the equation.
      op: the value.
      aval: the type of the value.
    """
    sharding = getattr(aval, "sharding", None)
    if sharding is None or sharding.mesh.empty:
        return op
    block = lowering_context(ctx)
    symbol = block.module.mesh_symbol(sharding.mesh)
    attribute = spec_attribute(sharding.spec, mlir.physical_aval(aval).ndim, mesh=symbol)
    return block.create("sdy.sharding_constraint", op.type, (op,), {"sharding": attribute})


def shape_tensor(ctx: Any, sizes: Sequence[Any]) -> Any:
    """Builds a one-dimensional array that holds the sizes of a shape.

    Args:
      ctx: the context of the equation, or of the module.
      sizes: integers, or MLIR scalars for sizes that are unknown at lowering.
    """
    block = lowering_context(ctx)
    int32 = np.dtype(np.int32)
    if not any(isinstance(size, ir.Value) for size in sizes):
        return block.constant(np.array(sizes, int32))
    parts = []
    for size in sizes:
        if not isinstance(size, ir.Value):
            parts.append(block.constant(np.array([size], int32)))
            continue
        if size.type != mlir.tensor_type((), int32):
            size = block.convert(size, (), int32)
        parts.append(block.reshape(size, (1,), int32))
    return block.create(
        "stablehlo.concatenate",
        mlir.tensor_type((len(parts),), int32),
        parts,
        {"dimension": mlir.i64(0)},
    )
