# SPDX-License-Identifier: Apache-2.0
"""Comparison of estimated derivatives of expectations with analytic derivatives.

Bounds are five standard errors, from known variances or from estimates with other keys. The keys
are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import olympus_random as random
from olympus_autodiff import grad, hessian, jacfwd, jacrev
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_random.estimators.expectations import pathwise, score_function
from olympus_random.estimators.relaxations import gumbel_softmax, straight_through
from olympus_random.estimators.smoothing import smoothed

KEY = random.key(3)
REPEATS = 64


def assert_unbiased(estimate, expected):
    """Checks the mean of estimates of several keys against its standard error."""
    estimates = np.asarray(jit(vmap(estimate))(random.split(random.key(11), REPEATS)), np.float64)
    error = estimates.std(axis=0, ddof=1) / math.sqrt(REPEATS)
    assert np.all(error > 0)
    assert np.all(np.abs(estimates.mean(axis=0) - expected) < 5 * error + 1e-5)
    # The check above would also accept an estimate that is lost in noise.
    assert np.all(5 * error < 0.2 * max(1.0, np.max(np.abs(expected))))


def as_float(x):
    return lax.convert_element_type(x, np.float32)


# ---- score function ----


def log_bernoulli(heads, p):
    return lax.log(lax.select(heads, p, lax.sub(np.float32(1), p)))


def log_categorical(choice, logits):
    powers = lax.exp(logits)
    chosen = lax.dynamic_index_in_dim(logits, choice, keepdims=False)
    return lax.sub(chosen, lax.log(lax.reduce_sum(powers, (0,))))


def log_poisson(count, rate):
    count = as_float(count)
    terms = lax.sub(lax.mul(count, lax.log(rate)), rate)
    return lax.sub(terms, lax.lgamma(lax.add(count, np.float32(1))))


def test_score_function_of_bernoulli_draws():
    expectation = score_function(random.bernoulli, log_bernoulli, samples=500)

    def mean(p, key):  # the value is 5 for heads, else 2; the mean is 2 + 3 p
        return expectation(key, lambda heads: lax.add(lax.mul(3, heads.astype(int)), 2), p)

    p = np.float32(0.3)
    assert_unbiased(lambda key: mean(p, key), 2.9)
    assert_unbiased(lambda key: grad(mean)(p, key), 3.0)


def test_second_derivatives_of_score_functions():
    def both(key, p):
        first, second = random.split(key)
        return random.bernoulli(first, p), random.bernoulli(second, p)

    def log_both(heads, p):
        return lax.add(log_bernoulli(heads[0], p), log_bernoulli(heads[1], p))

    def mean(p, key):  # the mean of the conjunction is p**2
        expectation = score_function(both, log_both, samples=500)
        return expectation(key, lambda heads: as_float(heads[0] & heads[1]), p)

    p = np.float32(0.4)
    assert_unbiased(lambda key: grad(grad(mean))(p, key), 2.0)


def test_score_function_of_categorical_draws():
    logits = np.array([0.2, -0.5, 1.0], np.float32)
    values = np.array([1.0, 4.0, -2.0], np.float32)
    expectation = score_function(random.categorical, log_categorical, samples=500)

    def mean(logits, key):
        return expectation(
            key, lambda choice: lax.dynamic_index_in_dim(values, choice, keepdims=False), logits
        )

    weights = np.exp(logits) / np.exp(logits).sum()
    expected = weights * (values - weights @ values)
    assert_unbiased(lambda key: grad(mean)(logits, key), expected)


def test_score_function_of_poisson_draws():
    expectation = score_function(random.poisson, log_poisson, samples=500)

    def mean(rate, key):  # the mean of the square is rate + rate**2
        return expectation(key, lambda count: lax.mul(count, count), rate)

    assert_unbiased(lambda key: grad(mean)(np.float32(2.5), key), 6.0)


def test_expectations_of_functions_with_trees():
    expectation = score_function(random.bernoulli, log_bernoulli, samples=500)

    def mean(p, factor, key):  # the means are factor * p and p
        out = expectation(key, lambda heads: {"a": lax.mul(factor, as_float(heads)), "b": heads}, p)
        return lax.add(out["a"], out["b"])

    arguments = np.float32(0.3), np.float32(2.0)
    assert_unbiased(lambda key: grad(mean)(*arguments, key), 3.0)
    assert_unbiased(lambda key: grad(mean, argnums=1)(*arguments, key), 0.3)


def test_invalid_expectations_raise():
    with pytest.raises(ValueError, match="`samples` must be positive, got 0"):
        score_function(random.bernoulli, log_bernoulli, samples=0)
    with pytest.raises(ValueError, match=r"must return a scalar for one draw.*\(2,\)"):
        many = np.full(2, 0.5, np.float32)
        score_function(random.bernoulli, log_bernoulli)(KEY, as_float, many)
    with pytest.raises(TypeError, match="pathwise needs draws of a float.*got int32"):
        pathwise(random.poisson)(KEY, as_float, np.float32(2))


# ---- pathwise ----


def test_pathwise_derivatives_are_unbiased():
    normal = pathwise(lambda key, m, s: lax.add(m, lax.mul(s, random.normal(key))), samples=500)

    def mean(m, s, key):  # the mean of the square is m**2 + s**2
        return normal(key, lambda x: lax.mul(x, x), m, s)

    arguments = np.float32(0.7), np.float32(1.5)
    assert_unbiased(lambda key: grad(mean)(*arguments, key), 1.4)
    assert_unbiased(lambda key: grad(mean, argnums=1)(*arguments, key), 3.0)

    def gamma_mean(a, key):
        return pathwise(random.gamma, samples=500)(key, lambda x: x, a)

    assert_unbiased(lambda key: grad(gamma_mean)(np.float32(2.0), key), 1.0)


# ---- relaxations ----


def test_gumbel_softmax_chooses_categories_by_their_probabilities():
    logits = np.array([0.2, -0.5, 1.0], np.float32)
    keys = random.split(KEY, 4000)
    hard = np.asarray(vmap(lambda key: gumbel_softmax(key, logits, 0.5, hard=True))(keys))
    soft = np.asarray(vmap(lambda key: gumbel_softmax(key, logits, 0.5))(keys))
    np.testing.assert_array_equal(np.sort(hard, axis=1), [[0.0, 0.0, 1.0]] * 4000)
    np.testing.assert_array_equal(hard.argmax(1), soft.argmax(1))
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, rtol=1e-6)
    weights = np.exp(logits) / np.exp(logits).sum()
    deviations = np.abs(hard.mean(axis=0) - weights)
    assert np.all(deviations < 5 * np.sqrt(weights * (1 - weights) / 4000))


def test_gumbel_softmax_is_softmax_of_noisy_logits():
    logits = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    scores = (logits + np.asarray(random.gumbel(KEY, (2, 3)))) / 0.7
    for axis in (0, 1, -1):
        powers = np.exp(scores)
        np.testing.assert_allclose(
            gumbel_softmax(KEY, logits, 0.7, axis=axis),
            powers / powers.sum(axis=axis, keepdims=True),
            rtol=1e-5,
        )


def test_hard_samples_have_derivatives_of_soft_samples():
    logits = np.array([0.2, -0.5, 1.0], np.float32)
    hard = jacrev(lambda x: gumbel_softmax(KEY, x, 0.5, hard=True))(logits)
    soft = np.asarray(gumbel_softmax(KEY, logits, 0.5))
    expected = (np.diag(soft) - np.outer(soft, soft)) / 0.5
    np.testing.assert_allclose(hard, expected, rtol=1e-4, atol=1e-6)
    by_temperature = jacfwd(lambda t: gumbel_softmax(KEY, logits, t))(np.float32(0.5))
    scores = logits + np.asarray(random.gumbel(KEY, (3,)))
    np.testing.assert_allclose(by_temperature, -expected @ scores / 0.5, rtol=1e-4, atol=1e-6)


def test_straight_through_gradients_are_those_of_surrogate():
    p = np.array([0.2, 0.7], np.float32)

    def cost(p):
        heads = straight_through(random.bernoulli(KEY, p), p)
        return lax.reduce_sum(lax.mul(heads, np.array([3.0, 4.0], np.float32)), (0,))

    np.testing.assert_array_equal(grad(cost)(p), [3.0, 4.0])
    np.testing.assert_array_equal(
        straight_through({"a": np.array(7)}, {"a": np.float32(0.1)})["a"], np.float32(7)
    )


def test_invalid_relaxations_raise():
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        gumbel_softmax(KEY, np.zeros(3, np.float32), axis=1)


# ---- smoothing ----


def test_smoothed_steps_have_gaussian_derivatives():
    def mean(x, key):  # the mean is P(x + u > 0) for u ~ N(0, 1/4)
        step = smoothed(lambda x: lax.gt(x, np.float32(0)), key, scale=0.5, samples=500)
        return step(x)

    x = np.float32(0.3)
    density = math.exp(-(0.6**2) / 2) / math.sqrt(2 * math.pi) / 0.5
    assert_unbiased(lambda key: mean(x, key), (1 + math.erf(0.6 / math.sqrt(2))) / 2)
    assert_unbiased(lambda key: grad(mean)(x, key), density)
    assert_unbiased(lambda key: jacfwd(mean)(x, key), density)
    assert_unbiased(lambda key: grad(grad(mean))(x, key), -density * 0.3 / 0.25)


def test_smoothed_trees_and_vectors():
    def f(x):  # the mean is |a|^2 + 2 s^2 + b c; opposite points leave no noise in the even terms
        return lax.add(lax.reduce_sum(lax.mul(x["a"], x["a"]), (0,)), lax.mul(x["b"], x["c"]))

    x = {"a": np.array([1.0, 2.0], np.float32), "b": np.float32(3), "c": np.float32(0.5)}

    def slopes(key):
        out = grad(smoothed(f, key, scale=0.3, samples=1000))(x)
        return lax.concatenate([out["a"], out["b"][None], out["c"][None]], 0)

    assert_unbiased(slopes, np.array([2, 4, 0.5, 3]))


def test_smoothed_gradient_uses_antithetic_samples():
    # The baseline and the even part cancel: the estimate is the mean of u**2 times the slope.
    out = grad(smoothed(lambda x: lax.mul(x, np.float32(3)), KEY, scale=0.5, samples=50))
    u = np.asarray(random.normal(random.split(KEY, 1)[0], (50,)))
    np.testing.assert_allclose(out(np.float32(1.0)), 3 * np.mean(u**2), rtol=1e-4)


def test_second_derivatives_of_smoothed_functions():
    def curvature(key):
        x = np.array([0.2, -0.4], np.float32)
        return hessian(smoothed(lambda x: lax.mul(x[0], x[1]), key, scale=1.0, samples=2000))(x)

    assert_unbiased(curvature, np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_clarke_means_are_convex_combinations_of_gradients():
    def slope(x, key):
        return grad(smoothed(lax.abs, key, scale=0.1, samples=200, method="clarke"))(x)

    assert float(smoothed(lax.abs, KEY, method="clarke")(np.float32(-2.5))) == 2.5
    assert float(slope(np.float32(0.5), KEY)) == pytest.approx(1.0)
    assert float(slope(np.float32(-0.5), KEY)) == pytest.approx(-1.0)
    assert_unbiased(lambda key: slope(np.float32(0.05), key), 0.5)


def test_invalid_smoothing_raises():
    with pytest.raises(ValueError, match="`method` must be one of 'gaussian', 'clarke'; got 'box'"):
        smoothed(lax.abs, KEY, method="box")
    with pytest.raises(ValueError, match="`scale` must be positive, got 0"):
        smoothed(lax.abs, KEY, scale=0)
    with pytest.raises(TypeError, match="arrays of floats, got int32"):
        smoothed(lax.abs, KEY)(np.int32(1))
