# SPDX-License-Identifier: Apache-2.0
"""Comparison of minima with SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import jvp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_scipy.optimize import minimize

METHODS = ("BFGS", "l-bfgs-experimental-do-not-rely-on-this")


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


def matyas(p):
    x, y = p
    return 0.26 * (x**2 + y**2) - 0.48 * x * y


def eggholder(p):
    x, y = p
    first = -(y + 47) * jnp.sin(jnp.sqrt(jnp.abs(x / 2.0 + y + 47.0)))
    return first - x * jnp.sin(jnp.sqrt(jnp.abs(x - (y + 47.0))))


CASES = [
    (rosenbrock, np.zeros(2), np.ones(2), 1e-3),
    (rosenbrock, np.array([-1.2, 1.0]), np.ones(2), 1e-3),
    (rosenbrock, np.zeros(12), np.ones(12), 1e-2),
    (himmelblau, np.ones(2), np.array([3.0, 2.0]), 1e-4),
    (matyas, np.ones(2), np.zeros(2), 1e-4),
    (eggholder, np.full(2, 100.0), np.array([97.27335, 111.09957]), 1e-3),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_minima_are_found(case, method):
    function, start, minimum, tolerance = CASES[case]
    with config.enable_x64(True):
        result = minimize(function, start, method=method)
        np.testing.assert_allclose(result.x, minimum, atol=tolerance)
        np.testing.assert_allclose(result.fun, function(result.x), rtol=1e-6, atol=1e-15)
        assert int(result.nfev) == int(result.njev) >= int(result.nit)
    narrow = minimize(function, start.astype(np.float32), method=method)
    assert narrow.x.dtype == np.float32
    np.testing.assert_allclose(narrow.x, minimum, atol=10 * tolerance)


def test_results_report_gradient_and_inverse_hessian():
    with config.enable_x64(True):
        result = minimize(matyas, np.ones(2), method="BFGS")
        assert bool(result.success)
        assert int(result.status) == 0
        assert np.abs(result.jac).max() < 1e-5
        hessian = np.array([[0.52, -0.48], [-0.48, 0.52]])
        np.testing.assert_allclose(result.hess_inv @ hessian, np.eye(2), atol=1e-2)
        limited = minimize(matyas, np.ones(2), method=METHODS[1])
        assert limited.hess_inv is None
        short = minimize(rosenbrock, np.zeros(4), method="BFGS", options={"maxiter": 3})
        assert (int(short.status), int(short.nit), bool(short.success)) == (1, 3, False)
        rough = minimize(rosenbrock, np.zeros(4), method="BFGS", tol=1.0)
        assert bool(rough.success)
        assert int(rough.nit) < 30
        few = minimize(rosenbrock, np.zeros(4), method=METHODS[1], options={"maxfun": 8})
        assert int(few.status) == 2


def test_further_arguments_reach_the_function():
    result = minimize(lambda x, a: jnp.sum((x - a) ** 2), jnp.zeros(2), (3.0,), method="BFGS")
    np.testing.assert_allclose(result.x, 3.0, rtol=1e-5)


def test_a_start_at_the_minimum():
    result = minimize(lambda x: jnp.sum(x**2), jnp.zeros(3), method="BFGS")
    assert bool(result.success)
    assert int(result.nit) == 0


def test_a_function_without_minimum():
    result = minimize(lambda x: jnp.sum(x), jnp.zeros(2), method="BFGS", options={"maxiter": 20})
    assert not bool(result.success)


@pytest.mark.parametrize("method", METHODS)
def test_minimize_can_be_compiled_and_batched(method):
    def solve(a):
        return minimize(lambda x: jnp.sum((x - a) ** 2), jnp.zeros(2), method=method).x

    np.testing.assert_allclose(jit(solve)(2.0), 2.0, rtol=1e-5)
    np.testing.assert_allclose(vmap(solve)(jnp.arange(3.0))[:, 0], np.arange(3.0), atol=1e-5)
    np.testing.assert_allclose(jvp(solve, (2.0,), (1.0,))[1], 1.0, rtol=1e-4)


def test_invalid_input_raises():
    start = jnp.zeros(2)
    with pytest.raises(TypeError, match="must be a tuple"):
        minimize(rosenbrock, start, 3.0, method="BFGS")
    with pytest.raises(ValueError, match="not recognized"):
        minimize(rosenbrock, start, method="Newton")
    for method in (None, np.ones(2), ["BFGS"]):
        with pytest.raises(TypeError, match="requires the name of a method as `method`"):
            minimize(rosenbrock, start, method=method)
    with pytest.raises(ValueError, match="must have one axis"):
        minimize(rosenbrock, jnp.zeros((2, 2)), method="BFGS")
    with pytest.raises(TypeError, match="must have a float or complex dtype"):
        minimize(rosenbrock, jnp.zeros(2, int), method="BFGS")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        minimize(rosenbrock, start, method="BFGS", options={"steps": 3})
    with pytest.raises(TypeError, match="scalar"):
        minimize(lambda x: x, start, method="BFGS")


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_complex_vectors_are_minimized(method):
    matrix = np.random.default_rng(0).normal(size=(3, 3)) + 4 * np.eye(3)
    target = np.array([1 + 2j, -1j, 3.0])

    def distance(z):
        return jnp.sum(jnp.abs(jnp.asarray(matrix) @ z - jnp.asarray(target)) ** 2)

    with config.enable_x64(True):
        result = minimize(distance, jnp.zeros(3, complex), method=method)
        assert result.status in (0, 4)  # converged, or no further decrease
        np.testing.assert_allclose(result.x, np.linalg.solve(matrix, target), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_counts_do_not_determine_dtypes(method):
    result = minimize(matyas, jnp.ones(2), method=method)
    for count in (result.status, result.nfev, result.njev, result.nit):
        assert count.weak_type and count.dtype == jnp.arange(1).dtype
    assert (result.nit + jnp.int8(1)).dtype == "int8" and result.success.dtype == bool
