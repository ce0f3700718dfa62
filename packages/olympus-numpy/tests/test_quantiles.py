# SPDX-License-Identifier: Apache-2.0
"""Comparison of quantiles and medians with NumPy: methods, axes and forms of probabilities."""

import warnings

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir.settings import config

X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
WITH_NAN = X.copy()
WITH_NAN[0, 1] = WITH_NAN[2, 3, 0] = np.nan
METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]
AXES = [None, 0, 1, 2, -1, (0, 1), (1, 2)]


def check(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns of slices of NaN
        yield


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("q", [0.31, [0.0, 0.6, 1.0]], ids=str)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_of_every_method_equal_numpy(name, q, keepdims, axis):
    for method in METHODS:
        options = {"axis": axis, "keepdims": keepdims, "method": method}
        for x in (X, WITH_NAN):
            found = getattr(jnp, name)(x, jnp.array(q), **options)
            check(found, np.asarray(getattr(np, name)(x, q, **options)))


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_medians_and_percentiles(keepdims, axis):
    options = {"axis": axis, "keepdims": keepdims}
    for x in (X, WITH_NAN):
        check(jnp.median(x, **options), np.asarray(np.median(x, **options)))
        check(jnp.nanmedian(x, **options), np.asarray(np.nanmedian(x, **options)))
        for q in (25, [10, 90]):
            expected = np.asarray(np.nanpercentile(x, q, **options))
            check(jnp.nanpercentile(x, jnp.array(q), **options), expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("q", [0.2, [0.2, 0.7]], ids=str)
def test_weighted_quantiles_equal_numpy(q, axis):
    weights = np.random.default_rng(1).uniform(0.1, 1, X.shape)
    expected = np.quantile(X.astype(float), q, axis=axis, weights=weights, method="inverted_cdf")
    found = jnp.quantile(X, jnp.array(q), axis=axis, weights=weights, method="inverted_cdf")
    check(found, np.asarray(expected))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_quantiles_of_long_half_precision_arrays_are_exact(dtype):
    # 4999 and 2.5 * 1000 have no exact representation in 16 bits.
    line = jnp.asarray(np.random.default_rng(0).normal(size=5000), dtype)
    exact = np.asarray(line).astype(np.float64)
    for part in (0.3, 0.5, 0.77):
        expected = np.quantile(exact, part)
        found = jnp.quantile(line, part)
        assert found.dtype == line.dtype
        np.testing.assert_allclose(float(found), expected, rtol=2.0**-8)
    np.testing.assert_allclose(float(jnp.median(line)), np.median(exact), rtol=2.0**-8)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_quantiles_keep_the_dtype(name, dtype):
    x = jnp.arange(8, dtype=dtype)
    q = np.float32([0.25, 0.5])
    out = getattr(jnp, name)(x, 100 * q if name == "percentile" else q)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out.astype(np.float32), [1.75, 3.5])


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variance_with_given_mean_of_narrow_floats(name):
    x = jnp.asarray([[1, 2, 3, 6], [0, 4, 4, 8]], "bfloat16")
    out = getattr(jnp, name)(x, axis=1, mean=x.mean(1, keepdims=True))
    expected = getattr(np, name)(np.asarray(x, np.float64), axis=1)
    np.testing.assert_allclose(np.asarray(out, np.float64), expected, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_quantiles_of_wide_arrays(dtype):
    with config.enable_x64(True):
        x = jnp.array([1, 2, 4], dtype)
    assert x.dtype == dtype
    for found in (jnp.median(x), jnp.quantile(x, 0.5)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, 2.0)
    values = jnp.polyval(x, x)
    assert values.dtype.itemsize == 4
    np.testing.assert_allclose(values, [7, 12, 28])


def test_nearest_takes_the_lower_of_two_elements_that_are_equally_near():
    quartiles = jnp.array([25, 50, 75])
    # This example is in JAX's documentation.
    found = jnp.percentile(jnp.arange(7), quartiles, method="nearest")
    np.testing.assert_array_equal(found, [1, 3, 4])
    x = np.array([10, 20, 30, 40, 50, 60], np.float32)
    halves = jnp.array([0.1, 0.3, 0.5, 0.7, 0.9])  # the indices 0.5, 1.5, ...
    np.testing.assert_array_equal(jnp.quantile(x, halves, method="nearest"), x[:5])
    near = jnp.array([0.09, 0.11, 0.29, 0.31])
    np.testing.assert_array_equal(jnp.quantile(x, near, method="nearest"), [10, 20, 20, 30])


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn", "float8_e5m2"])
def test_weights_of_few_bits_weigh(dtype):
    x, weights = np.array([3, 1, 2, 4]), np.array([1, 4, 2, 1])
    small = (x.astype(np.float32) if "int" in dtype else jnp.array(x, dtype), 0.7)
    found = jnp.quantile(*small, weights=jnp.array(weights, dtype), method="inverted_cdf")
    assert found == np.quantile(x, 0.7, weights=weights, method="inverted_cdf")


@pytest.mark.parametrize("dtype", ["float4_e2m1fn", "float8_e4m3fn", "float8_e5m2"])
def test_levels_beside_floats_of_few_bits_have_a_dtype_of_their_own(dtype):
    x = np.tile(np.array([[0.5, 1, 2, 4]], np.float32), (1, 50))
    levels = np.array([0.1, 0.3, 0.6, 0.9], np.float32)
    for function, scale in ((jnp.quantile, 1), (jnp.percentile, 100)):
        found = function(jnp.array(x, dtype), scale * jnp.array(levels), axis=1)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype(np.float32), np.quantile(x, levels, axis=1))
