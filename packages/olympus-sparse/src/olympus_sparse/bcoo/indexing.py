# SPDX-License-Identifier: Apache-2.0
"""Slices, dynamic slices and gathers of BCOO arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.indexing.gathering import GatherDimensionNumbers, GatherScatterMode
from olympus_ir.programs.make import eval_shape
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ..core.base import SparseInfo
from ..core.entries import padding
from .array import BCOO, make
from .layouts import bcoo_update_layout
from .ordering import limited
from .shaping import bcoo_squeeze, bcoo_transpose

__all__ = ["bcoo_dynamic_slice", "bcoo_gather", "bcoo_slice"]


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Slices a sparse array.

    Args:
      mat: the sparse array.
      start_indices: the start in each dimension.
      limit_indices: the end in each dimension.
      strides: the stride in each dimension; 1 if None.

    Returns:
      A `BCOO`.

    Raises:
      TypeError: ``mat`` is not a `BCOO`.
      ValueError: the slice is not within the array.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [4]])), shape=(6,))
      >>> part = bcoo_slice(mat, start_indices=(2,), limit_indices=(6,), strides=(2,))
      >>> np.asarray(part.todense()).tolist()
      [0, 2]
    """
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_slice: mat must be a BCOO, got {mat!r} of type {type(mat)}")
    ndim = mat.ndim
    starts = tuple(map(operator.index, start_indices))
    limits = tuple(map(operator.index, limit_indices))
    steps = (1,) * ndim if strides is None else tuple(map(operator.index, strides))
    if not len(starts) == len(limits) == len(steps) == ndim:
        raise ValueError(
            f"bcoo_slice: indices must have size mat.ndim={ndim}, got {starts}, {limits}, {steps}"
        )
    if any(
        not 0 <= start <= limit <= size or step < 1
        for start, limit, step, size in zip(starts, limits, steps, mat.shape)
    ):
        raise ValueError(
            f"bcoo_slice: invalid indices for shape {mat.shape}: start_indices={starts}, "
            f"limit_indices={limits}, strides={steps}"
        )
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    sparse = slice(n_batch, n_batch + n_sparse)
    dense = slice(n_batch + n_sparse, ndim)
    nse = mat.nse
    shape = tuple(-(-(limit - start) // step) for start, limit, step in zip(starts, limits, steps))
    data = _sliced_batches(mat.data, n_batch, starts, limits, steps)
    indices = _sliced_batches(mat.indices, n_batch, starts, limits, steps)
    data = lax.slice(
        data,
        (*(0,) * (n_batch + 1), *starts[dense]),
        (*data.shape[:n_batch], nse, *limits[dense]),
        (*(1,) * (n_batch + 1), *steps[dense]),
    )
    if (starts[sparse], limits[sparse], steps[sparse]) == (
        (0,) * n_sparse,
        mat.shape[sparse],
        (1,) * n_sparse,
    ):
        out = make((data, indices), mat._info._replace(shape=shape))
        return limited(out, math.prod(shape[sparse]))
    start, limit, step = (padding(numbers[sparse], indices) for numbers in (starts, limits, steps))
    distance = indices - start
    kept = (distance >= 0) & (indices < limit) & (distance % step == 0)
    out = _selected(data, distance // step, kept, n_batch, shape)
    return limited(out, math.prod(shape[sparse]))


def _sliced_batches(buffer: Any, n_batch: int, starts: Any, limits: Any, steps: Any) -> Any:
    """Slices the batch dimensions of a buffer; dimensions of size one broadcast."""
    for axis in range(n_batch):
        whole = (starts[axis], steps[axis]) == (0, 1) and limits[axis] == buffer.shape[axis]
        if not whole and buffer.shape[axis] != 1:
            buffer = lax.slice_in_dim(buffer, starts[axis], limits[axis], steps[axis], axis)
        elif buffer.shape[axis] == 1 and starts[axis] == limits[axis]:
            buffer = lax.slice_in_dim(buffer, 0, 0, 1, axis)
    return buffer


def _selected(data: Any, indices: Any, kept: Any, n_batch: int, shape: tuple[int, ...]) -> BCOO:
    """Returns the array of the entries whose coordinates are all kept; others become padding."""
    kept = jnp.all(kept, axis=-1)
    sparse_shape = shape[n_batch : n_batch + indices.shape[-1]]
    indices = jnp.where(kept[..., None], indices, jnp.asarray(padding(sparse_shape, indices)))
    shown = lax.expand_dims(kept, tuple(range(kept.ndim, data.ndim)))
    data = jnp.where(shown, data, jnp.zeros((), data.dtype))
    return make((data, indices), SparseInfo(shape))


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Slices a sparse array; the start may be traced, the sizes are static.

    Args:
      mat: the sparse array.
      start_indices: a scalar start in each dimension, which is clamped so that the slice fits.
      slice_sizes: the sizes of the slice.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: the slice is larger than the array.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [4]])), shape=(6,))
      >>> np.asarray(bcoo_dynamic_slice(mat, (np.int32(3),), (2,)).todense()).tolist()
      [0, 2]
    """
    sizes = tuple(map(operator.index, slice_sizes))
    try:
        starts = [jnp.asarray(start) for start in start_indices]
    except TypeError:
        raise TypeError(
            "bcoo_dynamic_slice: start_indices must be a sequence of scalars, got "
            f"{start_indices!r}"
        ) from None
    if any(start.ndim != 0 for start in starts):
        raise ValueError("bcoo_dynamic_slice: start_indices must be scalars")
    if not len(sizes) == len(starts) == mat.ndim:
        raise ValueError(
            f"bcoo_dynamic_slice: start_indices and slice_sizes must have size mat.ndim={mat.ndim},"
            f" got {len(starts)} and {len(sizes)}"
        )
    if any(not 0 <= size <= full for size, full in zip(sizes, mat.shape)):
        raise TypeError(
            "slice_sizes must be less than or equal to operand shape, got slice_sizes "
            f"{sizes} for operand shape {mat.shape}"
        )
    starts = [_start(start, size, full) for start, size, full in zip(starts, sizes, mat.shape)]
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = mat.data, mat.indices
    for axis in range(n_batch):
        data = _dynamic(data, starts[axis], sizes[axis], axis)
        indices = _dynamic(indices, starts[axis], sizes[axis], axis)
    for axis in range(n_batch + n_sparse, mat.ndim):
        data = lax.dynamic_slice_in_dim(data, starts[axis], sizes[axis], axis + 1 - n_sparse)
    sparse = range(n_batch, n_batch + n_sparse)
    capacity = math.prod(sizes[axis] for axis in sparse)
    if all(sizes[axis] == mat.shape[axis] for axis in sparse):
        return limited(make((data, indices), mat._info._replace(shape=sizes)), capacity)
    start = jnp.stack([starts[axis].astype(indices.dtype) for axis in sparse])
    size = padding([sizes[axis] for axis in sparse], indices)
    moved = indices - lax.broadcast_to_rank(start, indices.ndim)
    out = _selected(data, moved, (moved >= 0) & (moved < size), n_batch, sizes)
    return limited(out, capacity)


def _start(start: Any, size: int, full: int) -> Any:
    """Returns the start of a slice, clamped so that the slice fits.

    Negative values count from the end.
    """
    start = jnp.where(start < 0, start + np.array(full, start.dtype), start)
    return jnp.clip(start, np.array(0, start.dtype), np.array(full - size, start.dtype))


def _dynamic(buffer: Any, start: Any, size: int, axis: int) -> Any:
    if buffer.shape[axis] == 1 and size != 0:
        return buffer
    return lax.dynamic_slice_in_dim(buffer, start, size, axis)


def bcoo_gather(
    operand: BCOO,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> BCOO:
    """Gathers windows of a sparse array.

    Args:
      operand: the sparse array.
      start_indices: the starts of the windows, an integer array.
      dimension_numbers: as for `lax.gather`, without batching dimensions.
      slice_sizes: the sizes of the windows.
      unique_indices: ignored.
      indices_are_sorted: ignored.
      mode: a mode of `lax.gather`, without effect: windows out of bounds are always clamped.
      fill_value: ignored.

    Returns:
      A `BCOO`.

    Raises:
      NotImplementedError: if there are batching dimensions.
      TypeError: if the dimension numbers or sizes do not fit the array and the starts.

    Example:
      >>> import numpy as np
      >>> from olympus_ir.lax import GatherDimensionNumbers
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [4]])), shape=(6,))
      >>> numbers = GatherDimensionNumbers((), (0,), (0,))
      >>> np.asarray(bcoo_gather(mat, np.array([[4], [1]]), numbers, (1,)).todense()).tolist()
      [2, 0]
    """
    GatherScatterMode.from_any(mode)
    offset_dims, collapsed, start_map, operand_batching, _ = dimension_numbers
    if operand_batching:
        raise NotImplementedError(
            "bcoo_gather takes no batching dimensions; use vmap over batch dimensions"
        )
    sizes = tuple(map(operator.index, slice_sizes))
    starts = jnp.asarray(start_indices)
    dense = ShapeDtypeStruct(operand.shape, operand.dtype)
    # The checks of a dense gather.
    eval_shape(lambda x, at: lax.gather(x, at, dimension_numbers, sizes), dense, starts)
    batch_shape = starts.shape[:-1]
    count = math.prod(batch_shape)
    starts = lax.reshape(starts, (count, starts.shape[-1]))
    zero = np.zeros((), starts.dtype)

    def window(start: Any) -> BCOO:
        positions = [zero] * operand.ndim
        for position, dim in enumerate(start_map):
            positions[dim] = start[position]
        part = bcoo_dynamic_slice(operand, positions, sizes)
        return bcoo_squeeze(part, dimensions=collapsed)

    info: Any = None

    def buffers(start: Any) -> Any:
        nonlocal info
        part = window(start)
        info = part._info
        return part.data, part.indices

    data, indices = vmap(buffers, out_axes=0)(starts)
    data = lax.reshape(data, (*batch_shape, *data.shape[1:]))
    indices = lax.reshape(indices, (*batch_shape, *indices.shape[1:]))
    out = make((data, indices), info._replace(shape=(*batch_shape, *info.shape)))
    # If window dimensions come before the dimensions of starts, the dimensions are transposed.
    n_places = len(batch_shape)
    windows = iter(range(n_places, out.ndim))
    positions = iter(range(n_places))
    order = [next(windows) if dim in offset_dims else next(positions) for dim in range(out.ndim)]
    if order == sorted(order):
        return out
    # Batch dimensions that come after a sparse dimension become sparse, and so do dense dimensions
    # that come before a sparse dimension.
    sparse_start, dense_start = out.n_batch, out.n_batch + out.n_sparse
    n_batch = next((at for at, dim in enumerate(order) if dim >= sparse_start), len(order))
    n_dense = next((at for at, dim in enumerate(order[::-1]) if dim < dense_start), len(order))
    if set(order[:n_batch]) != set(range(n_batch)):
        n_batch = 0
    if set(order[len(order) - n_dense :]) != set(range(len(order) - n_dense, len(order))):
        n_dense = 0
    out = bcoo_update_layout(out, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
    return bcoo_transpose(out, permutation=order)
