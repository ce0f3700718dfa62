# SPDX-License-Identifier: Apache-2.0
"""The polar decomposition by weighted Halley iterations, which are efficient on accelerators.

The iteration is due to Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the
matrix polar decomposition" (2010). Steps use the stable QR while the weights are large, and the
cheaper Cholesky factorization afterwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ...types import dtypes
from ..core.declarations import real_dtype
from ..core.values import Array, ArrayLike, array_aval
from .factoring import cholesky, qr
from .matrices import adjoint, eye, matmul, symmetrize, zeros
from .solving import triangular_solve

__all__ = ["qdwh"]

_LARGEST_WEIGHT_FOR_CHOLESKY = 100.0


def _weights(smallest: float, eps: float) -> list[tuple[float, float, float]]:
    """Returns the weights of each step, given a lower bound of the smallest singular value.

    With these weights, each step raises the bound as far as a rational function with a cubic
    numerator and a quadratic denominator can.
    """
    weights = []
    while 1 - smallest > 5 * eps and len(weights) < 20:
        square = smallest**2
        d = (4 * (1 - square) / square**2) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        weights.append((a, b, c))
        smallest = min(1.0, smallest * (a + b * square) / (1 + c * square))
    return weights


def _scaled(factor: float, x: Any) -> Any:
    return lax.mul(np.array(factor, array_aval(x).dtype), x)


def _step(x: Any, weights: tuple[float, float, float]) -> Any:
    a, b, c = weights
    rows, columns = array_aval(x).shape
    dtype = array_aval(x).dtype
    identity = eye(columns, dtype)
    if c > _LARGEST_WEIGHT_FOR_CHOLESKY:
        stacked = lax.concatenate([_scaled(math.sqrt(c), x), identity], 0)
        q, _ = qr(stacked, full_matrices=False)
        upper = lax.slice_in_dim(q, 0, rows, axis=0)
        lower = lax.slice_in_dim(q, rows, rows + columns, axis=0)
        correction = _scaled((a - b / c) / math.sqrt(c), matmul(upper, adjoint(lower)))
    else:
        factor = cholesky(
            lax.add(identity, _scaled(c, matmul(adjoint(x), x))), symmetrize_input=False
        )
        solved = triangular_solve(factor, adjoint(x), left_side=True, lower=True)
        solved = triangular_solve(
            factor, solved, left_side=True, lower=True, transpose_a=True, conjugate_a=True
        )
        correction = _scaled(a - b / c, adjoint(solved))
    return lax.add(_scaled(b / c, x), correction)


def _norm(x: Any) -> Any:
    size = lax.abs(x)
    return lax.sqrt(lax.reduce_sum(lax.mul(size, size), (0, 1)))


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Computes the polar decomposition ``x = u @ h``: orthonormal columns ``u``, Hermitian ``h``.

    Args:
      x: a matrix with at least as many rows as columns.
      is_hermitian: whether ``x`` is Hermitian; has no effect on the factors.
      max_iterations: the maximal number of steps; 10 if not given.
      eps: the precision, above 0; by default the precision of the dtype.
      dynamic_shape: the numbers of rows and columns to use; further rows and columns are ignored.

    Returns:
      ``u``, ``h``, the number of steps, and whether the steps converged.

    Raises:
      ValueError: if ``x`` is not a matrix with at least as many rows as columns, or if ``eps`` or
        ``max_iterations`` is negative or ``eps`` zero.
      TypeError: if the elements of ``x`` are neither floats nor complex numbers.

    Example:
      >>> from olympus_ir.lax import linalg
      >>> import numpy as np
      >>> np.abs(linalg.qdwh(np.array([[2.0, 0], [0, -3]]))[1]).round(3)
      array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    aval = array_aval(x)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            "The input matrix of shape M x N must have M >= N, at least as many rows as columns; "
            f"got shape {aval.shape}"
        )
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        raise TypeError(f"qdwh takes a matrix of floats or complex numbers, got {aval.dtype}")
    limit = 10 if max_iterations is None else int(max_iterations)
    if limit < 0:
        raise ValueError(f"qdwh: max_iterations must not be negative, got {limit}")
    eps = float(dtypes.finfo(aval.dtype).eps) if eps is None else float(eps)
    if not eps > 0:
        raise ValueError(f"qdwh takes a precision above 0, got eps={eps}")
    if dynamic_shape is not None:
        x = _masked(x, dynamic_shape)
    iterate, real = _bounded(x), real_dtype(aval.dtype)
    weights = _weights(eps, eps)
    tolerance = np.array((5 * eps) ** (1 / 3), real)
    converged: Any = np.array(False)
    for weight in weights[:limit]:
        previous, iterate = iterate, _step(iterate, weight)
        converged = lax.le(_norm(lax.sub(iterate, previous)), tolerance)
    if len(weights) > limit:
        # A small step before the last one only says that its weights are small.
        converged = np.array(False)

    def unfinished(state: tuple[Any, Any, Any]) -> Any:
        _, count, done = state
        return lax.bitwise_and(lax.lt(count, limit), lax.eq(done, np.array(False)))

    def polish(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        before, count, _ = state
        after = _step(before, (3.0, 1.0, 3.0))
        done = lax.le(_norm(lax.sub(after, before)), tolerance)
        return after, lax.add(count, 1), done

    start = (iterate, min(len(weights), limit), converged)
    u, count, converged = lax.while_loop(unfinished, polish, start)
    # One Newton-Schulz step makes the columns orthogonal to full precision.
    u = _scaled(0.5, lax.sub(_scaled(3.0, u), matmul(u, matmul(adjoint(u), u))))
    return u, symmetrize("qdwh", matmul(adjoint(u), x)), count, converged


def _masked(x: Any, shape: tuple[Any, Any]) -> Any:
    aval = array_aval(x)
    inside: Any = None
    for dimension, size in enumerate(shape):
        index = lax.broadcasted_iota(np.int32, aval.shape, dimension)
        size = lax.broadcast_in_dim(lax.convert_dtype(size, np.int32), aval.shape, ())
        part = lax.lt(index, size)
        inside = part if inside is None else lax.bitwise_and(inside, part)
    return lax.select(inside, x, zeros(aval.shape, aval.dtype))


def _bounded(x: Any) -> Any:
    """Divides a matrix by an upper bound of its largest singular value."""
    magnitude = lax.abs(x)
    bounds = [lax.reduce_max(lax.reduce_sum(magnitude, (axis,)), (0,)) for axis in (0, 1)]
    bound = lax.sqrt(lax.mul(*bounds))
    dtype = array_aval(bound).dtype
    bound = lax.select(lax.gt(bound, np.zeros((), dtype)), bound, np.ones((), dtype))
    return lax.div(x, lax.convert_dtype(bound, array_aval(x).dtype))
