# SPDX-License-Identifier: Apache-2.0
"""Comparison of iterative solvers and their derivatives with direct solvers."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jvp, vjp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_scipy.sparse import linalg
from olympus_testing import check_grads

SOLVERS = [linalg.cg, linalg.bicgstab, linalg.gmres]


@pytest.fixture(autouse=True)
def wide():
    with config.enable_x64(True):
        yield


def system(solver, kind="real"):
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((6, 6)), generator.standard_normal(6)
    if kind == "complex":
        a = a + 1j * generator.standard_normal((6, 6))
        b = b + 1j * generator.standard_normal(6)
    a = a + 4 * np.eye(6)
    return (a @ a.conj().T if solver is linalg.cg else a), b


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_find_the_solution(solver, kind):
    a, b = system(solver, kind)
    expected = np.linalg.solve(a, b)
    for options in (
        {},
        {"x0": np.ones(6, b.dtype)},
        {"M": np.diag(1 / np.diagonal(a))},
        {"M": lambda x: x / 7},
    ):
        x, info = solver(a, b, tol=1e-11, **options)
        np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-8)
        assert info is None or int(info) == 0
    np.testing.assert_allclose(
        np.asarray(jit(lambda b: solver(lambda x: a @ x, b, tol=1e-11)[0])(b)), expected, rtol=1e-8
    )
    each = vmap(lambda b: solver(a, b, tol=1e-11)[0])(np.stack([b, 3 * b]))
    np.testing.assert_allclose(np.asarray(each), np.stack([expected, 3 * expected]), rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_pytrees_and_zeros(solver):
    x, _ = solver(lambda x: {"a": 2 * x["a"], "b": 4 * x["b"]}, {"a": np.ones(2), "b": 1.0})
    np.testing.assert_allclose(np.asarray(x["a"]), [0.5, 0.5])
    np.testing.assert_allclose(np.asarray(x["b"]), 0.25)
    a, b = system(solver)
    np.testing.assert_array_equal(np.asarray(solver(a, 0 * b)[0]), 0 * b)


@pytest.mark.parametrize("solver", SOLVERS)
def test_derivatives_of_solutions_equal_finite_differences(solver):
    a, b = system(solver)

    def solution(factor, b):
        return solver(lambda x: factor * (a @ x), b, tol=1e-13)[0]

    check_grads(solution, [np.float64(1.5), b], order=1, jvp=jvp, vjp=vjp, rtol=1e-5)


@pytest.mark.parametrize("method", ["batched", "incremental"])
def test_restarted_iterations_converge(method):
    a, b = system(linalg.gmres)
    x, _ = linalg.gmres(a, b, restart=2, tol=1e-10, solve_method=method)
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(a, b), rtol=1e-7)


def test_maxiter_bounds_the_iterations():
    a, b = system(linalg.cg)
    x, _ = linalg.cg(a, b, maxiter=1)
    assert np.abs(a @ np.asarray(x) - b).max() > 1e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_invalid_input_raises(solver):
    a, b = system(solver)
    with pytest.raises(TypeError, match="either a function or ndarray"):
        solver(3, b)
    with pytest.raises(ValueError, match="must be a square matrix"):
        solver(a[:2], b)
    with pytest.raises(ValueError, match="matching shapes"):
        solver(a, b, x0=b[:3])
    with pytest.raises(ValueError, match="matching tree structure"):
        solver(a, b, x0=(b,))
    with pytest.raises(ValueError, match="output shapes must match b"):
        solver(lambda x: x[:1], b)


def test_unknown_methods_raise():
    with pytest.raises(ValueError, match="invalid solve_method"):
        linalg.gmres(np.eye(2), np.ones(2), solve_method="other")
    with pytest.raises(ValueError, match="at least one dimension, got restart=-1"):
        linalg.gmres(np.eye(2), np.ones(2), restart=-1)


class OnlyProduct:
    def __init__(self, matrix):
        self.matrix = matrix

    def __matmul__(self, x):
        return self.matrix @ x


@pytest.mark.parametrize("solver", [linalg.cg, linalg.bicgstab, linalg.gmres])
def test_operators_that_have_only_a_product(solver):
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
    b = np.array([1.0, 2.0], np.float32)
    x, _ = solver(OnlyProduct(matrix), b, M=OnlyProduct(np.eye(2, dtype=np.float32)))
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-4)
    with pytest.raises(TypeError, match="linear operator must be either a function or ndarray"):
        solver(matrix.tolist(), b)


def test_weak_types_of_solutions():
    for solver, weak in ((linalg.cg, False), (linalg.bicgstab, True), (linalg.gmres, True)):
        x, _ = solver(lambda x: 2 * x, 3.0)
        assert (float(x), x.weak_type) == (1.5, weak)


@pytest.mark.parametrize("solver", SOLVERS)
def test_systems_of_integers_are_refused(solver):
    with pytest.raises(TypeError, match="floating or complex numbers"):
        solver(np.eye(2, dtype=np.int32), np.ones(2, np.int32))
