# SPDX-License-Identifier: Apache-2.0
"""`check_complex_step` finds wrong derivatives and accepts right ones."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from olympus_ir.settings import config
from olympus_testing import check_complex_step, complex_steps

X = np.array([0.3, 1.7])


@pytest.fixture(autouse=True)
def _double():
    with config.enable_x64(True):
        yield


def fun(x, y):
    return {"out": x["a"] ** 3 * np.exp(y)}


def jvp(fun, primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    slope = 3 * x["a"] ** 2 * np.exp(y) * dx["a"] + x["a"] ** 3 * np.exp(y) * dy
    return fun(x, y), {"out": slope}


def vjp(fun, x, y):
    def pull(cotangents):
        cotangent = cotangents["out"]
        by_x = cotangent * 3 * x["a"] ** 2 * np.exp(y)
        return {"a": by_x}, cotangent * x["a"] ** 3 * np.exp(y)

    return fun(x, y), pull


def test_correct_derivatives_pass_within_rounding_errors():
    check_complex_step(fun, {"a": X}, 2 * X, jvp=jvp, vjp=vjp)
    check_complex_step(fun, {"a": X}, 2 * X, jvp=jvp, vjp=vjp, rtol=1e-14, atol=1e-14)


def test_small_errors_of_derivatives_are_detected():
    def wrong_jvp(fun, primals, tangents):
        out, slopes = jvp(fun, primals, tangents)
        return out, {"out": slopes["out"] * (1 + 1e-10)}

    def wrong_vjp(fun, *primals):
        out, pull = vjp(fun, *primals)
        return out, lambda cotangents: (pull(cotangents)[0], pull(cotangents)[1] * (1 + 1e-8))

    with pytest.raises(AssertionError, match="jvp and complex step"):
        check_complex_step(fun, {"a": X}, X, jvp=wrong_jvp)
    with pytest.raises(AssertionError, match="vjp and complex step"):
        check_complex_step(fun, {"a": X}, X, vjp=wrong_vjp)


def test_functions_that_are_not_analytic_are_named():
    def jvp_of_abs(fun, primals, tangents):
        return fun(*primals), np.sign(primals[0]) * tangents[0]

    with pytest.raises(AssertionError, match="need analytic functions"):
        check_complex_step(np.abs, X, jvp=jvp_of_abs)
    with pytest.raises(AssertionError, match="jvp and complex step"):
        check_complex_step(lambda x: np.conj(x) * 2, X, jvp=lambda f, x, t: (f(*x), 2 * t[0]))


def test_invalid_calls_raise():
    with pytest.raises(TypeError, match="give `jvp` or `vjp`"):
        check_complex_step(fun, X, X)
    with pytest.raises(TypeError, match="float32 or float64, got complex128"):
        check_complex_step(fun, X + 1j, X, jvp=jvp)


def test_examples_in_docstrings():
    assert doctest.testmod(complex_steps).failed == 0


def test_arguments_of_float32_and_integers():
    def power(x, n):
        return x**n

    def jvp_of_power(fun, primals, tangents):
        x, n = primals
        return fun(x, n), n * x ** (n - 1) * tangents[0]

    check_complex_step(power, X.astype(np.float32), np.array([2, 3]), jvp=jvp_of_power)
