# SPDX-License-Identifier: Apache-2.0
"""Reference rules of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax import linalg
from ..lax.core.declarations import real_dtype
from ..lax.linalg.spectral import complex_dtype
from . import reflections as reflections  # the import defines more rules of the family
from .numerics import over_batch
from .tables import reference_rules


def _nan(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.full(shape, np.nan, dtype)


# ---- solutions ----


@reference_rules.define(linalg.triangular_solve_p)
@over_batch(2, 2)
def _triangular_solve(
    a: np.ndarray,
    b: np.ndarray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> np.ndarray:
    if conjugate_a:
        a = a.conj()
    if transpose_a:
        a, lower = a.T, not lower
    if not left_side:
        a, b, lower = a.T, b.T, not lower
    x = b.copy()
    size = len(a)
    order = range(size) if lower else reversed(range(size))
    for row in order:
        known = slice(0, row) if lower else slice(row + 1, size)
        x[row] -= a[row, known] @ x[known]
        if not unit_diagonal:
            x[row] /= a[row, row]
    return x if left_side else x.T


@reference_rules.define(linalg.tridiagonal_solve_p)
@over_batch(1, 1, 1, 2)
def _tridiagonal_solve(
    dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *, perturb_singular: bool
) -> np.ndarray:
    size = len(d)
    if not size:
        return b
    a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    factors, _, permutation = _lu(a)
    pivots = np.diagonal(factors)
    if perturb_singular:
        limits = np.finfo(a.dtype)
        smallest = limits.eps * np.abs(a).max() or limits.tiny
        small = np.abs(pivots) < smallest
        factors[np.diag_indices(size)] = np.where(
            small, np.copysign(smallest, np.real(pivots)), pivots
        )
    elif (pivots == 0).any():
        return _nan(b.shape, b.dtype)
    options = {"left_side": True, "transpose_a": False, "conjugate_a": False}
    y = _triangular_solve(factors, b[permutation], lower=True, unit_diagonal=True, **options)
    return _triangular_solve(factors, y, lower=False, unit_diagonal=False, **options)


# ---- factors ----


@reference_rules.define(linalg.cholesky_p)
@over_batch(2)
def _cholesky(x: np.ndarray) -> np.ndarray:
    try:
        factor = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return _nan(x.shape, x.dtype)
    # Like LAPACK, keep the elements above the diagonal.
    return np.tril(factor) + np.triu(x, 1)


@reference_rules.define(linalg.cholesky_update_p)
@over_batch(2, 1)
def _cholesky_update(r: np.ndarray, w: np.ndarray) -> np.ndarray:
    r, w = r.copy(), w.copy()
    for k in range(len(w)):
        if w[k] == 0:
            continue
        length = np.hypot(r[k, k], w[k])
        cosine, sine = r[k, k] / length, w[k] / length
        r[k], w = cosine * r[k] + sine * w, cosine * w - sine * r[k]
    return r


@reference_rules.define(linalg.symmetric_product_p)
@over_batch(2, 2)
def _symmetric_product(a: np.ndarray, c: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return (alpha * (a @ a.T) + beta * c).astype(c.dtype)


def _lu(x: np.ndarray) -> list[np.ndarray]:
    a = x.copy()
    count = min(a.shape)
    pivots = np.zeros(count, np.int32)
    permutation = np.arange(len(a), dtype=np.int32)
    for k in range(count):
        column = a[k:, k]
        pivot = k + int(np.argmax(np.abs(np.real(column)) + np.abs(np.imag(column))))
        pivots[k] = pivot
        for rows in (a, permutation):
            rows[[k, pivot]] = rows[[pivot, k]]
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return [a, pivots, permutation]


reference_rules.define(linalg.lu_p, over_batch(2)(_lu))


@reference_rules.define(linalg.lu_pivots_to_permutation_p)
@over_batch(1)
def _lu_pivots_to_permutation(pivots: np.ndarray, *, permutation_size: int) -> np.ndarray:
    permutation = np.arange(permutation_size, dtype=np.int32)
    for k, pivot in enumerate(np.clip(pivots, -permutation_size, permutation_size - 1)):
        permutation[[k, pivot]] = permutation[[pivot, k]]
    return permutation


# ---- eigenvalues ----


@reference_rules.define(linalg.eig_p)
@over_batch(2)
def _eig(
    x: np.ndarray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[np.ndarray]:
    dtype = complex_dtype(x.dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    if not np.isfinite(x).all():
        return [_nan(x.shape[:1], dtype), *[_nan(x.shape, dtype)] * count]
    values, right = np.linalg.eig(x)
    results = [values]
    if compute_left_eigenvectors:
        results.append(_normalized(np.linalg.inv(right).conj().T) if len(x) else right)
    if compute_right_eigenvectors:
        results.append(right)
    return [result.astype(dtype) for result in results]


def _normalized(vectors: np.ndarray) -> np.ndarray:
    """Scales columns to length 1, with a real largest element, as LAPACK does."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(0)[None], 0)
    return vectors * largest.conj() / np.abs(largest) / np.linalg.norm(vectors, axis=0)


@reference_rules.define(linalg.eigh_p)
@over_batch(2)
def _eigh(
    x: np.ndarray,
    *,
    lower: bool,
    compute_eigenvectors: bool = True,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> list[np.ndarray]:
    if np.isfinite(x).all():
        values, vectors = np.linalg.eigh(x, UPLO="L" if lower else "U")
    else:
        values, vectors = _nan(x.shape[:1], real_dtype(x.dtype)), _nan(x.shape, x.dtype)
    start, stop = (0, len(x)) if subset_by_index is None else subset_by_index
    vectors, values = vectors[:, start:stop], values[start:stop]
    return [vectors, values] if compute_eigenvectors else [values]


@reference_rules.define(linalg.svd_p)
@over_batch(2)
def _svd(
    x: np.ndarray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> list[np.ndarray]:
    finite = np.isfinite(x).all()
    left, values, right = np.linalg.svd(np.where(np.isfinite(x), x, 0), full_matrices)
    if not finite:
        left, values, right = (_nan(array.shape, array.dtype) for array in (left, values, right))
    if subset_by_index is not None:
        start, stop = subset_by_index
        left, values, right = left[:, start:stop], values[start:stop], right[start:stop]
    return [values, left, right] if compute_uv else [values]


@reference_rules.define(linalg.schur_p)
@over_batch(2)
def _schur(
    x: np.ndarray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[np.ndarray]:
    size = len(x)
    if not np.isfinite(x).all():
        t = z = _nan(x.shape, x.dtype)
        return [t, z] if compute_schur_vectors else [t]
    real = x.dtype.kind == "f"
    t, z = x.copy(), np.eye(size, dtype=x.dtype)
    done = 0
    while done < size:
        rest = t[done:, done:]
        value = np.linalg.eigvals(rest)[0]
        identity = np.eye(len(rest), dtype=x.dtype)
        if real and value.imag:
            count = 2
            shifted = rest @ rest - 2 * value.real * rest + abs(value) ** 2 * identity
        else:
            count = 1
            shifted = rest - (value.real if real else value) * identity
        basis = _basis_from(np.linalg.svd(shifted)[2].conj().T, count)
        t[:, done:], z[:, done:] = t[:, done:] @ basis, z[:, done:] @ basis
        t[done:] = basis.conj().T @ t[done:]
        t[done + count :, done : done + count] = 0
        if count == 2:
            _standardize(t, z, done)
        done += count
    return [t, z] if compute_schur_vectors else [t]


def _basis_from(vectors: np.ndarray, count: int) -> np.ndarray:
    """Returns a unitary matrix.

    The first ``count`` columns span the same space as the last ``count`` vectors.
    """
    first = vectors[:, -count:]
    basis, _ = np.linalg.qr(first, "complete")
    # Choose the basis with a nonnegative diagonal, so the identity stays the identity.
    diagonal = np.diagonal(basis)
    return basis * np.where(diagonal == 0, 1, np.sign(np.real(diagonal)))


def _standardize(t: np.ndarray, z: np.ndarray, k: int) -> None:
    """Makes the two diagonal elements of the block at row ``k`` of ``t`` equal by a rotation.

    Applies the rotation to the Schur vectors ``z``, too.
    """
    (a, b), (c, d) = t[k : k + 2, k : k + 2]
    angle = np.arctan2(a - d, b + c) / 2 if a != d else 0.0
    cosine, sine = np.cos(angle), np.sin(angle)
    rotation = np.array([[cosine, -sine], [sine, cosine]], t.dtype)
    t[:, k : k + 2] = t[:, k : k + 2] @ rotation
    t[k : k + 2] = rotation.T @ t[k : k + 2]
    z[:, k : k + 2] = z[:, k : k + 2] @ rotation
