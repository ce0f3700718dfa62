# SPDX-License-Identifier: Apache-2.0
"""Reshaping of BCOO arrays: batch, sparse and dense dimensions, each for themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.types.avals import canonicalize_shape

from ..core.base import SparseInfo
from ..core.entries import in_bounds, padding
from .array import BCOO, make
from .shaping import bcoo_transpose, zero_column

__all__ = ["bcoo_reshape"]


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """Reshapes an array.

    Args:
      mat: the sparse array.
      new_sizes: the new shape. It must not mix batch, sparse and dense dimensions.
      dimensions: the order in which the dimensions of ``mat`` are read.
      sharding: must be None, since sparse arrays are placed by their buffers.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: sizes do not fit, or kinds of dimensions would be mixed.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [4]])), shape=(6,))
      >>> np.asarray(bcoo_reshape(mat, new_sizes=(2, 3)).todense()).tolist()
      [[1, 0, 0], [0, 2, 0]]
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_reshape: sharding must be None")
    new_shape = tuple(canonicalize_shape(new_sizes))
    if math.prod(new_shape) != mat.size:
        raise ValueError(
            f"bcoo_reshape: cannot reshape an array of shape {mat.shape} to {new_shape}"
        )
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    if new_shape == mat.shape:
        return mat
    batch, sparse, dense = _parts_of_shape(mat, new_shape)
    data, indices = _with_batch_and_dense(mat, batch, dense)
    old_sparse = mat._sparse_shape
    if old_sparse != sparse:
        if not sparse:
            # If no sparse dimension is left, the values of padding must be zero.
            inside = in_bounds(indices, old_sparse)
            inside = lax.expand_dims(inside, tuple(range(inside.ndim, data.ndim)))
            data = jnp.where(inside, data, jnp.zeros((), data.dtype))
        indices = _reshaped_coordinates(indices, old_sparse, sparse)
    # Coordinates keep their order, since the order of elements is kept.
    return make((data, indices), SparseInfo(new_shape, mat.indices_sorted, mat.unique_indices))


class _ShapeParts(NamedTuple):
    """The sizes of the batch, sparse and dense dimensions of a shape."""

    batch: tuple[int, ...]
    sparse: tuple[int, ...]
    dense: tuple[int, ...]


def _parts_of_shape(mat: BCOO, new_shape: tuple[int, ...]) -> _ShapeParts:
    """Splits a new shape where the kinds of dimensions of an array change.

    Raises:
      ValueError: a dimension of the new shape would mix kinds.
    """
    n_batch, n_dense = mat.n_batch, mat.n_dense
    batch_size = math.prod(mat.shape[:n_batch])
    dense_size = math.prod(mat.shape[mat.ndim - n_dense :])
    new_batch = _leading(new_shape, batch_size) if n_batch else 0
    if new_batch is None:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix batch and sparse dimensions; "
            f"got shape={mat.shape} new_shape={new_shape} with n_batch={n_batch}"
        )
    new_dense = _leading(new_shape[new_batch:][::-1], dense_size, ones=False) if n_dense else 0
    if new_dense is None:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix sparse and dense dimensions; "
            f"got shape={mat.shape} new_shape={new_shape} with n_dense={n_dense}"
        )
    sparse_end = len(new_shape) - new_dense
    return _ShapeParts(
        new_shape[:new_batch], new_shape[new_batch:sparse_end], new_shape[sparse_end:]
    )


def _with_batch_and_dense(
    mat: BCOO, batch: tuple[int, ...], dense: tuple[int, ...]
) -> tuple[Any, Any]:
    """Returns the buffers of an array, with new batch and dense dimensions."""
    data, indices, n_batch = mat.data, mat.indices, mat.n_batch
    old_batch = mat.shape[:n_batch]
    if batch == old_batch:  # the batch dimensions of the buffers may have size 1
        data_batch, indices_batch = data.shape[:n_batch], indices.shape[:n_batch]
    else:
        data = jnp.broadcast_to(data, (*old_batch, *data.shape[n_batch:]))
        indices = jnp.broadcast_to(indices, (*old_batch, *indices.shape[n_batch:]))
        data_batch = indices_batch = batch
    return (
        lax.reshape(data, (*data_batch, mat.nse, *dense)),
        lax.reshape(indices, (*indices_batch, mat.nse, mat.n_sparse)),
    )


def _leading(shape: Sequence[int], size: int, ones: bool = True) -> int | None:
    """Returns the number of leading dimensions with ``size`` elements together, or None.

    With ``ones``, the dimensions of size one that follow are counted too.
    """
    product = 1
    for count, extent in enumerate(shape):
        if product == size and (extent != 1 or (not ones and count)):
            return count
        product *= extent
    return len(shape) if product == size else None


def _reshaped_coordinates(indices: Any, shape: tuple[int, ...], new_shape: tuple[int, ...]) -> Any:
    """Converts coordinates to another shape of the same size."""
    if not new_shape:
        return jnp.zeros((*indices.shape[:-1], 0), indices.dtype)
    inside = in_bounds(indices, shape)
    out_of_bounds = jnp.asarray(padding(new_shape, indices))
    columns: list[Any] = []
    # Each run of dimensions is converted separately, so that flat indices stay small.
    for old_dims, new_dims in _runs(shape, new_shape):
        if [shape[dim] for dim in old_dims] == [new_shape[dim] for dim in new_dims]:
            columns += [indices[..., dim] for dim in old_dims]
            continue
        position = zero_column(indices)
        for dim in old_dims:
            position = position * shape[dim] + indices[..., dim]
        parts = []
        for dim in reversed(new_dims):
            size = max(new_shape[dim], 1)
            parts.append(lax.rem(position, jnp.asarray(size, indices.dtype)))
            position = lax.div(position, jnp.asarray(size, indices.dtype))
        columns += reversed(parts)
    return jnp.where(inside[..., None], jnp.stack(columns, axis=-1), out_of_bounds)


def _runs(shape: tuple[int, ...], new_shape: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Splits two shapes of equal size into the shortest runs of dimensions with equal products."""
    if 0 in shape:
        return [(list(range(len(shape))), list(range(len(new_shape))))]
    runs: list[tuple[list[int], list[int]]] = []
    old, new = 0, 0
    while old < len(shape) or new < len(new_shape):
        old_dims: list[int] = []
        new_dims: list[int] = []
        old_size = new_size = 1
        if old < len(shape):
            old_dims.append(old)
            old_size *= shape[old]
            old += 1
        if new < len(new_shape) and (old_size != 1 or not old_dims or new_shape[new] == 1):
            new_dims.append(new)
            new_size *= new_shape[new]
            new += 1
        while old_size != new_size:
            if old_size < new_size:
                old_dims.append(old)
                old_size *= shape[old]
                old += 1
            else:
                new_dims.append(new)
                new_size *= new_shape[new]
                new += 1
        runs.append((old_dims, new_dims))
    return runs
