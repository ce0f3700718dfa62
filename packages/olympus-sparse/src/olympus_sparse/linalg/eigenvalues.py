# SPDX-License-Identifier: Apache-2.0
"""`lobpcg_standard`: the largest eigenvalues of a symmetric linear operator.

Knyazev: Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
conjugate gradient method. SIAM J. Sci. Comput. 23 (2001).

Each step has a basis of the current vectors, the previous directions and the residuals. For
stability, the basis is orthonormalized block by block, and directions in the span of other
directions become zero. The choice of bases follows Duersch, Shao, Yang, Gu: A robust and efficient
implementation of LOBPCG. SIAM J. Sci. Comput. 40 (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import eval_shape
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.base import OLYMPUSSparse

__all__ = ["lobpcg_standard"]


class _State(NamedTuple):
    """State of the iteration: vectors, last directions, residuals, eigenvalues and counts.

    The counts are the number of steps and the number of converged pairs.
    """

    vectors: Any
    directions: Any
    residuals: Any
    values: Any
    step: Any
    converged: Any


def lobpcg_standard(
    A: OLYMPUSSparse | ArrayLike | Callable[[Array], Array],
    X: ArrayLike,
    m: int = 100,
    tol: ArrayLike | None = None,
) -> tuple[Any, Any, Any]:
    """Computes the largest eigenvalues of a symmetric operator, and their eigenvectors.

    Args:
      A: a symmetric matrix, dense or sparse, of shape (n, n), or a function that applies the
        operator to the columns of an array of shape (n, k).
      X: the initial vectors, linearly independent columns of shape (n, k) with 5 k < n. The
        function computes k eigenvalues.
      m: the greatest number of steps.
      tol: the tolerance: an eigenpair has converged if ``||A v - λ v||`` is below ``10 n tol (|λ| +
        ||A v||)``; the machine epsilon of the dtype by default.

    Returns:
      The eigenvalues in descending order, of shape (k,); the eigenvectors in columns, of shape (n,
      k); and the number of steps.

    Raises:
      ValueError: shapes do not fit, or dtypes differ or are not real floating dtypes.

    Example:
      >>> import numpy as np
      >>> A = np.diag(np.arange(1.0, 21.0)).astype(np.float32)
      >>> X = np.eye(20, 2, dtype=np.float32) + 0.1
      >>> values, _, _ = lobpcg_standard(A, X)
      >>> np.round(np.asarray(values), 3).tolist()
      [20.0, 19.0]
    """
    X = jnp.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be 2D, got shape {X.shape}")
    n, k = X.shape
    if k == 0:
        raise ValueError("must have search dim > 0, got 0")
    if k * 5 >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")
    if not dtypes.issubdtype(X.dtype, np.floating):
        raise ValueError(f"A, X must have real floating dtypes, got {X.dtype}")
    tol = float(jnp.finfo(X.dtype).eps) if tol is None else tol
    if isinstance(A, OLYMPUSSparse) or not callable(A):
        operand = A if isinstance(A, OLYMPUSSparse) else jnp.asarray(A)
        if operand.shape != (n, n):
            raise ValueError(f"A must be of shape {(n, n)}, got {operand.shape}")
        _check_result(lambda vectors: _apply_matrix(operand, vectors), X)
        return _lobpcg_of_matrix(operand, X, m, tol)
    _check_result(A, X)
    return _lobpcg(A, X, m, tol)


def _check_result(A: Callable[[Any], Any], X: Any) -> None:
    """Checks that an operator keeps the shape and the dtype of its operand.

    Raises:
      ValueError: the operator changes the shape or dtype of its operand.
    """
    out = eval_shape(A, X)
    if out.dtype != X.dtype:
        raise ValueError(f"A, X must have same dtypes (were {out.dtype}, {X.dtype})")
    if out.shape != X.shape:
        raise ValueError(f"A must keep the shape of its argument, {X.shape}, got {out.shape}")


def _apply_matrix(A: Any, X: Any) -> Any:
    return A @ X if isinstance(A, OLYMPUSSparse) else _product(A, X)


def _product(lhs: Any, rhs: Any) -> Any:
    return jnp.matmul(lhs, rhs, precision=lax.Precision.HIGHEST)


@jit
def _lobpcg_of_matrix(A: Any, X: Any, m: Any, tol: Any) -> tuple[Any, Any, Any]:
    return _lobpcg(lambda vectors: _apply_matrix(A, vectors), X, m, tol)


def _lobpcg(A: Callable[[Any], Any], X: Any, m: Any, tol: Any) -> tuple[Any, Any, Any]:
    n, k = X.shape
    tolerance = jnp.asarray(tol, X.dtype) * 10 * n

    def rated(vectors: Any, directions: Any, step: Any) -> _State:
        """Returns the state of approximate eigenvectors, with eigenvalues and residuals."""
        images = A(vectors)
        values = jnp.sum(vectors * images, axis=0)
        residuals = images - values[None, :] * vectors
        limit = tolerance * (jnp.abs(values) + jnp.linalg.norm(images, axis=0))
        converged = jnp.sum(jnp.linalg.norm(residuals, axis=0) < limit, dtype=np.int32)
        return _State(vectors, directions, residuals, values, step, converged)

    def unfinished(state: _State) -> Any:
        return (state.step < m) & (state.converged < k)

    def advanced(state: _State) -> _State:
        searched = _orthonormal(_orthonormal(state.residuals), state.vectors, state.directions)
        basis = jnp.concatenate([state.vectors, state.directions, searched], axis=1)
        mixture = _best_mixture(basis, A(basis), k)
        vectors = _straightened(_product(basis, mixture))
        # The part of the step outside of the span of the previous vectors.
        moved = _product(basis[:, k:], mixture[k:])
        directions = _orthonormal(_orthonormal(moved), vectors)
        return rated(vectors, directions, state.step + 1)

    start = _orthonormal(X)
    vectors = _straightened(_product(start, _best_mixture(start, A(start), k)))
    first = rated(vectors, jnp.zeros_like(X), jnp.zeros((), np.int32))
    last = lax.while_loop(unfinished, advanced, first)
    order = jnp.argsort(-last.values)
    return last.values[order], last.vectors[:, order], last.step


def _best_mixture(basis: Any, images: Any, count: int) -> Any:
    """Returns the Rayleigh-Ritz coefficients of the largest eigenvalues, in descending order.

    Zero columns of the basis, which stand for dependent columns, are ignored.
    """
    gram = _product(basis.T, images)
    gram = (gram + gram.T) / 2
    missing = jnp.sum(basis * basis, axis=0) < 0.5
    # A value below all eigenvalues, so that zero columns come last in descending order.
    low = -2 * jnp.linalg.norm(gram) - 1
    gram = gram + jnp.diag(jnp.where(missing, low, jnp.zeros((), gram.dtype)))
    _, vectors = jnp.linalg.eigh(gram)
    return vectors[:, ::-1][:, :count]


def _orthonormal(vectors: Any, *others: Any) -> Any:
    """Orthogonalizes columns against the columns of ``others``, and makes them orthonormal.

    Linearly dependent columns become zero. A single orthogonalization is inaccurate if columns are
    nearly dependent, so it is done twice.
    """
    for _ in range(2):
        for _ in range(2):
            for other in others:
                vectors = vectors - _product(other, _product(other.T, vectors))
        vectors = _normal_by_eigenvectors(vectors)
    return vectors


def _normal_by_eigenvectors(vectors: Any) -> Any:
    """Orthonormalizes by the eigenvectors of the Gram matrix.

    Stathopoulos, Wu: A block orthogonalization procedure with constant synchronization
    requirements. SIAM J. Sci. Comput. 23 (2002).
    """
    norms = jnp.linalg.norm(vectors, axis=0, keepdims=True)
    scaled = vectors / jnp.where(norms > 0, norms, 1)
    gram = _product(scaled.T, scaled)
    values, mixture = jnp.linalg.eigh((gram + gram.T) / 2)
    count = vectors.shape[1]
    smallest = values[-1] * count * jnp.finfo(vectors.dtype).eps
    kept = values > jnp.maximum(smallest, 0)
    factors = jnp.where(kept, lax.rsqrt(jnp.where(kept, values, 1)), 0)
    return _product(scaled, mixture * factors[None, :])


def _straightened(vectors: Any) -> Any:
    """Returns the nearest orthonormal columns, by Löwdin's method."""
    values, mixture = jnp.linalg.eigh(_product(vectors.T, vectors))
    factors = lax.rsqrt(jnp.maximum(values, jnp.finfo(values.dtype).eps))
    return _product(vectors, _product(mixture * factors[None, :], mixture.T))
