# SPDX-License-Identifier: Apache-2.0
"""Comparison of distributions with SciPy: values, edges, derivatives; statistics of samples."""

from __future__ import annotations

import importlib
import inspect
import operator

import numpy as np
import pytest
import scipy.stats as expected_stats

import olympus_random as random
from olympus_autodiff import jvp, vjp
from olympus_ir.diagnostics.errors import ComplexOperandError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import ShapeDtypeStruct, eval_shape
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_numpy import array
from olympus_scipy import special, stats
from olympus_testing import check_grads

GENERATOR = np.random.default_rng(0)
POINTS = np.concatenate([[-np.inf, 0.0, 1.0, np.inf], GENERATOR.normal(size=20) * 3])
FINITE = POINTS[np.isfinite(POINTS)]
COUNTS = np.arange(-2.0, 14.0)
PROBABILITIES = np.array([0.0, 1e-6, 0.1, 0.5, 0.77, 1.0])

# The operands of each distribution: points, then parameters.
CONTINUOUS = {
    "norm": (POINTS, ()),
    "cauchy": (POINTS, ()),
    "expon": (POINTS, ()),
    "laplace": (POINTS, ()),
    "logistic": (POINTS, ()),
    "gumbel_l": (FINITE, ()),
    "gumbel_r": (FINITE, ()),
    "uniform": (POINTS, ()),
    "gamma": (FINITE, (2.3,)),
    "chi2": (FINITE, (3.0,)),
    "beta": (np.linspace(-0.5, 1.5, 21), (2.3, 0.7)),
    "pareto": (POINTS, (2.3,)),
    "t": (POINTS, (2.3,)),
    "gennorm": (POINTS, (1.3,)),
    "truncnorm": (np.linspace(-2.5, 2.5, 21), (-1.1, 1.6)),
    "vonmises": (np.linspace(-3, 3, 11), (1.7,)),
    "wrapcauchy": (np.linspace(0.1, 6.0, 11), (0.4,)),
}
DISCRETE = {
    "bernoulli": (COUNTS, (0.3,)),
    "geom": (COUNTS, (0.3,)),
    "poisson": (COUNTS, (2.7,)),
    "binom": (COUNTS, (10.0, 0.3)),
    "nbinom": (COUNTS, (4.0, 0.3)),
    "betabinom": (COUNTS, (10.0, 1.3, 0.7)),
}
SHAPES = {**CONTINUOUS, **DISCRETE}
CASES = [
    (name, function)
    for name in SHAPES
    for function in importlib.import_module(f"olympus_scipy.stats.{name}").__all__
    if function != "entropy"
]


def operands(name, function):
    points, shapes = SHAPES[name]
    if function in ("ppf", "isf"):
        points = PROBABILITIES
    return points, shapes


@pytest.mark.parametrize(("name", "function"), CASES)
def test_agrees_with_scipy(name, function):
    points, shapes = operands(name, function)
    ours = getattr(getattr(stats, name), function)
    theirs = getattr(getattr(expected_stats, name), function)
    with np.errstate(all="ignore"):
        expected = theirs(points, *shapes)
    with config.enable_x64(True):
        np.testing.assert_allclose(ours(points, *shapes), expected, rtol=1e-10, atol=1e-14)
    narrow = ours(points.astype(np.float32), *shapes)
    assert narrow.dtype == np.float32
    with np.errstate(all="ignore"):
        rounded = theirs(points.astype(np.float32).astype(float), *shapes)
    np.testing.assert_allclose(narrow, rounded, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "function"), CASES)
def test_location_and_scale(name, function):
    points, shapes = operands(name, function)
    ours = getattr(getattr(stats, name), function)
    parameters = inspect.signature(ours).parameters
    moved = {"loc": 2.0, "scale": 1.7} if "scale" in parameters else {"loc": 2.0}
    if "loc" not in parameters:
        return
    theirs = getattr(getattr(expected_stats, name), function)
    with np.errstate(all="ignore"):
        expected = theirs(points, *shapes, **moved)
    with config.enable_x64(True):
        found = ours(points, *shapes, **moved)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
@pytest.mark.parametrize("name", SHAPES)
def test_cdf_at_unsigned_points(name, dtype):
    points = np.array([0, 1]).astype(dtype)
    shapes = SHAPES[name][1]
    for function in ("cdf", "logcdf", "sf", "logsf"):
        ours = getattr(getattr(stats, name), function, None)
        if ours is not None:
            with np.errstate(all="ignore"):
                expected = getattr(getattr(expected_stats, name), function)([0, 1], *shapes)
            np.testing.assert_allclose(ours(points, *shapes), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("bernoulli.logpmf", [[-0.5, 0.0, 0.4, 1.0, 1.5, np.nan]]),
        ("beta.logpdf", [[-1.0, 0.0, 2.0, np.nan], [-1.0, 0.0, 3.0]]),
        ("betabinom.logpmf", [[-1.0, 0.0, 3.0], [-1.0, 0.0, 2.0], [-1.0, 0.0, 3.0]]),
        ("vonmises.logpdf", [[-2.0, -0.5, 0.0, 1.5, np.nan]]),
        ("wrapcauchy.logpdf", [[-1.0, 0.0, 0.3, 0.9, 1.0, 2.0, np.nan]]),
    ],
)
def test_densities_of_parameters_outside_of_their_domain(name, parameters):
    points = [np.nan, -1.0, 0.0, 1.0, 2.0] + ([0.3] if "pdf" in name else [])
    grid = np.meshgrid(points, *parameters)
    with np.errstate(all="ignore"):
        expected = operator.attrgetter(name)(expected_stats)(*grid)
    found = operator.attrgetter(name)(stats)(*map(np.float32, grid))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "weak"),
    [
        ("norm.logpdf", True),
        ("laplace.cdf", True),
        ("cauchy.ppf", True),
        ("logistic.isf", True),
        ("logistic.logpdf", False),
        ("norm.cdf", False),
    ],
)
def test_numbers_of_python_beside_arrays_of_integers(name, weak):
    """A weakly typed number beside integers makes weakly typed floats, as in any promotion."""
    function = operator.attrgetter(name)(stats)
    assert function(0.5, scale=array([1, 2])).weak_type == weak
    assert not function(array([0.5, 0.5]), scale=array([1, 2])).weak_type


INSIDE = {"beta": 0.4, "pareto": 1.8, "uniform": 0.4, "truncnorm": 0.3, "wrapcauchy": 2.0}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_of_log_densities(name):
    shapes = CONTINUOUS[name][1]
    function = getattr(stats, name).logpdf
    with config.enable_x64(True):
        args = tuple(map(np.float64, (INSIDE.get(name, 0.9), *shapes)))
        check_grads(function, args, order=2, jvp=jvp, vjp=vjp)


@pytest.mark.parametrize("name", DISCRETE)
def test_derivatives_of_log_probabilities(name):
    shapes = DISCRETE[name][1]
    function = getattr(stats, name).logpmf
    with config.enable_x64(True):
        args = tuple(map(np.float64, shapes))
        check_grads(lambda *given: function(1.0, *given), args, order=2, jvp=jvp, vjp=vjp)


@pytest.mark.parametrize("name", ["gumbel_l", "gumbel_r", "gamma", "chi2"])
def test_densities_vanish_at_infinity(name):
    # SciPy returns NaN there.
    density = getattr(stats, name).pdf
    np.testing.assert_array_equal(
        density(np.array([-np.inf, np.inf], np.float32), *SHAPES[name][1]), 0
    )


def test_tails_keep_their_digits():
    with config.enable_x64(True):
        np.testing.assert_allclose(stats.norm.logcdf(-40.0), expected_stats.norm.logcdf(-40.0))
        np.testing.assert_allclose(stats.norm.logsf(40.0), expected_stats.norm.logsf(40.0))
        np.testing.assert_allclose(stats.cauchy.cdf(-1e12), 1e-12 / np.pi, rtol=1e-10)
        args = np.array([8.5, -8.5]), np.array([8.0, -9.0]), np.array([9.0, -8.0])
        found = stats.truncnorm.logpdf(*args)
        expected = expected_stats.truncnorm.logpdf(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_poisson_entropies_equal_those_of_scipy():
    mu = np.array([0.0, 0.1, 1.0, 5.0, 30.0, 49.0, 51.0, 500.0])
    with config.enable_x64(True):
        found = stats.poisson.entropy(mu)
    np.testing.assert_allclose(found, expected_stats.poisson.entropy(mu), rtol=1e-6)


def test_dirichlet_densities_equal_those_of_scipy():
    alpha = np.array([0.5, 1.0, 2.5])
    x = GENERATOR.dirichlet(alpha, 4).T
    with config.enable_x64(True):
        for points in (x, x[:-1]):
            expected = [expected_stats.dirichlet.logpdf(point, alpha) for point in points.T]
            np.testing.assert_allclose(stats.dirichlet.logpdf(points, alpha), expected, rtol=1e-9)
        assert stats.dirichlet.pdf(np.array([0.5, 0.9, 0.1]), alpha) == 0
    with pytest.raises(ValueError, match="same number of entries as `alpha` or one less"):
        stats.dirichlet.logpdf(np.ones(5), alpha)


def test_multinomial_probabilities_equal_those_of_scipy():
    x, p = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 2]]), np.array([0.2, 0.3, 0.5])
    with config.enable_x64(True):
        np.testing.assert_allclose(
            stats.multinomial.pmf(x, 3, p), expected_stats.multinomial.pmf(x, 3, p), atol=1e-15
        )


def test_multivariate_normal_densities_equal_those_of_scipy():
    mean = GENERATOR.normal(size=3)
    root = GENERATOR.normal(size=(3, 3))
    cov, x = root @ root.T + np.eye(3), GENERATOR.normal(size=(2, 4, 3))
    theirs = expected_stats.multivariate_normal
    with config.enable_x64(True):
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(x, mean, cov), theirs.logpdf(x, mean, cov)
        )
        np.testing.assert_allclose(
            stats.multivariate_normal.pdf(x, mean, 2.0), theirs.pdf(x, mean, 2.0)
        )
        np.testing.assert_allclose(
            stats.multivariate_normal.pdf(0.3, 0.1, 2.0), theirs.pdf(0.3, 0.1, 2.0)
        )
        # One covariance and one mean for each point.
        several = stats.multivariate_normal.logpdf(x[0], x[1], np.stack([cov] * 4))
        expected = [theirs.logpdf(a, b, cov) for a, b in zip(x[0], x[1], strict=True)]
        np.testing.assert_allclose(several, expected)
    with pytest.raises(ValueError, match="incompatible shapes"):
        stats.multivariate_normal.logpdf(x, mean, np.eye(2))


@pytest.mark.parametrize("bw_method", [None, "silverman", 0.7])
def test_kernel_density_estimates_equal_those_of_scipy(bw_method):
    data, weights = GENERATOR.normal(size=(2, 30)), GENERATOR.uniform(size=30)
    points = GENERATOR.normal(size=(2, 5))
    theirs = expected_stats.gaussian_kde(data, bw_method, weights)
    other = expected_stats.gaussian_kde(data[:, :10])
    with config.enable_x64(True):
        ours = stats.gaussian_kde(data, bw_method, weights)
        np.testing.assert_allclose(ours.evaluate(points), theirs.evaluate(points))
        np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points))
        np.testing.assert_allclose(ours.covariance, theirs.covariance)
        np.testing.assert_allclose(
            ours.integrate_gaussian(np.ones(2), np.eye(2)),
            theirs.integrate_gaussian(np.ones(2), np.eye(2)),
        )
        np.testing.assert_allclose(
            ours.integrate_kde(stats.gaussian_kde(data[:, :10])), theirs.integrate_kde(other)
        )
        samples = ours.resample(random.key(0), (4000,))
        assert samples.shape == (2, 4000)
        np.testing.assert_allclose(
            np.mean(samples, axis=1), data @ weights / weights.sum(), atol=0.1
        )
        assert len(pytrees.tree_leaves(ours)) == 5
        np.testing.assert_allclose(
            jit(lambda density, x: density(x))(ours, points), theirs(points), rtol=1e-6
        )


def test_gaussian_kde_of_one_dimension():
    data = GENERATOR.normal(size=20)
    theirs = expected_stats.gaussian_kde(data)
    with config.enable_x64(True):
        ours = stats.gaussian_kde(data)
        np.testing.assert_allclose(
            ours.integrate_box_1d(-0.5, 1.0), theirs.integrate_box_1d(-0.5, 1.0)
        )
    with pytest.raises(ValueError, match="multiple elements"):
        stats.gaussian_kde(np.ones(1))
    with pytest.raises(ValueError, match="should be 'scott'"):
        stats.gaussian_kde(data, "other")
    with pytest.raises(ValueError, match="points have dimension"):
        ours.evaluate(np.ones((2, 3)))


DATA = GENERATOR.integers(0, 4, (6, 7))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_statistics_equal_those_of_scipy(axis):
    for keepdims in (False, True):
        found, expected = (
            module.mode(DATA, axis=axis, keepdims=keepdims) for module in (stats, expected_stats)
        )
        np.testing.assert_array_equal(found.mode, expected.mode)
        np.testing.assert_array_equal(found.count, expected.count)
    for method in ("average", "min", "max", "dense", "ordinal"):
        np.testing.assert_array_equal(
            stats.rankdata(DATA, method, axis=axis),
            expected_stats.rankdata(DATA, method, axis=axis),
        )
    values = np.where(np.eye(6, 7) > 0, np.nan, DATA + 0.5)
    np.testing.assert_allclose(
        stats.sem(DATA, axis=axis), expected_stats.sem(DATA, axis=axis), rtol=1e-6
    )
    np.testing.assert_allclose(
        stats.sem(values, axis=axis, nan_policy="omit"),
        np.asarray(expected_stats.sem(values, axis=axis, nan_policy="omit")),
        rtol=1e-6,
    )


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_modes_of_values_with_nan_equal_those_of_scipy(axis, keepdims):
    """NaN is one value, which is the largest."""
    nan = np.nan
    values = np.array([[1, nan, 3, 2], [1, nan, nan, 2], [2, nan, nan, 2], [nan, 1, 1, nan]])
    found = stats.mode(values.astype(np.float32), axis=axis, keepdims=keepdims)
    expected = expected_stats.mode(values, axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(found[0], expected.mode)
    np.testing.assert_array_equal(found[1], expected.count)


def test_invalid_input_raises():
    with pytest.raises(ValueError, match="unknown method"):
        stats.rankdata(DATA, "median")
    with pytest.raises(TypeError, match="interpreted as an integer"):
        stats.rankdata(DATA, axis=(0,))
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.mode(DATA, nan_policy="omit")
    with pytest.raises(ValueError, match="Illegal nan_policy"):
        stats.mode(DATA, nan_policy="ignore")
    for kind in (ValueError, TypeError, ComplexOperandError):
        with pytest.raises(kind, match="complex-valued"):
            stats.norm.cdf(array(1j))
    with pytest.raises(AttributeError, match="no attribute"):
        getattr(stats, "zipfian")  # noqa: B009


def test_continuations_to_complex_numbers():
    z = np.array([0.3 + 0.2j, -1.2 - 0.4j, 2.0 + 1.0j])
    operand = array(z.astype(np.complex64))
    density = np.exp(-z) / (1 + np.exp(-z)) ** 2
    for found, expected in (
        (stats.norm.logpdf(operand), -0.5 * z**2 - 0.5 * np.log(2 * np.pi)),
        (stats.cauchy.logpdf(operand), -np.log(np.pi * (1 + z**2))),
        (stats.cauchy.cdf(operand), 0.5 + np.arctan(z) / np.pi),
        (stats.cauchy.sf(operand), 0.5 - np.arctan(z) / np.pi),
        (np.exp(stats.logistic.logpdf(operand)), density),
        (stats.logistic.cdf(operand), 1 / (1 + np.exp(-z))),
        (stats.logistic.ppf(operand), np.log(z / (1 - z))),
    ):
        np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_counts_of_outcomes_are_integers():
    p = np.array([0.3, 0.7], np.float32)
    for x, n in (([1.0, 2.0], 3), ([1, 2], 3.0)):
        with pytest.raises(ValueError, match="x and n must be of integer type"):
            stats.multinomial.logpmf(np.array(x), n, p)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_standard_errors_keep_the_dtype(dtype):
    samples = array(np.arange(6.0).reshape(3, 2), dtype)
    assert stats.sem(samples).dtype == stats.sem(samples, nan_policy="omit").dtype == dtype


WHOLE = np.array([1, 2], np.int32)


@pytest.mark.parametrize(
    "density",
    [
        lambda: stats.bernoulli.pmf(WHOLE, 0.5),
        lambda: stats.beta.cdf(WHOLE, 0.5, 2.0),
        lambda: stats.betabinom.pmf(WHOLE, 3, 1, 2),
        lambda: stats.chi2.sf(WHOLE, WHOLE),
        lambda: stats.gamma.pdf(WHOLE, 0.5),
        lambda: stats.geom.pmf(WHOLE, 0.5),
        lambda: stats.nbinom.pmf(WHOLE, 2, 0.5),
        lambda: stats.norm.cdf(0.5),
        lambda: stats.pareto.ppf(WHOLE, 0.5),
        lambda: stats.poisson.cdf(WHOLE, 0.5),
        lambda: stats.t.pdf(WHOLE, 0.5),
        lambda: stats.truncnorm.pdf(0.5, -1.0, 1.0),
        lambda: stats.uniform.cdf(0.5),
    ],
)
def test_functions_of_whole_numbers_are_not_weakly_typed(density):
    assert (density().dtype, density().weak_type) == (np.float32, False)


def test_functions_of_python_numbers_are_weakly_typed():
    assert stats.gamma.pdf(1.0, 0.5).weak_type
    assert stats.chi2.pdf(1.0, 2.0).weak_type
    assert special.kl_div(1.0, 2.0).weak_type and not special.kl_div(WHOLE, 0.5).weak_type


@pytest.mark.parametrize(
    "function",
    [
        lambda x: stats.bernoulli.cdf(x, 0.5),
        lambda x: stats.bernoulli.cdf(0.5, x),
        lambda x: stats.bernoulli.ppf(x, 0.5),
        lambda x: stats.bernoulli.ppf(0.5, x),
        stats.cauchy.ppf,
        stats.cauchy.isf,
    ],
)
def test_weak_types_match_jax(function):
    assert function(0.5).weak_type and function(1).weak_type
    for dtype in ("float32", "float16", "bfloat16"):
        result = function(array(0.5, dtype))
        assert result.dtype == dtype and not result.weak_type


def test_chi_squared_of_bfloat16():
    x = np.array(1.5, dtypes.bfloat16)
    assert jit(lambda x: stats.chi2.cdf(x, 2.0))(x).dtype == x.dtype


@pytest.mark.parametrize(
    ("function", "of_scalars", "of_arrays"),
    [
        (lambda x: stats.beta.pdf(x, 0.5, 2.0), True, False),
        (lambda x: stats.geom.pmf(x, 0.5), True, False),
        (lambda x: stats.pareto.cdf(x, 0.5), True, False),
        (lambda x: stats.pareto.logcdf(x, 0.5), True, True),
        (lambda x: stats.bernoulli.cdf(x, 0.5), True, False),
        (lambda x: stats.bernoulli.ppf(x, 0.5), True, False),
    ],
)
def test_weak_types_of_scalars(function, of_scalars, of_arrays):
    for dtype in ("bool", "int8"):
        one = array(1, dtype)
        assert eval_shape(function, one).weak_type == of_scalars
        assert eval_shape(function, one.reshape(1)).weak_type == of_arrays


@pytest.mark.parametrize("name", ["cauchy", "laplace", "logistic", "norm"])
def test_densities_of_arrays_of_integers_are_strongly_typed(name):
    density = jit(lambda x: getattr(stats, name).logpdf(x, loc=0.5))(np.arange(3, dtype=np.int8))
    assert density.dtype == np.float32 and not density.weak_type


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("name", ["beta.cdf", "gamma.logpdf", "pareto.sf", "t.pdf"])
def test_weak_arrays_give_strong_densities(name, dtype):
    family, _, function = name.partition(".")
    density = getattr(getattr(stats, family), function)
    for shape in ((3,), ()):
        x = ShapeDtypeStruct(shape, np.dtype(dtype), weak_type=True)
        rest = (2.0, 3.0) if family == "beta" else (2.0,)
        assert eval_shape(density, x, *rest).weak_type is (shape == ())
