# SPDX-License-Identifier: Apache-2.0
"""Solutions of systems of linear equations, with SciPy's names and arguments.

The arguments ``overwrite_a``, ``overwrite_b``, ``debug`` and ``check_finite`` are accepted and
ignored.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.lax import linalg as lax_linalg
from olympus_ir.lax.linalg.matrices import adjoint
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import compiled
from olympus_numpy.core.options import is_among
from olympus_numpy.linalg.solving import lu_solution

from .decompositions import cho_factor, floating
from .eigenvalues import schur

__all__ = [
    "cho_solve",
    "det",
    "inv",
    "lu_solve",
    "solve",
    "solve_sylvester",
    "solve_triangular",
]

_matmul = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)


def _for_vectors_and_matrices(function: Any, before: str = "(n,n)") -> Any:
    """Vectorizes a function of matrices and a right-hand side over the batch dimensions of both.

    Right-hand sides are vectors if they have one dimension, or the shape of rows of the matrices.
    """
    vectors = jnp.vectorize(function, signature=f"{before},(n)->(n)")
    matrices = jnp.vectorize(function, signature=f"{before},(n,m)->(n,m)")

    def apply(*operands: Any) -> Any:
        a, b = operands[0], operands[-1]
        is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1])
        return (vectors if is_vector else matrices)(*operands)

    return apply


@functools.cache
def _triangular_solver(trans: int, lower: bool, unit_diagonal: bool) -> Any:
    def solution(a: Any, b: Any) -> Any:
        return lax_linalg.triangular_solve(
            a,
            b,
            left_side=True,
            lower=lower,
            transpose_a=trans > 0,
            conjugate_a=trans == 2,
            unit_diagonal=unit_diagonal,
        )

    return _for_vectors_and_matrices(solution)


_TRANSPOSITIONS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _solve_triangular_of(a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    a, b = floating("solve_triangular", a, b)
    return _triangular_solver(trans, lower, unit_diagonal)(a, b)


_solve_triangular = compiled(
    _solve_triangular_of, ("trans", "lower", "unit_diagonal"), name="_solve_triangular"
)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solves ``a @ x = b`` for triangular ``a``.

    Args:
      a: triangular matrices, of shape (..., n, n); the other triangle is not read.
      b: the right-hand sides, of shape (n,) or (..., n, k); or (..., n) with one dimension fewer
        than the matrices.
      trans: 0 or ``"N"``; 1 or ``"T"`` to transpose ``a``; 2 or ``"C"`` for its conjugate
        transpose.
      lower: whether ``a`` is lower triangular.
      unit_diagonal: whether to assume that the diagonal of ``a`` is one, without reading it.
      overwrite_b: ignored.
      debug: ignored.
      check_finite: ignored.

    Returns:
      The solutions, an array of the shape of ``b`` and of inexact dtype.

    Raises:
      ValueError: ``trans`` is unknown, or shapes do not match.

    Example:
      >>> solve_triangular(np.array([[2.0, 0], [1, 1]]), np.array([2.0, 3]), lower=True)
      Array([1., 2.], dtype=float32)
    """
    del overwrite_b, debug, check_finite
    if not is_among(trans, _TRANSPOSITIONS):
        raise ValueError(f"Invalid 'trans' value {trans}")
    return _solve_triangular(a, b, _TRANSPOSITIONS[trans], bool(lower), bool(unit_diagonal))


@functools.cache
def _cholesky_solver(lower: bool) -> Any:
    def solution(c: Any, b: Any) -> Any:
        solve_with = functools.partial(lax_linalg.triangular_solve, c, left_side=True, lower=lower)
        adjoint_of = {"transpose_a": True, "conjugate_a": True}
        b = solve_with(b, **({} if lower else adjoint_of))
        return solve_with(b, **(adjoint_of if lower else {}))

    return _for_vectors_and_matrices(solution)


def _cho_solve_of(c: Any, b: Any, lower: bool) -> Any:
    c, b = floating("cho_solve", c, b)
    return _cholesky_solver(lower)(c, b)


_cho_solve = compiled(_cho_solve_of, ("lower",), name="_cho_solve")


def _factored(name: str, parameter: str, factors: Any, source: str) -> tuple[Any, Any]:
    """Returns a factorization if it is a pair, and raises an error otherwise."""
    if not isinstance(factors, tuple | list) or len(factors) != 2:
        raise ValueError(
            f"{name}: `{parameter}` must be the pair that {source}(a) returns, got "
            f"{type(factors).__name__}"
        )
    return factors[0], factors[1]


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves ``a @ x = b`` given the Cholesky factor of ``a``.

    Args:
      c_and_lower: the pair that `cho_factor` returned.
      b: the right-hand sides, of shape (n,) or (..., n, k); or (..., n) with one dimension fewer
        than the matrices.
      overwrite_b: ignored.
      check_finite: ignored.

    Returns:
      The solutions, an array of the shape of ``b`` and of inexact dtype.

    Example:
      >>> cho_solve(cho_factor(np.array([[4.0, 0], [0, 1]])), np.array([4.0, 2]))
      Array([1., 2.], dtype=float32)
    """
    del overwrite_b, check_finite
    c, lower = _factored("cho_solve", "c_and_lower", c_and_lower, "cho_factor")
    return _cho_solve(c, b, bool(lower))


@functools.cache
def _lu_solver(trans: int) -> Any:
    def solution(packed: Any, pivots: Any, b: Any) -> Any:
        permutation = lax_linalg.lu_pivots_to_permutation(pivots, packed.shape[0])
        return lu_solution(packed, permutation, b, trans)

    return _for_vectors_and_matrices(solution, "(n,n),(n)")


def _lu_solve_of(packed: Any, pivots: Any, b: Any, trans: int) -> Any:
    packed, b = floating("lu_solve", packed, b)
    return _lu_solver(trans)(packed, jnp.asarray(pivots, np.int32), b)


_lu_solve = compiled(_lu_solve_of, ("trans",), name="lu_solve")


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves ``a @ x = b`` given the LU factors of ``a``.

    Args:
      lu_and_piv: the pair that `lu_factor` returned.
      b: the right-hand sides, of shape (n,) or (..., n, k); or (..., n) with one dimension fewer
        than the matrices.
      trans: 0; 1 to transpose ``a``; 2 for its conjugate transpose.
      overwrite_b: ignored.
      check_finite: ignored.

    Returns:
      The solutions, an array of the shape of ``b`` and of inexact dtype.

    Raises:
      ValueError: ``trans`` is not 0, 1 or 2.

    Example:
      >>> from olympus_scipy.linalg import lu_factor
      >>> lu_solve(lu_factor(np.array([[0.0, 1], [2, 0]])), np.array([2.0, 4]))
      Array([2., 2.], dtype=float32)
    """
    del overwrite_b, check_finite
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    packed, pivots = _factored("lu_solve", "lu_and_piv", lu_and_piv, "lu_factor")
    return _lu_solve(packed, pivots, b, trans)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Solves ``a @ x = b``.

    Args:
      a: square matrices, of shape (..., n, n).
      b: the right-hand sides, of shape (n,) or (..., n, k).
      lower: whether to read the lower triangle, not the upper one, if ``assume_a="pos"``.
      overwrite_a: ignored.
      overwrite_b: ignored.
      debug: ignored.
      check_finite: ignored.
      assume_a: the structure of ``a``: ``"gen"``, ``"sym"``, ``"her"``, or ``"pos"``. Systems with
        positive definite ``a`` (``"pos"``) are solved by Cholesky factors.

    Returns:
      The solutions, an array of the shape of ``b`` and of inexact dtype; not finite where ``a`` is
      singular (SciPy raises an error).

    Raises:
      ValueError: ``assume_a`` is unknown, or shapes do not match.

    Example:
      >>> solve(np.array([[2.0, 0], [1, 1]]), np.array([2.0, 3]))
      Array([1., 2.], dtype=float32)
    """
    del overwrite_a, overwrite_b, debug, check_finite
    kinds = ["gen", "sym", "her", "pos"]
    if not is_among(assume_a, kinds):
        raise ValueError(f"Expected assume_a to be one of {kinds}; got {assume_a!r}")
    a, b = floating("solve", a, b)
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower=lower), b)
    return jnp.linalg.solve(a, b)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Computes determinants of matrices.

    Args:
      a: square matrices, of shape (..., n, n).
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      An array of shape (...) and inexact dtype.

    Example:
      >>> det(np.array([[1.0, 2], [3, 4]]))
      Array(-2., dtype=float32)
    """
    del overwrite_a, check_finite
    (a,) = floating("det", a)
    return jnp.linalg.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Computes inverses of matrices.

    Args:
      a: square matrices, of shape (..., n, n).
      overwrite_a: ignored.
      check_finite: ignored.

    Returns:
      An array of the shape of ``a`` and of inexact dtype; not finite where ``a`` is singular.

    Example:
      >>> inv(np.array([[2.0, 0], [0, 4]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    del overwrite_a, check_finite
    (a,) = floating("inv", a)
    return jnp.linalg.inv(a)


# ---- Sylvester's equation ----


def _by_schur(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Solves ``a @ x + x @ b = c`` by Schur forms of ``a`` and ``b``, one column after the other.

    Returns the solution, and the sums of eigenvalues, none of which may be zero.
    """
    r, u = schur(a, output="complex")
    s, v = schur(b, output="complex")
    f = _matmul(_matmul(adjoint(u), c.astype(u.dtype)), v)
    identity = jnp.eye(r.shape[0], dtype=r.dtype)

    def column(k: Any, y: Any) -> Any:
        right = f[:, k] - _matmul(y, s[:, k])
        solved = lax_linalg.triangular_solve(r + s[k, k] * identity, right, left_side=True)
        return y.at[:, k].set(solved)

    y = lax.fori_loop(0, s.shape[0], column, jnp.zeros_like(f))
    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)[None, :]
    return _matmul(_matmul(u, y), adjoint(v)), sums


def _by_eigenvectors(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    r, u = jnp.linalg.eig(a)
    s, v = jnp.linalg.eig(b)
    sums = r[:, None] + s[None, :]
    f = _matmul(jnp.linalg.solve(u, c.astype(u.dtype)), v)
    y = _matmul(u, f / sums)
    return jnp.linalg.solve(v.T, y.T).T, sums


def _solve_sylvester_of(a: Any, b: Any, c: Any, method: str, tol: float) -> Any:
    x, sums = (_by_schur if method == "schur" else _by_eigenvectors)(a, b, c)
    singular = (jnp.abs(sums) < tol).any()
    if c.dtype != x.dtype:
        x = x.real
    return jnp.where(singular, jnp.nan, x)


def _solve_sylvester_batches(a: Any, b: Any, c: Any, method: str, tol: float) -> Any:
    solve = functools.partial(_solve_sylvester_of, method=method, tol=tol)
    return jnp.vectorize(solve, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)


_solve_sylvester = compiled(_solve_sylvester_batches, ("method", "tol"), name="solve_sylvester")


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Solves the Sylvester equation ``a @ x + x @ b = c``.

    The method ``"schur"`` is from Bartels, Stewart: Solution of the matrix equation AX + XB = C.
    Comm. ACM 15 (1972).

    Args:
      A: the matrix ``a``, of shape (..., m, m).
      B: the matrix ``b``, of shape (..., n, n).
      C: the matrix ``c``, of shape (..., m, n).
      method: ``"schur"``, or ``"eigen"`` for diagonalizable matrices.
      tol: the smallest magnitude of a sum of eigenvalues of ``a`` and ``b`` that counts as nonzero.

    Returns:
      The matrix ``x``, of shape (..., m, n); NaN where the solution is not unique.

    Raises:
      ValueError: the method is unknown, or shapes do not match.

    Example:
      >>> solve_sylvester(np.array([[1.0]]), np.array([[2.0]]), np.array([[6.0]]))
      Array([[2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".'
        )
    a, b, c = floating("solve_sylvester", A, B, C)
    rows, columns = c.shape[-2:] if c.ndim >= 2 else (-1, -1)
    if a.shape[-2:] != (rows, rows) or b.shape[-2:] != (columns, columns):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {a.shape}\nB: {b.shape}\nC: {c.shape}"
        )
    return _solve_sylvester(a, b, c, method, float(tol))
