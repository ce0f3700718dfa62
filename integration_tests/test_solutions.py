# SPDX-License-Identifier: Apache-2.0
"""Derivatives of roots, fixed points and minimizers; curvature; Taylor coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.scipy.sparse.linalg import gmres

A = np.array([4.0, 9.0])
START = {"u": np.ones(2), "v": np.ones(2)}


@pytest.fixture(autouse=True)
def _double():
    with olympus.enable_x64(True):
        yield


def system(x, a):
    """A system with the roots u = sqrt(a) and v = 1 / u."""
    return {"u": x["u"] ** 2 - a, "v": x["v"] * x["u"] - 1}


def inverse_root(a, **options):
    return jnp.sum(olympus.root(system, START, a, **options)["v"])


@pytest.mark.parametrize("how", ["implicit", "unrolled", "truncated"])
def test_roots_of_systems_of_trees(how):
    def f(a):
        return inverse_root(a, differentiate=how)

    np.testing.assert_allclose(f(A), np.sum(A**-0.5), rtol=1e-12)
    for derivative in (olympus.grad(f), olympus.jacfwd(f), olympus.jit(olympus.grad(f))):
        np.testing.assert_allclose(derivative(A), -0.5 * A**-1.5, rtol=1e-10)
    batched = olympus.vmap(olympus.grad(f))(np.stack([A, 2 * A]))
    np.testing.assert_allclose(batched[1], -0.5 * (2 * A) ** -1.5, rtol=1e-10)


def test_second_derivatives_of_roots():
    np.testing.assert_allclose(
        olympus.hessian(inverse_root)(A), np.diag(0.75 * A**-2.5), rtol=1e-9, atol=1e-12
    )


def test_any_solver_and_any_linear_solver():
    calls = []

    def solver(f, start):
        calls.append(start)
        return olympus.lax.fori_loop(0, 60, lambda _, x: x - f(x) / 8, start)

    def f(a):
        return olympus.root(lambda x, a: x**2 - a, 1.5, a, solver=solver)

    np.testing.assert_allclose(olympus.grad(f)(4.0), 0.25, rtol=1e-10)
    assert len(calls) >= 1

    def iterative(a):
        return inverse_root(a, linear_solve=lambda apply, b: gmres(apply, b, tol=1e-12)[0])

    np.testing.assert_allclose(olympus.grad(iterative)(A), -0.5 * A**-1.5, rtol=1e-8)


def test_fixed_points():
    def f(a):
        return olympus.fixed_point(lambda x, a: jnp.cos(a * x), 0.5, a)

    x = float(f(1.0))
    slope = -x * np.sin(x) / (1 + np.sin(x))
    np.testing.assert_allclose(np.cos(x), x, rtol=1e-12)
    np.testing.assert_allclose(olympus.grad(f)(1.0), slope, rtol=1e-10)
    np.testing.assert_allclose(olympus.jvp(f, (1.0,), (1.0,))[1], slope, rtol=1e-10)


def test_minimizers():
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])

    def f(b):
        return olympus.argmin(lambda x, b: x @ matrix @ x / 2 - b @ x, np.zeros(2), b)

    np.testing.assert_allclose(f(A), np.linalg.solve(matrix, A), rtol=1e-12)
    for jacobian in (olympus.jacfwd, olympus.jacrev):
        np.testing.assert_allclose(jacobian(f)(A), np.linalg.inv(matrix), rtol=1e-12)


def test_an_unknown_kind_of_derivative():
    with pytest.raises(ValueError, match="`differentiate` must be one of 'implicit'"):
        olympus.root(lambda x: x, 1.0, differentiate="exact")


def test_products_with_curvature_matrices():
    rng = np.random.default_rng(0)
    inputs, x, v = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)

    def model(x):
        return jnp.tanh(inputs @ x)

    def loss(y):
        return jnp.sum(y**4)

    jacobian, inner = olympus.jacfwd(model)(x), olympus.hessian(loss)(model(x))
    np.testing.assert_allclose(
        olympus.gauss_newton_product(model, loss, x, v), jacobian.T @ inner @ jacobian @ v
    )
    np.testing.assert_allclose(
        olympus.fisher_product(model, lambda y: -jnp.sum(y**2) / 2, x, v),
        jacobian.T @ jacobian @ v,
    )
    whole = olympus.hessian(lambda x: loss(model(x)))(x)
    np.testing.assert_allclose(
        olympus.hessian_product(lambda x: loss(model(x)), x, v), whole @ v, rtol=1e-10
    )


def test_diagonals_of_hessians():
    def f(x):
        return jnp.sum(x**3) + x[0] * x[1] ** 2

    x = np.array([1.0, 2.0, 3.0])
    diagonal = np.diag(olympus.hessian(f)(x))
    np.testing.assert_allclose(olympus.hessian_diagonal(f, x), diagonal, rtol=1e-12)
    signs = np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]])  # orthogonal
    np.testing.assert_allclose(olympus.hessian_diagonal(f, x, signs), diagonal, rtol=1e-12)


def test_taylor_coefficients():
    np.testing.assert_allclose(
        np.array(olympus.taylor(jnp.exp, 0.0, 4)), [1, 1, 1 / 2, 1 / 6, 1 / 24], rtol=1e-12
    )
    out = olympus.taylor(lambda t: {"p": t["a"] * t["b"]}, {"a": 2.0, "b": 3.0}, 2)
    assert [float(each["p"]) for each in out] == [6, 5, 1]
    along = olympus.taylor(
        lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]), 3, np.array([1.0, 0.0])
    )
    np.testing.assert_allclose(np.array(along), [2, 4, 2, 0], atol=1e-12)
    with pytest.raises(ValueError, match="`order` must not be negative"):
        olympus.taylor(jnp.sin, 0.0, -1)
