# SPDX-License-Identifier: Apache-2.0
"""Conversion of the dimensions of BCOO arrays between batch, sparse and dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.diagnostics.user_warnings import warn_user

from ..core.base import SparseInfo
from ..core.efficiency import SparseEfficiencyError, SparseEfficiencyWarning
from ..core.entries import in_bounds, padding
from .array import BCOO, make

__all__ = ["batch_as_sparse", "bcoo_update_layout"]


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Changes how many dimensions of an array are batch and dense dimensions.

    Args:
      mat: the sparse array.
      n_batch: the number of batch dimensions; unchanged if None.
      n_dense: the number of dense dimensions; unchanged if None.
      on_inefficient: the response if the result stores many zeros, as more batch or dense
        dimensions may require: ``"error"``, ``"warn"``, or None to accept it.

    Returns:
      A `BCOO` equal to ``mat``.

    Raises:
      SparseEfficiencyError: the result is stored inefficiently.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0, 2], [1, 0]])), shape=(2, 3))
      >>> bcoo_update_layout(mat, n_batch=1, on_inefficient=None)
      BCOO(int32[2, 3], nse=2, n_batch=1)
    """
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if n_batch < 0:
        raise ValueError(f"n_batch must be non-negative; got {n_batch}")
    if n_dense < 0:
        raise ValueError(f"n_dense must be non-negative; got {n_dense}")
    if n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"sum of {n_batch=} and {n_dense=} cannot be larger than mat.ndim={mat.ndim}."
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"on_inefficient={on_inefficient!r}; expected one of ['error', 'warn', None]."
        )
    _report_inefficiency(mat, n_batch, n_dense, on_inefficient)
    # Dimensions become sparse first, so that enough of them can become batch or dense.
    while mat.n_batch > n_batch:
        mat = batch_as_sparse(mat)
    while mat.n_dense > n_dense:
        mat = _dense_as_sparse(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_as_dense(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_as_batch(mat)
    return mat


def _report_inefficiency(mat: BCOO, n_batch: int, n_dense: int, on_inefficient: str | None) -> None:
    for name, before, after in (
        ("n_batch", mat.n_batch, n_batch),
        ("n_dense", mat.n_dense, n_dense),
    ):
        if after > before:
            message = (
                f"For matrix of shape {mat.shape}, increasing {name} from {before} to {after} "
                "results in inefficient storage."
            )
            if on_inefficient == "error":
                raise SparseEfficiencyError(
                    f"{message} To disable this error, set the on_inefficient argument of "
                    "bcoo_update_layout to 'warn' or None."
                )
            if on_inefficient == "warn":
                warn_user(message, SparseEfficiencyWarning)


def batch_as_sparse(mat: BCOO) -> BCOO:
    """Converts the last batch dimension to the first sparse dimension."""
    axis = mat.n_batch - 1
    size, nse = mat.shape[axis], mat.nse
    data = _broadcast_axis(mat.data, axis, size)
    indices = _broadcast_axis(mat.indices, axis, size)
    column = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), axis)
    indices = jnp.concatenate([column, indices], axis=-1)
    data = lax.reshape(data, (*data.shape[:axis], size * nse, *data.shape[axis + 2 :]))
    indices = lax.reshape(indices, (*indices.shape[:axis], size * nse, indices.shape[-1]))
    return make((data, indices), mat._info)


def _broadcast_axis(buffer: Any, axis: int, size: int) -> Any:
    shape = (*buffer.shape[:axis], size, *buffer.shape[axis + 1 :])
    return jnp.broadcast_to(buffer, shape)


def _dense_as_sparse(mat: BCOO) -> BCOO:
    """Converts the first dense dimension to the last sparse dimension.

    Each entry becomes one entry for each index of the dense dimension.
    """
    n_batch, nse = mat.n_batch, mat.nse
    size = mat.data.shape[n_batch + 1]
    data = lax.reshape(
        mat.data, (*mat.data.shape[:n_batch], nse * size, *mat.data.shape[n_batch + 2 :])
    )
    inside = in_bounds(mat.indices, mat._sparse_shape)[..., None]
    column = jnp.where(inside, jnp.arange(size, dtype=mat.indices.dtype), size)
    rest = jnp.broadcast_to(
        mat.indices[..., None, :], (*mat.indices.shape[:-1], size, mat.n_sparse)
    )
    indices = jnp.concatenate([rest, column[..., None].astype(rest.dtype)], axis=-1)
    indices = lax.reshape(indices, (*indices.shape[:n_batch], nse * size, mat.n_sparse + 1))
    return make((data, indices), mat._info)


def _sparse_as_dense(mat: BCOO) -> BCOO:
    """Converts the last sparse dimension to the first dense dimension, with its zeros stored."""
    n_batch = mat.n_batch
    size = mat._sparse_shape[-1]
    numbers = jnp.arange(size, dtype=mat.indices.dtype)
    hot = mat.indices[..., -1, None] == lax.broadcast_to_rank(numbers, mat.indices.ndim)
    hot = lax.expand_dims(hot, tuple(range(hot.ndim, mat.data.ndim + 1)))
    data = lax.expand_dims(mat.data, (n_batch + 1,))
    data = jnp.where(hot, data, jnp.zeros((), data.dtype))
    return make((data, mat.indices[..., :-1]), SparseInfo(mat.shape))


def _sparse_as_batch(mat: BCOO) -> BCOO:
    """Converts the first sparse dimension to the last batch dimension.

    Each batch has as many entries as the whole array. Those of other batches become padding.
    """
    n_batch = mat.n_batch
    size = mat._sparse_shape[0]
    batch = jnp.arange(size, dtype=mat.indices.dtype)
    is_in_batch = mat.indices[..., None, :, 0] == lax.broadcast_to_rank(
        batch[:, None], mat.indices.ndim
    )
    indices = mat.indices[..., None, :, 1:]
    out_of_bounds = jnp.asarray(padding(mat._sparse_shape[1:], indices))
    indices = jnp.where(is_in_batch[..., None], indices, out_of_bounds)
    shown = lax.expand_dims(is_in_batch, tuple(range(is_in_batch.ndim, mat.data.ndim + 1)))
    data = lax.expand_dims(mat.data, (n_batch,))
    data = jnp.where(shown, data, jnp.zeros((), data.dtype))
    return make((data, indices), SparseInfo(mat.shape))


def merged_batches(mat: BCOO, axes: tuple[int, ...]) -> BCOO:
    """Sums over batch dimensions by concatenating their lists of entries."""
    n_batch = mat.n_batch
    kept = [axis for axis in range(n_batch) if axis not in axes]
    sizes = [mat.shape[axis] for axis in axes]
    count = int(np.prod(sizes, dtype=int)) * mat.nse

    def merge(buffer: Any) -> Any:
        for axis, size in zip(axes, sizes, strict=True):
            buffer = _broadcast_axis(buffer, axis, size)
        rest = tuple(range(n_batch, buffer.ndim))
        buffer = lax.transpose(buffer, (*kept, *axes, *rest))
        lead = buffer.shape[: len(kept)]
        return lax.reshape(buffer, (*lead, count, *buffer.shape[n_batch + 1 :]))

    shape = tuple(size for axis, size in enumerate(mat.shape) if axis not in axes)
    return make((merge(mat.data), merge(mat.indices)), SparseInfo(shape))
