# SPDX-License-Identifier: Apache-2.0
"""Factors, eigenvalues and singular values of matrices."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.linalg.matrices import adjoint, swap_last
from olympus_ir.lax.linalg.spectral import eigvalsh as lax_eigvalsh
from olympus_ir.lax.linalg.spectral import index_range
from olympus_ir.settings import config_states
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.compilation import compiled
from ..core.options import as_flag
from ..core.promotion import check_arraylike, ensure_array, promote_dtypes_inexact
from ..indexing.taking import take_along_axis
from .semidefinite import semidefinite_cholesky

__all__ = [
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "qr",
    "svd",
    "svdvals",
]


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


def floating(function: str, *arrays: Any) -> list[Array]:
    """Converts operands to arrays of one floating or complex dtype."""
    check_arraylike(f"jnp.linalg.{function}", *arrays)
    return promote_dtypes_inexact(*map(ensure_array, arrays))


# ---- Cholesky and QR ----


def _cholesky_of(a: Any, upper: bool, symmetrize_input: bool) -> Any:
    (a,) = floating("cholesky", a)
    if config_states.strong_zeros.value and symmetrize_input:
        factor = semidefinite_cholesky((a + adjoint(a)) / 2)
    else:
        factor = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


_cholesky = compiled(_cholesky_of, ("upper", "symmetrize_input"), name="cholesky")


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Returns the Cholesky factors of Hermitian positive definite matrices.

    Args:
      a: the matrices, [..., N, N].
      upper: whether to return the upper triangular ``u`` with ``a = u.conj().T @ u``, rather than
        the lower triangular ``l`` with ``a = l @ l.conj().T``.
      symmetrize_input: whether to factor the Hermitian part of ``a``. If it is False, only the
        lower triangle of ``a`` is read.

    Returns:
      Triangular matrices; NaNs if a matrix is not positive definite. With `olympus_strong_zeros`,
      singular matrices have factors, too.

    Example:
      >>> from olympus_numpy import array
      >>> cholesky(array([[4.0, 2], [2, 2]]))
      Array([[2., 0.],
             [1., 1.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.cholesky", a)
    return _cholesky(a, bool(upper), bool(symmetrize_input))


_QR_MODES = {"reduced": False, "r": False, "full": False, "complete": True}


def _qr_of(a: Any, mode: str) -> Any:
    (a,) = floating("qr", a)
    if mode == "raw":
        packed, taus = lax_linalg.geqrf(a)
        return swap_last(packed), taus
    q, r = lax_linalg.qr(a, pivoting=False, full_matrices=_QR_MODES[mode])
    return r if mode == "r" else (q, r)


_qr = compiled(_qr_of, ("mode",), name="qr")


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "full", "raw"] = "reduced"
) -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: str) -> Any: ...
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factors matrices: ``a = q @ r`` with orthonormal columns in ``q`` and triangular ``r``.

    Args:
      a: matrices.
      mode: ``"reduced"``, where ``q`` has no more columns than ``a``; ``"complete"``, where ``q``
        is square; ``"r"`` for ``r`` alone; ``"raw"`` for the reflections that `geqrf` finds.

    Returns:
      The pair ``(Q, R)``, or the other results that ``mode`` names.

    Raises:
      ValueError: if ``mode`` is unknown.

    Example:
      >>> from olympus_numpy import array
      >>> qr(array([[3.0], [4.0]])).R
      Array([[-5.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.qr", a)
    if mode not in _QR_MODES and mode != "raw":
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    result = _qr(a, mode)
    return result if mode == "r" else QRResult(*result)


# ---- eigenvalues ----


def eig(a: ArrayLike) -> EigResult:
    """Returns the complex eigenvalues and eigenvectors of general matrices.

    Args:
      a: square matrices.

    Returns:
      The pair of the eigenvalues, in no particular order, and the eigenvectors, as columns.

    Example:
      >>> from olympus_numpy import array
      >>> eig(array([[2.0, 0], [0, 3]])).eigenvalues
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    (a,) = floating("eig", a)
    values, vectors = lax_linalg.eig(a, compute_left_eigenvectors=False)
    return EigResult(values, vectors)


def _eigvals_of(a: Any) -> Any:
    (a,) = floating("eigvals", a)
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


_eigvals = compiled(_eigvals_of, name="eigvals")


def eigvals(a: ArrayLike) -> Array:
    """Returns the complex eigenvalues of general matrices, in no particular order.

    Eigenvalues can be differentiated where they are distinct.

    Args:
      a: square matrices.

    Returns:
      A complex array of shape ``a.shape[:-1]``.

    Example:
      >>> from olympus_numpy import array
      >>> eigvals(array([[2.0, 0], [0, 3]]))
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    check_arraylike("jnp.linalg.eigvals", a)
    return _eigvals(a)


def _is_lower(UPLO: str | None) -> bool:
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    return UPLO != "U"


def _eigh_of(a: Any, lower: bool, symmetrize_input: bool) -> Any:
    (a,) = floating("eigh", a)
    vectors, values = lax_linalg.eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return values, vectors


_eigh = compiled(_eigh_of, ("lower", "symmetrize_input"), name="eigh")


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Returns eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: the matrices.
      UPLO: the triangle that is read if ``symmetrize_input`` is False: ``"L"`` or ``"U"``.
      symmetrize_input: whether to use the Hermitian part of ``a``, ``(a + a.conj().T) / 2``.

    Returns:
      The pair of the eigenvalues, in increasing order, and the eigenvectors, as columns.

    Example:
      >>> from olympus_numpy import array
      >>> eigh(array([[2.0, 1], [1, 2]])).eigenvalues
      Array([1., 3.], dtype=float32)
    """
    check_arraylike("jnp.linalg.eigh", a)
    return EighResult(*_eigh(a, _is_lower(UPLO), bool(symmetrize_input)))


def _eigvalsh_of(a: Any, lower: bool, symmetrize_input: bool) -> Any:
    (a,) = floating("eigvalsh", a)
    return lax_eigvalsh(a, lower=lower, symmetrize_input=symmetrize_input)


_eigvalsh = compiled(_eigvalsh_of, ("lower", "symmetrize_input"), name="eigvalsh")


def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Returns the eigenvalues of Hermitian matrices, in increasing order.

    Args:
      a: the matrices.
      UPLO: as in `eigh`.
      symmetrize_input: as in `eigh`.

    Returns:
      A real array of shape ``a.shape[:-1]``, in ascending order.

    Example:
      >>> from olympus_numpy import array
      >>> eigvalsh(array([[2.0, 1], [1, 2]]))
      Array([1., 3.], dtype=float32)
    """
    check_arraylike("jnp.linalg.eigvalsh", a)
    return _eigvalsh(a, _is_lower(UPLO), bool(symmetrize_input))


# ---- singular values ----


def _svd_of(
    a: Any,
    full_matrices: bool,
    compute_uv: bool,
    hermitian: bool,
    subset_by_index: tuple[int, int] | None,
) -> Any:
    (a,) = floating("svd", a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    return lax_linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )


def _svd_of_hermitian(a: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        sizes = lax.sort(lax.abs(lax_eigvalsh(a)))
        return lax.rev(sizes, (sizes.ndim - 1,))
    vectors, values = lax_linalg.eigh(a)
    sizes, signs = lax.abs(values), lax.sign(values)
    last = values.ndim - 1
    positions = lax.broadcasted_iota(np.uint32, values.shape, last)
    sizes, positions, signs = lax.sort((sizes, positions, signs), last, num_keys=1)
    sizes, positions, signs = (lax.rev(array, (last,)) for array in (sizes, positions, signs))
    left = take_along_axis(vectors, lax.expand_dims(positions, (last,)), axis=-1)
    signs = lax.expand_dims(lax.convert_element_type(signs, left.dtype), (last,))
    return left, sizes, adjoint(left * signs)


_svd = compiled(
    _svd_of, ("full_matrices", "compute_uv", "hermitian", "subset_by_index"), name="svd"
)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Computes the singular value decomposition ``a = u @ diag(s) @ vh``.

    Args:
      a: matrices.
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: whether to compute ``u`` and ``vh``.
      hermitian: whether ``a`` is Hermitian, which makes the computation quicker.
      subset_by_index: the range ``(start, stop)`` of singular values to return; all if None.

    Returns:
      The triple ``(U, S, Vh)`` with the singular values in decreasing order, or ``S`` alone.

    Raises:
      ValueError: if both ``hermitian`` and ``subset_by_index`` are given, or an array is a flag.

    Example:
      >>> from olympus_numpy import array
      >>> svd(array([[3.0, 0], [0, 4]])).S
      Array([4., 3.], dtype=float32)
    """
    check_arraylike("jnp.linalg.svd", a)
    full_matrices = as_flag("svd", "full_matrices", full_matrices)
    compute_uv = as_flag("svd", "compute_uv", compute_uv)
    hermitian = as_flag("svd", "hermitian", hermitian)
    if hermitian and subset_by_index is not None:
        raise ValueError("svd: subset_by_index is not supported with hermitian=True")
    if subset_by_index is not None:
        subset_by_index = index_range("svd", subset_by_index)
    result = _svd(a, full_matrices, compute_uv, hermitian, subset_by_index)
    return SVDResult(*result) if compute_uv else result


def svdvals(x: ArrayLike, /) -> Array:
    """Returns the singular values of matrices, in decreasing order.

    Args:
      x: matrices.

    Returns:
      A real array of shape ``(..., min(M, N))``, in descending order.

    Example:
      >>> from olympus_numpy import array
      >>> svdvals(array([[3.0, 0], [0, 4]]))
      Array([4., 3.], dtype=float32)
    """
    check_arraylike("jnp.linalg.svdvals", x)
    return svd(x, compute_uv=False)
