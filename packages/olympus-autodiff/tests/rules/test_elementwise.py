# SPDX-License-Identifier: Apache-2.0
"""Derivatives of elementwise operations: ties, boundaries of domains, accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, vjp
from olympus_ir import lax
from olympus_ir.programs.make import ShapeDtypeStruct, eval_shape, make_olympuspr
from olympus_ir.settings import config


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (lax.abs, 0.0, 1.0),
        (lax.sqrt, 0.0, np.inf),
        (lambda x: lax.integer_pow(x, 0), 0.0, 0.0),
        (lambda x: lax.integer_pow(x, 1), 0.0, 1.0),
        (lambda x: lax.pow(x, 0), 0.0, 0.0),
        (lambda x: lax.pow(x, 2.0), -2.0, -4.0),
        (lambda x: lax.pow(0.0, x), 2.0, 0.0),
        (lambda x: lax.max(x, 1.0), 1.0, 0.5),
        (lambda x: lax.min(x, x), 1.0, 1.0),
        (lambda x: lax.max(x, np.float32(np.nan)), 1.0, 0.0),
        (lambda x: lax.clamp(0.0, x, 1.0), 0.0, 0.0),
        (lambda x: lax.sign(x), 1.0, 0.0),
        (lambda x: lax.rem(x, 3.0), 7.5, 1.0),
        (lambda x: lax.rem(7.5, x), 3.0, -2.0),
        (lambda x: lax.rem(-7.5, x), 3.0, 2.0),
    ],
)
def test_gradients_at_special_points(f, x, expected):
    assert grad(f)(x) == expected


def test_modulus_at_zero():
    assert grad(lambda z: lax.abs(z))(np.complex64(0)) == 0


def test_gradient_of_tanh_at_large_arguments():
    np.testing.assert_allclose(grad(lax.tanh)(5.0), 1 / np.cosh(5.0) ** 2, rtol=1e-3)
    assert grad(lax.tanh)(50.0) == 0.0


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lax.tanh, 8.0, 1 / np.cosh(8.0) ** 2),
        (lax.tanh, -8.0, 1 / np.cosh(8.0) ** 2),
        (lax.logistic, 15.0, 1 / (2 * np.cosh(7.5)) ** 2),
        (lax.expm1, -20.0, np.exp(-20.0)),
        (lax.cos, 3.0, -np.sin(3.0)),
    ],
)
def test_derivatives_of_the_highest_accuracy(f, x, expected):
    found = grad(lambda x: f(x, accuracy=lax.AccuracyMode.HIGHEST))(np.float32(x))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("x", [0.01, 0.3, 0.5, 1.0, 3.7, 25.0, -0.4, -3.3])
def test_derivative_of_digamma_is_series_of_trigamma(x):
    # The sum of 1/(x + k)^2, with the integral and two corrections in place of its tail.
    far = x + 4000
    expected = np.sum(1 / (x + np.arange(4000)) ** 2)
    expected += 1 / far + 1 / (2 * far**2) + 1 / (6 * far**3)
    with config.enable_x64(True):
        np.testing.assert_allclose(grad(lax.digamma)(x), expected, rtol=1e-11)


@pytest.mark.parametrize("z", [2 + 1j, -2 + 1j, -2 - 1j, 0.5 - 0.5j])
@pytest.mark.parametrize(
    "name", "acosh asinh asin acos atan atanh sqrt rsqrt log log1p tan logistic".split()
)
def test_branches_of_complex_functions(name, z):
    f = getattr(lax, name)
    with config.enable_x64(True):
        z = np.complex128(z)
        for direction in (1.0, 1j):
            step = 1e-6 * direction
            expected = (np.asarray(f(z + step)) - np.asarray(f(z - step))) / 2e-6
            found = jvp(f, (z,), (np.complex128(direction),))[1]
            np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_conventions_of_complex_cotangents():
    z, one = np.complex64(1 + 2j), np.float32(1)
    assert vjp(lax.real, z)[1](one) == (1,)
    assert vjp(lax.imag, z)[1](one) == (-1j,)
    assert vjp(lax.conj, z)[1](z) == (1 - 2j,)
    assert vjp(lax.complex, one, one)[1](z) == (1.0, -2.0)
    assert vjp(lax.conj, one)[1](z) == (1.0,)


def test_cotangents_of_broadcast_operands():
    m, row = np.ones((2, 3), np.float32), np.array([[1.0, 2.0, 3.0]], np.float32)
    by_m, by_row = vjp(lax.mul, m, row)[1](m)
    np.testing.assert_array_equal(by_m, np.tile(row, (2, 1)))
    np.testing.assert_array_equal(by_row, [[2, 2, 2]])
    by_scalar, by_m = vjp(lax.sub, np.float32(1), m)[1](m)
    assert by_scalar == 6.0
    np.testing.assert_array_equal(by_m, -m)
    np.testing.assert_array_equal(jvp(lambda s: lax.add(s, m), (1.0,), (2.0,))[1], 2 * m)
    np.testing.assert_array_equal(jvp(lambda r: lax.sub(m, r), (row,), (row,))[1], -row * m)
    low = np.float32(0)
    by_low, _, by_high = vjp(lax.clamp, low, m - 2, np.float32(3))[1](m)
    assert (by_low, by_high) == (6.0, 0.0)


def names_in(function):
    program = make_olympuspr(lambda x, t: jvp(function, (x,), (t,)))(np.float32(0.5), np.float32(1))
    return [equation.primitive.name for equation in program.eqns]


@pytest.mark.parametrize(
    "function, names",
    [
        (lax.tanh, ["tanh", "mul", "add", "sub", "mul"]),
        (lax.atanh, ["atanh", "add", "integer_pow", "sub", "div", "mul"]),
        (lax.erf, ["erf", "square", "neg", "exp", "mul", "mul"]),
        (lax.exp2, ["exp2", "log", "mul", "mul"]),
    ],
)
def test_programs_of_tangents(function, names):
    assert names_in(function) == names


def test_tangents_of_weak_arrays():
    x = ShapeDtypeStruct((2,), np.dtype(np.float32), weak_type=True)
    strong = [lax.sqrt, lax.square, lax.erf, lax.atan, lambda x: lax.integer_pow(x, 3)]
    for function in strong:
        assert not eval_shape(lambda x, f=function: jvp(f, (x,), (x,))[1], x).weak_type
    for function in (lax.sin, lax.tanh, lax.log1p):
        assert eval_shape(lambda x, f=function: jvp(f, (x,), (x,))[1], x).weak_type
