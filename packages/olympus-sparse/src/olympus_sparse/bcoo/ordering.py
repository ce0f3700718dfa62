# SPDX-License-Identifier: Apache-2.0
"""Order of entries: `bcoo_sort_indices` and `bcoo_sum_duplicates`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, is_undefined_primal, jvp_rules, transpose_rules
from olympus_batching import batching_rules
from olympus_batching.tracers import of_all_examples
from olympus_ir.programs.tracing import concrete_or_error

from ..core.base import SparseInfo
from ..core.entries import (
    add_up,
    count_of_unique,
    look_up,
    order_of,
    over_batches,
    padding,
    ranks_of_unique,
)
from ..core.primitives import sparse_primitive
from .array import BCOO, layout_of, make
from .batching import batched_info, lead, without_lead
from .conversion import sum_to

__all__ = [
    "bcoo_eliminate_zeros",
    "bcoo_sort_indices",
    "bcoo_sort_indices_p",
    "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p",
]


def _take(data: Any, positions: Any) -> Any:
    """Gathers entries, zero out of bounds; ``[nse, *dense], [count] -> [count, *dense]``."""
    return look_up(data, positions[:, None])


# ---- bcoo_sort_indices ----


def _sorted(indices: Any) -> tuple[Any, Any]:
    return over_batches(order_of, indices.ndim - 2, indices)


@sparse_primitive("bcoo_sort_indices", multiple_results=True, linear_in=(0,))
def bcoo_sort_indices_p(data: Any, indices: Any, *, spinfo: SparseInfo) -> list[Any]:
    ordered, positions = _sorted(indices)
    return [over_batches(_take, indices.ndim - 2, data, positions), ordered]


@jvp_rules.define(bcoo_sort_indices_p)
def _bcoo_sort_indices_jvp(primals: Any, tangents: Any, *, spinfo: SparseInfo) -> Any:
    data, indices = primals
    nse, n_batch = indices.shape[-2], indices.ndim - 2
    # The sort also moves the positions 0, 1, 2, ..., which gives the previous position of each
    # entry.
    positions = jnp.broadcast_to(jnp.arange(nse, dtype=np.int32), (*indices.shape[:-2], nse))
    n_dense = data.ndim - 1 - n_batch
    shape = spinfo.shape[: len(spinfo.shape) - n_dense]
    positions, ordered = bcoo_sort_indices_p.bind(
        positions, indices, spinfo=spinfo._replace(shape=shape)
    )
    data = over_batches(_take, n_batch, data, positions)
    tangent = tangents[0]
    if tangent.__class__ is Zero:
        return [data, ordered], [Zero.of(data), Zero.of(ordered)]
    return [data, ordered], [over_batches(_take, n_batch, tangent, positions), Zero.of(ordered)]


@transpose_rules.define(bcoo_sort_indices_p)
def _bcoo_sort_indices_transpose(
    cotangents: Any, data: Any, indices: Any, *, spinfo: SparseInfo
) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    if cotangents[0].__class__ is Zero:
        return [None, None]
    nse = indices.shape[-2]

    def put_back(cotangent: Any, positions: Any) -> Any:
        return add_up(cotangent, positions[:, None], (nse,), unique_indices=True)

    _, positions = _sorted(indices)
    out = over_batches(put_back, indices.ndim - 2, cotangents[0], positions)
    return [sum_to(out, data.aval.shape), None]


@batching_rules.define(bcoo_sort_indices_p)
def _bcoo_sort_indices_batching(axis_size: int, args: Any, batch_dims: Any, *, spinfo: Any) -> Any:
    out = bcoo_sort_indices_p.bind(*lead(args, batch_dims), spinfo=batched_info(spinfo, axis_size))
    return without_lead(out, axis_size)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Sorts entries in lexicographic order of coordinates.

    Args:
      mat: the sparse array.

    Returns:
      A `BCOO` equal to ``mat``.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[3], [0]])), shape=(4,))
      >>> np.asarray(bcoo_sort_indices(mat).data).tolist()
      [2, 1]
    """
    buffers = bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return make(tuple(buffers), mat._info._replace(indices_sorted=True))


# ---- bcoo_sum_duplicates ----


def _unique(indices: Any, spinfo: SparseInfo, nse: int) -> tuple[Any, Any]:
    """Returns the first ``nse`` distinct coordinates, and the index among these for each entry."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    sparse_shape = spinfo.shape[n_batch : n_batch + n_sparse]

    def of_batch(indices: Any) -> tuple[Any, Any]:
        count = indices.shape[0]
        if nse == 0:
            return jnp.zeros((0, n_sparse), indices.dtype), jnp.zeros(count, np.int32)
        ordered, numbers, ranks = ranks_of_unique(indices, sparse_shape)
        out = jnp.broadcast_to(jnp.asarray(padding(sparse_shape, indices)), (nse, n_sparse))
        numbers, ranks = (jnp.where(array >= count, nse, array) for array in (numbers, ranks))
        return out.at[numbers].set(ordered, mode="drop"), ranks

    return over_batches(of_batch, n_batch, indices)


def _summed(data: Any, ranks: Any, nse: int) -> Any:
    def of_batch(data: Any, ranks: Any) -> Any:
        return add_up(data, ranks[:, None], (nse,))

    return over_batches(of_batch, ranks.ndim - 1, data, ranks)


@sparse_primitive("bcoo_sum_duplicates", multiple_results=True, linear_in=(0,))
def bcoo_sum_duplicates_p(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int) -> list[Any]:
    layout_of(data, indices, spinfo.shape)
    unique, ranks = _unique(indices, spinfo, nse)
    return [_summed(data, ranks, nse), unique]


@jvp_rules.define(bcoo_sum_duplicates_p)
def _bcoo_sum_duplicates_jvp(primals: Any, tangents: Any, *, spinfo: SparseInfo, nse: int) -> Any:
    data, indices = primals
    unique, ranks = _unique(indices, spinfo, nse)
    out = _summed(data, ranks, nse)
    tangent = tangents[0]
    tangent = Zero.of(out) if tangent.__class__ is Zero else _summed(tangent, ranks, nse)
    return [out, unique], [tangent, Zero.of(unique)]


@transpose_rules.define(bcoo_sum_duplicates_p)
def _bcoo_sum_duplicates_transpose(
    cotangents: Any, data: Any, indices: Any, *, spinfo: SparseInfo, nse: int
) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    if cotangents[0].__class__ is Zero:
        return [None, None]
    _, ranks = _unique(indices, spinfo, nse)
    out = over_batches(_take, indices.ndim - 2, cotangents[0], ranks)
    return [sum_to(out, data.aval.shape), None]


@batching_rules.define(bcoo_sum_duplicates_p)
def _bcoo_sum_duplicates_batching(
    axis_size: int, args: Any, batch_dims: Any, *, spinfo: Any, nse: int
) -> Any:
    out = bcoo_sum_duplicates_p.bind(
        *lead(args, batch_dims), spinfo=batched_info(spinfo, axis_size), nse=nse
    )
    return without_lead(out, axis_size)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """Turns entries that are zero into padding, and adds up duplicates.

    Args:
      mat: the sparse array.
      nse: the number of entries of the result in each batch. By default, the smallest number that
        suffices; the array must then be concrete.

    Returns:
      A `BCOO` equal to ``mat``.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 0]), np.array([[0], [2]])), shape=(3,))
      >>> bcoo_eliminate_zeros(mat)
      BCOO(int32[3], nse=1)
    """
    n_batch, n_dense = mat.n_batch, mat.n_dense
    zero = mat.data == 0
    zero = jnp.all(zero, axis=tuple(range(zero.ndim - n_dense, zero.ndim)))
    # If batches share coordinates, an entry is zero only if its value is zero in all batches.
    shared = tuple(
        axis for axis in range(n_batch) if mat.indices.shape[axis] == 1 and zero.shape[axis] != 1
    )
    zero = jnp.all(zero, axis=shared, keepdims=True)
    out_of_bounds = jnp.asarray(padding(mat._sparse_shape, mat.indices))
    indices = jnp.where(zero[..., None], out_of_bounds, mat.indices)
    info = SparseInfo(mat.shape, indices_sorted=False, unique_indices=False)
    return without_duplicates(make((mat.data, indices), info), nse)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Drops entries that are zero, and adds up entries with equal coordinates.

    Args:
      mat: the sparse array.
      nse: the number of entries of the result in each batch. By default, the smallest number that
        suffices, for all examples under `vmap`; the array must then be concrete. If there are more
        entries, the last entries are dropped.

    Returns:
      A `BCOO` with sorted and distinct coordinates.

    Raises:
      ValueError: ``nse`` is not given in a traced function.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2, 4]), np.array([[3], [0], [3]])), shape=(4,))
      >>> np.asarray(bcoo_sum_duplicates(mat).data).tolist()
      [2, 5]
    """
    return bcoo_eliminate_zeros(mat, nse=nse)


def without_duplicates(mat: BCOO, nse: int | None) -> BCOO:
    """Adds up entries with equal coordinates, and keeps entries that are zero."""
    if nse is None:
        sparse_shape = mat._sparse_shape
        counts = over_batches(
            lambda indices: count_of_unique(indices, sparse_shape), mat.n_batch, mat.indices
        )
        nse = _known(counts)
    else:
        nse = operator.index(nse)
        if nse < 0:
            raise ValueError(f"bcoo_sum_duplicates: nse must not be negative, got {nse}")
    buffers = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info, nse=nse)
    return make(tuple(buffers), SparseInfo(mat.shape, True, True))


def _known(counts: Any) -> int:
    """Returns the largest count, among all examples of a batch."""
    try:
        counts = concrete_or_error(np.asarray, of_all_examples(counts))
    except TypeError:
        raise ValueError(
            "bcoo_sum_duplicates: nse must be specified when using the function within jit, vmap, "
            "and other transformations requiring abstract evaluation."
        ) from None
    return int(counts.max()) if counts.size else 0


def limited(mat: BCOO, nse: int) -> BCOO:
    """Sums duplicates if there are more than ``nse`` entries; then ``nse`` entries remain.

    ``nse`` must not be less than the number of distinct indices.
    """
    if mat.nse <= nse:
        return mat
    buffers = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info, nse=nse)
    return make(tuple(buffers), SparseInfo(mat.shape, True, True))
