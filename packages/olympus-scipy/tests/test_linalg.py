# SPDX-License-Identifier: Apache-2.0
"""Comparison of linear algebra with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import olympus_numpy as jnp
from olympus_autodiff import grad, jvp, vjp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_scipy import linalg
from olympus_testing import check_grads


@pytest.fixture
def wide():
    with config.enable_x64(True):
        yield


def draw(*shape, kind="real", seed=0):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape)
    return x + 1j * generator.standard_normal(shape) if kind == "complex" else x


def close(actual, expected, rtol=1e-9, atol=1e-9):
    if isinstance(expected, tuple):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            close(one, other, rtol, atol)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def adjoint(x):
    return np.swapaxes(np.conj(x), -1, -2)


def positive(x):
    return x @ adjoint(x) + np.eye(len(x))


# Results that the matrix alone determines, as functions of the module and a square matrix.
UNIQUE = {
    "cholesky": lambda module, x: module.cholesky(positive(x)),
    "cholesky_lower": lambda module, x: module.cholesky(positive(x), lower=True),
    "cho_solve": lambda module, x: module.cho_solve(module.cho_factor(positive(x)), x[:, :2]),
    "cho_solve_lower": lambda module, x: module.cho_solve(
        module.cho_factor(positive(x), lower=True), x[:, 0]
    ),
    "det": lambda module, x: module.det(x),
    "eigvalsh": lambda module, x: module.eigh(positive(x), eigvals_only=True),
    "expm": lambda module, x: module.expm(x),
    "expm_frechet": lambda module, x: module.expm_frechet(x, x @ x),
    "frechet_alone": lambda module, x: module.expm_frechet(x, x @ x, compute_expm=False),
    "inv": lambda module, x: module.inv(x),
    "lu": lambda module, x: module.lu(x),
    "lu_permuted": lambda module, x: module.lu(x[:, :3], permute_l=True),
    "lu_wide": lambda module, x: module.lu(x[:3]),
    "lu_factor": lambda module, x: module.lu_factor(x),
    "lu_solve": lambda module, x: module.lu_solve(module.lu_factor(x), x[:, 0]),
    "lu_solve_transposed": lambda module, x: module.lu_solve(module.lu_factor(x), x, trans=1),
    "lu_solve_adjoint": lambda module, x: module.lu_solve(module.lu_factor(x), x, trans=2),
    "polar": lambda module, x: module.polar(x[:, :3]),
    "polar_left": lambda module, x: module.polar(x[:3], side="left"),
    "solve": lambda module, x: module.solve(x, x[:, 0]),
    "solve_positive": lambda module, x: module.solve(positive(x), x, assume_a="pos"),
    "solve_sylvester": lambda module, x: module.solve_sylvester(x, x[:2, :2], x[:, :2]),
    "solve_triangular": lambda module, x: module.solve_triangular(x, x),
    "solve_triangular_transposed": lambda module, x: module.solve_triangular(x, x[0], trans="T"),
    "solve_triangular_adjoint": lambda module, x: module.solve_triangular(
        x, x[0], trans=2, lower=True, unit_diagonal=True
    ),
    "sqrtm": lambda module, x: module.sqrtm(x + 5 * np.eye(4)),
    "svdvals": lambda module, x: module.svd(x[:, :3], compute_uv=False),
}


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", UNIQUE)
def test_functions_equal_those_of_scipy(name, kind, wide):
    x = draw(4, 4, kind=kind)
    close(UNIQUE[name](linalg, x), UNIQUE[name](scipy.linalg, x), rtol=1e-8)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_factors_multiply_to_the_matrix(kind, wide):
    x = draw(5, 3, kind=kind)
    for mode in ("full", "economic"):
        q, r = map(np.asarray, linalg.qr(x, mode=mode))
        close(q @ r, x)
        q, r, p = map(np.asarray, linalg.qr(x, mode=mode, pivoting=True))
        close(q @ r, x[:, p])
    close(linalg.qr(x, mode="r")[0], np.asarray(linalg.qr(x)[1]))
    square = draw(4, 4, kind=kind)
    for output in ("real", "complex"):
        t, z = map(np.asarray, linalg.schur(square, output))
        close(z @ t @ adjoint(z), square)
    triangular, vectors = map(np.asarray, linalg.rsf2csf(*linalg.schur(square)))
    close(vectors @ triangular @ adjoint(vectors), square)
    assert (np.tril(triangular, -1) == 0).all()
    h, q = map(np.asarray, linalg.hessenberg(square, calc_q=True))
    close(q @ h @ adjoint(q), square)
    assert (np.tril(h, -2) == 0).all()
    u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=False))
    close((u * s) @ vh, x)
    values, vectors = map(np.asarray, linalg.eigh(positive(square)))
    close(positive(square) @ vectors, vectors * values)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_hessenberg_form_of_matrices_without_elements(shape):
    x = np.zeros(shape, np.float32)
    assert linalg.hessenberg(x).shape == shape
    assert [part.shape for part in linalg.hessenberg(x, calc_q=True)] == [shape, shape]
    with pytest.raises(ValueError, match="square|n, n"):
        linalg.hessenberg(np.zeros((3, 0), np.float32))


def test_matrices_without_square_roots_are_nan():
    assert np.isnan(linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]], np.float32))).all()
    root = linalg.sqrtm(np.diag([0.0, 0.0, 4.0]).astype(np.float32))
    np.testing.assert_array_equal(root, np.diag([0, 0, 2]))


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_convolution_matrices_of_nothing_are_refused(shape):
    with pytest.raises(ValueError, match="one element at least"):
        linalg.convolution_matrix(np.zeros(shape, np.float32), 2)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("pivoting", [False, True])
def test_products_with_orthogonal_factors(kind, pivoting, wide):
    a, c = draw(5, 3, kind=kind), draw(2, 5, kind=kind, seed=1)
    q = np.asarray(linalg.qr(a, mode="economic", pivoting=pivoting)[0])
    product, r, *_ = map(np.asarray, linalg.qr_multiply(a, c, pivoting=pivoting))
    close(product, c @ q)
    assert r.shape == (3, 3)
    conjugated = linalg.qr_multiply(a, c, pivoting=pivoting, conjugate=True)[0]
    close(conjugated, c @ q.conj())
    close(linalg.qr_multiply(a, c[:, :3].T, "left", pivoting)[0], q @ c[:, :3].T)
    close(linalg.qr_multiply(a, c[0], pivoting=pivoting)[0], c[0] @ q)
    if not pivoting:
        full = np.asarray(linalg.qr(a)[0])
        close(linalg.qr_multiply(a, c.T, "left")[0], full @ c.T)


def test_tridiagonal_eigenvalues_equal_those_of_scipy(wide):
    d, e = draw(5), draw(4, seed=1)
    expected = scipy.linalg.eigvalsh_tridiagonal(d, e)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True), expected)
    some, vectors = linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 3))
    close(some, expected[1:4])
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    close(matrix @ np.asarray(vectors), np.asarray(vectors) * expected[1:4])
    complex_ = linalg.eigh_tridiagonal(d.astype(complex), e * 1j, eigvals_only=True)
    close(complex_, expected)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 1, 3, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_of_any_size(scale, dtype, wide):
    x = (scale * draw(4, 4)).astype(dtype)
    expected = scipy.linalg.expm(x.astype(np.float64))
    tolerance = 5e-3 if dtype == np.float32 else 1e-9
    error = np.abs(np.asarray(linalg.expm(x)) - expected).max()
    assert error <= tolerance * np.abs(expected).max()
    upper = np.triu(x)
    expected = scipy.linalg.expm(upper.astype(np.float64))
    error = np.abs(np.asarray(linalg.expm(upper, upper_triangular=True)) - expected).max()
    assert error <= tolerance * np.abs(expected).max()


def test_exponentials_equal_those_of_scipy(wide):
    x = draw(2, 3, 3)
    close(linalg.expm(x), scipy.linalg.expm(x))
    close(vmap(linalg.expm)(x), scipy.linalg.expm(x))
    close(jit(linalg.expm)(x[0]), scipy.linalg.expm(x[0]))
    assert np.isnan(np.asarray(linalg.expm(x * 100, max_squarings=1))).all()
    check_grads(linalg.expm, [x[0]], order=2, jvp=jvp, vjp=vjp)
    block = linalg.expm_frechet(x, x * x, method="blockEnlarge")
    close(block, tuple(map(np.asarray, linalg.expm_frechet(x, x * x))))


def test_functions_of_matrices(wide):
    x = draw(4, 4)
    close(linalg.funm(x, jnp.exp), scipy.linalg.expm(x).astype(complex), rtol=1e-6)
    result, error = linalg.funm(x, jnp.exp, disp=False)
    assert result.dtype == complex
    assert 0 < float(error) < 1e-6
    root = np.asarray(linalg.sqrtm(x))
    close(root @ root, x.astype(complex))


def test_solutions_satisfy_sylvester_equations(wide):
    a, b, c = draw(4, 4), draw(3, 3, seed=1), draw(4, 3, seed=2)
    for method in ("schur", "eigen"):
        x = np.asarray(linalg.solve_sylvester(a, b, c, method=method))
        close(a @ x + x @ b, c)
    assert np.isnan(np.asarray(linalg.solve_sylvester(a, -a, a))).all()


def test_batches_equal_single_solutions(wide):
    a, b = draw(3, 4, 4), draw(4, 2, seed=1)
    close(linalg.solve_triangular(a, b), [scipy.linalg.solve_triangular(one, b) for one in a])
    close(linalg.lu_solve(linalg.lu_factor(a), b), [np.linalg.solve(one, b) for one in a])
    gram = a @ adjoint(a) + np.eye(4)
    close(linalg.cho_solve(linalg.cho_factor(gram), b), [np.linalg.solve(one, b) for one in gram])
    # One vector for each matrix.
    vectors = gram[..., 0]
    expected = [np.linalg.solve(one, vector) for one, vector in zip(gram, vectors, strict=True)]
    close(linalg.cho_solve(linalg.cho_factor(gram), vectors), expected)
    close(linalg.lu_solve(linalg.lu_factor(gram), vectors), expected)


def test_derivatives_equal_finite_differences(wide):
    x, b = draw(3, 3) + np.diag([4.0, 8, 12]), draw(3)
    for function in (
        lambda x: linalg.solve(x @ x.T, b, assume_a="pos"),
        lambda x: linalg.lu_solve(linalg.lu_factor(x), b),
        lambda x: linalg.solve_triangular(x, b, lower=True),
        lambda x: linalg.cho_solve(linalg.cho_factor(x @ x.T), b),
        lambda x: linalg.lu(x)[1:],
        lambda x: linalg.polar(x, method="svd"),
        linalg.det,
    ):
        check_grads(function, [x], order=2, jvp=jvp, vjp=vjp)
    assert np.isfinite(np.asarray(grad(lambda x: linalg.expm(x).sum())(x / 10))).all()


VECTOR, SHORTER = draw(5), draw(4, seed=1)
SPECIAL = {
    "block_diag": lambda module: module.block_diag(np.ones((2, 3)), VECTOR, 2.0),
    "circulant": lambda module: module.circulant(VECTOR),
    "companion": lambda module: module.companion(VECTOR),
    "convolution_matrix": lambda module: module.convolution_matrix(VECTOR, 3),
    "convolution_same": lambda module: module.convolution_matrix(SHORTER, 6, "same"),
    "convolution_valid": lambda module: module.convolution_matrix(VECTOR, 3, "valid"),
    "dft": lambda module: module.dft(5),
    "dft_n": lambda module: module.dft(4, "n"),
    "dft_sqrtn": lambda module: module.dft(3, scale="sqrtn"),
    "fiedler": lambda module: module.fiedler(VECTOR),
    "fiedler_companion": lambda module: module.fiedler_companion(np.arange(1.0, 8)),
    "fiedler_companion_short": lambda module: module.fiedler_companion(VECTOR[:3]),
    "hadamard": lambda module: module.hadamard(8),
    "hankel": lambda module: module.hankel(VECTOR),
    "hankel_rows": lambda module: module.hankel(VECTOR, SHORTER),
    "helmert": lambda module: module.helmert(5),
    "helmert_full": lambda module: module.helmert(4, full=True),
    "hilbert": lambda module: module.hilbert(5),
    "invhilbert": lambda module: module.invhilbert(5),
    "invpascal": lambda module: module.invpascal(5),
    "invpascal_lower": lambda module: module.invpascal(4, "lower"),
    "invpascal_upper": lambda module: module.invpascal(4, kind="upper"),
    "leslie": lambda module: module.leslie(VECTOR, SHORTER),
    "pascal": lambda module: module.pascal(5, "symmetric"),
    "pascal_lower": lambda module: module.pascal(5, "lower"),
    "pascal_upper": lambda module: module.pascal(5, kind="upper"),
    "toeplitz": lambda module: module.toeplitz(VECTOR),
    "toeplitz_rows": lambda module: module.toeplitz(VECTOR, SHORTER),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices_equal_those_of_scipy(name, wide):
    close(SPECIAL[name](linalg), SPECIAL[name](scipy.linalg))


def test_special_matrices_of_batches(wide):
    x, y = draw(2, 4), draw(2, 3, seed=1)
    for function, rows in (
        (linalg.circulant, ()),
        (linalg.companion, ()),
        (linalg.fiedler, ()),
        (linalg.fiedler_companion, ()),
        (linalg.toeplitz, ()),
        (linalg.toeplitz, (y,)),
        (linalg.hankel, (y,)),
        (linalg.leslie, (y,)),
    ):
        each = [function(x[i], *(row[i] for row in rows)) for i in range(2)]
        close(function(x, *rows), np.stack(list(map(np.asarray, each))))


@pytest.mark.parametrize("dtype", ["int4", "uint2", "uint8"])
@pytest.mark.parametrize("name", ["companion", "fiedler_companion"])
def test_companion_matrices_of_integers_of_few_bits(name, dtype):
    coefficients = np.array([2, 1, 3, 0, 1])
    found = getattr(linalg, name)(jnp.array(coefficients, dtype))
    close(found, getattr(scipy.linalg, name)(coefficients))


def test_large_special_matrices():
    assert np.isinf(np.asarray(linalg.pascal(200))).any()
    assert linalg.invhilbert(30).shape == (30, 30)


X = np.ones((3, 3))
BAD = {
    "block_diag": (lambda: linalg.block_diag(np.ones((1, 1, 1))), ValueError, "at most 2 dim"),
    "cholesky": (lambda: linalg.cholesky(np.ones((2, 3))), ValueError, "square"),
    "cho_solve": (lambda: linalg.cho_solve((X, True), np.ones(2)), ValueError, "inconsistent"),
    "companion": (lambda: linalg.companion(np.ones(1)), ValueError, "at least 2"),
    "convolution": (lambda: linalg.convolution_matrix(X, 0), ValueError, "positive integer"),
    "mode": (lambda: linalg.convolution_matrix(X, 2, "x"), ValueError, "mode must be one of"),
    "dft": (lambda: linalg.dft(3, "x"), ValueError, "scale must be"),
    "eigh": (lambda: linalg.eigh(X, X), NotImplementedError, "b=None"),
    "eigh type": (lambda: linalg.eigh(X, type=2), NotImplementedError, "type=1"),
    "tridiagonal": (
        lambda: linalg.eigh_tridiagonal(np.ones(3), np.ones(3)),
        TypeError,
        "`e` of size n - 1",
    ),
    "select": (
        lambda: linalg.eigh_tridiagonal(np.ones(3), np.ones(2), select="v"),
        NotImplementedError,
        "select='v'",
    ),
    "expm": (lambda: linalg.expm(np.ones(3)), ValueError, "square matrix"),
    "frechet": (lambda: linalg.expm_frechet(X, X, method="x"), ValueError, "Unknown method"),
    "funm": (lambda: linalg.funm(np.ones((2, 3)), jnp.exp), ValueError, "square"),
    "hadamard": (lambda: linalg.hadamard(3), ValueError, "power of 2"),
    "helmert": (lambda: linalg.helmert(0), ValueError, "positive integer"),
    "leslie": (lambda: linalg.leslie(np.ones(3), np.ones(3)), ValueError, "one less"),
    "lu_solve": (lambda: linalg.lu_solve((X, np.arange(3)), X, 3), ValueError, "0, 1, or 2"),
    "pascal": (lambda: linalg.pascal(3, "x"), ValueError, "Expected kind"),
    "polar": (lambda: linalg.polar(np.ones((2, 3))), NotImplementedError, "method='svd'"),
    "side": (lambda: linalg.polar(X, "x"), ValueError, "either 'right' or 'left'"),
    "qr": (lambda: linalg.qr(X, mode="x"), ValueError, "Unsupported QR"),
    "qr_multiply": (lambda: linalg.qr_multiply(X, np.ones((2, 2))), ValueError, "not compatible"),
    "rsf2csf": (lambda: linalg.rsf2csf(X, np.eye(2)), ValueError, "shapes must match"),
    "schur": (lambda: linalg.schur(X, "x"), ValueError, "'real' or 'complex'"),
    "solve": (lambda: linalg.solve(X, X, assume_a="x"), ValueError, "assume_a"),
    "triangular": (lambda: linalg.solve_triangular(X, X, "x"), ValueError, "Invalid 'trans'"),
    "sqrtm": (lambda: linalg.sqrtm(X, blocksize=4), NotImplementedError, "Blocked"),
    "sylvester": (
        lambda: linalg.solve_sylvester(X, X, np.ones((2, 2))),
        ValueError,
        "Incompatible shapes for Sylvester",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_raises(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar_factors_of_several_matrices(method):
    matrices = np.random.default_rng(3).normal(size=(2, 4, 3)).astype(np.float32)
    unitary, hermitian = linalg.polar(matrices, method=method)
    for found, wanted in zip((unitary, hermitian), zip(*map(scipy.linalg.polar, matrices))):
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-4, atol=1e-4)
    assert linalg.polar(matrices[:0], method=method)[0].shape == (0, 4, 3)
    with pytest.raises(ValueError, match="at least a 2-D array"):
        linalg.polar(matrices[0, 0])


def test_exponentials_of_half_precision_are_refused():
    with pytest.raises(TypeError, match="A.dtype=float16 is not supported"):
        linalg.expm(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_batches_of_sylvester_equations(method):
    generator = np.random.default_rng(0)
    a, b, c = (generator.normal(size=shape) for shape in [(2, 3, 3), (5, 1, 2, 2), (2, 3, 2)])
    with config.enable_x64(True):
        x = np.asarray(linalg.solve_sylvester(a, b, c, method=method))
    assert x.shape == (5, 2, 3, 2)
    np.testing.assert_allclose(a @ x + x @ b, np.broadcast_to(c, x.shape), atol=1e-9)


def test_batches_of_schur_forms():
    matrices = np.random.default_rng(0).normal(size=(4, 3, 3))
    with config.enable_x64(True):
        forms = [scipy.linalg.schur(matrix) for matrix in matrices]
        t, z = (np.asarray(each) for each in linalg.rsf2csf(*map(np.stack, zip(*forms))))
    np.testing.assert_allclose(np.tril(t, -1), 0, atol=1e-12)
    np.testing.assert_allclose(z @ t @ z.conj().swapaxes(-1, -2), matrices, atol=1e-12)


@pytest.mark.parametrize("number", [1, 2.0])
def test_toeplitz_matrices_of_numbers_are_not_weakly_typed(number):
    assert not linalg.toeplitz(number).weak_type


def test_a_convolution_matrix_of_booleans_is_boolean():
    assert linalg.convolution_matrix(np.array([True, False]), 3).dtype == bool


@pytest.mark.parametrize(
    ("name", "source"), [("cho_solve", "cho_factor"), ("lu_solve", "lu_factor")]
)
def test_a_matrix_is_no_factorization(name, source):
    with pytest.raises(ValueError, match=rf"{name}: .* the pair that {source}\(a\) returns"):
        getattr(linalg, name)(np.eye(2), np.ones(2))
