# SPDX-License-Identifier: Apache-2.0
"""Accuracy of special functions, including large arguments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from olympus_autodiff import jvp
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings import config

GENERATOR = np.random.default_rng(0)
COUNT = 60


def logarithmic(low, high):
    return 10 ** GENERATOR.uniform(low, high, COUNT)


def near(a):
    """Returns points within a few standard deviations of a gamma distribution's mean."""
    return np.abs(a + 2 * np.sqrt(a) * GENERATOR.standard_normal(COUNT))


SHAPES = logarithmic(-4, 4)
LARGE = logarithmic(1, 3.5)
DOMAINS = {
    "everywhere": (SHAPES, logarithmic(-4, 4)),
    "transition": (LARGE, near(LARGE)),
    "small": (logarithmic(-6, 0), logarithmic(-6, 0.1)),
}


def compare(primitive, operands, dtype, tolerance):
    operands = [np.asarray(operand, dtype) for operand in operands]
    with config.enable_x64(True):
        found = np.asarray(primitive.bind(*operands))
        wide = [operand.astype(np.float64) for operand in operands]
        expected = np.asarray(reference_evaluator.evaluate(primitive, wide, {}))
    assert found.dtype == np.dtype(dtype)
    smallest = 1e-35 if dtype == np.float32 else 1e-250
    kept = ~(np.abs(expected) < smallest)
    np.testing.assert_allclose(found[kept].astype(np.float64), expected[kept], rtol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_have_small_errors(name, domain, dtype, tolerance):
    compare(getattr(lax, f"{name}_p"), DOMAINS[domain], dtype, tolerance)


@pytest.mark.parametrize("domain", ["transition", "small"])
@pytest.mark.parametrize("name", ["igamma_grad_a", "random_gamma_grad"])
def test_derivatives_of_incomplete_gamma(name, domain):
    compare(getattr(lax, f"{name}_p"), DOMAINS[domain], np.float64, 1e-8)


def test_derivatives_at_integer_parameters():
    # The continued fraction ends there, its derivative does not.
    a, x = np.meshgrid([1.0, 2.0, 3.0, 7.0], [1.2, 2.0, 3.5, 9.0])
    compare(lax.random_gamma_grad_p, (a, x), np.float64, 1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-3)])
def test_incomplete_beta_functions_have_small_errors(dtype, tolerance):
    a, b = logarithmic(-2, 3), logarithmic(-2, 3)
    middle = a / (a + b)
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    x = np.clip(middle + spread * GENERATOR.standard_normal(COUNT), 0.01, 0.99)
    compare(lax.regularized_incomplete_beta_p, (a, b, x), dtype, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 2e-6)])
def test_bessel_functions_have_small_errors(dtype, tolerance):
    x = np.concatenate([logarithmic(-4, 4), -logarithmic(-4, 4), [0.0]])
    compare(lax.bessel_i0e_p, (x,), dtype, tolerance)
    compare(lax.bessel_i1e_p, (x,), dtype, 10 * tolerance)


def test_limits_of_incomplete_gamma_functions_are_exact():
    infinity, nan = np.inf, np.nan
    a = np.array([0.0, 0.0, 2.0, 2.0, infinity, -1.0, 2.0, nan], np.float32)
    x = np.array([0.0, 1.0, 0.0, infinity, 3.0, 1.0, -1.0, 1.0], np.float32)
    np.testing.assert_array_equal(lax.igamma(a, x), [nan, 1, 0, 1, 0, nan, nan, nan])
    np.testing.assert_array_equal(lax.igammac(a, x), [nan, 0, 1, 0, 1, nan, nan, nan])
    a = np.array([0.0, 1.0, 1.0, 1.0, infinity, 0.0, -1.0, 1.0], np.float32)
    b = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], np.float32)
    x = np.array([0.5, 0.5, 0.0, 1.0, 0.5, 0.5, 0.5, 1.5], np.float32)
    np.testing.assert_array_equal(lax.betainc(a, b, x), [1, 0, 0, 1, 0, nan, nan, nan])


def test_incomplete_gamma_of_nan_and_negative_numbers():
    """The compiler assumes that some operations have nonnegative results."""
    x = np.array([np.nan, -2.0, 1.0], np.float32)
    a = np.full(3, 1.5, np.float32)
    zero, power = np.zeros(3, np.float32), np.full(3, 1.3, np.float32)
    inner = (lambda x: lax.max(x, zero), lambda x: lax.pow(lax.abs(x), power))
    for function, of_x in itertools.product((lax.igamma, lax.igammac), inner):
        compiled = np.asarray(jit(lambda x, f=function, g=of_x: f(a, g(x)))(x))
        assert np.isnan(compiled[0])
        np.testing.assert_allclose(compiled, function(a, of_x(x)), rtol=1e-5)


# ---- higher derivatives ----


def by_parameter(function):
    """Returns the derivative of a function of a parameter and a sample by the parameter."""
    return lambda a, x: jvp(lambda a: function(a, x), (a,), (lax.full_like(a, 1.0),))[1]


def test_higher_derivatives_of_gamma_samples_are_slopes():
    a = np.array([2.5, 40.0, 101.0, 150.0, 180.0, 1200.0])
    x = a * np.array([0.8, 1.1, 1.2, 0.9, 1.0, 1.01])
    step = 1e-4 * a
    function = lax.random_gamma_grad
    with config.enable_x64(True):
        for _ in range(2):
            slope = np.asarray(jit(by_parameter(function))(a, x))
            ahead, behind = (np.asarray(jit(function)(a + s, x)) for s in (step, -step))
            np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5)
            function = by_parameter(function)


def test_higher_derivatives_of_gamma_samples_stay_small_programs():
    """The third derivative of samples took 47 s to compile: its program had 23,000 operations."""
    a = np.array([1.5, 2.5])
    with config.enable_x64(True):
        second = by_parameter(by_parameter(lax.random_gamma_grad))
        operations = jit(second).lower(a, a).as_text().count(" = stablehlo.")
    assert operations < 5000
