# SPDX-License-Identifier: Apache-2.0
"""Sparse eigenvalues and linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, vjp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_sparse import BCOO, BCSR, CSR
from olympus_sparse.linalg import lobpcg_standard, spsolve
from olympus_testing import check_grads


def symmetric(size: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((size, size)).astype(np.float32)
    return matrix @ matrix.T


def start(size: int, count: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((size, count)).astype(np.float32)


@pytest.mark.parametrize("size, count", [(40, 1), (40, 3), (40, 7), (120, 4)])
def test_largest_eigenvalues_equal_numpy(size, count):
    matrix = symmetric(size)
    values, vectors, steps = lobpcg_standard(matrix, start(size, count))
    expected = np.linalg.eigvalsh(matrix)[::-1][:count]
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-4)
    residual = matrix @ vectors - vectors * values
    assert np.abs(residual).max() < 1e-2 * expected[0]
    assert 0 < int(steps) < 100


def test_eigenvalues_of_sparse_matrices_and_functions():
    matrix = np.diag(np.arange(1, 51, dtype=np.float32)) + np.diag(np.ones(49, np.float32), 1)
    matrix = (matrix + matrix.T) / 2
    expected = np.linalg.eigvalsh(matrix)[::-1][:2]
    for operator in (BCOO.fromdense(matrix), BCSR.fromdense(matrix), lambda x: matrix @ x):
        values, _, _ = lobpcg_standard(operator, start(50, 2))
        np.testing.assert_allclose(values, expected, rtol=1e-4)
    compiled = jit(lambda m, x: lobpcg_standard(m, x)[0])(BCOO.fromdense(matrix), start(50, 2))
    np.testing.assert_allclose(compiled, expected, rtol=1e-4)


def test_equal_eigenvalues_have_orthonormal_vectors():
    matrix = np.diag(np.repeat(np.arange(1, 9, dtype=np.float32), 5))
    values, vectors, _ = lobpcg_standard(matrix, start(40, 4))
    np.testing.assert_allclose(values, [8, 8, 8, 8], rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-4)


def test_steps_and_tolerance():
    matrix = symmetric(60)
    _, _, few = lobpcg_standard(matrix, start(60, 2), m=3)
    assert int(few) == 3
    _, _, loose = lobpcg_standard(matrix, start(60, 2), tol=1e-4)
    _, _, tight = lobpcg_standard(matrix, start(60, 2))
    assert int(loose) < int(tight)


@pytest.mark.parametrize(
    "A, X, message",
    [
        (symmetric(10), start(10, 0), "must have search dim > 0, got 0"),
        (symmetric(10), start(10, 3), r"expected search dim \* 5 < matrix dim \(got 15, 10\)"),
        (symmetric(40), start(40, 3)[:, 0], "X must be 2D"),
        (symmetric(40)[:, :-1], start(40, 3), "A must be of shape"),
        (lambda x: x[:, :1], start(40, 3), "must keep the shape"),
        (lambda x: x.astype(int), start(40, 3), "A, X must have same dtypes"),
        (symmetric(40), np.ones((40, 3), int), "real floating dtypes"),
    ],
)
def test_invalid_lobpcg_operands_raise(A, X, message):
    with pytest.raises(ValueError, match=message):
        lobpcg_standard(A, X)


# ---- linear systems ----

MATRIX = np.diag(np.arange(3.0, 8.0)).astype(np.float32)
MATRIX[0, 3], MATRIX[4, 1], MATRIX[2, 0] = 1, -2, 0.5
B = np.arange(5, dtype=np.float32) + 1


def buffers(matrix: np.ndarray = MATRIX) -> tuple[Any, Any, Any]:
    return CSR.fromdense(matrix).tree_flatten()[0]


_, INDICES, INDPTR = buffers()


def solve(data: Any, b: Any) -> Any:
    return spsolve(data, INDICES, INDPTR, b)


def test_spsolve_equals_numpy():
    np.testing.assert_allclose(spsolve(*buffers(), B), np.linalg.solve(MATRIX, B), rtol=1e-5)
    np.testing.assert_allclose(jit(solve)(buffers()[0], B), np.linalg.solve(MATRIX, B), rtol=1e-5)
    complex_matrix = (MATRIX * (1 + 1j)).astype(np.complex64)
    out = spsolve(*buffers(complex_matrix), B.astype(np.complex64))
    np.testing.assert_allclose(out, np.linalg.solve(complex_matrix, B), rtol=1e-5)


def test_derivatives_of_solutions():
    data = np.asarray(buffers()[0])
    check_grads(solve, (data, B), jvp=jvp, vjp=vjp)
    gradient = np.asarray(grad(lambda d: solve(d, B).sum())(data))
    places = np.nonzero(MATRIX)
    inverse = np.linalg.inv(MATRIX)
    expected = -np.outer(inverse.sum(0), inverse @ B)[places]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)


def test_batches_of_systems():
    data = buffers()[0]
    out = vmap(solve, in_axes=(None, 0))(data, np.stack([B, 2 * B]))
    np.testing.assert_allclose(out[1], np.linalg.solve(MATRIX, 2 * B), rtol=1e-5)
    out = vmap(solve, in_axes=(0, None))(np.stack([data, 2 * np.asarray(data)]), B)
    np.testing.assert_allclose(out[1], np.linalg.solve(2 * MATRIX, B), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Matrix is exactly singular")
def test_singular_systems_have_no_solution():
    out = spsolve(np.ones(2, np.float32), np.zeros(2, int), np.array([0, 1, 2]), B[:2])
    assert np.isnan(out).all()


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d, i, p: (d, i, p, np.stack([B, B])), "must be one-dimensional"),
        (lambda d, i, p: (d, i, p, B[:3]), "Invalid CSR buffer sizes"),
        (lambda d, i, p: (d, i[:3], p, B), "Invalid CSR buffer sizes"),
        (lambda d, i, p: (d, i.astype(np.float32), p, B), "must be integer typed"),
        (lambda d, i, p: (d.astype(np.int32), i, p, B), "data types do not match"),
        (lambda d, i, p: (d, i, p, B, 1e-6, 7), "reorder=7 not valid"),
    ],
)
def test_invalid_systems_raise(change, message):
    with pytest.raises(ValueError, match=message):
        spsolve(*change(*buffers()))
