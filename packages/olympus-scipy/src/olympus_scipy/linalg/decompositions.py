# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices, with SciPy's names and arguments.

The arguments ``overwrite_a``, ``lwork`` and ``check_finite`` are accepted and do nothing: arrays
are not overwritten, and not looked at before they are computed with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.families import real_dtype
from olympus_ir.lax.linalg.matrices import adjoint
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import compiled
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


def floating(function: str, *arrays: Any) -> list[Any]:
    """The operands as arrays of one dtype that is floating or complex."""
    check_arraylike(f"scipy.linalg.{function}", *arrays)
    return [ensure_array(each) for each in promote_dtypes_inexact(*map(ensure_array, arrays))]


def matrix_product(x: Any, y: Any) -> Any:
    """The product of matrices in the full precision of their dtype."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


# ---- Cholesky ----


def _cholesky_of(a: Any, lower: bool) -> Any:
    (a,) = floating("cholesky", a)
    if lower:
        return lax_linalg.cholesky(a, symmetrize_input=False)
    if a.ndim < 2:
        return lax_linalg.cholesky(a, symmetrize_input=False)  # which says what is wrong
    return adjoint(lax_linalg.cholesky(adjoint(a), symmetrize_input=False))


_cholesky = compiled(_cholesky_of, ("lower",), name="_cholesky")


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Returns the triangular factors of Hermitian positive definite matrices.

    Args:
      a: the matrices, of which one triangle is looked at.
      lower: whether the factor ``l`` with ``a = l @ l.conj().T`` is wanted; otherwise the upper
        triangular ``u`` with ``a = u.conj().T @ u``.
      overwrite_a: ignored.
      check_finite: ignored.

    Example:
      >>> cholesky(np.array([[4.0, 2], [2, 2]]))
      Array([[2., 1.],
             [0., 1.]], dtype=float32)
    """
    del overwrite_a, check_finite
    return _cholesky(a, bool(lower))


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Factors Hermitian positive definite matrices for `cho_solve`.

    Args:
      a: as in `cholesky`.
      lower: as in `cholesky`.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      The factors, and ``lower``.

    Example:
      >>> cho_factor(np.array([[4.0, 2], [2, 2]]))[1]
      False
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


# ---- LU ----


def _lu_of(a: Any, permute_l: bool) -> Any:
    (a,) = floating("lu", a)
    if a.ndim != 2:
        raise ValueError(
            f"lu takes a matrix, got an array of shape {a.shape}; use vmap for several"
        )
    packed, _, permutation = lax_linalg.lu(a)
    rows, columns = a.shape
    inner = min(rows, columns)
    lower = jnp.tril(packed, -1)[:, :inner] + jnp.eye(rows, inner, dtype=a.dtype)
    upper = jnp.triu(packed)[:inner]
    dtype = real_dtype(a.dtype)
    permuting = (permutation == jnp.arange(rows, dtype=permutation.dtype)[:, None]).astype(dtype)
    if permute_l:
        return matrix_product(permuting.astype(a.dtype), lower), upper
    return permuting, lower, upper


_lu = compiled(_lu_of, ("permute_l",), name="_lu")


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Factors a matrix by elimination with exchanges: ``a = p @ l @ u``.

    Args:
      a: a matrix.
      permute_l: whether ``p @ l`` is returned in place of both.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      The permutation, the lower triangular matrix with ones on its diagonal, and the upper one.

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


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """Factors square matrices for `lu_solve`.

    Args:
      a: the matrices.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      Both factors in one matrix, and the row that each row was exchanged with.

    Example:
      >>> lu_factor(np.array([[0.0, 2], [1, 0]]))[1]
      Array([1, 1], dtype=int32)
    """
    del overwrite_a, check_finite
    return _lu_factor(a)


# ---- QR ----


_QR_MODES = {"full": True, "r": True, "economic": False}


def _qr_of(a: Any, mode: str, pivoting: bool) -> Any:
    if mode not in _QR_MODES:
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = floating("qr", a)
    q, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=_QR_MODES[mode])
    return tuple(rest) if mode == "r" else (q, *rest)


_qr = compiled(_qr_of, ("mode", "pivoting"), name="_qr")


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Factors matrices: ``a = q @ r`` with orthonormal columns in ``q`` and triangular ``r``.

    Args:
      a: matrices.
      overwrite_a: ignored.
      lwork: ignored.
      mode: ``"full"``; ``"economic"``, where ``q`` has no more columns than ``a``; ``"r"`` for
        ``r`` without ``q``.
      pivoting: whether columns are exchanged: ``a[:, p] = q @ r``.
      check_finite: ignored.

    Returns:
      A tuple of ``q``, ``r`` and with ``pivoting`` the permutation ``p``.

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
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Factors a matrix, ``a = q @ r``, and multiplies another one by ``q`` without forming it.

    Args:
      a: a matrix.
      c: the matrix, or vector, to be multiplied.
      mode: ``"right"`` for ``c @ q``, ``"left"`` for ``q @ c``.
      pivoting: as in `qr`.
      conjugate: whether ``q`` is conjugated.
      overwrite_a: ignored.
      overwrite_c: ignored.

    Returns:
      A tuple of the product, ``r`` and with ``pivoting`` the permutation of columns.

    Example:
      >>> qr_multiply(np.array([[3.0], [4.0]]), np.array([1.0, 0.0]))[0].round(3)
      Array([-0.6], dtype=float32)
    """
    del overwrite_a, overwrite_c
    return _qr_multiply(a, c, mode, bool(pivoting), bool(conjugate))


# ---- singular values and the polar decomposition ----


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Singular value decomposition: ``a = u @ diag(s) @ vh``.

    Args:
      a: matrices.
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: whether they are wanted.
      overwrite_a: ignored.
      check_finite: ignored.
      lapack_driver: ignored.

    Returns:
      The triple ``(u, s, vh)``, or ``s`` alone.

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
        return vmap(lambda each: _polar_of(each, side, method, eps, max_iterations))(a)
    rows, columns = a.shape
    if method == "svd":
        left, values, right = jnp.linalg.svd(a, full_matrices=False)
        values = values.astype(left.dtype)
        unitary = matrix_product(left, right)
        if side == "right":
            return unitary, matrix_product(adjoint(right) * values, right)
        return unitary, matrix_product(left * values, adjoint(left))
    if method != "qdwh":
        raise ValueError(f"Unknown polar decomposition method {method}.")
    if (rows >= columns) is not (side == "right") and rows != columns:
        raise NotImplementedError(
            "method='qdwh' takes matrices with at least as many rows as columns where "
            f"side='right', and with at most as many where side='left', got {a.shape} with "
            f"{side=}; use method='svd'"
        )
    tall = a if side == "right" else adjoint(a)
    unitary, hermitian, _, _ = lax_linalg.qdwh(tall, max_iterations=max_iterations, eps=eps)
    return (unitary if side == "right" else adjoint(unitary)), hermitian


_polar = compiled(_polar_of, ("side", "method", "eps", "max_iterations"), name="polar")


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Polar decomposition: ``a = u @ p``, ``u`` with orthonormal columns, ``p`` Hermitian.

    Args:
      a: matrices.
      side: ``"right"``, or ``"left"`` for ``a = p @ u``.
      method: ``"qdwh"``, an iteration that suits accelerators, or ``"svd"``.
      eps: the precision of the iteration.
      max_iterations: how many steps it may take.

    Returns:
      The pair ``(u, p)``.

    Raises:
      NotImplementedError: where the iteration is asked for the side on which ``p`` is larger.

    Example:
      >>> unitary, positive = polar(np.array([[0.0, -2], [2, 0]]))
      >>> bool(np.allclose(positive, 2 * np.eye(2), atol=1e-5))
      True
    """
    return _polar(a, side, method=method, eps=eps, max_iterations=max_iterations)
