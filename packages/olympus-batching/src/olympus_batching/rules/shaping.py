# SPDX-License-Identifier: Apache-2.0
"""Batching of operations that rearrange elements: the same operation on one more dimension."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import (
    all_at,
    all_shifted,
    along_axis,
    along_dimension,
    batched_sharding,
    batching_rules,
    materialize,
    shape_of,
    shifted,
    to_front,
)

batching_rules.define(lax.concatenate_p, along_dimension(lax.concatenate_p))
batching_rules.define(lax.split_p, along_axis(lax.split_p))
batching_rules.exempt(lax.iota_p, reason="it has no operands, so nothing can be batched")
batching_rules.exempt(lax.dim_as_value_p, reason="it has no operands, so nothing can be batched")


@batching_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    axis_size: int,
    args: Any,
    batch_dims: Any,
    *,
    shape: Any,
    broadcast_dimensions: Any,
    sharding: Any,
) -> Any:
    out = lax.broadcast_in_dim_p.bind(
        to_front(args[0], batch_dims[0]),
        shape=(axis_size, *shape),
        broadcast_dimensions=(0, *(dim + 1 for dim in broadcast_dimensions)),
        sharding=batched_sharding(sharding, 0),
    )
    return out, 0


@batching_rules.define(lax.reshape_p)
def _reshape(
    axis_size: int, args: Any, batch_dims: Any, *, new_sizes: Any, dimensions: Any, sharding: Any
) -> Any:
    out = lax.reshape_p.bind(
        to_front(args[0], batch_dims[0]),
        new_sizes=(axis_size, *new_sizes),
        dimensions=None if dimensions is None else (0, *(dim + 1 for dim in dimensions)),
        sharding=batched_sharding(sharding, 0),
    )
    return out, 0


@batching_rules.define(lax.squeeze_p)
def _squeeze(axis_size: int, args: Any, batch_dims: Any, *, dimensions: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    dimensions = all_shifted(dimensions, dim)
    out = lax.squeeze_p.bind(operand, dimensions=dimensions)
    return out, dim - sum([removed < dim for removed in dimensions])


@batching_rules.define(lax.transpose_p)
def _transpose(axis_size: int, args: Any, batch_dims: Any, *, permutation: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    return lax.transpose_p.bind(operand, permutation=(dim, *all_shifted(permutation, dim))), 0


@batching_rules.define(lax.rev_p)
def _rev(axis_size: int, args: Any, batch_dims: Any, *, dimensions: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    return lax.rev_p.bind(operand, dimensions=all_shifted(dimensions, dim)), dim


@batching_rules.define(lax.stack_p)
def _stack(axis_size: int, args: Any, batch_dims: Any, *, axis: int) -> Any:
    return lax.stack_p.bind(*all_at(args, axis_size, batch_dims, 0), axis=axis + 1), 0


@batching_rules.define(lax.unstack_p)
def _unstack(axis_size: int, args: Any, batch_dims: Any, *, axis: int) -> Any:
    (operand,), (dim,) = args, batch_dims
    axis = shifted(axis, dim)
    outs = lax.unstack_p.bind(operand, axis=axis)
    return outs, [dim - (axis < dim)] * len(outs)


@batching_rules.define(lax.tile_p)
def _tile(axis_size: int, args: Any, batch_dims: Any, *, reps: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    return lax.tile_p.bind(operand, reps=(*reps[:dim], 1, *reps[dim:])), dim


@batching_rules.define(lax.pad_p)
def _pad(axis_size: int, args: Any, batch_dims: Any, *, padding_config: Any) -> Any:
    (operand, padding_value), (dim, padding_dim) = args, batch_dims
    if padding_dim is None:
        config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
        return lax.pad_p.bind(operand, padding_value, padding_config=config), dim
    # Each example has its own padding value. Pad with zeros, then select the value in the padding.
    config = ((0, 0, 0), *padding_config)
    operand = materialize(operand, axis_size, dim)
    some_value = lax.squeeze(lax.slice(padding_value, (0,), (1,)), (0,)) if axis_size else None
    if some_value is None:
        some_value = lax.full((), 0, padding_value.dtype)
    padded = lax.pad_p.bind(operand, some_value, padding_config=config)
    inside = lax.pad_p.bind(
        lax.full(shape_of(operand), True), lax.full((), False), padding_config=config
    )
    values = lax.broadcast_in_dim(padding_value, shape_of(padded), (0,))
    return lax.select_n(inside, values, padded), 0
