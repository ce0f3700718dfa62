# SPDX-License-Identifier: Apache-2.0
"""Matrix factorizations: Cholesky, LU and QR, and the reflections of QR."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...programs.primitives import instruction
from ...programs.tracing import is_constant_dim
from ...types.avals import ShapedArray
from ..core.declarations import Floating
from ..core.sizes import as_size, is_at_most, min_dim
from ..core.values import Array, ArrayLike
from ..elementwise.arithmetic import add
from .declarations import check_square, declare
from .matrices import swap_last, symmetrize, tril

__all__ = [
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "geqp3",
    "geqp3_p",
    "geqrf",
    "geqrf_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qr",
    "qr_p",
    "symmetric_product",
    "symmetric_product_p",
]

# ---- Cholesky ----


@declare("cholesky")
def cholesky_p(shape: tuple[int, ...], dtype: Any) -> Any:
    check_square("cholesky", shape)
    return [(shape, dtype)]


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Factors Hermitian positive definite matrices: ``x = l @ l.conj().T``, ``l`` lower triangular.

    Args:
      x: Hermitian positive definite matrices of shape ``(..., n, n)``.
      symmetrize_input: whether to factor the Hermitian part of ``x``; otherwise its upper triangle
        is ignored.

    Returns:
      The matrices ``l``, of the shape and dtype of ``x``; NaNs for a matrix that is not positive
      definite.

    Raises:
      ValueError: if the matrices are not square.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.cholesky(np.array([[4.0, 2], [2, 2]]))
      Array([[2., 0.],
             [1., 1.]], dtype=float32)
    """
    return tril(cholesky_p.bind(symmetrize("cholesky", x) if symmetrize_input else x))


@declare("cholesky_update", ranks=(2, 1), accepted=Floating, batched=False)
def cholesky_update_p(r_shape: tuple[int, ...], w_shape: tuple[int, ...], dtype: Any) -> Any:
    if r_shape[0] != r_shape[1] or w_shape[0] != r_shape[0]:
        raise ValueError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
            f"same size as input. Got shapes {r_shape} and {w_shape} instead"
        )
    return [(r_shape, dtype)]


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Updates an upper Cholesky factor for a change of rank one.

    Args:
      r_matrix: an upper triangular matrix ``r``, the factor of ``a = r.T @ r``.
      w_vector: a vector ``w``.

    Returns:
      The upper triangular factor of ``a + outer(w, w)``, in quadratic time.

    Raises:
      ValueError: if the sizes do not match.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.cholesky_update(np.array([[3.0, 0], [0, 1]]), np.array([4.0, 0]))
      Array([[5., 0.],
             [0., 1.]], dtype=float32)
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


@declare("symmetric_product", ranks=(2, 2), accepted=Floating)
def symmetric_product_p(
    a_shape: tuple[int, ...], c_shape: tuple[int, ...], dtype: Any, *, alpha: float, beta: float
) -> Any:
    if c_shape[0] != c_shape[1] or a_shape[0] != c_shape[0]:
        raise ValueError(
            "symmetric_product expects a rectangular matrix of shape (m, n) and a square matrix "
            f"of shape (m, m). Got shapes {a_shape} and {c_shape}."
        )
    return [(c_shape, dtype)]


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Computes ``alpha * a @ a.T + beta * c`` for symmetric ``c``.

    Args:
      a_matrix: matrices ``a`` of shape ``(..., n, k)``.
      c_matrix: symmetric matrices ``c`` of shape ``(..., n, n)``.
      alpha: the factor of the product.
      beta: the factor of ``c``.
      symmetrize_output: whether to fill in the triangle above the diagonal; otherwise its elements
        are unspecified.

    Returns:
      An array of the shape of ``c_matrix``.

    Raises:
      ValueError: if the shapes do not match.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.symmetric_product(np.array([[1.0], [2]]), np.eye(2), beta=1.0)
      Array([[2., 2.],
             [2., 5.]], dtype=float32)
    """
    result = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if symmetrize_output:
        above = swap_last(tril(result, -1))
        result = add(tril(result, 0), above)
    return result


# ---- LU ----


@declare("lu", multiple_results=True)
def lu_p(shape: tuple[int, ...], dtype: Any) -> Any:
    integer = np.dtype(np.int32)
    return [(shape, dtype), ((min_dim(*shape),), integer), (shape[:1], integer)]


def lu(x: ArrayLike) -> list[Array]:
    """Factors matrices by Gaussian elimination with partial pivoting: ``x[permutation] = l @ u``.

    Args:
      x: matrices of shape ``(..., m, n)``.

    Returns:
      A list: both factors in one matrix of the shape of ``x``, ``u`` on and above the diagonal and
      ``l`` below it (with an implicit diagonal of ones); the row with which each row was exchanged,
      as int32; and the permutation of rows, as int32.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.lu(np.array([[1.0, 2], [2, 2]]))[0]
      Array([[2. , 2. ],
             [0.5, 1. ]], dtype=float32)
    """
    return lu_p.bind(x)


_MOST_ROWS = 2**31


@declare("lu_pivots_to_permutation", ranks=(1,), accepted=(np.int32,))
def lu_pivots_to_permutation_p(shape: tuple[int, ...], dtype: Any, *, permutation_size: int) -> Any:
    if permutation_size < shape[0]:
        raise ValueError(
            f"Output permutation size {permutation_size} has to exceed the trailing dimension of "
            f"the pivots. Got pivots size {shape[0]}"
        )
    if is_constant_dim(permutation_size) and permutation_size > _MOST_ROWS:
        raise OverflowError(
            f"lu_pivots_to_permutation: `permutation_size` is {permutation_size}, and the indices "
            f"of the rows are int32, which count at most {_MOST_ROWS} rows"
        )
    return [((permutation_size,), dtype)]


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Returns the permutation that results from successive exchanges of rows.

    Args:
      pivots: the row with which each row is exchanged, counted from zero, as int32.
      permutation_size: the number of rows.

    Returns:
      An int32 array with ``permutation_size`` elements in the last dimension.

    Raises:
      OverflowError: if int32 cannot count the rows.
      ValueError: if there are more exchanges than rows.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.lu_pivots_to_permutation(np.array([2, 2], np.int32), 3)
      Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=as_size(permutation_size))


# ---- QR ----


@declare("geqrf", multiple_results=True)
def geqrf_p(shape: tuple[int, ...], dtype: Any) -> Any:
    return [(shape, dtype), ((min_dim(*shape),), dtype)]


def geqrf(a: ArrayLike) -> tuple[Array, Array]:
    """Computes QR factorizations ``a = q @ r`` in packed form, by Householder reflections.

    Args:
      a: matrices of shape ``(..., m, n)``.

    Returns:
      Matrices with ``r`` on and above the diagonal and the vectors of the reflections below it; and
      the factors ``taus`` of the reflections. See `householder_product`.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.geqrf(np.array([[3.0], [4.0]]))
      (Array([[-5. ],
             [ 0.5]], dtype=float32), Array([1.6], dtype=float32))
    """
    packed, taus = geqrf_p.bind(a)
    return packed, taus


geqp3_p = instruction("geqp3", family="linalg", multiple_results=True)


@geqp3_p.def_abstract_eval
def _geqp3_shape(a: ShapedArray, jpvt: ShapedArray, *, use_magma: bool | None) -> list[ShapedArray]:
    packed, taus = geqrf_p.infer((a,), {})[0]
    if jpvt.dtype != np.int32 or jpvt.shape != (*a.shape[:-2], a.shape[-1]):
        raise ValueError(
            "geqp3 takes matrices and an int32 for each of their columns, got "
            f"{a.str_short(short_dtypes=True)} and {jpvt.str_short(short_dtypes=True)}"
        )
    return [packed, jpvt, taus]  # type: ignore[list-item]


def geqp3(
    a: ArrayLike, jpvt: ArrayLike, *, use_magma: bool | None = None
) -> tuple[Array, Array, Array]:
    """Computes QR factorizations with column pivoting, in the packed form of `geqrf`.

    Each step chooses the largest of the remaining columns.

    Args:
      a: matrices of shape ``(..., m, n)``.
      jpvt: an int32 for each column; columns with a nonzero value come first, in their order.
      use_magma: whether MAGMA computes on GPUs; None to use it if it is installed.

    Returns:
      The results of `geqrf`, with the permutation of the columns, counted from one, as second
      value.

    Raises:
      ValueError: if ``jpvt`` does not have one int32 for each column.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.geqp3(np.array([[3.0, 6], [4, 8]]), np.zeros(2, np.int32))[1]
      Array([2, 1], dtype=int32)
    """
    packed, permutation, taus = geqp3_p.bind(a, jpvt, use_magma=use_magma)
    return packed, permutation, taus


@declare("householder_product", ranks=(2, 1))
def householder_product_p(shape: tuple[int, ...], taus_shape: tuple[int, ...], dtype: Any) -> Any:
    rows, columns = shape
    if rows < columns:
        raise ValueError(
            "The first argument to householder_product must have at least as many rows as columns, "
            f"got shape {shape}"
        )
    if taus_shape[0] > columns:
        raise ValueError(
            "The second argument to householder_product must not have more rows than the minimum "
            f"of the first argument's rows and columns. Got shapes {shape} and {taus_shape}."
        )
    return [(shape, dtype)]


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Returns the first columns of a product of reflections ``I - tau * v @ v.conj().T``.

    Args:
      a: matrices whose columns hold the vectors below the diagonal; the vectors are 1 on the
        diagonal and 0 above it.
      taus: the factors, one for each reflection.

    Returns:
      Matrices with orthonormal columns, in the shape of ``a``.

    Raises:
      ValueError: if there are fewer rows than columns or more factors than columns.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.householder_product(*linalg.geqrf(np.array([[3.0], [4.0]])))
      Array([[-0.6],
             [-0.8]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


@declare("ormqr", ranks=(2, 1, 2))
def ormqr_p(
    a_shape: tuple[int, ...],
    taus_shape: tuple[int, ...],
    c_shape: tuple[int, ...],
    dtype: Any,
    *,
    left: bool,
    transpose: bool,
) -> Any:
    if c_shape[0 if left else 1] != a_shape[0]:
        raise ValueError(
            f"ormqr with left={left} expects c to have the same number of "
            f"{'rows' if left else 'columns'} as the Householder matrix a has rows. Got a shape "
            f"{a_shape} and c shape {c_shape}."
        )
    if is_at_most(min_dim(*a_shape) + 1, taus_shape[0]):
        raise ValueError(
            "ormqr expects at most as many reflections as the Householder matrix a has rows and "
            f"columns. Got a shape {a_shape} and taus shape {taus_shape}."
        )
    return [(c_shape, dtype)]


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiplies matrices by a product of reflections, without forming it.

    Args:
      a: matrices that hold the reflections' vectors; see `householder_product`.
      taus: the reflections' factors.
      c: the matrices to multiply.
      left: whether the product of reflections is the left factor.
      transpose: whether the product of reflections is transposed and conjugated.

    Returns:
      An array of the shape of ``c``.

    Raises:
      ValueError: if the sizes do not match.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> packed, taus = linalg.geqrf(np.array([[3.0], [4.0]]))
      >>> np.abs(linalg.ormqr(packed, taus, np.array([[3.0], [4.0]]), transpose=True)).round(3)
      array([[5.],
             [0.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


@declare("qr", multiple_results=True)
def qr_p(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    pivoting: bool,
    full_matrices: bool,
    use_magma: bool | None,
) -> Any:
    rows, columns = shape
    inner = rows if full_matrices else min_dim(*shape)
    results = [((rows, inner), dtype), ((inner, columns), dtype)]
    return [*results, ((columns,), np.dtype(np.int32))] if pivoting else results


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> Any:
    """Factors matrices as ``x = q @ r``: orthonormal columns ``q``, upper triangular ``r``.

    Args:
      x: matrices of shape ``(..., m, n)``.
      pivoting: whether to exchange columns so that the diagonal of ``r`` decreases in magnitude:
        ``x[:, p] = q @ r``.
      full_matrices: whether ``q`` is square; otherwise it has ``min(m, n)`` columns.
      use_magma: whether MAGMA computes on GPUs, with ``pivoting``; None to use it if it is
        installed.

    Returns:
      ``q`` and ``r``, with ``pivoting`` also the permutation ``p``, as int32.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> linalg.qr(np.array([[3.0], [4.0]]), full_matrices=False)
      (Array([[-0.6],
             [-0.8]], dtype=float32), Array([[-5.]], dtype=float32))
    """
    return tuple(qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))
