# SPDX-License-Identifier: Apache-2.0
"""Derivatives at hard points are finite and right with strong zeros; the page lists them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import nn
from olympus.scipy import linalg

TOOL = Path(__file__).resolve().parent.parent / "tools" / "hard_points.py"
SPEC = importlib.util.spec_from_file_location("hard_points", TOOL)
assert SPEC is not None and SPEC.loader is not None
table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(table)


@pytest.fixture(autouse=True)
def _double():
    with olympus.enable_x64(True):
        yield


@pytest.mark.thorough(
    "`expm` at a multiple of the identity", "`logm` at a multiple of the identity"
)
@pytest.mark.parametrize("row", table.HARD_POINTS, ids=lambda row: row.name)
def test_finite_and_equal_to_the_analytic_value(row):
    with olympus.strong_zeros(True):
        found = table.derivatives(row)
    for mode, value in table.expected(row).items():
        np.testing.assert_allclose(found[mode], value, rtol=1e-6, atol=1e-6, err_msg=mode)


def test_page_lists_forty_points():
    assert sum(row.bend is not None for row in table.HARD_POINTS) >= 40


def test_the_page_is_up_to_date():
    text = table.PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert text.startswith(table.HEAD)
    assert [row.split(" | ")[0][2:] for row in rows] == [row.name for row in table.HARD_POINTS]
    for row in rows:
        assert set(row.split(" | ")[1:4]) <= {"right", "—"}


def test_where_of_log_has_zero_gradient_at_zero():
    def f(x):
        return jnp.where(x > 0, jnp.log(x), 0.0)

    assert np.isnan(olympus.grad(f)(0.0))
    with olympus.strong_zeros(True):
        for transformed in (
            olympus.grad(f),
            olympus.jit(olympus.grad(f)),
            olympus.grad(olympus.jit(f)),
            lambda x: olympus.vmap(olympus.grad(f))(jnp.full(3, x))[1],
            lambda x: olympus.grad(lambda xs: jnp.sum(olympus.vmap(f)(xs)))(jnp.full(3, x))[1],
            lambda x: olympus.grad(
                lambda x: olympus.lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=2)[0]
            )(x),
            lambda x: olympus.grad(olympus.checkpoint(f))(x),
        ):
            assert transformed(0.0) == 0
        assert olympus.grad(f)(2.0) == 0.5
    assert np.isnan(olympus.jit(olympus.grad(f))(0.0))


def test_infinite_derivatives_are_kept():
    with olympus.strong_zeros(True):
        assert olympus.grad(jnp.sqrt)(0.0) == np.inf
        assert olympus.grad(jnp.log)(0.0) == np.inf


def test_strong_zeros_keep_ordinary_derivatives():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (4, 3))

    def f(x):
        y = jnp.log(x) * jnp.sqrt(x) + x ** jnp.asarray(1.7) + jnp.arctan2(x, x[:1])
        return jnp.sum(nn.softmax(y @ y.T) / x[:, :1]) + jnp.linalg.norm(y)

    usual = olympus.grad(f)(x), olympus.hessian(f)(x)
    with olympus.strong_zeros(True):
        strong = olympus.grad(f)(x), olympus.hessian(f)(x)
    for first, second in zip(usual, strong, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-12)


MATRICES = {
    "equal": np.eye(3),
    "distinct": np.diag([1.0, 2.0, 4.0]) + 0.1,
    "nearly equal": np.diag([1.0, 1.0 + 1e-9, 2.0]),
}


@pytest.mark.thorough("equal")
@pytest.mark.parametrize("kind", MATRICES)
def test_matrix_functions_of_hermitian_matrices(kind):
    a = MATRICES[kind]
    weights = np.random.default_rng(1).normal(size=(3, 3))

    def by_eigenvalues(a):
        return jnp.sum(weights * jnp.linalg.matrix_function(jnp.exp, a))

    def by_series(a):
        a, power = (a + a.T) / 2, jnp.eye(3)
        for k in range(40, 0, -1):  # Taylor's series, by Horner's rule
            power = jnp.eye(3) + a @ power / k
        return jnp.sum(weights * power)

    np.testing.assert_allclose(by_eigenvalues(a), by_series(a), rtol=1e-12)
    for transform in (
        olympus.grad,
        olympus.jacfwd,
        olympus.hessian,
        lambda f: olympus.jit(olympus.jacfwd(olympus.jacfwd(f))),
        lambda f: olympus.jacrev(olympus.grad(f)),
    ):
        np.testing.assert_allclose(
            transform(by_eigenvalues)(a), transform(by_series)(a), rtol=1e-9, atol=1e-10
        )
    batched = olympus.vmap(olympus.grad(by_eigenvalues))(np.stack([a, 2 * a]))
    np.testing.assert_allclose(batched[0], olympus.grad(by_series)(a), rtol=1e-9, atol=1e-10)


def test_third_derivatives_of_complex_matrix_functions():
    h = np.array([[2.0, 1j], [-1j, 2.0]])
    np.testing.assert_allclose(
        jnp.linalg.matrix_function(jnp.log, h), linalg.logm(h), rtol=1e-12, atol=1e-14
    )

    def f(t):
        return jnp.sum(jnp.linalg.matrix_function(jnp.exp, jnp.eye(2) + t * table.S))

    third = olympus.grad(olympus.grad(olympus.grad(f)))(0.0)
    np.testing.assert_allclose(third, np.e * np.sum(table.S @ table.S @ table.S), rtol=1e-9)
    with pytest.raises(ValueError, match="square matrices, got `a` of shape"):
        jnp.linalg.matrix_function(jnp.exp, jnp.ones((2, 3)))


def test_logm_inverts_expm():
    a = np.random.default_rng(2).normal(size=(4, 4)) * 0.4
    np.testing.assert_allclose(linalg.logm(linalg.expm(a)).real, a, rtol=1e-10, atol=1e-12)


def test_cholesky_factors_of_singular_matrices():
    rows = np.random.default_rng(3).normal(size=(4, 2))
    a = rows @ rows.T
    with olympus.strong_zeros(True):
        factor = jnp.linalg.cholesky(a)
        definite = jnp.linalg.cholesky(a + np.eye(4))
    np.testing.assert_allclose(factor @ factor.T, a, atol=1e-7)
    np.testing.assert_allclose(definite, np.linalg.cholesky(a + np.eye(4)), rtol=1e-12)
