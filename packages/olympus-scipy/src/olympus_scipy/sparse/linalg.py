# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers of ``A(x) = b`` for linear operators: `cg`, `bicgstab` and `gmres`.

An operator is a matrix, or a function of an array or a pytree of arrays. The solvers flatten the
unknowns to one vector. Derivatives are those of the exact solution of ``A(x) = b``. Each derivative
takes one more solve.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff.custom.solves import custom_linear_solve
from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, PyTree
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_numpy.arrays.flatten_util import ravel_pytree

__all__ = ["bicgstab", "cg", "gmres"]

Operator = Callable[[Any], Any]


# ---- operators ----


def _operator(A: Any) -> Operator:
    if callable(A):
        return A
    if not isinstance(A, np.ndarray | Array) and not hasattr(A, "__matmul__"):
        raise TypeError(
            f"linear operator must be either a function or ndarray: {A}, or an object with `@`"
        )
    shape = getattr(A, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(f"linear operator must be a square matrix, but has shape: {shape}")
    if isinstance(A, np.ndarray | Array):
        return lambda x: jnp.matmul(A, x, precision=lax.Precision.HIGHEST)
    return lambda x: A @ x


def _shapes(tree: Any) -> list[tuple[int, ...]]:
    return [np.shape(leaf) for leaf in pytrees.tree_leaves(tree)]


def _arrays(tree: Any) -> Any:
    return pytrees.tree_map(jnp.asarray, tree)


def _dot(x: Any, y: Any) -> Any:
    return jnp.vdot(x, y, precision=lax.Precision.HIGHEST)


def _norm(x: Any) -> Any:
    return jnp.sqrt(_dot(x, x).real)


Method = Callable[[Operator, Any, Any, Operator, Any, int], Any]


def _solve(
    method: Method,
    A: Any,
    b: Any,
    x0: Any,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    symmetric: bool = False,
    keeps_weak_types: bool = True,
) -> Any:
    """Checks the arguments that all solvers share, and applies a method to flat vectors.

    A method is a function of the operator, the right-hand side, the start, the preconditioner, the
    norm of the residual to reach, and the greatest number of steps.
    """
    matvec, b = _operator(A), _arrays(b)
    precondition = (lambda x: x) if M is None else _operator(M)
    x0 = pytrees.tree_map(jnp.zeros_like, b) if x0 is None else _arrays(x0)
    if pytrees.tree_structure(x0) != pytrees.tree_structure(b):
        raise ValueError(
            "x0 and b must have matching tree structure: "
            f"{pytrees.tree_structure(x0)} vs {pytrees.tree_structure(b)}"
        )
    if _shapes(x0) != _shapes(b):
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {_shapes(x0)} vs {_shapes(b)}"
        )
    flat_start, _ = ravel_pytree(x0)
    limit = 10 * flat_start.size if maxiter is None else maxiter

    def solution(operator: Operator, b: Any) -> Any:
        flat_b, unravel = ravel_pytree(b)

        def on_vectors(function: Operator) -> Operator:
            return lambda x: ravel_pytree(function(unravel(x)))[0]

        # The norm of the residual at which a method may stop.
        enough = jnp.maximum(tol * _norm(flat_b), atol)
        start = flat_start.astype(jnp.result_type(flat_start, flat_b))
        if not dtypes.issubdtype(start.dtype, np.inexact):
            raise TypeError(
                f"a solution has floating or complex numbers, but b and x0 have {start.dtype}. "
                "Convert b, as in b.astype(float)."
            )
        x = method(on_vectors(operator), flat_b, start, on_vectors(precondition), enough, limit)
        return unravel(x)

    x = custom_linear_solve(
        matvec, b, solve=solution, transpose_solve=solution, symmetric=symmetric
    )
    return pytrees.tree_map(_with_weak_type, x, b, x0) if keeps_weak_types else x


def _with_weak_type(x: Any, b: Any, x0: Any) -> Any:
    """Returns a solution, with a weak type if its right-hand side and start have weak types."""
    weak = get_aval(b).weak_type and get_aval(x0).weak_type
    return lax.convert_dtype(x, x.dtype, weak_type=True) if weak else x


# ---- conjugate gradients ----


def _conjugate_gradients(
    operator: Operator, b: Any, x: Any, precondition: Operator, enough: Any, limit: int
) -> Any:
    residual = b - operator(x)
    direction = precondition(residual)
    progress = _dot(residual, direction)

    def unfinished(state: Any) -> Any:
        _, residual, _, _, count = state
        return (_norm(residual) > enough) & (count < limit)

    def step(state: Any) -> Any:
        x, residual, direction, progress, count = state
        image = operator(direction)
        length = progress / _dot(direction, image)
        x, residual = x + length * direction, residual - length * image
        corrected = precondition(residual)
        previous, progress = progress, _dot(residual, corrected)
        direction = corrected + progress / previous * direction
        return x, residual, direction, progress, count + 1

    return lax.while_loop(unfinished, step, (x, residual, direction, progress, 0))[0]


def cg(
    A: Any,
    b: ArrayLike,
    x0: PyTree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[PyTree, None]:
    """Solves a linear system with a Hermitian positive definite operator by conjugate gradients.

    The method is from Hestenes, Stiefel: Methods of conjugate gradients for solving linear systems.
    J. Res. Nat. Bur. Standards 49 (1952).

    Args:
      A: a matrix of shape (n, n), an object with the operator ``@``, or a linear function of an
        array or a pytree of arrays.
      b: the right-hand side, of the structure that ``A`` takes and returns.
      x0: the start, of the structure of ``b``; zero if None.
      tol: the norm of the residual to reach, relative to that of ``b``.
      atol: the absolute norm of the residual to reach.
      maxiter: the greatest number of steps; ten times the number of unknowns if None.
      M: the preconditioner, an approximation of the inverse of ``A``.

    Returns:
      The solution, of the structure of ``b``, and None.

    Raises:
      TypeError: ``A`` is neither a function nor an array.
      ValueError: a matrix is not square, or ``x0`` does not match ``b``.

    Example:
      >>> cg(np.diag([1.0, 2.0]), np.array([1.0, 4.0]))[0].round(3)
      Array([1., 2.], dtype=float32)
    """
    x = _solve(
        _conjugate_gradients,
        A,
        b,
        x0,
        tol,
        atol,
        maxiter,
        M,
        symmetric=True,
        keeps_weak_types=False,
    )
    return x, None


# ---- stabilised biconjugate gradients ----


def _stabilized(
    operator: Operator, b: Any, x: Any, precondition: Operator, enough: Any, limit: int
) -> Any:
    shadow = residual = b - operator(x)
    one = jnp.ones((), residual.dtype)
    zeros = jnp.zeros_like(residual)

    def unfinished(state: Any) -> Any:
        _, residual, *_, count = state
        # A negative count means that the method has broken down.
        return (_norm(residual) > enough) & (count < limit) & (count >= 0)

    def step(state: Any) -> Any:
        x, residual, image, direction, alpha, omega, rho, count = state
        previous, rho = rho, _dot(shadow, residual)
        beta = rho / previous * alpha / omega
        direction = residual + beta * (direction - omega * image)
        corrected = precondition(direction)
        image = operator(corrected)
        alpha = rho / _dot(shadow, image)
        half = residual - alpha * image
        done = _norm(half) < enough
        other = precondition(half)
        other_image = operator(other)
        omega = _dot(other_image, half) / _dot(other_image, other_image)
        x = x + jnp.where(done, alpha * corrected, alpha * corrected + omega * other)
        residual = jnp.where(done, half, half - omega * other_image)
        broken = ((omega == 0) & ~done) | (alpha == 0)
        count = jnp.where(broken, -1, count + 1)
        return x, residual, image, direction, alpha, omega, rho, count

    start = (x, residual, zeros, zeros, one, one, one, jnp.zeros((), int))
    return lax.while_loop(unfinished, step, start)[0]


def bicgstab(
    A: Any,
    b: ArrayLike,
    x0: PyTree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[PyTree, None]:
    """Solves a linear system with a general operator by stabilized biconjugate gradients.

    The method is from van der Vorst: Bi-CGSTAB. SIAM J. Sci. Stat. Comput. 13 (1992).

    Args:
      A: as in `cg`, but the operator may be any invertible one.
      b: as in `cg`.
      x0: as in `cg`.
      tol: as in `cg`.
      atol: as in `cg`.
      maxiter: as in `cg`.
      M: as in `cg`.

    Returns:
      The solution, of the structure of ``b``, and None.

    Raises:
      TypeError: ``A`` is neither a function nor an array.
      ValueError: a matrix is not square, or ``x0`` does not match ``b``.

    Example:
      >>> bicgstab(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([3.0, 4.0]))[0].round(3)
      Array([1., 2.], dtype=float32)
    """
    return _solve(_stabilized, A, b, x0, tol, atol, maxiter, M), None


# ---- generalized minimal residuals ----


def _minimal_residuals(restart: int) -> Method:
    """Returns the method that minimizes the residual over a Krylov space."""

    def method(
        operator: Operator, b: Any, x: Any, precondition: Operator, enough: Any, limit: int
    ) -> Any:
        size = min(restart, b.size)
        eps = float(dtypes.finfo(x.dtype).eps)

        def error(x: Any) -> Any:
            return precondition(b - operator(x))

        def extend(k: Any, state: Any) -> Any:
            """Adds a vector to the orthonormal basis, and a column to the Hessenberg matrix."""
            basis, images = state
            vector = precondition(operator(basis[:, k]))
            length = _norm(vector)
            # The vector is orthogonalized twice: a single pass leaves large components along the
            # earlier vectors.
            column = jnp.zeros((size + 1,), x.dtype)
            for _ in range(2):
                weights = jnp.matmul(basis.conj().T, vector, precision=lax.Precision.HIGHEST)
                vector = vector - jnp.matmul(basis, weights, precision=lax.Precision.HIGHEST)
                column = column + weights
            rest = _norm(vector)
            exhausted = rest <= eps * length
            vector = jnp.where(exhausted, 0, vector / jnp.where(exhausted, 1, rest))
            column = column.at[k + 1].add(jnp.where(exhausted, 0, rest).astype(x.dtype))
            return basis.at[:, k + 1].set(vector), images.at[:, k].set(column)

        def step(state: Any) -> Any:
            x, residual, length, count = state
            unit = residual / jnp.where(length == 0, 1, length)
            basis = jnp.zeros((x.size, size + 1), x.dtype).at[:, 0].set(unit)
            images = jnp.zeros((size + 1, size), x.dtype)
            basis, images = lax.fori_loop(0, size, extend, (basis, images))
            target = jnp.zeros((size + 1,), x.dtype).at[0].set(length)
            weights = jnp.linalg.lstsq(images, target)[0]
            x = x + jnp.matmul(basis[:, :-1], weights, precision=lax.Precision.HIGHEST)
            residual = error(x)
            return x, residual, _norm(residual), count + 1

        def unfinished(state: Any) -> Any:
            _, _, length, count = state
            return (length > enough) & (count < limit)

        residual = error(x)
        return lax.while_loop(unfinished, step, (x, residual, _norm(residual), 0))[0]

    return method


def gmres(
    A: Any,
    b: ArrayLike,
    x0: PyTree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[PyTree, PyTree]:
    """Solves a linear system with a general operator by generalized minimal residuals.

    The method is from Saad, Schultz: GMRES. SIAM J. Sci. Stat. Comput. 7 (1986).

    Args:
      A: as in `cg`, but the operator may be any invertible one.
      b: as in `cg`.
      x0: as in `cg`.
      tol: as in `cg`.
      atol: as in `cg`.
      restart: the dimension of the Krylov space, after which the iteration restarts.
      maxiter: the greatest number of restarts; ten times the number of unknowns if None.
      M: as in `cg`.
      solve_method: ``"batched"`` or ``"incremental"``; has no effect. Both examine the residual
        when the basis is complete.

    Returns:
      The solution, of the structure of ``b``, and a status: 0, or -1 if the solution is not finite.

    Raises:
      TypeError: ``A`` is neither a function nor an array.
      ValueError: a matrix is not square, ``x0`` does not match ``b``, ``restart`` is less than 1,
        or ``solve_method`` is unknown.

    Example:
      >>> gmres(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([3.0, 4.0]))[0].round(3)
      Array([1., 2.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    restart = operator.index(restart)
    if restart < 1:
        raise ValueError(f"gmres needs a Krylov space of at least one dimension, got {restart=}")
    x = _solve(_minimal_residuals(restart), A, b, x0, tol, atol, maxiter, M)
    broken = jnp.isnan(_norm(ravel_pytree(x)[0]))
    return x, jnp.where(broken, -1, 0)
