# SPDX-License-Identifier: Apache-2.0
"""Padding rules of operations that move elements and change shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ...lax.shaping.creation import iota_p
from ...lax.shaping.dimensions import dim_as_value_p
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused
from ..lengths import Lengths
from ..moves import extended, reindexed, resized, taken, window


@padding_rules.define(dim_as_value_p)
def _dim_as_value(site: Site, *, dim: Any) -> Any:
    result = site.results[0]
    return lax.convert_element_type_p.bind(
        site.lengths.value(dim), new_dtype=result.dtype, weak_type=True, sharding=None
    )


@padding_rules.define(iota_p)
def _iota(site: Site, *sizes: Any, shape: Sequence[Any], **params: Any) -> Any:
    return iota_p.bind(*sizes, shape=site.lengths.shape(shape), **params)


@padding_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    site: Site, operand: Any, *sizes: Any, shape: Sequence[Any], **params: Any
) -> Any:
    spread = lax.broadcast_in_dim_p.bind(operand, shape=site.lengths.shape(shape), **params)
    return site.lengths.guarded(spread, site.results[0])


@padding_rules.define(lax.squeeze_p)
def _squeeze(site: Site, operand: Any, *, dimensions: Sequence[int]) -> Any:
    return lax.squeeze_p.bind(operand, dimensions=dimensions)


@padding_rules.define(lax.transpose_p)
def _transpose(site: Site, operand: Any, *, permutation: Sequence[int]) -> Any:
    return lax.transpose_p.bind(operand, permutation=permutation)


# ---- reshape ----


@padding_rules.define(lax.reshape_p)
def _reshape(
    site: Site, operand: Any, *sizes: Any, new_sizes: Sequence[Any], dimensions: Any, **params: Any
) -> Any:
    lengths, shape = site.lengths, site.operands[0].shape
    if dimensions is not None:
        operand = lax.transpose(operand, dimensions)
        shape = tuple(shape[position] for position in dimensions)
    padded = lengths.shape(new_sizes)
    if _keeps_prefixes(shape, new_sizes) and math.prod(operand.shape) == math.prod(padded):
        return lax.reshape(operand, padded)
    # An element has the same flat index among the valid elements of the result and of the operand.
    positions = [lax.broadcasted_iota(np.int32, padded, axis) for axis in range(len(padded))]
    number = _number(positions, [lengths.value(size) for size in new_sizes])
    sources = []
    for size in reversed(shape):
        at_least_one = lax.max(lax.convert_element_type(lengths.value(size), np.int32), np.int32(1))
        true = lax.broadcast(at_least_one, padded)
        sources.insert(0, lax.rem(number, true))
        number = lax.div(number, true)
    moved = reindexed(operand, _number(sources, operand.shape))
    return lengths.guarded(moved, site.results[0])


def _number(positions: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """Returns the flat (row-major) indices of elements, given their positions along each axis."""
    total = lax.full_like(positions[0], 0)
    for position, size in zip(positions, sizes, strict=True):
        scale = lax.broadcast(lax.convert_element_type(size, np.int32), position.shape)
        total = lax.add(lax.mul(total, scale), position)
    return total


def _keeps_prefixes(shape: Sequence[Any], new_shape: Sequence[Any]) -> bool:
    """Returns whether valid elements keep their row-major positions in the padded arrays.

    This holds if the reshape merges or splits groups of dimensions. In each group, dimensions of
    size one are ignored, and only the first other dimension may be symbolic.
    """
    left, right = list(shape), list(new_shape)
    while left or right:
        group, new_group = _next_group(left, right)
        if not (_leads(group) and _leads(new_group)):
            return False
    return True


def _next_group(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Removes the shortest groups of leading dimensions with equal products from two shapes.

    Returns the groups. The lists ``left`` and ``right`` are changed in place.
    """
    group, new_group = [left.pop(0)] if left else [], [right.pop(0)] if right else []
    while (left or right) and math.prod(group) != math.prod(new_group):
        smaller_left = right == [] or (left != [] and len(group) <= len(new_group))
        if left and (smaller_left or not right):
            group.append(left.pop(0))
        else:
            new_group.append(right.pop(0))
    return group, new_group


def _leads(group: Sequence[Any]) -> bool:
    sizes = [size for size in group if not (isinstance(size, int) and size == 1)]
    return not any(isinstance(size, SymbolicDim) for size in sizes[1:])


# ---- joining and splitting ----


@padding_rules.define(lax.concatenate_p)
def _concatenate(site: Site, *operands: Any, dimension: int) -> Any:
    lengths = site.lengths
    sizes = [aval.shape[dimension] for aval in site.operands]
    padded = lengths.capacity(site.results[0].shape[dimension])
    if not any(isinstance(size, SymbolicDim) for size in sizes[:-1]):
        return resized(lax.concatenate(operands, dimension), dimension, padded)
    # Each operand overwrites the padding of the previous operand.
    total = sum(lengths.capacity(size) for size in sizes)
    joined, offset = extended(operands[0], dimension, total), sizes[0]
    for operand, size in zip(operands[1:], sizes[1:], strict=True):
        joined = lax.dynamic_update_slice_in_dim(
            joined, operand, lengths.value(offset), axis=dimension
        )
        offset = offset + size
    return resized(joined, dimension, padded)


@padding_rules.define(lax.stack_p)
def _stack(site: Site, *operands: Any, axis: int) -> Any:
    return lax.stack_p.bind(*operands, axis=axis)


@padding_rules.define(lax.unstack_p)
def _unstack(site: Site, operand: Any, *, axis: int) -> Any:
    return lax.unstack_p.bind(operand, axis=axis)


@padding_rules.define(lax.split_p)
def _split(site: Site, operand: Any, *, sizes: Sequence[Any], axis: int) -> Any:
    lengths, parts, start = site.lengths, [], 0
    for size in sizes:
        most = lengths.capacity(start)
        parts.append(window(operand, axis, lengths.value(start), lengths.capacity(size), most))
        start = start + size
    return parts


@padding_rules.define(lax.tile_p)
def _tile(site: Site, operand: Any, *, reps: Sequence[Any]) -> Any:
    lengths, aval, result = site.lengths, site.operands[0], site.results[0]
    for axis, count in enumerate(reps):
        if isinstance(count, int) and not isinstance(aval.shape[axis], SymbolicDim):
            single = [count if position == axis else 1 for position in range(operand.ndim)]
            operand = lax.tile(operand, single) if count != 1 else operand
        elif not (isinstance(count, int) and count == 1):
            size = lengths.capacity(result.shape[axis])
            period = lax.convert_element_type(lengths.value(aval.shape[axis]), np.int32)
            positions = lax.rem(lax.iota(np.int32, size), lax.broadcast(period, (size,)))
            operand = taken(operand, axis, positions)
    return lengths.guarded(operand, result)


# ---- padding and reversal ----


@padding_rules.define(lax.pad_p)
def _pad(site: Site, operand: Any, value: Any, *, padding_config: Sequence[Any]) -> Any:
    aval, result = site.operands[0], site.results[0]
    for axis, (low, high, interior) in enumerate(padding_config):
        sizes = (aval.shape[axis], low, high, interior)
        if isinstance(interior, SymbolicDim):
            raise refused(site, lax.pad_p, f"the distance of elements along axis {axis} varies")
        if not any(isinstance(size, SymbolicDim) for size in sizes):
            config = [(0, 0, 0)] * operand.ndim
            config[axis] = (low, high, interior)
            operand = lax.pad(operand, value, config) if config[axis] != (0, 0, 0) else operand
            continue
        operand = _filled_along(site.lengths, operand, axis, aval.shape[axis], value)
        operand = padded_along(
            site.lengths, operand, axis, low, interior, result.shape[axis], value
        )
    return operand


def _filled_along(lengths: Lengths, x: Any, axis: int, size: Any, value: Any) -> Any:
    """Replaces the padding along one axis of an array whose other axes may have any size."""
    if not isinstance(size, SymbolicDim):
        return x
    inside = lax.lt(
        lax.broadcasted_iota(np.int32, x.shape, axis), lax.broadcast(lengths.value(size), x.shape)
    )
    return lax.select(inside, x, lax.broadcast(value, x.shape))


def padded_along(
    lengths: Lengths, x: Any, axis: int, low: Any, interior: int, result: Any, value: Any
) -> Any:
    """Pads an array along an axis to the padded size of a result.

    Args:
      lengths: the sizes.
      x: the array; its padding already holds ``value``.
      axis: the axis.
      low: the number of elements to add in front, which may be symbolic or negative.
      interior: the number of elements to add between elements.
      result: the size of the result.
      value: the value to pad with.
    """
    size = lengths.capacity(result)
    if isinstance(low, int):
        most = least = low
    else:
        least, most = (int(bound) for bound in low.bounds())
    spread = x.shape[axis] + interior * max(x.shape[axis] - 1, 0)
    config = [(0, 0, 0)] * x.ndim
    if isinstance(low, int):
        config[axis] = (low, size - spread - low, interior)
        return lax.pad(x, value, config)
    front = max(most, 0)
    config[axis] = (front, max(front - least + size - front - spread, 0), interior)
    start = lax.sub(np.int32(front), lengths.value(low))
    return lax.dynamic_slice_in_dim(lax.pad(x, value, config), start, size, axis=axis)


@padding_rules.define(lax.rev_p)
def _rev(site: Site, operand: Any, *, dimensions: Sequence[int]) -> Any:
    lengths, shape = site.lengths, site.operands[0].shape
    operand = lax.rev(operand, dimensions)
    for axis in dimensions:
        if isinstance(shape[axis], SymbolicDim):
            size = lengths.capacity(shape[axis])
            start = lax.sub(np.int32(size), lengths.value(shape[axis]))
            operand = window(operand, axis, start, size, size)
    return operand
