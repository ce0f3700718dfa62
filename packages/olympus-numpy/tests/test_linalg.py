# SPDX-License-Identifier: Apache-2.0
"""Comparison of linear algebra with NumPy, and of derivatives with finite differences."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad, hessian, jacfwd, jvp, vjp
from olympus_batching import vmap
from olympus_ir import make_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_numpy import linalg
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
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


MODULES = [module.name for module in pkgutil.iter_modules(linalg.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_show(name):
    module = importlib.import_module(f"olympus_numpy.linalg.{name}")
    assert doctest.testmod(module).failed == 0


UNIQUE = {
    "cholesky": (lambda np, x: np.linalg.cholesky(x @ np.conj(x.swapaxes(-1, -2)) + np.eye(4))),
    "cond": lambda np, x: np.linalg.cond(x),
    "cond_1": lambda np, x: np.linalg.cond(x, 1),
    "det": lambda np, x: np.linalg.det(x),
    "eigvalsh": lambda np, x: np.linalg.eigvalsh(x + np.conj(x.swapaxes(-1, -2))),
    "inv": lambda np, x: np.linalg.inv(x),
    "matrix_power": lambda np, x: np.linalg.matrix_power(x, -3),
    "matrix_rank": lambda np, x: np.linalg.matrix_rank(x),
    "norm_2": lambda np, x: np.linalg.norm(x, 2, axis=(-2, -1)),
    "norm_-2": lambda np, x: np.linalg.norm(x, -2, axis=(-2, -1), keepdims=True),
    "norm_nuc": lambda np, x: np.linalg.norm(x, "nuc", axis=(-2, -1)),
    "pinv": lambda np, x: np.linalg.pinv(x[..., :2]),
    "pinv_hermitian": lambda np, x: np.linalg.pinv(x + np.conj(x.swapaxes(-1, -2)), hermitian=True),
    "slogdet": lambda np, x: np.linalg.slogdet(x),
    "solve": lambda np, x: np.linalg.solve(x, x[..., :2]),
    "solve_vector": lambda np, x: np.linalg.solve(x, np.arange(4.0)),
    "svdvals": lambda np, x: np.linalg.svdvals(x[..., :3]),
    "svd_hermitian": lambda np, x: np.linalg.svd(
        x + np.conj(x.swapaxes(-1, -2)), compute_uv=False, hermitian=True
    ),
}


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 4, 4)])
@pytest.mark.parametrize("name", UNIQUE)
def test_functions_equal_numpy(name, shape, kind, wide):
    x = draw(*shape, kind=kind)
    actual, expected = UNIQUE[name](jnp, jnp.asarray(x)), UNIQUE[name](np, x)
    if name == "slogdet":
        for one, other in zip(actual, expected, strict=True):
            close(one, other)
    else:
        close(actual, expected)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_factors_multiply_to_the_matrix(kind, wide):
    x = draw(2, 5, 3, kind=kind)
    for full in (True, False):
        u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=full))
        close((u[..., :3] * s[..., None, :]) @ vh, x)
        assert u.shape == (2, 5, 5 if full else 3)
    q, r = map(np.asarray, linalg.qr(x, mode="complete"))
    close(q @ r, x)
    close(linalg.qr(x, mode="r"), np.asarray(linalg.qr(x).R))
    packed, taus = np.linalg.qr(x, mode="raw")
    close(linalg.qr(x, mode="raw")[0], packed)
    close(linalg.qr(x, mode="raw")[1], taus)
    square = x[:, :3]
    values, vectors = map(np.asarray, linalg.eig(square))
    close(square @ vectors, vectors * values[:, None, :])
    hermitian = square + np.conj(square.swapaxes(-1, -2))
    for UPLO in ("L", "U"):
        values, vectors = map(np.asarray, linalg.eigh(hermitian, UPLO, symmetrize_input=False))
        close(hermitian @ vectors, vectors * values[:, None, :])
    u, s, vh = map(np.asarray, linalg.svd(hermitian, hermitian=True))
    close((u * s[:, None, :]) @ vh, hermitian)
    close(linalg.cholesky(np.eye(2) * 4, upper=True), np.eye(2) * 2)


def test_least_squares_equal_numpy(wide):
    a, b = draw(5, 3), draw(5, 2, seed=1)
    for rcond in (None, -1, 0.5):
        actual = linalg.lstsq(a, b, rcond)
        expected = np.linalg.lstsq(a, b, rcond)
        close(actual[0], expected[0])
        close(actual[2], expected[2])
        close(actual[3], expected[3])
    close(linalg.lstsq(a, b)[1], np.linalg.lstsq(a, b)[1])
    singular = np.ones((4, 2))
    assert linalg.lstsq(singular, b[:4])[1].shape == (2,)
    assert linalg.lstsq(singular, b[:4], numpy_resid=True)[1].shape == (0,)
    assert linalg.lstsq(a.T, b[:3], numpy_resid=True)[1].shape == (0,)
    assert linalg.lstsq(np.zeros((0, 2)), np.zeros(0))[0].shape == (2,)


def test_inverses_of_tensors_equal_numpy(wide):
    a = draw(4, 6, 8, 3)
    close(linalg.tensorinv(a), np.linalg.tensorinv(a), rtol=1e-7)
    a, b = draw(2, 3, 6), draw(2, 3, seed=1)
    close(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
    a = draw(2, 6, 3)
    close(linalg.tensorsolve(a, b, axes=(1,)), np.linalg.tensorsolve(a, b, axes=(1,)))


def test_systems_are_broadcast(wide):
    a, b = draw(2, 1, 3, 3), draw(4, 3, 2, seed=1)
    close(linalg.solve(a, b), np.linalg.solve(a, b))
    close(vmap(linalg.solve, (0, None))(a[:, 0], b[0]), np.linalg.solve(a[:, 0], b[0]))
    close(jit(linalg.inv)(a), np.linalg.inv(a))


def cofactors(a):
    """Returns the derivatives of a determinant, by determinants of smaller matrices."""
    found = np.zeros_like(a)
    for i, j in np.ndindex(*a.shape):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        found[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return found


@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize("place", range(4))
def test_derivatives_of_singular_determinants(size, place, wide):
    rng = np.random.default_rng(place)
    numbers = rng.uniform(1, 2, size)
    numbers[place] = 0
    rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrices = [
        np.diag(numbers),
        np.diag(numbers)[rng.permutation(size)],  # several pivots are zero
        np.diag(numbers) + np.triu(rng.normal(size=(size, size)), 1),
        rotation @ np.diag(numbers) @ rotation.T,
        np.eye(size, k=1),
        np.diag(np.r_[0, 0, np.ones(size - 2)]),  # all cofactors are zero
        np.zeros((size, size)),
    ]
    for a in matrices:
        expected = cofactors(a)
        for transformation in (grad, jacfwd):
            np.testing.assert_allclose(transformation(linalg.det)(a), expected, atol=1e-12)
    expected = list(map(cofactors, matrices))
    batched = vmap(grad(linalg.det))(np.stack(matrices))
    np.testing.assert_allclose(batched, expected, atol=1e-12)
    summed = grad(lambda each: vmap(linalg.det)(each).sum())(np.stack(matrices))
    np.testing.assert_allclose(summed, expected, atol=1e-12)


def test_singular_matrices_have_defined_results():
    singular = np.ones((2, 2))
    assert linalg.det(singular) == 0
    assert [float(each) for each in linalg.slogdet(singular)] == [0, -np.inf]
    assert not np.isfinite(np.asarray(linalg.inv(singular))).any()
    assert float(linalg.cond(np.zeros((2, 2)), 1)) == np.inf
    assert linalg.cond(np.zeros((0, 2, 2))).shape == (0,)
    assert np.isnan(float(linalg.cond(np.full((2, 2), np.nan), 1)))


@pytest.mark.parametrize("method", ["lu", "qr"])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_methods_of_slogdet(kind, method, wide):
    x = draw(3, 4, 4, kind=kind)
    for one, other in zip(linalg.slogdet(x, method=method), np.linalg.slogdet(x), strict=True):
        close(one, other)
    with pytest.raises(ValueError, match="Unknown slogdet method"):
        linalg.slogdet(x, method="other")


# ---- derivatives ----

DIFFERENTIABLE = {
    "det": lambda x: linalg.det(x),
    "inv": lambda x: linalg.inv(x),
    "slogdet": lambda x: linalg.slogdet(x)[1],
    "slogdet_qr": lambda x: linalg.slogdet(x, method="qr")[1],
    "solve": lambda x: linalg.solve(x, x[:, 0] * x[:, 1]),
    "pinv": lambda x: linalg.pinv(x[:, :2]),
    "eigvals": lambda x: linalg.eigvals(x),
    "norm": lambda x: linalg.norm(x, "nuc"),
    "cond": lambda x: linalg.cond(x),
    "lstsq": lambda x: linalg.lstsq(x[:, :2], x[:, 2])[0],
}


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_equal_finite_differences(name, kind, wide):
    x = draw(4, 4, kind=kind) + np.diag([3.0, 6, 9, 12])
    check_grads(DIFFERENTIABLE[name], [x], order=2, jvp=jvp, vjp=vjp, rtol=1e-5)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_derivatives_of_determinants_of_singular_matrices(rank, wide):
    x = draw(4, rank) @ draw(rank, 4, seed=1)
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(4)]
        for i in range(4)
    ]
    close(grad(linalg.det)(x), minors, atol=1e-8)


def test_derivatives_under_transformations(wide):
    x = draw(3, 4, 4)
    each = np.stack([np.asarray(grad(linalg.det)(one)) for one in x])
    close(vmap(grad(linalg.det))(x), each)
    close(jit(vmap(grad(linalg.det)))(x), each)
    inverse = np.linalg.inv(x[0])
    close(jacfwd(linalg.inv)(x[0]), -np.einsum("ik,lj->ijkl", inverse, inverse))
    logarithm = hessian(lambda x: linalg.slogdet(x)[1])(x[0])
    close(logarithm, -np.einsum("jk,li->ijkl", inverse, inverse))


def test_the_spectral_radius():
    """Compares with the numbers that a well-known introduction to JAX prints."""

    def spectral_radius(matrix):
        return jnp.max(jnp.abs(linalg.eigvals(matrix)))

    real = jnp.array([[1.0, -1.0], [1.0, 1.0]])
    assert abs(spectral_radius(real).item() - 1.4142135381698608) < 2e-7
    expected = [[0.354, -0.354], [0.354, 0.354]]
    close(np.round(grad(spectral_radius)(real), 3), expected, atol=1e-6)
    complex_ = jnp.array([[1 + 1j, -1], [1, 1]])
    assert abs(spectral_radius(complex_).item() - 1.9021130800247192) < 2e-7
    expected = [[0.38 - 0.616j, -0.38 - 0.235j], [0.38 + 0.235j, 0.145 - 0.235j]]
    close(np.round(grad(spectral_radius)(complex_), 3), expected, atol=1e-6)


def test_programs_have_named_calls():
    program = str(make_olympuspr(linalg.eigvals)(np.eye(2, dtype=np.float32)))
    assert "jit[" in program
    assert "name=eigvals" in program
    program = str(make_olympuspr(linalg.pinv)(np.eye(2, dtype=np.float32)))
    assert "custom_jvp_call[" in program
    assert "mul 20.0:f32[] 1.1920928955078125e-07:f32[]" in program


# ---- polynomials ----


def test_roots_equal_numpy(wide):
    for p in ([1, -6, 11, -6], [0, 0, 1, 2], [3, 0, 0], [5], [0, 0], [1, 0, 1]):
        actual = np.sort_complex(np.asarray(jnp.roots(np.array(p, float))))
        close(actual, np.sort_complex(np.roots(p).astype(complex)), atol=1e-5)
    padded = np.asarray(jit(lambda p: jnp.roots(p, strip_zeros=False))(np.array([0, 0, 1.0, 2])))
    close(padded, [-2, complex(np.nan, np.nan), complex(np.nan, np.nan)])
    with pytest.raises(ValueError, match="rank-1"):
        jnp.roots(np.ones((2, 2)))


def test_fitted_polynomials_equal_numpy(wide):
    x, y = np.linspace(0, 1, 7), draw(7, 2)
    w = np.linspace(1, 2, 7)
    for options in ({}, {"w": w}):
        close(jnp.polyfit(x, y, 2, **options), np.polyfit(x, y, 2, **options))
        for cov in (True, "unscaled"):
            actual = jnp.polyfit(x, y[:, 0], 2, cov=cov, **options)
            for one, other in zip(
                actual, np.polyfit(x, y[:, 0], 2, cov=cov, **options), strict=True
            ):
                close(one, other)
    full = jnp.polyfit(x, y[:, 0], 2, full=True)
    for one, other in zip(full, np.polyfit(x, y[:, 0], 2, full=True), strict=True):
        close(one, other)


BAD = {
    "sequence": (lambda: linalg.inv([[1.0]]), TypeError, "requires ndarray or scalar"),
    "inv": (lambda: linalg.inv(np.ones((2, 3))), ValueError, r"\[..., n, n\]"),
    "det": (lambda: linalg.det(np.ones((2, 3))), ValueError, r"\[..., n, n\]"),
    "solve": (lambda: linalg.solve(np.ones(2), np.ones(2)), ValueError, "two dimensional"),
    "solve sizes": (
        lambda: linalg.solve(np.ones((2, 2)), np.ones(3)),
        ValueError,
        "inconsistent size",
    ),
    "solve vectors": (
        lambda: linalg.solve(np.ones((4, 3, 3)), np.ones((4, 3))),
        ValueError,
        "Invalid shapes for solve",
    ),
    "qr": (lambda: linalg.qr(np.eye(2), "economic"), ValueError, "Unsupported QR"),
    "eigh": (lambda: linalg.eigh(np.eye(2), "X"), ValueError, "UPLO must be one of"),
    "cond": (lambda: linalg.cond(np.ones(2)), ValueError, "at least 2D"),
    "cond 1": (lambda: linalg.cond(np.ones((2, 3)), 1), ValueError, "must be square"),
    "norm": (lambda: linalg.norm(np.eye(2), "x"), ValueError, "Invalid order 'x'"),
    "pinv": (lambda: linalg.pinv(np.eye(2), 1.0, rcond=1.0), ValueError, "only one of"),
    "rank": (lambda: linalg.matrix_rank(np.eye(2), 1.0, tol=1.0), ValueError, "only one of"),
    "lstsq": (lambda: linalg.lstsq(np.eye(2), np.ones(3)), ValueError, "Leading dimensions"),
    "power": (lambda: linalg.matrix_power(np.eye(2), 1.5), TypeError, "must be an integer"),
    "tensorinv": (lambda: linalg.tensorinv(np.eye(2), 0), ValueError, "positive integer"),
    "tensorsolve": (
        lambda: linalg.tensorsolve(np.ones((2, 3)), np.ones(3)),
        ValueError,
        "must match shape of b",
    ),
    "polyfit": (lambda: jnp.polyfit(np.ones(3), np.ones(4), 1), TypeError, "same length"),
    "degree": (lambda: jnp.polyfit(np.ones(3), np.ones(3), -1), ValueError, "deg >= 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_raises(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


def test_solve_is_traced_once_for_each_type():
    a, b = draw(3, 3), draw(3)

    def programs():
        (*_, equation) = make_olympuspr(lambda a, b: linalg.solve(a, b))(a, b).jaxpr.eqns
        return equation.params["jaxprs"]

    first, again = programs(), programs()
    assert all(one is other for one, other in zip(first, again, strict=True))
    with config.enable_x64(True):
        assert programs().solve is not first.solve


def test_powers_with_huge_exponents():
    def power(a, n):
        result = np.eye(len(a), dtype=a.dtype)
        while n:
            if n & 1:
                result = result @ a
            a, n = a @ a, n >> 1
        return result

    fibonacci = np.array([[1, 1], [1, 0]], np.int32)
    for n in (2**41, 2**41 - 1, 3 * 2**60 + 5, 2**5000 + 2**4000 + 1):
        np.testing.assert_array_equal(linalg.matrix_power(fibonacci, n), power(fibonacci, n))
    swap = np.array([[0, 1], [1, 0]], np.float32)
    np.testing.assert_array_equal(linalg.matrix_power(swap, -(2**64 + 1)), swap)
    slope = grad(lambda s: linalg.matrix_power(jnp.array([[1.0, s], [0.0, 1.0]]), 2**41)[0, 1])
    assert slope(1.0) == 2.0**41
