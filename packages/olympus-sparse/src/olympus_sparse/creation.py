# SPDX-License-Identifier: Apache-2.0
"""Creation of sparse arrays of any format with `empty` and `eye`, and conversion with `todense`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape

from .bcoo.array import BCOO, make
from .bcsr.array import BCSR, make_rows
from .coo import COO, diagonal
from .core.base import OLYMPUSSparse, SparseInfo, split_shape
from .core.primitives import (
    define_batching_by_expansion,
    define_multilinear_jvp,
    define_transpose_by_expansion,
    sparse_primitive,
)
from .csr import CSC, CSR

__all__ = ["empty", "eye", "todense", "todense_p"]


# ---- todense ----


@sparse_primitive("todense", linear_in=(0,))
def todense_p(*buffers: Any, tree: Any) -> Any:
    array = pytrees.tree_unflatten(tree, buffers)
    return array.todense() if isinstance(array, OLYMPUSSparse) else jnp.asarray(array)


define_multilinear_jvp(todense_p, 0)
define_transpose_by_expansion(todense_p)
define_batching_by_expansion(todense_p)


def todense(arr: OLYMPUSSparse | ArrayLike) -> Array:
    """Converts a sparse array to a dense array; returns a dense array unchanged.

    In a function transformed by `sparsify`, sparse values look dense. In such a function, `todense`
    makes the values dense.

    Args:
      arr: a sparse array of any format, or a dense array.

    Returns:
      A dense array.

    Example:
      >>> np.asarray(todense(eye(2))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    buffers, tree = pytrees.tree_flatten(arr)
    return todense_p.bind(*map(jnp.asarray, buffers), tree=tree)


# ---- arrays without entries, and with ones on a diagonal ----


def _format_of(sparse_format: str, formats: dict[str, Any]) -> Any:
    if sparse_format not in formats:
        raise ValueError(f"{sparse_format=} not recognized; must be one of {sorted(formats)}")
    return formats[sparse_format]


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> OLYMPUSSparse:
    """Returns a sparse array without entries.

    Args:
      shape: the shape.
      dtype: the dtype of values.
      index_dtype: the dtype of indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      **kwds: for BCOO and BCSR the numbers ``n_batch`` and ``n_dense`` of batch and dense
        dimensions, and the number ``nse`` of entries, which are all padding.

    Returns:
      A sparse array of the format.

    Raises:
      ValueError: the format is unknown or cannot have the shape.

    Example:
      >>> empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    make_empty = _format_of(
        sparse_format,
        {
            "bcoo": _empty_bcoo,
            "bcsr": _empty_bcsr,
            "coo": COO._empty,
            "csr": CSR._empty,
            "csc": CSC._empty,
        },
    )
    return make_empty(
        tuple(canonicalize_shape(shape)), dtype=dtype, index_dtype=_index_dtype(index_dtype), **kwds
    )


def _index_dtype(dtype: Any) -> np.dtype:
    return dtypes.check_and_canonicalize_user_dtype(dtype, "index_dtype")


def _empty_bcoo(
    shape: tuple[int, ...],
    *,
    dtype: Any,
    index_dtype: Any,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCOO:
    n_sparse = len(shape) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0 or nse < 0:
        raise ValueError(f"Invalid inputs: {shape=}, {n_batch=}, {n_dense=}, {nse=}")
    batch, sparse, dense = split_shape(shape, n_batch, n_sparse)
    data = jnp.zeros((*batch, nse, *dense), dtype)
    out_of_bounds = jnp.asarray(np.array(sparse, index_dtype))
    indices = jnp.broadcast_to(out_of_bounds, (*batch, nse, n_sparse))
    return make((data, indices), SparseInfo(shape, True, True))


def _empty_bcsr(
    shape: tuple[int, ...],
    *,
    dtype: Any,
    index_dtype: Any,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCSR:
    n_sparse = len(shape) - n_batch - n_dense
    if n_sparse != 2:
        raise ValueError("BCSR sparse.empty: must have 2 sparse dimensions.")
    if n_batch < 0 or n_dense < 0 or nse < 0:
        raise ValueError(f"Invalid inputs: {shape=}, {n_batch=}, {n_dense=}, {nse=}")
    batch, (rows, columns), dense = (
        shape[:n_batch],
        shape[n_batch : n_batch + 2],
        shape[n_batch + 2 :],
    )
    buffers = (
        jnp.zeros((*batch, nse, *dense), dtype),
        jnp.full((*batch, nse), columns, index_dtype),
        jnp.zeros((*batch, rows + 1), index_dtype),
    )
    return make_rows(buffers, SparseInfo(shape, True, True))


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> OLYMPUSSparse:
    """Returns a sparse matrix with ones on a diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; ``N`` if None.
      k: the index of the diagonal; positive indices are above the main diagonal.
      dtype: the dtype of values.
      index_dtype: the dtype of indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      **kwds: for BCOO the numbers ``n_batch`` and ``n_dense`` of batch and dense dimensions.

    Returns:
      A sparse matrix of the format.

    Raises:
      ValueError: the format is unknown, or a size is negative.

    Example:
      >>> np.asarray(eye(3).todense())[0].tolist()
      [1.0, 0.0, 0.0]
    """
    make_eye = _format_of(
        sparse_format,
        {
            "bcoo": _eye_bcoo,
            "bcsr": _eye_bcsr,
            "coo": COO._eye,
            "csr": CSR._eye,
            "csc": CSC._eye,
        },
    )
    N = operator.index(N)
    M = N if M is None else operator.index(M)
    if N < 0 or M < 0:
        raise ValueError(f"eye: numbers of rows and columns must not be negative, got {N=}, {M=}")
    return make_eye(
        N, M, operator.index(k), dtype=dtype, index_dtype=_index_dtype(index_dtype), **kwds
    )


def _eye_bcoo(
    N: int,
    M: int,
    k: int,
    *,
    dtype: Any,
    index_dtype: Any,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > 2:
        raise ValueError(f"Invalid inputs: {n_batch=} and {n_dense=} for a matrix")
    count, row, col = diagonal(N, M, k)
    positions = np.arange(count)[:, None] + np.array([row, col])
    info = SparseInfo((N, M), True, True)
    if (n_batch, n_dense) == (0, 0):
        buffers = jnp.ones(count, dtype), jnp.asarray(positions.astype(index_dtype))
        return make(buffers, info)
    # With batch or dense dimensions, entries are stored for each batch, and most are zero.
    dense = np.zeros((N, M), bool)
    dense[tuple(positions.T)] = True
    one = jnp.ones((), dtype)
    stored = np.any(dense, axis=1)
    if n_dense == 0 and n_batch == 1:
        # The column of the entry in each row; out of bounds in rows that the diagonal misses.
        column = np.where(stored, dense.argmax(1), M)
        values = np.expand_dims(stored, 1)
        indices = column[:, None, None]
    elif n_batch == 0 and n_dense == 1:
        rows = np.flatnonzero(stored)
        values, indices = dense[rows], rows[:, None]
    else:
        sizes = (N, M)[:n_batch]
        values = dense.reshape(*sizes, 1, *(N, M)[n_batch:])
        indices = np.zeros((*sizes, 1, 0), int)
    data = jnp.where(jnp.asarray(values), one, jnp.zeros((), one.dtype))
    return make((data, jnp.asarray(indices.astype(index_dtype))), info)


def _eye_bcsr(N: int, M: int, k: int, *, dtype: Any, index_dtype: Any) -> BCSR:
    matrix = CSR._eye(N, M, k, dtype=dtype, index_dtype=index_dtype)
    return make_rows(matrix._bufs, SparseInfo((N, M), True, True))
