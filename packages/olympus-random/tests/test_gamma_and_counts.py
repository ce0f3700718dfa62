# SPDX-License-Identifier: Apache-2.0
"""Gamma distribution, its derivative, derived distributions, and distributions of counts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import olympus_random as random
from olympus_autodiff import grad, jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config

KEY = random.key(7)


def close_to_distribution(samples, distribution):
    """Applies the Kolmogorov-Smirnov test, with a threshold far from these fixed samples."""
    statistic = scipy.stats.kstest(np.asarray(samples, np.float64).ravel(), distribution.cdf)
    assert statistic.pvalue > 1e-3, statistic


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: random.gamma(KEY, 0.4, (400,)), scipy.stats.gamma(0.4)),
        (lambda: random.gamma(KEY, 3.0, (400,)), scipy.stats.gamma(3.0)),
        (lambda: lax.exp(random.loggamma(KEY, 0.7, (400,))), scipy.stats.gamma(0.7)),
        (lambda: random.beta(KEY, 0.5, 2.0, (400,)), scipy.stats.beta(0.5, 2.0)),
        (lambda: random.chisquare(KEY, 3.0, (400,)), scipy.stats.chi2(3.0)),
        (lambda: random.t(KEY, 3.0, (400,)), scipy.stats.t(3.0)),
        (lambda: random.f(KEY, 3.0, 5.0, (400,)), scipy.stats.f(3.0, 5.0)),
        (lambda: random.generalized_normal(KEY, 1.5, (400,)), scipy.stats.gennorm(1.5)),
    ],
)
def test_samples_follow_the_distribution(draw, distribution):
    close_to_distribution(draw(), distribution)


def test_ball_samples_are_uniform():
    points = np.asarray(random.ball(KEY, 3, 2, (300,)))
    radii = np.linalg.norm(points, axis=-1)
    assert radii.max() <= 1
    close_to_distribution(radii**3, scipy.stats.uniform())


def test_dirichlet_samples_are_probabilities():
    samples = np.asarray(random.dirichlet(KEY, np.float32([1, 2, 3]), (200,)))
    assert samples.shape == (200, 3)
    np.testing.assert_allclose(samples.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(samples.mean(0), [1 / 6, 2 / 6, 3 / 6], atol=0.05)


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0])
def test_the_derivative_of_a_gamma_sample(shape):
    """Compares with the derivative of the quantile function at the probability of the sample."""
    with config.enable_x64(True):
        sample, tangent = jvp(lambda a: random.gamma(KEY, a), (shape,), (1.0,))
        probability, step = scipy.special.gammainc(shape, float(sample)), 1e-5
        quantiles = scipy.special.gammaincinv([shape - step, shape + step], probability)
        expected = (quantiles[1] - quantiles[0]) / (2 * step)
        np.testing.assert_allclose(tangent, expected, rtol=1e-5)
        log_tangent = grad(lambda a: random.loggamma(KEY, a))(shape)
        np.testing.assert_allclose(log_tangent, expected / float(sample), rtol=1e-5)


def test_batches_and_compiled_calls_draw_the_same():
    keys = random.split(KEY, 3)
    shapes = np.float32([0.5, 1.0, 2.0])
    batch = vmap(random.gamma)(keys, shapes)
    loop = [random.gamma(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    np.testing.assert_allclose(batch, np.stack(list(map(np.asarray, loop))), rtol=1e-6)
    np.testing.assert_allclose(
        jit(lambda key: random.gamma(key, shapes))(KEY), random.gamma(KEY, shapes), rtol=1e-6
    )


def test_parameters_must_begin_with_shape_of_keys():
    with pytest.raises(ShapeError, match="begin with that of the keys"):
        random.random_gamma_p.bind(random.split(KEY, 3), np.ones(2, np.float32), log_space=False)


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: random.poisson(KEY, 3.0, (300,)), scipy.stats.poisson(3.0)),
        (lambda: random.poisson(KEY, 40.0, (300,)), scipy.stats.poisson(40.0)),
        (lambda: random.binomial(KEY, 12.0, 0.3, (300,)), scipy.stats.binom(12, 0.3)),
        (lambda: random.binomial(KEY, 200.0, 0.8, (300,)), scipy.stats.binom(200, 0.8)),
    ],
)
def test_moments_of_counts(draw, distribution):
    samples = np.asarray(draw(), np.float64)
    deviation = distribution.std()
    assert abs(samples.mean() - distribution.mean()) < 4 * deviation / np.sqrt(samples.size)
    assert abs(samples.std() / deviation - 1) < 0.2
    np.testing.assert_array_equal(samples, np.round(samples))


def test_binomial_parameters_out_of_range():
    n = np.float32([-1, np.inf, np.nan, 10, 10, 10])
    p = np.float32([0.5, 0.5, 0.5, np.nan, 0, 1])
    np.testing.assert_array_equal(
        random.binomial(KEY, n, p), [np.nan, np.inf, np.nan, np.nan, 0, 10]
    )


def test_multinomial_counts_add_up():
    p = np.float32([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    counts = np.asarray(random.multinomial(KEY, np.float32([10, 50]), p, shape=(4, 2, 3)))
    np.testing.assert_array_equal(counts.sum(-1), [[10, 50]] * 4)
    np.testing.assert_array_equal(counts[:, 1], [[50, 0, 0]] * 4)


def test_poisson_needs_threefry():
    with pytest.raises(NotImplementedError, match="only implemented for the threefry2x32 RNG"):
        random.poisson(random.key(0, impl="rbg"), 3.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.gamma(KEY, 1.0, dtype="int32"), "must be a float dtype"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), "gamma parameter shapes must be"),
        (lambda: random.dirichlet(KEY, 1.0), "alpha.ndim >= 1"),
        (lambda: random.poisson(KEY, 1.0, dtype="float32"), "must be an integer dtype"),
        (lambda: random.binomial(KEY, 1.0, 0.5, dtype="int32"), "must be a float dtype"),
        (lambda: random.multinomial(KEY, 1.0, 0.5), "dimension 0"),
        (lambda: random.multinomial(KEY, 1.0, np.ones(3), shape=(2,)), "broadcast"),
    ],
)
def test_invalid_arguments_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_generators_have_distinct_key_types():
    rbg, unsafe = random.key(1, impl="rbg"), random.key(1, impl="unsafe_rbg")
    assert repr(rbg.dtype) == "key<rbg>"
    assert random.key_impl(unsafe) == "unsafe_rbg"
    np.testing.assert_array_equal(random.key_data(rbg), [0, 1, 0, 1])
    assert random.split(rbg, (0,)).shape == (0,)
    assert random.split(unsafe, (0,)).shape == (0,)
    with config.default_prng_impl("rbg"):
        assert random.PRNGKey(3).shape == (4,)


@pytest.mark.parametrize("mean", [1.0, 100.0])
def test_poisson_takes_keys_of_raw_numbers(mean):
    raw = random.PRNGKey(7)
    np.testing.assert_array_equal(
        random.poisson(raw, mean, (20,)), random.poisson(KEY, mean, (20,))
    )
