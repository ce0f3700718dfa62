# SPDX-License-Identifier: Apache-2.0
"""Broadcasting of arrays over new dimensions and over dimensions of size one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types.annotations import ShardingLike
from ...types.avals import ShapedArray, canonicalize_shape, get_aval
from ...types.layouts import entries_of
from ...types.placement import NamedSharding
from ...types.resharding import asked_sharding
from ..core.axes import canonical_axis, integer_axes
from ..core.values import Array, ArrayLike, as_array, shape_of
from .rearrangement import transpose

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "expand_dims",
]

broadcast_in_dim_p = instruction("broadcast_in_dim", family="shaping")
broadcast_in_dim_p.linear_in = True


@broadcast_in_dim_p.def_abstract_eval
def _broadcast_in_dim_shape(
    operand: ShapedArray, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> ShapedArray:
    if len(broadcast_dimensions) != operand.ndim:
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {broadcast_dimensions} for operand ndim {operand.ndim}."
        )
    if len(shape) < operand.ndim:
        raise ShapeError(
            "broadcast_in_dim target broadcast shape must have equal or higher rank to the operand "
            f"shape; got operand shape {operand.shape} and target broadcast shape {shape}."
        )
    if not all(0 <= dimension < len(shape) for dimension in broadcast_dimensions):
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
            f"{broadcast_dimensions} for operand ndim {operand.ndim} and shape {shape}."
        )
    if len(set(broadcast_dimensions)) != len(broadcast_dimensions):
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must not contain duplicates, got "
            f"{broadcast_dimensions}."
        )
    if list(broadcast_dimensions) != sorted(broadcast_dimensions):
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions of the primitive must increase, got "
            f"{broadcast_dimensions}; lax.broadcast_in_dim orders dimensions."
        )
    for size, dimension in zip(operand.shape, broadcast_dimensions, strict=True):
        if size not in (1, shape[dimension]):
            raise ShapeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                "corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{operand.shape}, target broadcast shape {shape}, broadcast_dimensions "
                f"{broadcast_dimensions}"
            )
    return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Broadcasts an array to a shape with more or larger dimensions.

    Args:
      operand: an array or scalar.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of the operand, the corresponding dimension of the
        result. Their sizes are equal, or the size of the operand's dimension is one.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and the operand's dtype.

    Raises:
      ShapeError: if ``broadcast_dimensions`` are not distinct dimensions of the result, one for
        each dimension of the operand, or sizes do not match.
      ValueError: if ``out_sharding`` and the operand shard a common dimension differently.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.broadcast_in_dim(np.arange(2), (2, 3), (0,))
      Array([[0, 0, 0],
             [1, 1, 1]], dtype=int32)
    """
    shape = canonicalize_shape(shape)
    dimensions = integer_axes("broadcast_dimensions", broadcast_dimensions)
    if out_sharding is None and isinstance(operand, Array) and operand.ndim == len(shape):
        if operand.shape == shape and dimensions == tuple(range(len(shape))):
            return operand
    if any(first > second for first, second in itertools.pairwise(dimensions)):
        if len(set(dimensions)) == len(dimensions) == len(shape_of(operand)):
            order = sorted(range(len(dimensions)), key=dimensions.__getitem__)
            operand = transpose(operand, order)
            dimensions = tuple(sorted(dimensions))
    return broadcast_in_dim_p.bind(
        operand,
        shape=shape,
        broadcast_dimensions=dimensions,
        sharding=asked_sharding(out_sharding, "broadcast_in_dim"),
    )


def broadcast(
    operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike = None
) -> Array:
    """Adds leading dimensions of the given sizes, over which the operand is repeated.

    Args:
      operand: an array or scalar.
      sizes: the sizes of the new dimensions.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(*sizes, *operand.shape)`` and the operand's dtype.

    Raises:
      TypeError: if a size is negative.

    Example:
      >>> from olympus_ir import lax
      >>> lax.broadcast(1.5, (2,))
      Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    sizes = canonicalize_shape(sizes)
    if not sizes and out_sharding is None:
        return as_array(operand)
    shape = shape_of(operand)
    return broadcast_in_dim(
        operand,
        sizes + shape,
        tuple(range(len(sizes), len(sizes) + len(shape))),
        out_sharding=out_sharding,
    )


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the common shape of arrays under NumPy's broadcasting rules.

    Returns:
      A tuple of integers.

    Raises:
      ValueError: if the shapes are incompatible.

    Example:
      >>> broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    canonical = [canonicalize_shape(shape) for shape in shapes]
    ndim = max((len(shape) for shape in canonical), default=0)
    result = [1] * ndim
    for shape in canonical:
        for position, size in enumerate(shape, ndim - len(shape)):
            if size != 1:
                if result[position] not in (1, size):
                    raise ValueError(f"Incompatible shapes for broadcasting: shapes={canonical}")
                result[position] = size
    return tuple(result)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Adds leading dimensions of size one until there are ``rank`` dimensions.

    Args:
      x: an array or scalar. It is returned unchanged if it has at least ``rank`` dimensions.
      rank: the number of dimensions.

    Returns:
      An array of the elements of ``x``.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.broadcast_to_rank(np.ones(3), 2).shape
      (1, 3)
    """
    ndim = len(shape_of(x))
    return as_array(x) if ndim >= rank else expand_dims(x, tuple(range(rank - ndim)))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Broadcasts an array to the shape of another array by NumPy's rules.

    Args:
      arr: an array or scalar.
      like_arr: the array whose shape is used.

    Returns:
      An array of the shape of ``like_arr`` and the dtype of ``arr``.

    Raises:
      ValueError: if the shapes are incompatible.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.broadcast_like(np.ones(3), np.ones((2, 3))).shape
      (2, 3)
    """
    shape, target = shape_of(arr), shape_of(like_arr)
    if len(shape) > len(target):
        raise ValueError(f"an array of shape {shape} cannot be broadcast to shape {target}")
    dimensions = tuple(range(len(target) - len(shape), len(target)))
    layout = get_aval(like_arr).layout
    if layout is not None:
        check_broadcast_layouts(arr, layout, dimensions)
    return broadcast_in_dim(arr, target, dimensions, out_sharding=layout)


def check_broadcast_layouts(
    operand: ArrayLike, layout: NamedSharding, dimensions: Sequence[int]
) -> None:
    """Raises ValueError if a broadcast changes the sharding of a dimension that it keeps.

    Args:
      operand: the array that is broadcast.
      layout: the layout of the result.
      dimensions: the positions of the operand's dimensions in the result.

    Raises:
      ValueError: if a dimension is sharded over other mesh axes in the result.
    """
    aval = get_aval(operand)
    if aval.layout is None:
        return
    for dimension, entry in zip(dimensions, entries_of(aval), strict=True):
        if entry is not None and entry != layout.spec.partitions[dimension]:
            raise ValueError(
                f"Incompatible types for broadcasting: input type={aval.str_short()} and "
                f"requested sharding {layout.spec}"
            )


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Inserts dimensions of size one.

    Args:
      array: an array or scalar.
      dimensions: the positions of the new dimensions in the result. Negative positions count from
        the end.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a position is out of range or repeated.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.expand_dims(np.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    shape = shape_of(array)
    ndim = len(shape) + len(dimensions)
    new = {canonical_axis(dimension, ndim) for dimension in dimensions}
    if len(new) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    if not new:
        return as_array(array)
    old = [position for position in range(ndim) if position not in new]
    sizes = [1] * ndim
    for position, size in zip(old, shape, strict=True):
        sizes[position] = size
    return broadcast_in_dim(array, tuple(sizes), tuple(old))
