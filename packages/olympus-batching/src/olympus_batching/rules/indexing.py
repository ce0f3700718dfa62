# SPDX-License-Identifier: Apache-2.0
"""Batching of indexing: slices with batched starts become gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

from ..tables import (
    BatchDim,
    batching_rules,
    broadcast_batch,
    first_batched,
    materialize,
    shape_of,
    to_front,
)


@batching_rules.define(lax.slice_p)
def _slice(
    axis_size: int,
    args: Any,
    batch_dims: Any,
    *,
    start_indices: Any,
    limit_indices: Any,
    strides: Any,
) -> Any:
    (operand,), (dim,) = args, batch_dims
    out = lax.slice_p.bind(
        operand,
        start_indices=(*start_indices[:dim], 0, *start_indices[dim:]),
        limit_indices=(*limit_indices[:dim], axis_size, *limit_indices[dim:]),
        strides=None if strides is None else (*strides[:dim], 1, *strides[dim:]),
    )
    return out, dim


# ---- slices with start indices known only at run time ----


@batching_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(axis_size: int, args: Any, batch_dims: Any, *, slice_sizes: Any) -> Any:
    operand, *starts = args
    dim, *start_dims = batch_dims
    if all(start_dim is None for start_dim in start_dims):
        starts = _with_start_zero(starts, dim)
        sizes = (*slice_sizes[:dim], axis_size, *slice_sizes[dim:])
        return lax.dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes), dim
    indices = _stacked(axis_size, starts, start_dims)
    rank = len(starts)
    dimension_numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(rank)), collapsed_slice_dims=(), start_index_map=tuple(range(rank))
    )
    return _gather(
        axis_size,
        (operand, indices),
        (dim, 0),
        dimension_numbers=dimension_numbers,
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


@batching_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(axis_size: int, args: Any, batch_dims: Any) -> Any:
    operand, update, *starts = args
    operand_dim, update_dim, *start_dims = batch_dims
    if all(start_dim is None for start_dim in start_dims):
        dim = first_batched((operand_dim, update_dim))
        operand = materialize(operand, axis_size, operand_dim, dim)
        update = materialize(update, axis_size, update_dim, dim)
        starts = _with_start_zero(starts, dim)
        return lax.dynamic_update_slice_p.bind(operand, update, *starts), dim
    indices = _stacked(axis_size, starts, start_dims)
    rank = len(starts)
    dimension_numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(rank)),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=tuple(range(rank)),
    )
    return _scatter(lax.scatter_p)(
        axis_size,
        (operand, indices, update),
        (operand_dim, 0, update_dim),
        dimension_numbers=dimension_numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    )


def _with_start_zero(starts: Sequence[Any], dim: int) -> list[Any]:
    zero = lax.full((), 0, starts[0].dtype) if starts else 0
    return [*starts[:dim], zero, *starts[dim:]]


def _stacked(axis_size: int, starts: Sequence[Any], dims: Sequence[BatchDim]) -> Any:
    """Returns the start indices of all examples, of shape [batch, dimension]."""
    columns = [
        broadcast_batch(lax.broadcast_in_dim(start, (1,), ()), axis_size, 0)
        if dim is None
        else lax.broadcast_in_dim(start, (axis_size, 1), (0,))
        for start, dim in zip(starts, dims, strict=True)
    ]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, 1)


# ---- gather ----


@batching_rules.define(lax.gather_p)
def _gather(
    axis_size: int,
    args: Any,
    batch_dims: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    unique_indices: bool,
    indices_are_sorted: bool,
    **params: Any,
) -> Any:
    operand, indices = (to_front(arg, dim) for arg, dim in zip(args, batch_dims, strict=True))
    operand_batched, indices_batched = (dim is not None for dim in batch_dims)
    dims = dimension_numbers
    offset_dims = _after(dims.offset_dims)
    collapsed_slice_dims = dims.collapsed_slice_dims
    start_index_map = dims.start_index_map
    operand_batching_dims = dims.operand_batching_dims
    start_indices_batching_dims = dims.start_indices_batching_dims
    if operand_batched:
        collapsed_slice_dims = _after(collapsed_slice_dims)
        start_index_map = _after(start_index_map)
        operand_batching_dims = _after(operand_batching_dims)
    if indices_batched:
        start_indices_batching_dims = _after(start_indices_batching_dims)
    if operand_batched and indices_batched:
        if axis_size == 0:  # a slice of size one would be out of bounds
            return _empty_gather(args, batch_dims, dims, slice_sizes), 0
        operand_batching_dims = (0, *operand_batching_dims)
        start_indices_batching_dims = (0, *start_indices_batching_dims)
        slice_sizes = (1, *slice_sizes)
    elif operand_batched:
        # Each slice includes all examples.
        offset_dims = (0, *offset_dims)
        slice_sizes = (axis_size, *slice_sizes)
    else:
        # Indices sorted or unique in each example need not be so across examples.
        unique_indices = indices_are_sorted = False
    out = lax.gather_p.bind(
        operand,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=offset_dims,
            collapsed_slice_dims=collapsed_slice_dims,
            start_index_map=start_index_map,
            operand_batching_dims=operand_batching_dims,
            start_indices_batching_dims=start_indices_batching_dims,
        ),
        slice_sizes=slice_sizes,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        **params,
    )
    return out, 0


def _empty_gather(args: Any, batch_dims: Any, dims: Any, slice_sizes: Any) -> Any:
    operand, indices = args
    indices_shape = list(shape_of(to_front(indices, batch_dims[1]))[1:-1])
    removed = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    window = [size for dim, size in enumerate(slice_sizes) if dim not in removed]
    shape = [
        window.pop(0) if dim in dims.offset_dims else indices_shape.pop(0)
        for dim in range(len(window) + len(indices_shape))
    ]
    return lax.full((0, *shape), 0, operand.dtype)


def _after(dims: Sequence[int]) -> tuple[int, ...]:
    """Renumbers dimensions for a new first dimension."""
    return tuple([dim + 1 for dim in dims])


# ---- scatter ----


def _scatter(primitive: Any) -> Any:
    def rule(
        axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any
    ) -> Any:
        operand, indices, updates = args
        operand_dim, indices_dim, updates_dim = batch_dims
        operand = materialize(operand, axis_size, operand_dim)
        updates = materialize(updates, axis_size, updates_dim)
        dims = dimension_numbers
        update_window_dims = _after(dims.update_window_dims)
        operand_batching_dims = _after(dims.operand_batching_dims)
        scatter_indices_batching_dims = dims.scatter_indices_batching_dims
        if indices_dim is None:
            # Each window includes all examples.
            update_window_dims = (0, *update_window_dims)
        else:
            indices = to_front(indices, indices_dim)
            operand_batching_dims = (0, *operand_batching_dims)
            scatter_indices_batching_dims = (0, *_after(scatter_indices_batching_dims))
        out = primitive.bind(
            operand,
            indices,
            updates,
            dimension_numbers=ScatterDimensionNumbers(
                update_window_dims=update_window_dims,
                inserted_window_dims=_after(dims.inserted_window_dims),
                scatter_dims_to_operand_dims=_after(dims.scatter_dims_to_operand_dims),
                operand_batching_dims=operand_batching_dims,
                scatter_indices_batching_dims=scatter_indices_batching_dims,
            ),
            **params,
        )
        return out, 0

    return rule


for _primitive in (
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_sub_p,
    lax.scatter_mul_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    batching_rules.define(_primitive, _scatter(_primitive))
