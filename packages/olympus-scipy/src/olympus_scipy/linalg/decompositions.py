# SPDX-License-Identifier: Apache-2.0
"""Matrix decompositions, with SciPy's names and arguments.

The arguments ``overwrite_a``, ``lwork`` and ``check_finite`` are accepted and ignored: arrays are
never overwritten, and values are not checked before a computation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_jvp, custom_linear_solve
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.core.declarations import real_dtype
from olympus_ir.lax.linalg.matrices import adjoint
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import compiled
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, ensure_array, promote_dtypes_inexact

__all__ = [
    "cho_factor",
    "cholesky",
    "lu",
    "lu_factor",
    "polar",
    "qr",
    "qr_multiply",
    "svd",
]


def floating(function: str, *arrays: Any) -> list[Array]:
    """Returns the operands as arrays of one floating or complex dtype."""
    check_arraylike(f"scipy.linalg.{function}", *arrays)
    return [ensure_array(array) for array in promote_dtypes_inexact(*map(ensure_array, arrays))]


def matrix_product(x: Any, y: Any) -> Any:
    """Multiplies matrices in the full precision of their dtype."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


# ---- Cholesky ----


def _cholesky_of(a: Any, lower: bool) -> Any:
    (a,) = floating("cholesky", a)
    if lower:
        return lax_linalg.cholesky(a, symmetrize_input=False)
    if a.ndim < 2:
        return lax_linalg.cholesky(a, symmetrize_input=False)  # raises an error about the rank
    return adjoint(lax_linalg.cholesky(adjoint(a), symmetrize_input=False))


_cholesky = compiled(_cholesky_of, ("lower",), name="_cholesky")


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Computes the Cholesky factors of Hermitian positive definite matrices.

    Args:
      a: the matrices, of shape (..., n, n). Only the lower triangle is read if ``lower``, and
        otherwise only the upper one.
      lower: whether to return the lower triangular ``l`` with ``a = l @ l.conj().T``; otherwise the
        upper triangular ``u`` with ``a = u.conj().T @ u``.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      The factors, of shape (..., n, n) and inexact dtype; NaN where a matrix is not positive
      definite (SciPy raises an error).

    Example:
      >>> cholesky(np.array([[4.0, 2], [2, 2]]))
      Array([[2., 1.],
             [0., 1.]], dtype=float32)
    """
    del overwrite_a, check_finite
    check_arraylike("cholesky", a)
    return _cholesky(a, bool(lower))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Computes Cholesky factors for `cho_solve`.

    Args:
      a: as in `cholesky`.
      lower: as in `cholesky`.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      A pair of the factors, of shape (..., n, n), and ``lower``.

    Example:
      >>> cho_factor(np.array([[4.0, 2], [2, 2]]))[1]
      False
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


# ---- LU ----


def _lu_of(a: Any, permute_l: bool) -> Any:
    (a,) = floating("lu", a)
    if a.ndim != 2:
        raise ShapeError(
            f"lu takes a matrix, got an array of shape {a.shape}; use vmap for several"
        )
    packed, _, permutation = lax_linalg.lu(a)
    rows, columns = a.shape
    inner = min(rows, columns)
    lower = jnp.tril(packed, -1)[:, :inner] + jnp.eye(rows, inner, dtype=a.dtype)
    upper = jnp.triu(packed)[:inner]
    dtype = real_dtype(a.dtype)
    numbers = jnp.arange(rows, dtype=permutation.dtype)
    permuting = (permutation[None, :] == numbers[:, None]).astype(dtype)
    if permute_l:
        return matrix_product(permuting.astype(a.dtype), lower), upper
    return permuting, lower, upper


_lu = compiled(_lu_of, ("permute_l",), name="_lu")


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Computes the LU decomposition of a matrix with row pivoting: ``a = p @ l @ u``.

    Args:
      a: a matrix of shape (m, n).
      permute_l: whether to return ``p @ l`` in place of ``p`` and ``l``.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      The permutation matrix ``p`` of shape (m, m), the unit lower triangular ``l`` of shape (m, k)
      and the upper triangular ``u`` of shape (k, n), with k = min(m, n).

    Raises:
      ValueError: ``a`` is not a single matrix.

    Example:
      >>> lu(np.array([[0.0, 2], [1, 0]]))[0]
      Array([[0., 1.],
             [1., 0.]], dtype=float32)
    """
    del overwrite_a, check_finite
    return _lu(a, bool(permute_l))


def _lu_factor_of(a: Any) -> Any:
    (a,) = floating("lu_factor", a)
    packed, pivots, _ = lax_linalg.lu(a)
    return packed, pivots


_lu_factor = compiled(_lu_factor_of, name="lu_factor")


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Computes LU factors for `lu_solve`.

    Args:
      a: square matrices, of shape (..., n, n).
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      A pair of an array of shape (..., n, n), which holds both factors, and the pivots (int32, of
      shape (..., n)). Row i was exchanged with row ``pivots[i]``.

    Example:
      >>> lu_factor(np.array([[0.0, 2], [1, 0]]))[1]
      Array([1, 1], dtype=int32)
    """
    del overwrite_a, check_finite
    return _lu_factor(a)


# ---- QR ----


_QR_MODES = {"full": True, "r": True, "economic": False}


def _qr_of(a: Any, mode: str, pivoting: bool) -> Any:
    if not is_among(mode, _QR_MODES):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = floating("qr", a)
    q, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=_QR_MODES[mode])
    return tuple(rest) if mode == "r" else (q, *rest)


_qr = compiled(_qr_of, ("mode", "pivoting"), name="_qr")


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Computes the QR decomposition: ``a = q @ r`` with orthonormal columns in ``q``.

    Args:
      a: matrices, of shape (..., m, n).
      overwrite_a: ignored.
      lwork: ignored.
      mode: ``"full"``; ``"economic"``, in which ``q`` has min(m, n) columns; ``"r"`` for ``r``
        alone.
      pivoting: whether to pivot columns: ``a[:, p] = q @ r``.
      check_finite: ignored.

    Returns:
      A tuple of ``q``, ``r`` and with ``pivoting`` the permutation ``p`` (int32).

    Raises:
      ValueError: the mode is unknown.

    Example:
      >>> qr(np.array([[3.0], [4.0]]), mode="economic")[1]
      Array([[-5.]], dtype=float32)
    """
    del overwrite_a, lwork, check_finite
    return _qr(a, mode, bool(pivoting))


def _qr_multiply_of(a: Any, c: Any, mode: str, pivoting: bool, conjugate: bool) -> Any:
    a, c = floating("qr_multiply", a, c)
    if a.ndim != 2:
        raise ValueError(f"qr_multiply takes a matrix a, got shape {a.shape}")
    if mode not in ("left", "right"):
        raise ValueError(f"mode must be 'left' or 'right', got {mode!r}")
    rows, columns = a.shape
    inner = min(rows, columns)
    if pivoting:
        packed, order, taus = lax_linalg.geqp3(a, jnp.zeros(columns, np.int32))
        pivots = (order - 1,)
    else:
        packed, taus = lax_linalg.geqrf(a)
        pivots = ()
    r = jnp.triu(packed[:inner])
    vector = c.ndim == 1
    left = mode == "left"
    if vector:
        c = c[:, None] if left else c[None]
    count = c.shape[0 if left else 1]
    expected = (rows, inner) if left else (rows,)
    if c.ndim != 2 or count not in expected:
        operation = "Q @ c" if left else "c @ Q"
        raise ValueError(
            f"Array shapes are not compatible for {operation} operation: a has shape {a.shape} so "
            f"Q has {rows} rows, but c has {count} {'rows' if left else 'columns'} (expected "
            f"{' or '.join(map(str, expected))})."
        )
    if conjugate:
        c = c.conj()
    vectors = packed[:, :inner]
    if left:
        full = jnp.pad(c, ((0, rows - count), (0, 0)))
        product = lax_linalg.ormqr(vectors, taus, full, left=True)
    else:
        product = lax_linalg.ormqr(vectors, taus, c, left=False)[:, :inner]
    if conjugate:
        product = product.conj()
    if vector:
        product = product[:, 0] if left else product[0]
    return (product, r, *pivots)


_qr_multiply = compiled(_qr_multiply_of, ("mode", "pivoting", "conjugate"), name="_qr_multiply")


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Computes ``a = q @ r``, and multiplies a matrix by ``q`` without forming ``q``.

    Args:
      a: a matrix of shape (m, n).
      c: the matrix or vector to multiply.
      mode: ``"right"`` for ``c @ q``, ``"left"`` for ``q @ c``.
      pivoting: as in `qr`.
      conjugate: whether to conjugate ``q``.
      overwrite_a: ignored.
      overwrite_c: ignored.

    Returns:
      A tuple of the product, ``r`` and with ``pivoting`` the permutation of columns.

    Raises:
      ValueError: ``a`` is not a single matrix, the mode is unknown, or shapes do not match.

    Example:
      >>> qr_multiply(np.array([[3.0], [4.0]]), np.array([1.0, 0.0]))[0].round(3)
      Array([-0.6], dtype=float32)
    """
    del overwrite_a, overwrite_c
    return _qr_multiply(a, c, mode, bool(pivoting), bool(conjugate))


# ---- singular values and the polar decomposition ----


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Computes the singular value decomposition: ``a = u @ diag(s) @ vh``.

    Args:
      a: matrices, of shape (..., m, n).
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: whether to compute ``u`` and ``vh``.
      overwrite_a: ignored.
      check_finite: ignored.
      lapack_driver: ignored.

    Returns:
      The triple ``(u, s, vh)``, or ``s`` alone; ``s`` is real, of shape (..., min(m, n)), in
      descending order.

    Example:
      >>> svd(np.array([[3.0, 0], [0, 4]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    del overwrite_a, check_finite, lapack_driver
    (a,) = floating("svd", a)
    result = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(result) if compute_uv else result


def _polar_of(
    a: Any, side: str, method: str, eps: float | None, max_iterations: int | None
) -> tuple[Array, Array]:
    (a,) = floating("polar", a)
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    if a.ndim < 2:
        raise ValueError(f"The input `a` must be at least a 2-D array, got shape {a.shape}.")
    if a.ndim > 2:
        return vmap(lambda matrix: _polar_of(matrix, side, method, eps, max_iterations))(a)
    rows, columns = a.shape
    if method == "svd":
        left, values, right = jnp.linalg.svd(a, full_matrices=False)
        values = values.astype(left.dtype)
        unitary = matrix_product(left, right)
        if side == "right":
            return unitary, matrix_product(adjoint(right) * values[None, :], right)
        return unitary, matrix_product(left * values[None, :], adjoint(left))
    if method != "qdwh":
        raise ValueError(f"Unknown polar decomposition method {method}.")
    if (rows >= columns) is not (side == "right") and rows != columns:
        raise NotImplementedError(
            "method='qdwh' takes matrices with at least as many rows as columns where "
            f"side='right', and with at most as many where side='left', got {a.shape} with "
            f"{side=}; use method='svd'"
        )
    tall = a if side == "right" else adjoint(a)
    unitary, hermitian = _tall_polar(max_iterations, eps)(tall)
    return (unitary if side == "right" else adjoint(unitary)), hermitian


def _tall_polar(max_iterations: int | None, eps: float | None) -> Callable[[Any], Any]:
    """Returns a function that computes the polar decomposition a = u h of a tall matrix a.

    The function has derivatives of any order. With z = u^H da, the matrix x = u^H du is
    skew-Hermitian and solves h x + x h = z - z^H. The derivative is defined where a has full rank,
    also at equal singular values.
    """

    @custom_jvp
    def decomposed(a: Any) -> tuple[Any, Any]:
        unitary, hermitian, _, _ = lax_linalg.qdwh(a, max_iterations=max_iterations, eps=eps)
        return unitary, hermitian

    @decomposed.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        unitary, hermitian = decomposed(*primals)
        (change,) = tangents
        projected = matrix_product(adjoint(unitary), change)
        skew = _solved_with_both_sides(hermitian, projected - adjoint(projected))
        moved = matrix_product(unitary, skew)
        if unitary.shape[0] > unitary.shape[1]:
            outside = change - matrix_product(unitary, projected)
            moved = moved + adjoint(jnp.linalg.solve(hermitian, adjoint(outside)))
        return (unitary, hermitian), (moved, projected - matrix_product(skew, hermitian))

    return decomposed


def _solved_with_both_sides(h: Any, right: Any) -> Any:
    """Returns the solution of h x + x h = right for a Hermitian h."""
    values, vectors = jnp.linalg.eigh(lax.stop_gradient(h))

    def solve(_: Any, right: Any) -> Any:
        turned = matrix_product(matrix_product(adjoint(vectors), right), vectors)
        turned = turned / (values[:, None] + values[None, :]).astype(turned.dtype)
        return matrix_product(matrix_product(vectors, turned), adjoint(vectors))

    def applied(x: Any) -> Any:
        return matrix_product(h, x) + matrix_product(x, h)

    def transposed(_: Any, right: Any) -> Any:
        return solve(_, right.T).T

    return custom_linear_solve(applied, right, solve, transposed)


_polar = compiled(_polar_of, ("side", "method", "eps", "max_iterations"), name="polar")


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Computes the polar decomposition: ``a = u @ p``, with orthonormal columns in ``u``.

    The method ``"qdwh"`` is from Nakatsukasa, Bai, Gygi: Optimizing Halley's iteration for
    computing the matrix polar decomposition. SIAM J. Matrix Anal. Appl. 31 (2010).

    Args:
      a: matrices, of shape (..., m, n).
      side: ``"right"`` for ``a = u @ p``, or ``"left"`` for ``a = p @ u``.
      method: ``"qdwh"``, an iteration that suits accelerators, or ``"svd"``.
      eps: the relative error at which the iteration stops; by default that of the dtype.
      max_iterations: the greatest number of steps of the iteration.

    Returns:
      The pair ``(u, p)``: ``u`` has the shape of ``a``, ``p`` is Hermitian positive semidefinite.

    Raises:
      ValueError: the side or the method is unknown, or ``a`` has fewer than two dimensions.
      NotImplementedError: the method is ``"qdwh"``, and ``a`` has fewer rows than columns for
        ``side="right"``, or more for ``side="left"``.

    Example:
      >>> unitary, positive = polar(np.array([[0.0, -2], [2, 0]]))
      >>> bool(np.allclose(positive, 2 * np.eye(2), atol=1e-5))
      True
    """
    return _polar(a, side, method=method, eps=eps, max_iterations=max_iterations)
