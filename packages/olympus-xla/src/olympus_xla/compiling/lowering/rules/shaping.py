# SPDX-License-Identifier: Apache-2.0
"""Lowering of operations that rearrange elements.

Physical arrays of typed keys have a trailing dimension for the words of a key. The rules work on
physical arrays, but parameters refer only to the leading dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from .. import mlir
from ..context import LoweringContext
from ..cpu.moves.joins import is_joined_in_front, joined_in_front
from ..cpu.moves.rotations import rotation
from ..cpu.products.outer import merged_outer_product
from ..cpu.two_bits import in_bytes
from ..tables import lowering_rules


def _words(context: LoweringContext, aval: Any) -> tuple[int, ...]:
    """Returns the trailing dimensions of the physical array, () for ordinary dtypes."""
    return mlir.physical_aval(aval).shape[len(aval.shape) :]


def _trailing(rank: int, words: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(rank, rank + len(words)))


@lowering_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    context: LoweringContext,
    operand: Any,
    *dynamic_sizes: Any,
    broadcast_dimensions: Sequence[int],
    **params: Any,
) -> Any:
    aval = context.aval_out
    dimensions = tuple(broadcast_dimensions) + _trailing(len(aval.shape), _words(context, aval))
    return context.create(
        "stablehlo.broadcast_in_dim",
        mlir.aval_type(aval),
        (operand,),
        {"broadcast_dimensions": mlir.i64_array(dimensions)},
    )


def _reshape(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return context.create("stablehlo.reshape", mlir.aval_type(context.aval_out), (operand,))


@lowering_rules.define(lax.reshape_p)
def _reshape_with_dimensions(
    context: LoweringContext, operand: Any, *, dimensions: Any = None, **params: Any
) -> Any:
    if dimensions is not None:
        aval = context.avals_in[0]
        shape = tuple(aval.shape[d] for d in dimensions)
        operand = context.create(
            "stablehlo.transpose",
            mlir.tensor_type(shape, aval.dtype),
            (operand,),
            {"permutation": mlir.i64_array(dimensions)},
        )
    elif (product := merged_outer_product(context, operand)) is not None:
        return product
    return _reshape(context, operand)


lowering_rules.define(lax.squeeze_p, _reshape)


@lowering_rules.define(lax.transpose_p)
def _transpose(context: LoweringContext, operand: Any, *, permutation: Sequence[int]) -> Any:
    aval = context.aval_out
    dimensions = tuple(permutation) + _trailing(len(aval.shape), _words(context, aval))
    return context.create(
        "stablehlo.transpose",
        mlir.aval_type(aval),
        (operand,),
        {"permutation": mlir.i64_array(dimensions)},
    )


@lowering_rules.define(lax.rev_p)
def _rev(context: LoweringContext, operand: Any, *, dimensions: Sequence[int]) -> Any:
    return context.create(
        "stablehlo.reverse",
        mlir.aval_type(context.aval_out),
        (operand,),
        {"dimensions": mlir.i64_array(dimensions)},
    )


def _concatenate(context: LoweringContext, *operands: Any, dimension: int) -> Any:
    rotated = rotation(context, operands, dimension)
    if rotated is not None:
        return rotated
    if is_joined_in_front(context, dimension):
        return context.inline_function(joined_in_front, operands, {"is_stack": False})
    return context.create(
        "stablehlo.concatenate",
        mlir.aval_type(context.aval_out),
        operands,
        {"dimension": mlir.i64(dimension)},
    )


lowering_rules.define(lax.concatenate_p, in_bytes(lax.concatenate_p, _concatenate))


@lowering_rules.define(lax.pad_p)
def _pad(context: LoweringContext, operand: Any, padding: Any, *, padding_config: Any) -> Any:
    aval = context.aval_out
    words = _words(context, aval)
    low, high, interior = (
        zip(*padding_config, *[(0, 0, 0)] * len(words), strict=True)
        if (padding_config or words)
        else ((), (), ())
    )
    if words:  # the padding value is a key, but XLA pads only with scalars, so pad each word
        return _pad_words(context, operand, padding, low, high, interior)
    return context.create(
        "stablehlo.pad",
        mlir.aval_type(aval),
        (operand, padding),
        {
            "edge_padding_low": mlir.i64_array(low),
            "edge_padding_high": mlir.i64_array(high),
            "interior_padding": mlir.i64_array(interior),
        },
    )


def _pad_words(
    context: LoweringContext, operand: Any, padding: Any, low: Any, high: Any, interior: Any
) -> Any:
    physical_in = mlir.physical_aval(context.avals_in[0])
    physical = mlir.physical_aval(context.aval_out)
    count = physical.shape[-1]
    columns = []
    for word in range(count):
        start = (0,) * (len(physical_in.shape) - 1) + (word,)
        limit = (*physical_in.shape[:-1], word + 1)
        column = _slice(context, operand, start, limit, physical_in.dtype)
        value = context.reshape(
            _slice(context, padding, (word,), (word + 1,), physical_in.dtype), (), physical_in.dtype
        )
        columns.append(
            context.create(
                "stablehlo.pad",
                mlir.tensor_type((*physical.shape[:-1], 1), physical.dtype),
                (column, value),
                {
                    "edge_padding_low": mlir.i64_array(low),
                    "edge_padding_high": mlir.i64_array(high),
                    "interior_padding": mlir.i64_array(interior),
                },
            )
        )
    return context.create(
        "stablehlo.concatenate",
        mlir.aval_type(context.aval_out),
        columns,
        {"dimension": mlir.i64(len(physical.shape) - 1)},
    )


def _slice(
    context: LoweringContext, operand: Any, start: Sequence[int], limit: Sequence[int], dtype: Any
) -> Any:
    shape = tuple(high - low for low, high in zip(start, limit, strict=True))
    return context.create(
        "stablehlo.slice",
        mlir.tensor_type(shape, dtype),
        (operand,),
        {
            "start_indices": mlir.i64_array(start),
            "limit_indices": mlir.i64_array(limit),
            "strides": mlir.i64_array((1,) * len(shape)),
        },
    )


@lowering_rules.define(lax.dim_as_value_p)
def _dim_as_value(context: LoweringContext, *, dim: Any) -> Any:
    return context.scalar(dim, context.aval_out.dtype)


@lowering_rules.define(lax.iota_p)
def _iota(context: LoweringContext, *dynamic_sizes: Any, dimension: int, **params: Any) -> Any:
    aval = context.aval_out
    attributes = {"iota_dimension": mlir.i64(dimension)}
    if aval.dtype == np.bool_:
        counted = context.create(
            "stablehlo.iota", mlir.tensor_type(aval.shape, np.dtype(np.int32)), (), attributes
        )
        zero = context.full(0, aval.shape, np.dtype(np.int32))
        return context.compare("NE", counted, zero, aval.shape, np.dtype(np.int32))
    return context.create("stablehlo.iota", mlir.aval_type(aval), (), attributes)


@lowering_rules.define(lax.split_p)
def _split(context: LoweringContext, operand: Any, *, sizes: Sequence[int], axis: int) -> list[Any]:
    physical = mlir.physical_aval(context.avals_in[0])
    start = [0] * len(physical.shape)
    limit = list(physical.shape)
    pieces = []
    for size in sizes:
        limit[axis] = start[axis] + size
        pieces.append(_slice(context, operand, start, limit, physical.dtype))
        start[axis] = limit[axis]
    return pieces


@lowering_rules.define(lax.stack_p)
def _stack(context: LoweringContext, *operands: Any, axis: int) -> Any:
    """Lowers a stack: concatenates the operands along a new dimension."""
    if is_joined_in_front(context, axis):
        return context.inline_function(joined_in_front, operands, {"is_stack": True})
    physical = mlir.physical_aval(context.avals_in[0])
    shape = (*physical.shape[:axis], 1, *physical.shape[axis:])
    pieces = [context.reshape(operand, shape, physical.dtype) for operand in operands]
    return context.create(
        "stablehlo.concatenate",
        mlir.aval_type(context.aval_out),
        pieces,
        {"dimension": mlir.i64(axis)},
    )


@lowering_rules.define(lax.unstack_p)
def _unstack(context: LoweringContext, operand: Any, *, axis: int) -> list[Any]:
    physical = mlir.physical_aval(context.avals_in[0])
    start, limit = [0] * len(physical.shape), list(physical.shape)
    pieces = []
    for position, kind in enumerate(context.result_types):
        start[axis], limit[axis] = position, position + 1
        piece = _slice(context, operand, start, limit, physical.dtype)
        pieces.append(context.create("stablehlo.reshape", kind, (piece,)))
    return pieces


@lowering_rules.define(lax.tile_p)
def _tile(context: LoweringContext, operand: Any, *, reps: Sequence[int]) -> Any:
    """Lowers a tiling: broadcasts along a new dimension before each dimension, and merges both."""
    physical = mlir.physical_aval(context.avals_in[0])
    reps = (*reps, *(1 for _ in physical.shape[len(reps) :]))
    shape: list[int] = []
    dimensions = []
    for size, count in zip(physical.shape, reps, strict=True):
        if count != 1:
            shape.append(count)
        dimensions.append(len(shape))
        shape.append(size)
    spread = context.broadcast(operand, shape, physical.dtype, dimensions)
    return context.create("stablehlo.reshape", mlir.aval_type(context.aval_out), (spread,))
