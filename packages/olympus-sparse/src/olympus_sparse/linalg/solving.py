# SPDX-License-Identifier: Apache-2.0
"""`spsolve`: direct solution of a sparse linear system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, is_undefined_primal, jvp_rules, transpose_rules
from olympus_autodiff.zeros import instantiate
from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.types import dtypes
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ..core.primitives import define_batching_by_expansion, sparse_primitive
from ..core.rows import compressed, rows_of
from ..csr import csr_matvec_p

# SciPy is imported on first use, since few programs solve sparse systems on the host.
if TYPE_CHECKING:
    import scipy.sparse as scipy_sparse
    import scipy.sparse.linalg as scipy_linalg
else:
    scipy_sparse = deferred("scipy.sparse", milliseconds=200)
    scipy_linalg = deferred("scipy.sparse.linalg", milliseconds=80)

__all__ = ["spsolve", "spsolve_p"]


def _solve_on_host(data: Any, indices: Any, indptr: Any, b: Any) -> np.ndarray:
    data, indices, indptr, b = map(np.ascontiguousarray, (data, indices, indptr, b))
    matrix = scipy_sparse.csr_matrix((data, indices, indptr), shape=(b.size, b.size))
    return np.asarray(scipy_linalg.spsolve(matrix, b), b.dtype)


@sparse_primitive("spsolve", linear_in=(3,))
def spsolve_p(data: Any, indices: Any, indptr: Any, b: Any, *, tol: float, reorder: int) -> Any:
    out = ShapeDtypeStruct(b.shape, b.dtype)
    return lax.pure_callback(
        _solve_on_host, out, data, indices, indptr, b, vmap_method="sequential"
    )


@jvp_rules.define(spsolve_p)
def _spsolve_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    data, indices, indptr, b = primals
    data_dot, _, _, b_dot = tangents
    x = spsolve_p.bind(data, indices, indptr, b, **params)
    # the tangent dx solves A dx = db - dA x
    right = instantiate(b_dot)
    if data_dot.__class__ is not Zero:
        shape = (b.size, b.size)
        moved = csr_matvec_p.bind(data_dot, indices, indptr, x, shape=shape, transpose=False)
        right = lax.neg(moved) if b_dot.__class__ is Zero else lax.sub(right, moved)
    elif b_dot.__class__ is Zero:
        return x, Zero.of(x)
    return x, spsolve_p.bind(data, indices, indptr, right, **params)


@transpose_rules.define(spsolve_p)
def _spsolve_transpose(
    cotangent: Any, data: Any, indices: Any, indptr: Any, b: Any, **params: Any
) -> list[Any]:
    if not is_undefined_primal(b):
        raise ValueError("spsolve can be transposed with respect to its right-hand side only")
    size = b.aval.size
    rows = rows_of(indptr, indices.shape[0]).astype(indices.dtype)
    columns, rows, data = lax.sort([indices, rows, data], num_keys=2)
    starts = compressed(columns, size, indptr.dtype)
    return [None, None, None, spsolve_p.bind(data, rows, starts, cotangent, **params)]


define_batching_by_expansion(spsolve_p)


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """Solves ``A x = b`` for a square matrix in compressed sparse row format, by factorization.

    SciPy solves the system, on the host.

    Args:
      data: the values of entries, of shape (nse,).
      indices: the columns of entries, of shape (nse,).
      indptr: the row pointers, of shape (n + 1,).
      b: the right-hand side, of shape (n,).
      tol: ignored: SciPy chooses the pivot tolerance.
      reorder: ignored: SciPy chooses the ordering that reduces fill-in.

    Returns:
      The solution, of the shape and the dtype of ``b``; NaN if the matrix is singular.

    Raises:
      ValueError: shapes or dtypes do not fit, or ``reorder`` is unknown.

    Example:
      >>> data = np.array([2.0, 4.0], np.float32)
      >>> x = spsolve(data, np.array([0, 1]), np.array([0, 1, 2]), np.array([2.0, 2.0], np.float32))
      >>> np.asarray(x).tolist()
      [1.0, 0.5]
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    if not data.ndim == indices.ndim == indptr.ndim == b.ndim == 1:
        raise ValueError(
            f"Arrays must be one-dimensional. Got {data.shape=} {indices.shape=} {indptr.shape=} "
            f"{b.shape=}"
        )
    if indptr.size != b.size + 1 or data.shape != indices.shape:
        raise ValueError(
            f"Invalid CSR buffer sizes: {data.shape=} {indices.shape=} {indptr.shape=}"
        )
    if reorder not in (1, 2, 3, 4):
        raise ValueError(f"{reorder=} not valid, must be one of [1, 2, 3, 4]")
    if data.dtype != b.dtype:
        raise ValueError(f"data types do not match: {data.dtype=} {b.dtype=}")
    integers = (dtypes.issubdtype(array.dtype, np.integer) for array in (indices, indptr))
    if not all(integers):
        raise ValueError(
            f"index arrays must be integer typed; got {indices.dtype=} {indptr.dtype=}"
        )
    return spsolve_p.bind(data, indices, indptr, b, tol=tol, reorder=reorder)
