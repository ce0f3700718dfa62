# SPDX-License-Identifier: Apache-2.0
"""Reference rules of linear algebra that use reflections, in LAPACK's conventions.

A reflection is ``I - tau * v @ v.conj().T``. The first element of ``v`` is 1 and is not stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax import linalg
from ..lax.core.declarations import real_dtype
from .numerics import over_batch
from .tables import reference_rules


def _reflector(x: np.ndarray) -> tuple[Any, np.ndarray, Any]:
    """Returns the first element of the reflected vector, and the reflection's vector and factor.

    The adjoint of the reflection maps ``x`` to a multiple of the first unit vector.
    """
    vector = x.copy()
    vector[0] = 1
    alpha = x[0]
    tail = np.linalg.norm(x[1:])
    if tail == 0 and alpha.imag == 0:
        vector[1:] = 0
        return alpha, vector, x.dtype.type(0)
    beta = -np.copysign(np.hypot(abs(alpha), tail), alpha.real)
    vector[1:] = x[1:] / (alpha - beta)
    return beta, vector, x.dtype.type((beta - alpha) / beta)


def _reflected(a: np.ndarray, vector: np.ndarray, tau: Any) -> np.ndarray:
    """Returns a reflection times a matrix."""
    return a - tau * np.outer(vector, vector.conj() @ a)


def _triangularize(a: np.ndarray, k: int) -> Any:
    """Reflects the rows from ``k`` on, so that column ``k`` becomes zero below the diagonal.

    Stores the vector of the reflection in place of these zeros, and returns its factor ``tau``.
    """
    beta, vector, tau = _reflector(a[k:, k])
    a[k:, k + 1 :] = _reflected(a[k:, k + 1 :], vector, tau.conj())
    a[k:, k] = vector
    a[k, k] = beta
    return tau


@reference_rules.define(linalg.geqrf_p)
@over_batch(2)
def _geqrf(x: np.ndarray) -> list[np.ndarray]:
    a = x.copy()
    taus = [_triangularize(a, k) for k in range(min(a.shape))]
    return [a, np.array(taus, a.dtype)]


@reference_rules.define(linalg.geqp3_p)
@over_batch(2, 1)
def _geqp3(x: np.ndarray, jpvt: np.ndarray, *, use_magma: bool | None) -> list[np.ndarray]:
    a = x.copy()
    rows, columns = a.shape
    order = np.arange(1, columns + 1, dtype=np.int32)

    def exchange(first: int, second: int) -> None:
        a[:, [first, second]] = a[:, [second, first]]
        order[[first, second]] = order[[second, first]]

    fixed = 0
    for column in np.flatnonzero(jpvt):
        exchange(fixed, int(column))
        fixed += 1
    taus = []
    for k in range(min(rows, columns)):
        if k >= fixed:
            exchange(k, k + int(np.argmax(np.linalg.norm(a[k:, k:], axis=0))))
        taus.append(_triangularize(a, k))
    return [a, order, np.array(taus, a.dtype)]


def _vector(a: np.ndarray, k: int) -> np.ndarray:
    vector = a[:, k].copy()
    vector[:k] = 0
    vector[k] = 1
    return vector


def _multiplied(a: np.ndarray, taus: np.ndarray, c: np.ndarray, adjoint: bool) -> np.ndarray:
    """Returns a product of reflections, or its adjoint, times a matrix."""
    order = range(len(taus)) if adjoint else reversed(range(len(taus)))
    for k in order:
        c = _reflected(c, _vector(a, k), taus[k].conj() if adjoint else taus[k])
    return c


@reference_rules.define(linalg.householder_product_p)
@over_batch(2, 1)
def _householder_product(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    return _multiplied(a, taus, np.eye(*a.shape, dtype=a.dtype), adjoint=False)


@reference_rules.define(linalg.ormqr_p)
@over_batch(2, 1, 2)
def _ormqr(
    a: np.ndarray, taus: np.ndarray, c: np.ndarray, *, left: bool, transpose: bool
) -> np.ndarray:
    if left:
        return _multiplied(a, taus, c, transpose)
    return _multiplied(a, taus, c.conj().T, not transpose).conj().T


@reference_rules.define(linalg.hessenberg_p)
@over_batch(2)
def _hessenberg(x: np.ndarray) -> list[np.ndarray]:
    a = x.copy()
    taus = []
    for k in range(len(a) - 1):
        beta, vector, tau = _reflector(a[k + 1 :, k])
        right = a[:, k + 1 :]
        a[:, k + 1 :] = right - tau * np.outer(right @ vector, vector.conj())
        a[k + 1 :, k + 1 :] = _reflected(a[k + 1 :, k + 1 :], vector, tau.conj())
        a[k + 1 :, k] = vector
        a[k + 1, k] = beta
        taus.append(tau)
    return [a, np.array(taus, a.dtype)]


@reference_rules.define(linalg.tridiagonal_p)
@over_batch(2)
def _tridiagonal(x: np.ndarray, *, lower: bool) -> list[np.ndarray]:
    size = len(x)
    # For the upper triangle, LAPACK starts from the last column.
    a = x.copy() if lower else x[::-1, ::-1].copy()
    full = np.tril(a) + np.tril(a, -1).conj().T
    full[np.diag_indices(size)] = np.real(np.diagonal(a))
    off_diagonal, taus = [], []
    for k in range(size - 1):
        beta, vector, tau = _reflector(full[k + 1 :, k])
        rest = _reflected(full[k + 1 :, k + 1 :], vector, tau.conj())
        full[k + 1 :, k + 1 :] = rest - tau * np.outer(rest @ vector, vector.conj())
        a[k + 1 :, k] = vector
        a[k + 1, k] = beta
        off_diagonal.append(beta.real)
        taus.append(tau)
    diagonal = np.real(np.diagonal(full)).copy()
    a[np.diag_indices(size)] = diagonal
    real = real_dtype(x.dtype)
    results = [diagonal, np.array(off_diagonal, real), np.array(taus, x.dtype)]
    if lower:
        return [a, *results]
    return [a[::-1, ::-1], *[result[::-1] for result in results]]


@reference_rules.define(linalg.qr_p)
@over_batch(2)
def _qr(
    x: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> list[np.ndarray]:
    rows, columns = x.shape
    if pivoting:
        a, order, taus = _geqp3(x, np.zeros(columns, np.int32), use_magma=use_magma)
        pivots = [order - 1]
    else:
        a, taus = _geqrf(x)
        pivots = []
    inner = rows if full_matrices else min(rows, columns)
    q = _multiplied(a, taus, np.eye(rows, inner, dtype=a.dtype), adjoint=False)
    return [q, np.triu(a[:inner]), *pivots]
