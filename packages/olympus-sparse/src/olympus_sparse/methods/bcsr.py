# SPDX-License-Identifier: Apache-2.0
"""Methods and operators of `BCSR`, made from functions that use the class."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp

from ..bcoo.batching import map_batches
from ..bcsr.array import BCSR
from ..bcsr.operations import bcsr_fromdense, bcsr_sum_duplicates, bcsr_todense
from ..sparsification.transform import sparsify
from .bcoo import attach, iterate, operator

__all__: list[str] = []


def _fromdense(
    cls: type[BCSR],
    mat: Any,
    *,
    nse: int | None = None,
    index_dtype: Any = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
) -> BCSR:
    """Makes a sparse array from a dense array; see `bcsr_fromdense`."""
    return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


def _from_scipy_sparse(
    cls: type[BCSR], mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCSR:
    """Makes a sparse array from a matrix of `scipy.sparse`.

    Args:
      mat: the matrix.
      index_dtype: the dtype of columns and of row pointers; int32 if None.
      n_dense: must be zero.
      n_batch: must be zero.
    """
    if n_dense != 0 or n_batch != 0:
        raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.")
    if mat.ndim != 2:
        raise ValueError(f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
    rows = mat.tocsr()
    dtype = np.dtype(np.int32 if index_dtype is None else index_dtype)
    buffers = rows.data, rows.indices.astype(dtype), rows.indptr.astype(dtype)
    return cls(buffers, shape=mat.shape)  # type: ignore[arg-type]


def _todense(self: BCSR) -> Any:
    """Returns the dense array."""
    return bcsr_todense(self)


def _sum_duplicates(self: BCSR, nse: int | None = None) -> BCSR:
    """Returns the array with entries at equal coordinates added up; see `bcsr_sum_duplicates`."""
    return bcsr_sum_duplicates(self, nse=nse)


def _transpose(self: BCSR, *args: Any, **kwargs: Any) -> BCSR:
    """Raises an error, because the transpose of compressed rows is compressed columns."""
    raise NotImplementedError("Transpose is not implemented.")


def _getitem(self: BCSR, index: Any) -> Any:
    return sparsify(lambda array: array[index])(self)


attach(
    BCSR,
    {
        "fromdense": classmethod(_fromdense),
        "from_scipy_sparse": classmethod(_from_scipy_sparse),
        "todense": _todense,
        "sum_duplicates": _sum_duplicates,
        "transpose": _transpose,
        "__getitem__": _getitem,
        "__iter__": iterate,
        "__matmul__": operator(jnp.matmul),
        "__rmatmul__": operator(jnp.matmul, reflected=True),
    },
)

map_batches(BCSR)
