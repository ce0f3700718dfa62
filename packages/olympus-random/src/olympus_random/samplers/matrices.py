# SPDX-License-Identifier: Apache-2.0
"""Samplers that factor matrices: correlated normal vectors, orthogonal matrices."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.promotion import promote_types, result_type
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import check_key, checked_shape, compiled, float_dtype, sample_shape
from .continuous import _normal

# The modules are imported on first use, since few programs factor matrices.
if TYPE_CHECKING:
    from olympus_ir.lax import linalg
    from olympus_ir.lax.linalg import matrices
else:
    linalg = deferred("olympus_ir.lax.linalg", milliseconds=10)
    matrices = deferred("olympus_ir.lax.linalg.matrices", milliseconds=10)

__all__ = ["multivariate_normal", "orthogonal"]

_METHODS = ("cholesky", "eigh", "svd")


@laid_out
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the multivariate normal distribution.

    Args:
      key: a key.
      mean: the means, of shape (..., n).
      cov: the covariances, positive semidefinite matrices of shape (..., n, n).
      shape: the batch shape, to which the batch shapes of ``mean`` and ``cov`` broadcast; their
        common batch shape if None.
      dtype: a float dtype; by default the common dtype of ``mean`` and ``cov``.
      method: the factorization by which the square root of the covariance is computed: ``"eigh"``,
        ``"svd"``, or ``"cholesky"``, which is for positive definite matrices only.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape (*shape, n); its dtype is ``dtype`` promoted with the dtypes of
      the parameters.

    Raises:
      ValueError: the method is unknown, the shapes do not fit, or ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import key
      >>> multivariate_normal(key(0), np.zeros(3), np.eye(3), (2,)).shape
      (2, 3)
    """
    key, _ = check_key("multivariate_normal", key)
    own = dtypes.to_inexact_dtype(result_type(mean, cov))
    dtype = float_dtype("multivariate_normal", own if dtype is None else dtype)
    if method not in _METHODS:
        raise ValueError(f"method must be one of {{'svd', 'eigh', 'cholesky'}}, got {method!r}")
    mean_shape, cov_shape = get_aval(mean).shape, get_aval(cov).shape
    if not mean_shape:
        raise ValueError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0")
    if len(cov_shape) < 2:
        raise ValueError(
            f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {len(cov_shape)}"
        )
    size = mean_shape[-1]
    if cov_shape[-2:] != (size, size):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={size}, but got "
            f"cov.shape == {cov_shape}."
        )
    batches = mean_shape[:-1], cov_shape[:-2]
    if shape is None:
        shape = np.broadcast_shapes(*batches)
    else:
        shape = sample_shape(shape)
        checked_shape("multivariate_normal", shape, *batches)
    return _multivariate_normal(key, mean, cov, shape=shape, dtype=dtype, own=own, method=method)


@compiled("shape", "dtype", "own", "method")
def _multivariate_normal(
    key: Any, mean: Any, cov: Any, *, shape: tuple[int, ...], dtype: Any, own: Any, method: str
) -> Any:
    mean, cov = (lax.convert_element_type(array, own) for array in (mean, cov))
    if method == "cholesky":
        factor = linalg.cholesky(cov)
    else:
        if method == "eigh":
            vectors, values = linalg.eigh(cov)
        else:
            vectors, values, _ = linalg.svd(cov)
        ndim = vectors.ndim
        roots = lax.broadcast_in_dim(lax.sqrt(values), vectors.shape, (*range(ndim - 2), ndim - 1))
        factor = lax.mul(vectors, roots)
    draws = _normal(key, shape=(*shape, mean.shape[-1]), dtype=dtype)
    wide = promote_types(own, dtype)
    mean, factor, draws = (lax.convert_element_type(array, wide) for array in (mean, factor, draws))
    last = len(shape)
    if factor.ndim == 2:
        moved = lax.dot_general(draws, factor, (((last,), (1,)), ((), ())))
    else:
        factors_shape = (*shape, *factor.shape[-2:])
        start = len(factors_shape) - factor.ndim
        factor = lax.broadcast_in_dim(
            factor, factors_shape, tuple(range(start, len(factors_shape)))
        )
        batch = tuple(range(last))
        moved = lax.dot_general(factor, draws, (((last + 1,), (last,)), (batch, batch)))
    start = moved.ndim - mean.ndim
    mean = lax.broadcast_in_dim(mean, moved.shape, tuple(range(start, moved.ndim)))
    return lax.add(mean, moved)


@laid_out
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples uniformly distributed matrices with orthonormal rows or columns.

    Mezzadri: How to generate random matrices from the classical compact groups. Notices of the AMS
    54 (2007).

    Args:
      key: a key.
      n: the number of rows.
      shape: the batch shape.
      dtype: a float or complex dtype; the default float dtype if None. Complex matrices are
        unitary.
      m: the number of columns; ``n`` if None.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      An array of shape (*shape, n, m) and dtype ``dtype``.

    Raises:
      ValueError: a size is negative, or ``dtype`` is not inexact.

    Example:
      >>> from olympus_random import key
      >>> orthogonal(key(0), 3, m=2).shape
      (3, 2)
    """
    key, _ = check_key("orthogonal", key)
    dtype = float_dtype("orthogonal", dtype, complex_too=True)
    shape = sample_shape(shape)
    rows = operator.index(n)
    columns = rows if m is None else operator.index(m)
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {n} and {m}")
    return _orthogonal(key, rows=rows, columns=columns, shape=shape, dtype=dtype)


@compiled("rows", "columns", "shape", "dtype")
def _orthogonal(key: Any, *, rows: int, columns: int, shape: tuple[int, ...], dtype: Any) -> Any:
    high, wide = max(rows, columns), min(rows, columns)
    q, r = linalg.qr(_normal(key, shape=(*shape, high, wide), dtype=dtype), full_matrices=False)
    # The factorization fixes the signs of the columns. Division by the signs of r makes the signs
    # random.
    identity = matrices.identity_like(r)
    diagonal = lax.reduce_sum(lax.mul(r, identity), (r.ndim - 1,))
    signs = lax.sign(diagonal)
    spread = (*range(len(shape)), len(shape) + 1)
    q = lax.mul(q, lax.broadcast_in_dim(signs, q.shape, spread))
    return q if rows >= columns else matrices.swap_last(q)
