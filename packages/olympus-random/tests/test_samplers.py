# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import olympus_random as random
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import TypePromotionError
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config

KEY = random.key(0)


# ---- distributions ----

DISTRIBUTIONS = [
    ("uniform", (), scipy.stats.uniform()),
    ("normal", (), scipy.stats.norm()),
    ("exponential", (), scipy.stats.expon()),
    ("laplace", (), scipy.stats.laplace()),
    ("gumbel", (), scipy.stats.gumbel_r()),
    ("logistic", (), scipy.stats.logistic()),
    ("cauchy", (), scipy.stats.cauchy()),
    ("maxwell", (), scipy.stats.maxwell()),
    ("lognormal", (0.5,), scipy.stats.lognorm(0.5)),
    ("pareto", (2.0,), scipy.stats.pareto(2.0)),
    ("rayleigh", (2.0,), scipy.stats.rayleigh(scale=2.0)),
    ("weibull_min", (2.0, 3.0), scipy.stats.weibull_min(3.0, scale=2.0)),
    ("triangular", (-1.0, 0.5, 2.0), scipy.stats.triang(0.5, loc=-1.0, scale=3.0)),
    ("wald", (1.5,), scipy.stats.invgauss(1.5)),
    ("truncated_normal", (-1.0, 2.0), scipy.stats.truncnorm(-1.0, 2.0)),
]


@pytest.mark.parametrize(("name", "parameters", "distribution"), DISTRIBUTIONS)
def test_samples_follow_the_distribution(name, parameters, distribution):
    samples = getattr(random, name)(random.key(17), *parameters, shape=(4000,))
    assert scipy.stats.kstest(np.asarray(samples), distribution.cdf).pvalue > 1e-3


def test_integers_follow_the_distribution():
    counts = np.bincount(np.asarray(random.randint(random.key(1), (6000,), 0, 6)), minlength=6)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    trials = np.asarray(random.geometric(random.key(1), 0.3, (4000,)))
    found = np.bincount(trials, minlength=5)[1:5]
    expected = 4000 * scipy.stats.geom(0.3).pmf(np.arange(1, 5))
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected))


def test_probabilities_of_choices():
    p = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    for drawn in (
        random.choice(random.key(2), 4, (4000,), p=p),
        random.categorical(random.key(2), np.log(p), shape=(4000,)),
    ):
        counts = np.bincount(np.asarray(drawn), minlength=4)
        assert scipy.stats.chisquare(counts, 4000 * p).pvalue > 1e-3


def test_permutations_are_permutations():
    for size in (0, 1, 2, 100, 5000):
        drawn = np.asarray(random.permutation(random.key(3), size))
        np.testing.assert_array_equal(np.sort(drawn), np.arange(size))
    drawn = np.asarray(random.choice(random.key(3), 100, (10, 5), replace=False))
    assert len(set(drawn.ravel().tolist())) == 50


# ---- layouts ----


def test_non_partitionable_threefry_numbers():
    # Numbers from a talk of 2021, when the bits of all elements were drawn in sequence.
    printed = [
        [[-1.458, -2.047, -1.424], [1.168, -0.976, -1.272]],
        [[0.932, -0.004, -0.74], [-1.427, 1.06, 0.929]],
        [[0.932, -0.004, -0.74], [-1.427, 1.06, 0.929]],
        [[1.169, 0.312, -0.571], [0.137, 0.742, 0.038]],
    ]
    with config.threefry_partitionable(False):
        key = random.PRNGKey(0)
        for expected, keep in zip(printed, (True, False, True, True), strict=True):
            new_key, subkey = random.split(key)
            found = random.normal(subkey, (2, 3), dtype=float)
            np.testing.assert_allclose(found, expected, atol=6e-4)
            key = new_key if keep else key


def test_bits_depend_only_on_the_flat_index():
    whole = np.asarray(random.bits(KEY, (6, 5)))
    np.testing.assert_array_equal(random.bits(KEY, (30,)), whole.ravel())
    np.testing.assert_array_equal(random.bits(KEY, (2, 5)), whole[:2])


def test_positions_past_32_bits():
    from olympus_random.generators.threefry import _wide_product, _wide_sum

    generator = np.random.default_rng(0)
    x = generator.integers(0, 2**32, 50, dtype=np.uint64)
    y = [int(value) for value in generator.integers(0, 2**63, 50, dtype=np.uint64)]
    for value, factor in zip(x, y, strict=True):
        high, low = _wide_product(np.uint32(value), factor)
        assert (int(high) << 32) + int(low) == int(value) * factor % 2**64
        other = factor * 7 % 2**64
        words = (np.uint32(other >> 32), np.uint32(other & 0xFFFFFFFF))
        high, low = _wide_sum(high, low, *words)
        assert (int(high) << 32) + int(low) == (int(value) * factor + other) % 2**64


# ---- shapes and dtypes ----


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_samples_have_the_requested_dtype(dtype):
    for name in ("uniform", "normal", "exponential", "laplace", "gumbel", "logistic"):
        samples = getattr(random, name)(KEY, (5,), dtype)
        assert samples.dtype.name == dtype
        assert np.all(np.isfinite(np.asarray(samples).astype(np.float32)))


def test_python_dtypes_become_default_dtypes():
    assert random.normal(KEY, dtype=float).dtype == np.float32
    assert random.randint(KEY, (), 0, 3).dtype == np.int32
    assert random.bits(KEY).dtype == np.uint32
    with config.enable_x64(True):
        assert random.normal(KEY, dtype=float).dtype == np.float64
        assert random.randint(KEY, (), 0, 3).dtype == np.int64
        assert random.permutation(KEY, 3).dtype == np.int64
        assert random.choice(KEY, 3).dtype == np.int64
        assert random.bits(KEY).dtype == np.uint64


def test_samples_have_the_requested_shape():
    assert random.uniform(KEY).shape == ()
    assert random.uniform(KEY, 3).shape == (3,)
    assert random.uniform(KEY, [2, 3]).shape == (2, 3)
    assert random.normal(KEY, (0, 3)).shape == (0, 3)
    assert random.uniform(KEY, (2, 3), minval=np.zeros(3, np.float32)).shape == (2, 3)


def test_intervals_are_half_open():
    samples = np.asarray(random.uniform(random.key(5), (10000,), minval=2.0, maxval=3.0))
    assert samples.min() >= 2.0
    assert samples.max() < 3.0
    bounds = np.asarray(random.truncated_normal(KEY, 1.0, 1.0000002, (100,)))
    assert np.all((bounds > 1.0) & (bounds < 1.0000002))


# ---- transformations ----


def test_samplers_under_transformations():
    keys = random.split(KEY, 3)
    for sampler in (
        lambda key: random.normal(key, (2,)),
        lambda key: random.choice(key, 5, (2,), p=np.full(5, 0.2, np.float32)),
        lambda key: random.categorical(key, np.zeros(4, np.float32)),
        lambda key: random.bernoulli(key, 0.3, (4,)),
    ):
        expected = [np.asarray(sampler(key)) for key in keys]
        np.testing.assert_array_equal(vmap(sampler)(keys), expected)
        np.testing.assert_array_equal(jit(vmap(sampler))(keys), expected)


def test_derivatives_with_respect_to_parameters():
    slope = grad(lambda scale: lax.reduce_sum(lax.mul(scale, random.normal(KEY, (3,))), (0,)))
    np.testing.assert_allclose(
        slope(np.float32(2)), np.asarray(random.normal(KEY, (3,))).sum(), rtol=1e-5
    )
    u = float(random.uniform(KEY))
    assert math.isclose(grad(lambda top: random.uniform(KEY, maxval=top))(2.0), u, rel_tol=1e-6)


# ---- errors ----


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: random.uniform(KEY, (2,), np.int32),
            ValueError,
            "argument to `uniform` must be a float dtype, got int32",
        ),
        (
            lambda: random.normal(KEY, (2,), np.int32),
            ValueError,
            "`normal` must be a float or complex dtype, got int32",
        ),
        (
            lambda: random.bits(KEY, (2,), np.int32),
            ValueError,
            "`bits` must be an unsigned int dtype, got int32",
        ),
        (
            lambda: random.randint(KEY, (2,), 0, 3, np.float32),
            TypeError,
            "randint only accepts integer dtypes, got float32",
        ),
        (lambda: random.uniform(KEY, (2, -1)), TypeError, "non-negative"),
        (
            lambda: random.uniform(KEY, (2,), minval=np.zeros(3, np.float32)),
            TypeError,
            "broadcast-compatible",
        ),
        (
            lambda: random.uniform(KEY, minval=np.zeros(2, np.float32)),
            TypeError,
            "broadcast-compatible",
        ),
        (
            lambda: random.truncated_normal(KEY, np.zeros(3), 1.0, (2,)),
            ValueError,
            "Incompatible shapes for broadcasting",
        ),
        (lambda: random.bernoulli(KEY, 2), TypeError, "`p` must have a floating dtype, got int32"),
        (
            lambda: random.bernoulli(KEY, mode="x"),
            ValueError,
            "got mode='x', expected 'high' or 'low'",
        ),
        (
            lambda: random.gumbel(KEY, mode="x"),
            ValueError,
            "Must provide valid mode for gumbel got: 'x'",
        ),
        (
            lambda: random.categorical(KEY, [1.0, 2.0]),
            TypeError,
            "categorical requires ndarray or scalar arguments",
        ),
        (
            lambda: random.categorical(KEY, np.zeros((3, 4), np.float32), shape=(2,)),
            ValueError,
            "categorical requires shape argument to end with",
        ),
        (
            lambda: random.categorical(
                KEY, np.zeros((3, 4), np.float32), shape=(5, 3), replace=False
            ),
            ValueError,
            r"\(5\) cannot exceed number of categories \(4\)",
        ),
        (
            lambda: random.permutation(KEY, 2.5),
            TypeError,
            "x must be an integer or at least 1-dimensional",
        ),
        (
            lambda: random.permutation(KEY, [1, 2]),
            TypeError,
            "permutation requires ndarray or scalar",
        ),
        (
            lambda: random.permutation(KEY, np.zeros(3), axis=1),
            ValueError,
            "axis 1 is out of bounds",
        ),
        (
            lambda: random.choice(KEY, 5, (7,), replace=False),
            ValueError,
            r"\(size 7\) than population \(size 5\)",
        ),
        (
            lambda: random.choice(KEY, 5, p=np.ones(3)),
            ValueError,
            r"p has shape \(3,\) and a.shape\[axis\] is 5",
        ),
        (lambda: random.choice(KEY, np.zeros(0), (7,)), ValueError, "a must be greater than 0"),
        (
            lambda: random.choice(KEY, [1, 2]),
            TypeError,
            "choice requires ndarray or scalar arguments",
        ),
        (lambda: random.choice(KEY, 5, 3), TypeError, "must be a sequence, got 3"),
        (lambda: random.choice(KEY, np.arange(4), axis=1), ValueError, "axis 1 is out of bounds"),
    ],
)
def test_invalid_arguments_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- dtypes of parameters and of samples ----


def test_narrowing_parameters_raises():
    doubles = np.array([1.0, 2.0])
    with config.enable_x64(True):
        for draw in (random.t, random.chisquare, random.rayleigh, random.wald, random.pareto):
            with pytest.raises(TypePromotionError, match="cannot safely cast argument"):
                draw(KEY, doubles, dtype=np.float32)
    assert random.t(KEY, np.ones(2, np.float32)).shape == (2,)
    assert random.t(KEY, 2.0, (3,), np.float16).dtype == np.float16


def test_counts_are_drawn_in_dtype_of_probabilities():
    p = np.array([0.3, 0.6], np.float32)
    single = random.binomial(KEY, 20, p)
    with config.enable_x64(True):
        double = random.binomial(KEY, 20, p)
    assert double.dtype == np.float64
    np.testing.assert_array_equal(single, double)
    np.testing.assert_array_equal(random.binomial(KEY, 20, p, dtype=np.float16), single)
    counts = random.multinomial(KEY, 10, np.full(4, 0.25, np.float32))
    integers = random.multinomial(KEY, 10, np.full(4, 0.25, np.float32), dtype=np.int8)
    assert integers.dtype == np.int8
    np.testing.assert_array_equal(counts, integers)


def test_normal_vectors_take_dtype_of_their_parameters():
    mean, cov = np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
    with config.enable_x64(True):
        assert random.multivariate_normal(KEY, mean, cov).dtype == np.float32
        assert random.multivariate_normal(KEY, mean, np.eye(2)).dtype == np.float64
    assert random.multivariate_normal(KEY, mean, cov, dtype=np.float16).dtype == np.float32


def test_complex_lognormal_numbers():
    samples = np.asarray(random.lognormal(KEY, 0.5, (2000,), np.complex64))
    logarithms = np.log(np.abs(samples))  # the real part has half of the variance
    assert samples.dtype == np.complex64
    assert abs(logarithms.std() - 0.5 / np.sqrt(2)) < 0.03


def test_bounds_of_one_element_without_a_shape():
    low, high = np.float32([[2.0], [-1.0]]), np.float32([[4.0], [7.0]])
    expected = low[0, 0] + (high - low)[0, 0] * np.asarray(random.uniform(KEY))
    sample = random.uniform(KEY, minval=low[0], maxval=high[0])
    assert sample.shape == (1,)
    np.testing.assert_allclose(sample, expected, rtol=1e-6)
    assert random.uniform(KEY, maxval=high[0]).shape == ()
    keys = random.split(KEY, 2)
    batch = vmap(lambda key, a, b: random.uniform(key, minval=a, maxval=b))(keys, low, high)
    rows = [random.uniform(keys[i], minval=low[i], maxval=high[i]) for i in range(2)]
    np.testing.assert_array_equal(batch, np.stack(rows))


def test_parameters_of_weibull_broadcast_with_the_shape():
    assert random.weibull_min(KEY, np.ones(3, np.float32), 2.0).shape == (3,)
    assert random.weibull_min(KEY, np.ones((2, 1), np.float32), 2.0, (3,)).shape == (2, 3)


def test_signs_as_booleans_are_not_zero():
    assert np.asarray(random.rademacher(KEY, (4,), bool)).all()


def test_logits_broadcast_to_the_shape_of_draws():
    logits = np.log(np.arange(1.0, 5.0, dtype=np.float32))[None]
    draws = random.categorical(random.key(3), logits, shape=(3, 2))
    repeated = random.categorical(random.key(3), np.repeat(logits, 2, 0), shape=(3, 2))
    np.testing.assert_array_equal(draws, repeated)
