# SPDX-License-Identifier: Apache-2.0
"""Elementwise products and sums of BCOO arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import promote_dtypes

from ..core.base import SparseInfo
from ..core.entries import in_bounds, look_up, over_batches, padding
from .array import BCOO, make
from .layouts import bcoo_update_layout, merged_batches

__all__ = ["bcoo_multiply_dense", "bcoo_multiply_sparse", "bcoo_reduce_sum"]


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """Multiplies a sparse and a dense array elementwise.

    Args:
      sp_mat: the sparse array.
      v: the dense array, which broadcasts to the shape of ``sp_mat``.

    Returns:
      The values of the product, an array of the shape of ``sp_mat.data`` with batch dimensions
      broadcast. The product has the coordinates of ``sp_mat``.

    Raises:
      NotImplementedError: ``v`` does not broadcast to the shape of ``sp_mat``.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0, 2], [1, 0]])), shape=(2, 3))
      >>> np.asarray(bcoo_multiply_dense(mat, np.arange(6).reshape(2, 3))).tolist()
      [2, 6]
    """
    data, v = promote_dtypes(sp_mat.data, jnp.asarray(v))
    if v.ndim == 0:
        return lax.mul(data, v)
    shape = sp_mat.shape
    if v.ndim > len(shape) or any(
        size not in (1, full) for size, full in zip(v.shape[::-1], shape[::-1])
    ):
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the "
            f"output shape matches the sparse matrix shape. Got {shape=}, {v.shape=}"
        )
    v = lax.expand_dims(v, tuple(range(len(shape) - v.ndim)))
    n_batch, n_sparse = sp_mat.n_batch, sp_mat.n_sparse
    # Coordinates do not matter in sparse dimensions along which the dense array has size one.
    alike = tuple(d for d in range(n_batch, n_batch + n_sparse) if v.shape[d] == 1)
    columns = np.array([d - n_batch for d in range(n_batch, n_batch + n_sparse) if d not in alike])
    v = lax.squeeze(v, alike)

    def of_batch(data: Any, indices: Any, v: Any) -> Any:
        if not len(columns):
            return data * v[None]
        return data * look_up(v, indices[:, columns])

    return over_batches(of_batch, n_batch, data, sp_mat.indices, v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiplies two sparse arrays elementwise.

    The product has an entry for each pair of entries; pairs at different coordinates are padding.

    Args:
      lhs: the left operand.
      rhs: the right operand, of the same number of dimensions; sizes of one broadcast.

    Returns:
      A `BCOO` whose ``nse`` is the product of the ``nse`` of the operands.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [2]])), shape=(3,))
      >>> np.asarray(bcoo_multiply_sparse(mat, mat).todense()).tolist()
      [1, 0, 4]
    """
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            "bcoo_multiply_sparse: operands must have equal numbers of dimensions, "
            f"got shapes {lhs.shape} and {rhs.shape}"
        )
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    n_batch = min(lhs.n_batch, rhs.n_batch)
    n_dense = min(lhs.n_dense, rhs.n_dense)
    lhs, rhs = (
        bcoo_update_layout(operand, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
        for operand in (lhs, rhs)
    )
    lhs_data, rhs_data = promote_dtypes(lhs.data, rhs.data)
    lhs_indices, rhs_indices = promote_dtypes(lhs.indices, rhs.indices)
    lhs_sparse, rhs_sparse = np.array(lhs._sparse_shape, int), np.array(rhs._sparse_shape, int)
    both = np.flatnonzero(lhs_sparse == rhs_sparse)
    sparse_shape = shape[n_batch : n_batch + lhs.n_sparse]
    count = lhs.nse * rhs.nse

    def coordinates(lhs_each: Any, rhs_each: Any) -> Any:
        match = jnp.all(lhs_each[:, None, both] == rhs_each[None, :, both], axis=-1)
        match &= in_bounds(lhs_each, lhs._sparse_shape)[:, None]
        match &= in_bounds(rhs_each, rhs._sparse_shape)[None, :]
        # Along a dimension of size one, the coordinate comes from the other operand.
        single = lhs_sparse[None, None, :] == 1
        columns = jnp.where(single, rhs_each[None, :], lhs_each[:, None])
        columns = jnp.where(match[..., None], columns, jnp.asarray(padding(sparse_shape, columns)))
        return match, columns.reshape(count, len(sparse_shape))

    def values(match: Any, lhs_each: Any, rhs_each: Any) -> Any:
        products = lhs_each[:, None] * rhs_each[None, :]
        shown = lax.expand_dims(match, tuple(range(2, products.ndim)))
        products = jnp.where(shown, products, jnp.zeros((), products.dtype))
        return products.reshape(count, *products.shape[2:])

    match, indices = over_batches(coordinates, n_batch, lhs_indices, rhs_indices)
    data = over_batches(values, n_batch, match, lhs_data, rhs_data)
    return make((data, indices), SparseInfo(shape))


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Sums over axes.

    Args:
      mat: the sparse array.
      axes: the axes.

    Returns:
      A `BCOO` without the axes, of the dtype of `olympus.numpy.sum`. Entries with equal coordinates
      are not added up.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0, 2], [1, 2]])), shape=(2, 3))
      >>> np.asarray(bcoo_reduce_sum(mat, axes=(0,)).todense()).tolist()
      [0, 0, 3]
    """
    ndim = mat.ndim
    axes = tuple(operator.index(axis) for axis in axes)
    if any(not -ndim <= axis < ndim for axis in axes):
        raise ValueError(f"bcoo_reduce_sum: axes {axes} are out of range for shape {mat.shape}")
    axes = tuple(sorted({axis % ndim for axis in axes}))
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch = tuple(axis for axis in axes if axis < n_batch)
    dense = tuple(axis + 1 - n_sparse for axis in axes if axis >= n_batch + n_sparse)
    summed = [axis - n_batch for axis in axes if n_batch <= axis < n_batch + n_sparse]
    data, indices = jnp.sum(mat.data, dense), mat.indices
    if summed:
        # Padding is recognized by its coordinates. The coordinates along summed axes are dropped
        # here, so the values of padding are set to zero.
        inside = in_bounds(indices, mat._sparse_shape)
        inside = lax.expand_dims(inside, tuple(range(inside.ndim, data.ndim)))
        data = jnp.where(inside, data, jnp.zeros((), data.dtype))
        kept = [column for column in range(n_sparse) if column not in summed]
        indices = indices[..., np.array(kept, int)]
    others = tuple(axis for axis in axes if axis >= n_batch)
    shape = tuple(size for axis, size in enumerate(mat.shape) if axis not in others)
    out = make((data, indices), SparseInfo(shape))
    return merged_batches(out, batch) if batch else out
