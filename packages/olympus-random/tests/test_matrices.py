# SPDX-License-Identifier: Apache-2.0
"""Correlated normal vectors and orthogonal matrices: numbers of jax 0.10.2, statistical laws."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_random import key, split
from olympus_random.samplers import matrices
from olympus_random.samplers.matrices import multivariate_normal, orthogonal

MEAN = np.arange(3.0)
COVARIANCE = np.array([[2, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])


def test_examples_print_what_they_show():
    assert doctest.testmod(matrices).failed == 0


def test_the_numbers_of_jax():
    # Recorded from JAX; signs of other factorizations depend on the library.
    vector = multivariate_normal(key(0), MEAN, COVARIANCE)
    np.testing.assert_allclose(vector, [2.2947626, 5.349606, 2.2291012], rtol=1e-5)
    matrix = orthogonal(key(0), 3)
    expected = [0.9554101, 0.29413575, 0.02599558]
    np.testing.assert_allclose(matrix[0], expected, rtol=1e-4, atol=1e-5)
    wide = orthogonal(key(0), 3, m=5)
    expected = [0.81999195, -0.03972878, -0.2502961]
    np.testing.assert_allclose(wide[0, :3], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_samples_have_the_given_moments(method):
    draws = np.asarray(multivariate_normal(key(1), MEAN, COVARIANCE, (20000,), method=method))
    np.testing.assert_allclose(draws.mean(0), MEAN, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), COVARIANCE, atol=0.12)


def test_shapes_join_batch_and_sample_dimensions():
    several = np.stack([COVARIANCE, 2 * COVARIANCE])
    assert multivariate_normal(key(0), MEAN, several).shape == (2, 3)
    assert multivariate_normal(key(0), MEAN, several, (4, 2)).shape == (4, 2, 3)
    assert multivariate_normal(key(0), np.stack([MEAN] * 5), COVARIANCE).shape == (5, 3)
    keys = split(key(0), 4)
    each = vmap(lambda one: multivariate_normal(one, MEAN, COVARIANCE))(keys)
    np.testing.assert_allclose(
        each[2], multivariate_normal(keys[2], MEAN, COVARIANCE), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize(("n", "m"), [(3, None), (4, 2), (2, 4), (0, None)])
def test_rows_or_columns_are_orthonormal(n, m, dtype):
    q = np.asarray(orthogonal(key(3), n, (2,), dtype, m))
    columns = n if m is None else m
    assert q.shape == (2, n, columns)
    assert q.dtype == dtype
    adjoint = np.swapaxes(q.conj(), -1, -2)
    product = adjoint @ q if n >= columns else q @ adjoint
    expected = np.broadcast_to(np.eye(min(n, columns)), product.shape)
    np.testing.assert_allclose(product, expected, atol=1e-5)


def test_signs_are_random():
    draws = np.asarray(orthogonal(key(5), 2, (2000,)))
    assert abs((np.diagonal(draws, axis1=1, axis2=2) > 0).mean() - 0.5) < 0.05


BAD = {
    "method": (lambda: multivariate_normal(key(0), MEAN, COVARIANCE, method="x"), "method must"),
    "mean": (lambda: multivariate_normal(key(0), 1.0, COVARIANCE), "mean.ndim >= 1"),
    "cov": (lambda: multivariate_normal(key(0), MEAN, MEAN), "cov.ndim >= 2"),
    "sizes": (lambda: multivariate_normal(key(0), MEAN, COVARIANCE[:2]), "n, n"),
    "shape": (
        lambda: multivariate_normal(key(0), np.stack([MEAN] * 5), COVARIANCE, (2,)),
        "broadcast-compatible",
    ),
    "dtype": (lambda: orthogonal(key(0), 3, dtype=int), "must be a float"),
    "size": (lambda: orthogonal(key(0), -1), "negative dimensions"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_raises(name):
    function, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        function()
