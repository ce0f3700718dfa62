# SPDX-License-Identifier: Apache-2.0
"""Padding rules of slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ...lax.indexing.gathering import GatherScatterMode
from ...programs.primitives import Primitive
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused
from ..moves import extended, window


@padding_rules.define(lax.slice_p)
def _slice(
    site: Site,
    operand: Any,
    *,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Sequence[int] | None,
) -> Any:
    lengths, aval, result = site.lengths, site.operands[0], site.results[0]
    for axis, start in enumerate(start_indices):
        stride = 1 if strides is None else strides[axis]
        positions = (aval.shape[axis], start, limit_indices[axis], stride)
        if not any(isinstance(position, SymbolicDim) for position in positions):
            operand = lax.slice_in_dim(operand, start, limit_indices[axis], stride, axis)
            continue
        if isinstance(stride, SymbolicDim):
            raise refused(site, lax.slice_p, f"the stride along axis {axis} varies")
        size = lengths.capacity(result.shape[axis])
        reach = (size - 1) * stride + 1 if size else 0
        most = lengths.capacity(start)
        operand = window(operand, axis, lengths.value(start), reach, most)
        operand = lax.slice_in_dim(operand, 0, reach, stride, axis)
    return operand


def _clamped_starts(
    site: Site, starts: Sequence[Any], shape: Sequence[Any], sizes: Sequence[Any]
) -> list[Any]:
    """Returns start indices moved into the valid part of an operand, as XLA would move them."""
    lengths, clamped = site.lengths, []
    for start, size, length in zip(starts, sizes, shape, strict=True):
        if isinstance(size, SymbolicDim) or isinstance(length, SymbolicDim):
            last = lax.max(np.int32(0) + lengths.value(length - size), np.int32(0))
            start = lax.clamp(np.int32(0), lax.convert_element_type(start, np.int32), last)
        clamped.append(start)
    kinds = {np.dtype(getattr(start, "dtype", np.int32)) for start in clamped}
    if len(kinds) > 1:
        clamped = [lax.convert_element_type(start, np.int32) for start in clamped]
    return clamped


@padding_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(site: Site, operand: Any, *starts: Any, slice_sizes: Sequence[Any]) -> Any:
    shape = site.operands[0].shape
    lengths, clamped = site.lengths, _clamped_starts(site, starts, shape, slice_sizes)
    sizes = lengths.shape(slice_sizes)
    for axis, size in enumerate(slice_sizes):
        if isinstance(size, SymbolicDim):
            operand = extended(operand, axis, operand.shape[axis] + sizes[axis])
    return lax.dynamic_slice(operand, clamped, sizes)


@padding_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(site: Site, operand: Any, update: Any, *starts: Any) -> Any:
    aval, update_aval = site.operands[:2]
    clamped = _clamped_starts(site, starts, aval.shape, update_aval.shape)
    sizes = operand.shape
    mask = site.lengths.valid(update_aval.shape)
    if mask is None:
        return lax.dynamic_update_slice(operand, update, clamped)
    for axis, size in enumerate(update_aval.shape):
        if isinstance(size, SymbolicDim):
            operand = extended(operand, axis, sizes[axis] + update.shape[axis])
    before = lax.dynamic_slice(operand, clamped, update.shape)
    operand = lax.dynamic_update_slice(operand, lax.select(mask, update, before), clamped)
    return lax.slice(operand, [0] * operand.ndim, sizes)


# ---- gather and scatter ----


def _checked_indices(
    site: Site,
    indices: Any,
    start_index_map: Sequence[int],
    sizes: Sequence[Any],
    mode: GatherScatterMode,
    clips_all: bool = False,
) -> Any:
    """Returns indices that treat the padding of the operand as out of bounds.

    Args:
      site: the equation; its first operand is indexed.
      indices: the indices; their last dimension has one element for each indexed axis.
      start_index_map: the operand's axes that the elements of an index vector refer to.
      sizes: the sizes of the windows along all axes of the operand.
      mode: the treatment of indices out of bounds.
      clips_all: whether to clip indices of dimensions with static sizes, too. This is needed if the
        caller drops some updates: in the mode that drops, nothing else clips these indices.
    """
    lengths, shape = site.lengths, site.operands[0].shape
    clips = mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)
    moved = [
        (isinstance(shape[axis], SymbolicDim) or (clips and clips_all))
        and not isinstance(sizes[axis], SymbolicDim)
        for axis in start_index_map
    ]
    if not any(moved):
        return indices
    indices = lax.convert_element_type(indices, np.int32)
    columns = []
    for position, axis in enumerate(start_index_map):
        column = lax.slice_in_dim(indices, position, position + 1, axis=indices.ndim - 1)
        if moved[position]:
            size = lax.convert_element_type(lengths.value(shape[axis]), np.int32)
            last = lax.sub(size, np.int32(sizes[axis]))
            last = lax.broadcast(lax.max(last, np.int32(-1)), column.shape)
            if clips:
                column = lax.clamp(lax.full_like(column, 0), column, lax.max(last, np.int32(0)))
            else:
                outside = lax.full_like(column, lengths.capacity(shape[axis]))
                column = lax.select(lax.gt(column, last), outside, column)
        columns.append(column)
    return lax.concatenate(columns, indices.ndim - 1)


@padding_rules.define(lax.gather_p)
def _gather(
    site: Site,
    operand: Any,
    indices: Any,
    *rest: Any,
    dimension_numbers: Any,
    slice_sizes: Sequence[Any],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    **params: Any,
) -> Any:
    lengths, (aval, index_aval, *_) = site.lengths, site.operands
    for axis, size in enumerate(slice_sizes):
        if isinstance(size, SymbolicDim) and size != aval.shape[axis]:
            raise refused(
                site, lax.gather_p, f"windows along axis {axis} have the varying size {size}"
            )
    mode = GatherScatterMode.from_any(mode)
    checked = _checked_indices(site, indices, dimension_numbers.start_index_map, slice_sizes, mode)
    varies = any(isinstance(size, SymbolicDim) for size in index_aval.shape)
    gathered = lax.gather(
        operand,
        checked,
        dimension_numbers,
        lengths.shape(slice_sizes),
        indices_are_sorted=indices_are_sorted and not varies,
        unique_indices=unique_indices and not varies,
        mode=mode,
        fill_value=params.get("fill_value"),
    )
    return lengths.guarded(gathered, site.results[0])


def _scatter_rule(primitive: Primitive) -> Any:
    def rule(
        site: Site,
        operand: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        **params: Any,
    ) -> Any:
        sizes = _window_sizes(site, primitive, dimension_numbers)
        mode = GatherScatterMode.from_any(mode)
        axes = dimension_numbers.scatter_dims_to_operand_dims
        mask = site.lengths.valid(site.operands[1].shape)
        indices = _checked_indices(site, indices, axes, sizes, mode, clips_all=mask is not None)
        if mask is not None:  # updates in the padding are dropped
            indices = lax.convert_element_type(indices, np.int32)
            if not axes:
                raise refused(
                    site,
                    primitive,
                    "padding among its updates can only be dropped by an index, and its index "
                    "vectors are empty",
                )
            indices = lax.select(mask, indices, lax.full_like(indices, max(operand.shape)))
            mode = GatherScatterMode.FILL_OR_DROP
        return primitive.bind(
            operand,
            indices,
            updates,
            dimension_numbers=dimension_numbers,
            indices_are_sorted=indices_are_sorted and mask is None,
            unique_indices=unique_indices and mask is None,
            mode=mode,
            **params,
        )

    return rule


def _window_sizes(site: Site, primitive: Primitive, numbers: Any) -> list[Any]:
    """Returns the sizes of the windows of updates along all axes of the operand."""
    aval, _, update_aval = site.operands
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window_sizes = iter(update_aval.shape[position] for position in numbers.update_window_dims)
    sizes = [1 if axis in removed else next(window_sizes) for axis in range(aval.ndim)]
    for axis, size in enumerate(sizes):
        if isinstance(size, SymbolicDim) and size != aval.shape[axis]:
            raise refused(
                site, primitive, f"windows along axis {axis} have the varying size {size}"
            )
    return sizes


for _primitive in (
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_sub_p,
    lax.scatter_mul_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    padding_rules.define(_primitive, _scatter_rule(_primitive))
