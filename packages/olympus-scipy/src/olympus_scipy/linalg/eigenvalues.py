# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues, and Hessenberg and Schur forms, with SciPy's names and arguments.

The arguments ``overwrite_a``, ``overwrite_b``, ``check_finite`` and ``turbo`` are accepted and
ignored: arrays are never overwritten, and values are not checked before a computation.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.linalg.spectral import complex_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import compiled
from olympus_numpy.core.promotion import check_arraylike, ensure_array, promote_dtypes_inexact

from .decompositions import floating, matrix_product

__all__ = ["eigh", "eigh_tridiagonal", "hessenberg", "rsf2csf", "schur"]


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Computes eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: the matrices, of shape (..., n, n).
      b: must be None; generalized problems are not supported.
      lower: has no effect: the Hermitian part of ``a`` is used.
      eigvals_only: whether to return eigenvalues alone.
      overwrite_a: ignored.
      overwrite_b: ignored.
      turbo: ignored.
      eigvals: must be None; all eigenvalues are computed.
      type: must be 1; other types belong to generalized problems.
      check_finite: ignored.

    Returns:
      The pair of eigenvalues (real, ascending, of shape (..., n)) and eigenvectors (in columns, of
      shape (..., n, n)), or the eigenvalues alone.

    Raises:
      NotImplementedError: ``b``, ``eigvals`` or ``type`` is not the default.

    Example:
      >>> eigh(np.array([[2.0, 1], [1, 2]]), eigvals_only=True)
      Array([1., 3.], dtype=float32)
    """
    del overwrite_a, overwrite_b, turbo, check_finite
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    (a,) = floating("eigh", a)
    triangle = "L" if lower else "U"
    if eigvals_only:
        return jnp.linalg.eigvalsh(a, UPLO=triangle)
    values, vectors = jnp.linalg.eigh(a, UPLO=triangle)
    return values, vectors


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: Literal["a", "i", "v"] = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: ArrayLike | None = None,
) -> Any:
    """Computes eigenvalues and eigenvectors of a Hermitian tridiagonal matrix.

    Args:
      d: the real diagonal, of shape (n,).
      e: the subdiagonal, of shape (n - 1,).
      eigvals_only: whether to return eigenvalues alone.
      select: ``"a"`` for all eigenvalues, ``"i"`` for a range of indices.
      select_range: the first and the last index for ``select="i"``.
      tol: ignored, since the results are as exact as the dtype allows.
      key: ignored, since the algorithm draws no random numbers.

    Returns:
      The pair of eigenvalues (ascending) and eigenvectors (in columns), or the eigenvalues alone.

    Raises:
      TypeError: the shapes or the dtypes of ``d`` and ``e`` do not match.
      ValueError: ``select`` is unknown, or ``select_range`` is not a pair of indices in order.
      NotImplementedError: ``select`` is ``"v"``, for which the number of results depends on values.

    Example:
      >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
      Array([1., 3.], dtype=float32)
    """
    del key
    if tol is not None and np.ndim(tol):
        raise TypeError(f"eigh_tridiagonal: `tol` must be a number, got {tol!r}")
    check_arraylike("eigh_tridiagonal", d, e)
    d, e = ensure_array(d), ensure_array(e)
    if d.ndim != 1 or e.ndim != 1 or d.size != e.size + 1:
        raise TypeError(
            "eigh_tridiagonal takes vectors `d` of size n and `e` of size n - 1, got shapes "
            f"{d.shape} and {e.shape}"
        )
    if d.dtype != e.dtype:
        raise TypeError(
            f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}"
        )
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select not in ("a", "i"):
        raise ValueError("select must have a value in {'a', 'i', 'v'}, got " + repr(select))
    (d, e) = promote_dtypes_inexact(d, e)
    matrix = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(e.conj(), 1)
    values, vectors = jnp.linalg.eigh(matrix, symmetrize_input=False)
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be a pair of indices")
        first, last = map(int, select_range)
        if not 0 <= first <= last < d.size:
            raise ValueError(
                f"select_range must be indices from 0 to {d.size - 1}, in order; got {select_range}"
            )
        values, vectors = values[first : last + 1], vectors[:, first : last + 1]
    return values if eigvals_only else (values, vectors)


def _hessenberg_of(a: Any, calc_q: bool) -> Any:
    (a,) = floating("hessenberg", a)
    if a.shape[-2:] == (0, 0):
        return (a, a) if calc_q else a
    packed, taus = lax_linalg.hessenberg(a)
    form = jnp.triu(packed, -1)
    if not calc_q:
        return form
    q = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    widths = [(0, 0)] * (a.ndim - 2) + [(1, 0), (1, 0)]
    corner = jnp.zeros(a.shape[-2:], a.dtype).at[0, 0].set(1)
    return form, jnp.pad(q, widths) + corner


_hessenberg = compiled(_hessenberg_of, ("calc_q",), name="hessenberg")


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Reduces matrices to Hessenberg form: ``a = q @ h @ q.conj().T``.

    Args:
      a: square matrices, of shape (..., n, n).
      calc_q: whether to compute ``q``.
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      ``h``, with zeros below the first subdiagonal, or the pair ``(h, q)`` with ``calc_q``. Each
      has shape (..., n, n).

    Example:
      >>> hessenberg(np.ones((3, 3))).shape
      (3, 3)
    """
    del overwrite_a, check_finite
    return _hessenberg(a, bool(calc_q))


def schur(a: ArrayLike, output: str = "real") -> list[Array]:
    """Computes the Schur decomposition: ``a = z @ t @ z.conj().T`` with unitary ``z``.

    Args:
      a: square matrices, of shape (..., n, n).
      output: ``"real"``, or ``"complex"`` for an upper triangular ``t`` of real matrices.

    Returns:
      A list of ``t`` and ``z``, each of shape (..., n, n).

    Raises:
      ValueError: ``output`` is unknown.

    Example:
      >>> schur(np.array([[1.0, 2], [0, 3]]))[0]
      Array([[1., 2.],
             [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (a,) = floating("schur", a)
    if output == "complex":
        a = a.astype(complex_dtype(a.dtype))
    return lax_linalg.schur(a)


def _rsf2csf_of(t: Any, z: Any) -> Any:
    t, z = floating("rsf2csf", t, z)
    t, z = (matrix.astype(complex_dtype(matrix.dtype)) for matrix in (t, z))
    size = t.shape[0]
    eps = float(dtypes.finfo(t.dtype).eps)
    rows = jnp.arange(size)

    def rotate(step: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """Makes a 2x2 diagonal block triangular by a rotation; step 0 takes the last block."""
        t, z = state
        k = size - 2 - step
        block = lax.dynamic_slice(t, (k, k), (2, 2))
        below = block[1, 0]
        shifted = jnp.linalg.eigvals(block)[0] - block[1, 1]
        length = jnp.sqrt(jnp.abs(shifted) ** 2 + jnp.abs(below) ** 2)
        length = length.astype(t.dtype)
        c, s = shifted / length, below / length
        rotation = jnp.stack([jnp.stack([c.conj(), s]), jnp.stack([-s, c])])
        two_rows = lax.dynamic_slice(t, (k, 0), (2, size))
        two_rows = jnp.where(rows[None, :] >= k, matrix_product(rotation, two_rows), two_rows)
        turned = lax.dynamic_update_slice(t, two_rows, (k, 0))
        columns = lax.dynamic_slice(turned, (0, k), (size, 2))
        back = rotation.conj().T
        columns = jnp.where((rows < k + 2)[:, None], matrix_product(columns, back), columns)
        turned = lax.dynamic_update_slice(turned, columns, (0, k))
        turned = lax.dynamic_update_slice(turned, jnp.zeros((1, 1), t.dtype), (k + 1, k))
        basis = lax.dynamic_slice(z, (0, k), (size, 2))
        basis = lax.dynamic_update_slice(z, matrix_product(basis, back), (0, k))
        scale = jnp.abs(block[0, 0]) + jnp.abs(block[1, 1])
        needed = jnp.abs(below) > eps * scale
        return jnp.where(needed, turned, t), jnp.where(needed, basis, z)

    if size > 1:
        t, z = lax.fori_loop(0, size - 1, rotate, (t, z))
    return jnp.triu(t), z


def _rsf2csf_batches(t: Any, z: Any) -> Any:
    return jnp.vectorize(_rsf2csf_of, signature="(n,n),(n,n)->(n,n),(n,n)")(t, z)


_rsf2csf = compiled(_rsf2csf_batches, name="rsf2csf")


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Converts a real Schur form to a complex one, which is triangular.

    Args:
      T: the Schur form of a real matrix, of shape (..., n, n).
      Z: the Schur vectors, of shape (..., n, n).
      check_finite: ignored.

    Returns:
      The upper triangular form and its Schur vectors, complex arrays of shape (..., n, n).

    Raises:
      ValueError: an operand is not square, or the shapes differ.

    Example:
      >>> t, z = rsf2csf(np.array([[0.0, -1], [1, 0]]), np.eye(2))
      >>> np.abs(np.diagonal(t)).round(3)
      array([1., 1.], dtype=float32)
    """
    del check_finite
    for name, shape in (("Z", np.shape(Z)), ("T", np.shape(T))):
        if len(shape) < 2 or shape[-2] != shape[-1]:
            raise ValueError(f"Input '{name}' must be square.")
    if np.shape(Z)[-2:] != np.shape(T)[-2:]:
        raise ValueError(f"Input array shapes must match: Z: {np.shape(Z)} vs. T: {np.shape(T)}")
    return _rsf2csf(T, Z)
