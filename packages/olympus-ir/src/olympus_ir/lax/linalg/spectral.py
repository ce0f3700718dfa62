# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues, singular values, and the condensed forms from which they are computed."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from ...diagnostics.user_warnings import warn_user
from ...programs.primitives import Primitive
from ..core.declarations import real_dtype
from ..core.sizes import min_dim
from ..core.values import Array, ArrayLike, array_aval
from .declarations import check_square, declare
from .matrices import symmetrize

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "tridiagonal",
    "tridiagonal_p",
]


class EigImplementation(enum.Enum):
    """Libraries for eigenvalues of general matrices, on platforms with several libraries."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms for eigenvalues of Hermitian matrices on platforms with several algorithms."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms for singular values on platforms with several algorithms."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


# ---- eigenvalues ----


def complex_dtype(dtype: Any) -> Any:
    """Returns complex128 for float64, a complex dtype unchanged, and complex64 for other dtypes."""
    if np.dtype(dtype).kind == "c":
        return dtype
    return np.dtype(np.complex128 if dtype == np.float64 else np.complex64)


@declare("eig", multiple_results=True)
def eig_p(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> Any:
    check_square("eig", shape)
    dtype = complex_dtype(dtype)
    vectors = [(shape, dtype)] * (compute_left_eigenvectors + compute_right_eigenvectors)
    return [(shape[:1], dtype), *vectors]


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Computes eigenvalues and eigenvectors of general matrices.

    Args:
      x: square matrices of shape ``(..., n, n)``.
      compute_left_eigenvectors: whether to compute the vectors for which
        ``v.conj() @ x = w * v.conj()``.
      compute_right_eigenvectors: whether to compute the vectors for which ``x @ v = w * v``.
      enable_eigvec_derivs: whether eigenvectors may be differentiated. The derivatives are
        meaningful only for distinct eigenvalues, and for functions that do not depend on the
        vectors' phases. Neither condition is checked.
      implementation: the library that computes on GPUs.
      use_magma: deprecated in favor of ``implementation``.

    Returns:
      A list: the eigenvalues, in no particular order; the requested left and right eigenvectors, as
      columns of norm one. All arrays are complex.

    Raises:
      ValueError: if the matrices are not square.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> w, v = linalg.eig(np.array([[2.0, 0], [0, 3]]), compute_left_eigenvectors=False)
      >>> w
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    if use_magma is not None:
        warn_user(
            "use_magma is deprecated, please use implementation=EigImplementation.MAGMA instead.",
            DeprecationWarning,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )


def index_range(name: str, subset: Any) -> tuple[int, int]:
    """Converts a range of indices to a pair.

    Raises:
      TypeError: the range is not a pair.
    """
    try:
        start, stop = map(int, subset)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: subset_by_index must be a range (start, stop), got {subset!r}"
        ) from None
    return start, stop


def _checked_subset(name: str, subset: tuple[int, int] | None, size: int) -> tuple[int, int] | None:
    """Returns the range of indices, or None if it contains all indices."""
    if subset is None:
        return None
    start, stop = index_range(name, subset)
    if not 0 <= start < stop <= size:
        raise ValueError(
            f"{name}: subset_by_index must be a range (start, stop) with 0 <= start < stop <= "
            f"{size}, got {subset}"
        )
    return (start, stop)


@declare("eigh", multiple_results=True)
def eigh_p(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    lower: bool,
    compute_eigenvectors: bool = True,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: EighImplementation | None,
) -> Any:
    check_square("eigh", shape)
    size = shape[0]
    subset = _checked_subset("eigh", subset_by_index, size)
    count = size if subset is None else subset[1] - subset[0]
    values = ((count,), real_dtype(dtype))
    return [((size, count), dtype), values] if compute_eigenvectors else [values]


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Computes eigenvectors and eigenvalues of Hermitian matrices.

    Args:
      x: Hermitian matrices of shape ``(..., n, n)``.
      lower: whether to read the lower triangle rather than the upper one, if the input is not
        symmetrized.
      symmetrize_input: whether to use the Hermitian part of ``x``.
      sort_eigenvalues: whether eigenvalues must be in increasing order.
      subset_by_index: a range ``(start, stop)`` of the eigenvalues to compute; all if None.
      implementation: the algorithm, on platforms with several.

    Returns:
      The eigenvectors, as columns of unitary matrices, and the eigenvalues, which are real.

    Raises:
      ValueError: if the matrices are not square or ``subset_by_index`` is out of range.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.eigh(np.array([[2.0, 1], [1, 2]]))[1]
      Array([1., 3.], dtype=float32)
    """
    if symmetrize_input:
        x = symmetrize("eigh", x)
    if subset_by_index is not None:
        size = array_aval(x).shape[-1]
        subset_by_index = _checked_subset("eigh", subset_by_index, size)
        if subset_by_index == (0, size):
            subset_by_index = None
    vectors, values = eigh_p.bind(
        x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=subset_by_index,
        algorithm=None if implementation is None else EighImplementation(implementation),
    )
    return vectors, values


def eigvalsh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True) -> Array:
    """Computes the eigenvalues of Hermitian matrices, without the eigenvectors.

    On a CPU this takes half the time of `eigh`.

    Args:
      x: Hermitian matrices of shape ``(..., n, n)``.
      lower: as in `eigh`.
      symmetrize_input: as in `eigh`.

    Returns:
      A real array of shape ``(..., n)``, in ascending order.

    Raises:
      ValueError: if the matrices are not square.

    Example:
      >>> from olympus_ir.lax.linalg.spectral import eigvalsh
      >>> import numpy as np
      >>> eigvalsh(np.array([[2.0, 1], [1, 2]]))
      Array([1., 3.], dtype=float32)
    """
    if symmetrize_input:
        x = symmetrize("eigvalsh", x)
    (values,) = eigh_p.bind(
        x,
        lower=bool(lower),
        compute_eigenvectors=False,
        sort_eigenvalues=True,
        subset_by_index=None,
        algorithm=None,
    )
    return values


# ---- singular values ----


@declare("svd", multiple_results=True)
def svd_p(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    rows, columns = shape
    count = min_dim(*shape)
    subset = _checked_subset("svd", subset_by_index, count)
    if subset is not None:
        if full_matrices and subset != (0, count):
            raise ValueError(
                "full_matrices and subset_by_index cannot both be set: full matrices are defined "
                "for all singular values only"
            )
        count = subset[1] - subset[0]
    values = ((count,), real_dtype(dtype))
    if not compute_uv:
        return [values]
    left, right = (rows, columns) if full_matrices else (count, count)
    return [values, ((rows, left), dtype), ((right, columns), dtype)]


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Computes the singular value decomposition ``x = u @ diag(s) @ vh``.

    Args:
      x: matrices of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: whether to compute ``u`` and ``vh``.
      subset_by_index: a range ``(start, stop)`` of the singular values to compute; all if None.
      algorithm: the algorithm, on platforms with several.

    Returns:
      ``u``, the singular values ``s`` in decreasing order, and ``vh``; without ``compute_uv`` only
      ``s``.

    Raises:
      ValueError: if ``subset_by_index`` is out of range or combined with ``full_matrices``.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.svd(np.array([[3.0, 0], [0, 4]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    shape = array_aval(x).shape
    if subset_by_index is not None and len(shape) >= 2:
        count = min_dim(*shape[-2:])
        subset_by_index = _checked_subset("svd", subset_by_index, count)
        if subset_by_index == (0, count):
            subset_by_index = None
    results = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=subset_by_index,
        algorithm=None if algorithm is None else SvdAlgorithm(algorithm),
    )
    if not compute_uv:
        return results[0]
    values, left, right = results
    return left, values, right


# ---- condensed forms ----


@declare("hessenberg", multiple_results=True)
def hessenberg_p(shape: tuple[int, ...], dtype: Any) -> Any:
    if shape[0] != shape[1] or not shape[0]:
        raise ValueError(
            f"Argument to Hessenberg reduction must have shape [..., n, n] with n > 0, got {shape}"
        )
    return [(shape, dtype), ((shape[0] - 1,), dtype)]


def hessenberg(a: ArrayLike) -> list[Array]:
    """Reduces square matrices to upper Hessenberg form, with zeros below the first subdiagonal.

    Args:
      a: square matrices of shape ``(..., n, n)``.

    Returns:
      A list: matrices that hold the Hessenberg form on and above the first subdiagonal, and the
      vectors of the reflections below it; and the factors of the reflections. See
      `householder_product`.

    Raises:
      ValueError: if the matrices are not square or are empty.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.hessenberg(np.ones((3, 3)))[0].shape
      (3, 3)
    """
    return hessenberg_p.bind(a)


@declare("schur", multiple_results=True)
def schur_p(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    compute_schur_vectors: bool,
    sort_eig_vals: bool,
    select_callable: Callable[..., Any] | None,
) -> Any:
    check_square("schur", shape)
    return [(shape, dtype)] * (2 if compute_schur_vectors else 1)


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:
    """Computes the Schur decomposition ``x = z @ t @ z.conj().T`` with unitary ``z``.

    Args:
      x: square matrices.
      compute_schur_vectors: whether to compute ``z``.
      sort_eig_vals: whether to reorder eigenvalues as LAPACK can; must be False.
      select_callable: the selection of eigenvalues for reordering, which is not supported.

    Returns:
      A list: ``t``, which is upper triangular, or has blocks of two rows on the diagonal for pairs
      of complex eigenvalues of real matrices; and ``z`` with ``compute_schur_vectors``.

    Raises:
      NotImplementedError: if reordering of eigenvalues is requested.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.schur(np.array([[1.0, 2], [0, 3]]), compute_schur_vectors=False)
      [Array([[1., 2.],
             [0., 3.]], dtype=float32)]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "The sort feature of LAPACK's gees routine is not implemented: leave sort_eig_vals "
            "False and select_callable None."
        )
    return schur_p.bind(
        x,
        compute_schur_vectors=bool(compute_schur_vectors),
        sort_eig_vals=False,
        select_callable=None,
    )


def _tridiagonal_shape(shape: tuple[int, ...], dtype: Any, *, lower: bool) -> Any:
    if shape[0] != shape[1] or not shape[0]:
        raise ValueError(
            "The input to tridiagonal must be a square matrix that is not empty. Got shape "
            f"{shape}."
        )
    size, real = shape[0], real_dtype(dtype)
    return [(shape, dtype), ((size,), real), ((size - 1,), real), ((size - 1,), dtype)]


tridiagonal_p: Primitive = declare("tridiagonal", multiple_results=True)(_tridiagonal_shape)


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
    """Reduces Hermitian matrices to tridiagonal form by reflections.

    Args:
      a: Hermitian matrices of shape ``(..., n, n)``.
      lower: whether to read the lower triangle rather than the upper one.

    Returns:
      A list of four arrays: the matrices that hold the vectors of the reflections; the diagonals;
      the off-diagonals; and the factors of the reflections.

    Raises:
      ValueError: if the matrices are not square or are empty.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.tridiagonal(np.eye(3))[1]
      Array([1., 1., 1.], dtype=float32)
    """
    return tridiagonal_p.bind(a, lower=bool(lower))
