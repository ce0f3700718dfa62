# SPDX-License-Identifier: Apache-2.0
"""Operations of StableHLO in libraries' lowering rules, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus.interpreters.mlir import aval_to_ir_type, ir_constant
from olympus_ir.types.avals import ShapedArray
from olympus_xla.compiling.lowering import mlir

__all__ = [
    "broadcast_in_dim",
    "compare_hlo",
    "convert_hlo",
    "full_like_aval",
    "iota",
    "multi_broadcast_in_dim",
    "reshape",
    "slice_op",
]


def _operation(name: str, result: Any, *operands: Any, **attributes: Any) -> Any:
    """Adds an operation of StableHLO with one result."""
    return mlir.ir.Operation.create(
        f"stablehlo.{name}", results=[result], operands=operands, attributes=attributes
    ).result


def broadcast_in_dim(
    ctx: Any, op: Any, aval_out: Any, *, broadcast_dimensions: Sequence[int]
) -> Any:
    """Broadcasts a value.

    Args:
      ctx: the context of the rule.
      op: the value.
      aval_out: the type of the result, of known sizes.
      broadcast_dimensions: for each dimension of the value, that of the result.
    """
    result = aval_to_ir_type(ctx, aval_out)
    if op.type == result:
        return op
    dimensions = mlir.i64_array(broadcast_dimensions)
    return _operation("broadcast_in_dim", result, op, broadcast_dimensions=dimensions)


def multi_broadcast_in_dim(
    ctx: Any,
    ops: Sequence[Any],
    ops_avals: Sequence[Any],
    out_shape: Sequence[int],
    out_sharding: Any = None,
) -> list[Any]:
    """Broadcasts values to one shape; their last dimensions are aligned.

    Args:
      ctx: the context of the rule.
      ops: the values.
      ops_avals: their types.
      out_shape: the shape of the results.
      out_sharding: ignored; the compiler chooses the sharding.
    """
    results = []
    for op, aval in zip(ops, ops_avals, strict=True):
        dimensions = range(len(out_shape) - len(aval.shape), len(out_shape))
        target = ShapedArray(tuple(out_shape), aval.dtype)
        results.append(broadcast_in_dim(ctx, op, target, broadcast_dimensions=tuple(dimensions)))
    return results


def full_like_aval(ctx: Any, value: Any, aval: Any) -> Any:
    """Returns an array of one value.

    Args:
      ctx: the context of the rule.
      value: the number.
      aval: the type of the array.
    """
    scalar = ir_constant(np.asarray(value, aval.dtype))
    return broadcast_in_dim(ctx, scalar, aval, broadcast_dimensions=())


def iota(ctx: Any, aval_out: Any, *, dimension: int) -> Any:
    """Returns an array of indices along a dimension.

    Args:
      ctx: the context of the rule.
      aval_out: the type of the array, of known sizes.
      dimension: the dimension.
    """
    return _operation("iota", aval_to_ir_type(ctx, aval_out), iota_dimension=mlir.i64(dimension))


def reshape(ctx: Any, op: Any, aval_out: Any) -> Any:
    """Returns the elements of a value in an array of another shape, of known sizes."""
    return _operation("reshape", aval_to_ir_type(ctx, aval_out), op)


def slice_op(
    ctx: Any,
    x: Any,
    aval_out: Any,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> Any:
    """Returns a part of a value.

    Args:
      ctx: the context of the rule.
      x: the value.
      aval_out: the type of the part.
      start_indices: the first index along each dimension.
      limit_indices: the index after the last along each dimension.
      strides: the step along each dimension; 1 if None.
    """
    steps = [1] * len(start_indices) if strides is None else strides
    return _operation(
        "slice",
        aval_to_ir_type(ctx, aval_out),
        x,
        start_indices=mlir.i64_array(start_indices),
        limit_indices=mlir.i64_array(limit_indices),
        strides=mlir.i64_array(steps),
    )


def compare_hlo(x: Any, y: Any, direction: str, comparison_type: str | None = None) -> Any:
    """Compares two values element by element.

    Args:
      x: a value.
      y: a value of the same type.
      direction: ``"EQ"``, ``"NE"``, ``"LT"``, ``"LE"``, ``"GT"`` or ``"GE"``.
      comparison_type: ``"FLOAT"``, ``"TOTALORDER"``, ``"SIGNED"`` or ``"UNSIGNED"``; by default
        that of the elements.
    """
    operand = mlir.ir.RankedTensorType(x.type)
    if comparison_type is None:
        comparison_type = _comparison_of(operand.element_type)
    return _operation(
        "compare",
        mlir.tensor_type(operand.shape, np.dtype(np.bool_)),
        x,
        y,
        comparison_direction=mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=mlir.parsed(f"#stablehlo<comparison_type {comparison_type}>"),
    )


def _comparison_of(element: Any) -> str:
    if not isinstance(element, mlir.ir.IntegerType):
        return "FLOAT"
    # Booleans are signless integers of one bit, and compared as unsigned ones.
    return "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"


def convert_hlo(ctx: Any, x: Any, aval_in: Any, aval_out: Any) -> Any:
    """Converts a value to another dtype; as a boolean, it tells whether it is not zero.

    Args:
      ctx: the context of the rule.
      x: the value.
      aval_in: its type.
      aval_out: the type of the result.
    """
    if aval_out.dtype == np.bool_ and aval_in.dtype != np.bool_:
        return compare_hlo(x, full_like_aval(ctx, 0, aval_in), "NE")
    return _operation("convert", aval_to_ir_type(ctx, aval_out), x)
