# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: products of factors equal the matrix; errors of invalid input."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir.lax import linalg
from olympus_ir.programs.make import ShapeDtypeStruct, eval_shape
from olympus_ir.settings import config
from olympus_ir.trees.pytrees import tree_leaves

KINDS = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.fixture(autouse=True)
def wide():
    with config.enable_x64(True):
        yield


def draw(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.swapaxes(np.conj(x), -1, -2)


def close(actual, expected, scale=20):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    tolerance = scale * np.finfo(actual.dtype).eps * max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def arrays(results):
    return [np.asarray(each) for each in results]


def check_unitary(q):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("batch", [(), (2, 1)])
class TestFactors:
    def test_cholesky_factors_multiply_to_the_matrix(self, dtype, batch):
        x = draw((*batch, 4, 4), dtype)
        x = x @ adjoint(x) + np.eye(4, dtype=dtype)
        factor = np.asarray(linalg.cholesky(x))
        close(factor @ adjoint(factor), x)
        assert (np.triu(factor, 1) == 0).all()

    @pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5)])
    def test_lu_factors_multiply_to_the_permuted_matrix(self, dtype, batch, shape):
        x = draw((*batch, *shape), dtype)
        packed, pivots, permutation = arrays(linalg.lu(x))
        inner = min(shape)
        lower = np.tril(packed, -1)[..., :inner] + np.eye(shape[0], inner)
        upper = np.triu(packed)[..., :inner, :]
        close(np.take_along_axis(x, permutation[..., None], -2), lower @ upper)
        again = linalg.lu_pivots_to_permutation(pivots, shape[0])
        np.testing.assert_array_equal(np.asarray(again), permutation)

    @pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5)])
    @pytest.mark.parametrize("full", [True, False])
    @pytest.mark.parametrize("pivoting", [True, False])
    def test_qr_factors_multiply_to_the_matrix(self, dtype, batch, shape, full, pivoting):
        x = draw((*batch, *shape), dtype)
        q, r, *pivots = arrays(linalg.qr(x, full_matrices=full, pivoting=pivoting))
        check_unitary(q)
        assert (np.tril(r, -1) == 0).all()
        if pivoting:
            diagonal = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
            assert (np.diff(diagonal) <= 1e-5).all()
            x = np.take_along_axis(x, pivots[0][..., None, :], -1)
        close(q @ r, x)

    def test_products_of_reflections(self, dtype, batch):
        packed, taus = arrays(linalg.geqrf(draw((*batch, 5, 3), dtype)))
        q = np.asarray(linalg.householder_product(packed, taus))
        c = draw((*batch, 3, 4), dtype, seed=1)
        zeros = np.zeros((*batch, 2, 4), dtype)
        padded = np.concatenate([c, zeros], axis=-2)
        close(linalg.ormqr(packed, taus, padded), q @ c)
        back = np.asarray(linalg.ormqr(packed, taus, q @ c, transpose=True))
        close(back[..., :3, :], c)
        right = adjoint(padded)
        close(linalg.ormqr(packed, taus, right, left=False, transpose=True), adjoint(q @ c))

    def test_eigenvectors_satisfy_their_equations(self, dtype, batch):
        x = draw((*batch, 4, 4), dtype)
        values, left, right = arrays(linalg.eig(x))
        close(x @ right, right * values[..., None, :], scale=200)
        close(adjoint(left) @ x, values[..., None] * adjoint(left), scale=200)
        vectors, values = arrays(linalg.eigh(x))
        hermitian = (x + adjoint(x)) / 2
        close(hermitian @ vectors, vectors * values[..., None, :], scale=50)
        assert (np.diff(values) >= 0).all()
        part, some = arrays(linalg.eigh(x, subset_by_index=(1, 3)))
        close(some, values[..., 1:3])
        assert part.shape == (*batch, 4, 2)

    @pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5)])
    def test_singular_vectors_multiply_to_the_matrix(self, dtype, batch, shape):
        x = draw((*batch, *shape), dtype)
        left, values, right = arrays(linalg.svd(x, full_matrices=False))
        close((left * values[..., None, :]) @ right, x)
        full_left, _, full_right = arrays(linalg.svd(x))
        check_unitary(full_left)
        check_unitary(full_right)
        close(linalg.svd(x, compute_uv=False), values)
        _, some, _ = linalg.svd(x, full_matrices=False, subset_by_index=(0, 1))
        close(some, values[..., :1])

    def test_schur_factors_multiply_to_the_matrix(self, dtype, batch):
        x = draw((*batch, 4, 4), dtype)
        form, vectors = arrays(linalg.schur(x))
        close(vectors @ form @ adjoint(vectors), x, scale=100)
        check_unitary(vectors)
        below = -1 if np.dtype(dtype).kind == "c" else -2
        assert (np.tril(form, below) == 0).all()

    def test_hessenberg_and_tridiagonal_forms(self, dtype, batch):
        x = draw((*batch, 4, 4), dtype)
        packed, taus = arrays(linalg.hessenberg(x))
        q = np.zeros_like(x)
        q[..., 0, 0] = 1
        q[..., 1:, 1:] = np.asarray(linalg.householder_product(packed[..., 1:, :-1], taus))
        close(q @ np.triu(packed, -1) @ adjoint(q), x, scale=50)
        hermitian = (x + adjoint(x)) / 2
        for lower in (False, True):
            _, main, beside, _ = arrays(linalg.tridiagonal(hermitian, lower=lower))
            form = np.zeros_like(hermitian)
            places = np.arange(4)
            form[..., places, places] = main
            form[..., places[1:], places[:-1]] = form[..., places[:-1], places[1:]] = beside
            close(np.linalg.eigvalsh(form), np.linalg.eigvalsh(hermitian), scale=50)

    def test_solutions_satisfy_tridiagonal_systems(self, dtype, batch):
        dl, du = draw((*batch, 4), dtype), draw((*batch, 4), dtype, seed=1)
        d, b = draw((*batch, 4), dtype, seed=2) + 4, draw((*batch, 4, 2), dtype, seed=3)
        x = np.asarray(linalg.tridiagonal_solve(dl, d, du, b))
        product = d[..., None] * x
        product[..., 1:, :] += dl[..., 1:, None] * x[..., :-1, :]
        product[..., :-1, :] += du[..., :-1, None] * x[..., 1:, :]
        close(product, b)


@pytest.mark.parametrize("hermitian", [False, True])
def test_polar_factors_multiply_to_the_matrix(hermitian):
    x = draw((5, 3), np.complex128)
    x = x @ adjoint(x) if hermitian else x
    unitary, positive, count, converged = arrays(linalg.qdwh(x, is_hermitian=hermitian))
    assert converged
    assert count <= 10
    close(unitary @ positive, x, scale=100)
    rank = 3 if not hermitian else np.linalg.matrix_rank(x)
    close(np.trace(positive), np.linalg.svd(x, compute_uv=False).sum().astype(complex), scale=200)
    if rank == x.shape[1]:
        check_unitary(unitary)


@pytest.mark.parametrize("limit", range(7))
def test_polar_decomposition_of_few_steps(limit):
    x = draw((5, 5), np.float64)
    unitary, _, count, converged = linalg.qdwh(x, max_iterations=limit)
    assert count <= limit
    distance = np.abs(np.asarray(unitary.T @ unitary) - np.eye(5)).max()
    assert distance < 1e-12 or not converged
    assert converged or limit < 6


def test_polar_decomposition_of_low_precision():
    exact = np.asarray(linalg.qdwh(draw((5, 5), np.float64))[0])
    close_one = linalg.qdwh(draw((5, 5), np.float64), eps=1e-2)
    assert close_one[3]
    assert np.abs(np.asarray(close_one[0]) - exact).max() < 1e-2


def test_partial_polar_decomposition():
    x = draw((5, 4), np.float64)
    inner = np.asarray(linalg.qdwh(x[:4, :3])[0])
    padded = np.asarray(linalg.qdwh(x, dynamic_shape=(4, 3))[0])
    close(padded[:4, :3], inner, scale=100)
    assert np.abs(padded[4:]).max() == np.abs(padded[:, 3:]).max() == 0


def test_rank_one_updates_keep_signs():
    r = np.array([[-2.0, 1], [0, -3]])
    close(linalg.cholesky_update(r, np.array([0.0, 2])), [[-2, 1], [0, np.sqrt(13)]])
    updated = np.asarray(linalg.cholesky_update(r, np.array([1.0, 2])))
    close(updated.T @ updated, r.T @ r + np.outer([1, 2], [1, 2]))


def test_symmetric_products_equal_the_formula():
    a, c = draw((4, 2), np.float64), draw((4, 4), np.float64)
    c = c + c.T
    close(linalg.symmetric_product(a, c, alpha=2, beta=3), 2 * a @ a.T + 3 * c)
    close(linalg.symmetric_product(a, c, symmetrize_output=True), a @ a.T)


def test_singular_tridiagonal_systems():
    ones = np.ones(3)
    b = np.ones((3, 1))
    assert np.isnan(np.asarray(linalg.tridiagonal_solve(ones, ones * 0, ones * 0, b))).all()
    solved = linalg.tridiagonal_solve(
        np.array([0.0, 1, 1]), ones, np.array([1.0, 0, 0]), b, perturb_singular=True
    )
    close(solved, [[0], [1], [0]])


@pytest.mark.parametrize(
    "function",
    [
        linalg.cholesky,
        linalg.eig,
        linalg.eigh,
        lambda x: linalg.schur(x)[1],
        linalg.svd,
        linalg.qr,
        lambda x: linalg.lu(x)[0],
    ],
)
def test_nan_propagates(function):
    results = function(np.full((3, 3), np.nan))
    for each in results if isinstance(results, tuple | list) else [results]:
        lower = np.tril(np.asarray(each)) if np.ndim(each) == 2 else np.asarray(each)
        assert np.isnan(lower).any()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_matrices_have_empty_factors(shape):
    x = np.zeros(shape, np.float32)
    assert linalg.cholesky(x).shape == shape
    assert [each.shape for each in linalg.eigh(x)] == [shape, shape[:-1]]
    assert [each.shape for each in linalg.eig(x)] == [shape[:-1], shape, shape]
    assert [each.shape for each in linalg.svd(x)] == [shape, shape[:-1], shape]
    assert [each.shape for each in linalg.qr(x)] == [shape, shape]
    assert [each.shape for each in linalg.lu(x)] == [shape, shape[:-1], shape[:-1]]
    assert [each.shape for each in linalg.schur(x)] == [shape, shape]
    assert linalg.triangular_solve(x, x, left_side=True).shape == shape


SQUARE = np.zeros((3, 3))
BAD = {
    "integers": (lambda: linalg.eig(np.zeros((3, 3), int)), TypeError, "eig does not accept dtype"),
    "rank": (lambda: linalg.lu(np.zeros(3)), TypeError, r"must have rank at least 2.*\(3,\)"),
    "square": (lambda: linalg.eig(np.zeros((3, 2))), ValueError, "must be a square matrix"),
    "cholesky": (lambda: linalg.cholesky(np.zeros((3, 2))), TypeError, "square matrix"),
    "triangular": (
        lambda: linalg.triangular_solve(SQUARE, np.zeros((3, 2))),
        ValueError,
        r"Incompatible shapes.*b must have as many columns as a",
    ),
    "dtypes": (
        lambda: linalg.triangular_solve(SQUARE, np.zeros((2, 3), complex)),
        TypeError,
        "same dtypes, got float64, complex128",
    ),
    "batch": (
        lambda: linalg.householder_product(np.zeros((2, 3, 2)), np.zeros((2,))),
        TypeError,
        r"same number of batch dimensions, but got \[1, 0\]",
    ),
    "batch sizes": (
        lambda: linalg.householder_product(np.zeros((2, 3, 2)), np.zeros((4, 2))),
        ValueError,
        "same batch dimensions",
    ),
    "wide": (
        lambda: linalg.householder_product(np.zeros((3, 4)), np.zeros(3)),
        ValueError,
        "at least as many rows as columns",
    ),
    "reflections": (
        lambda: linalg.ormqr(np.zeros((3, 2)), np.zeros(5), np.zeros((3, 4))),
        ValueError,
        "at most as many reflections",
    ),
    "ormqr": (
        lambda: linalg.ormqr(np.zeros((3, 2)), np.zeros(2), np.zeros((4, 3))),
        ValueError,
        "same number of rows",
    ),
    "pivots": (
        lambda: linalg.lu_pivots_to_permutation(np.zeros(3, np.int32), 2),
        ValueError,
        "has to exceed the trailing dimension",
    ),
    "pivots of floats": (
        lambda: linalg.lu_pivots_to_permutation(np.zeros(3), 5),
        TypeError,
        "subtypes of int32",
    ),
    "update": (
        lambda: linalg.cholesky_update(SQUARE, np.zeros(2)),
        ValueError,
        "square matrix and a vector of the same size",
    ),
    "update of several": (
        lambda: linalg.cholesky_update(np.zeros((2, 3, 3)), np.zeros((2, 3))),
        TypeError,
        "rank of exactly 2",
    ),
    "diagonals": (
        lambda: linalg.tridiagonal_solve(np.zeros(2), np.zeros(3), np.zeros(3), SQUARE),
        TypeError,
        "all diagonal arguments have the same shape",
    ),
    "subset": (lambda: linalg.eigh(SQUARE, subset_by_index=(2, 1)), ValueError, "start < stop"),
    "subset of full": (
        lambda: linalg.svd(SQUARE, subset_by_index=(0, 2)),
        ValueError,
        "full_matrices and subset_by_index cannot both be set",
    ),
    "sorting": (lambda: linalg.schur(SQUARE, sort_eig_vals=True), NotImplementedError, "sort"),
    "hessenberg": (lambda: linalg.hessenberg(np.zeros((0, 0))), ValueError, "n > 0"),
    "polar": (lambda: linalg.qdwh(np.zeros((2, 3))), ValueError, "as many rows as columns"),
    "steps": (lambda: linalg.qdwh(SQUARE, max_iterations=-1), ValueError, "must not be negative"),
    "precision": (lambda: linalg.qdwh(SQUARE, eps=-0.1), ValueError, "precision above 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_raises(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


def test_an_old_parameter_warns():
    with pytest.warns(DeprecationWarning, match="use_magma is deprecated"):
        linalg.eig(np.eye(2), use_magma=False)


def test_symmetric_matrices_of_integers():
    x = np.int32([[4, 1], [1, 3]])
    factor = np.asarray(linalg.cholesky(x))
    close(factor @ factor.T, x)
    vectors, values = map(np.asarray, linalg.eigh(x))
    close(vectors @ np.diag(values) @ vectors.T, x)


WEAK_RESULTS = {
    "cholesky": linalg.cholesky,
    "eigh": linalg.eigh,
    "eig": linalg.eig,
    "svd": linalg.svd,
    "qr": linalg.qr,
    "lu": linalg.lu,
    "schur": linalg.schur,
    "hessenberg": linalg.hessenberg,
    "triangular_solve": lambda x: linalg.triangular_solve(x, x, left_side=True),
}


@pytest.mark.parametrize("name", WEAK_RESULTS)
def test_weak_types_stay_weak(name):
    for weak in (True, False):
        x = ShapeDtypeStruct((2, 2), np.dtype(np.float32), weak_type=weak)
        results = tree_leaves(eval_shape(WEAK_RESULTS[name], x))
        assert [result.weak_type for result in results] == [weak] * len(results)
