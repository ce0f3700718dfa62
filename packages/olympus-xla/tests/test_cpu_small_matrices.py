# SPDX-License-Identifier: Apache-2.0
"""Factors and triangular systems of many small matrices on one CPU device."""

import itertools

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.settings import config
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit

RNG = np.random.default_rng(0)


def elimination(matrix):
    """Returns the packed factors and the pivots of one matrix, in double precision."""
    packed = matrix.astype(np.float64)
    pivots = []
    for step in range(len(matrix)):
        pivot = step + int(np.argmax(np.abs(packed[step:, step])))
        packed[[step, pivot]] = packed[[pivot, step]]
        pivots.append(pivot)
        if packed[step, step] != 0:
            packed[step + 1 :, step] /= packed[step, step]
        below = packed[step + 1 :, step : step + 1]
        packed[step + 1 :, step + 1 :] -= below * packed[step, step + 1 :]
    return packed, pivots


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_factors(size, dtype):
    x = RNG.normal(size=(128, 8, size, size)).astype(dtype)
    x[0] = np.round(x[0])  # equal elements in a column, and singular matrices
    x[1, 0] = 0
    x[1, 1, :, 0] = 0
    with config.enable_x64(True):
        run = jit(linalg.lu)
        packed, pivots, permutation = map(np.asarray, run(x))
        assert "getrf" not in run.lower(x).as_text()
    for place in np.ndindex(128, 8):
        expected, expected_pivots = elimination(x[place])
        assert pivots[place].tolist() == expected_pivots
        tolerance = 1e-3 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(packed[place], expected, rtol=tolerance, atol=tolerance)
        lower = np.tril(packed[place], -1) + np.eye(size)
        product = lower @ np.triu(packed[place])
        np.testing.assert_allclose(product, x[place][permutation[place]], atol=tolerance)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("options", list(itertools.product([False, True], repeat=4)), ids=str)
def test_triangular_systems(options, size):
    left_side, lower, transpose_a, unit_diagonal = options
    a = (RNG.normal(size=(1024, size, size)) / 4 + 3 * np.eye(size)).astype(np.float32)
    b = RNG.normal(size=(1024, size, 3) if left_side else (1024, 3, size)).astype(np.float32)
    solve = jit(
        lambda a, b: linalg.triangular_solve(
            a,
            b,
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            unit_diagonal=unit_diagonal,
        )
    )
    assert "trsm" not in solve.lower(a, b).as_text()
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        triangle[:, np.arange(size), np.arange(size)] = 1
    if transpose_a:
        triangle = triangle.transpose(0, 2, 1)
    x = np.asarray(solve(a, b))
    product = triangle @ x if left_side else x @ triangle
    np.testing.assert_allclose(product, b, atol=2e-5)


def test_nan_stays_in_its_matrix():
    x = RNG.normal(size=(1024, 3, 3)).astype(np.float32)
    x[7, 1, 1] = np.nan
    packed = np.asarray(jit(linalg.lu)(x)[0])
    assert np.isnan(packed[7]).any()
    assert np.isfinite(np.delete(packed, 7, 0)).all()


def test_batches_and_derivatives():
    """The derivative of the logarithm of the determinant is the inverse, transposed."""
    x = (RNG.normal(size=(1024, 3, 3)) / 4 + 3 * np.eye(3)).astype(np.float32)

    def log_determinant(matrix):
        packed = linalg.lu(matrix)[0]
        diagonal = lax.reduce_sum(lax.mul(packed, np.eye(3, dtype=np.float32)), (1,))
        return lax.reduce_sum(lax.log(lax.abs(diagonal)), (0,))

    run = jit(vmap(grad(log_determinant)))
    assert "getrf" not in run.lower(x).as_text()
    expected = np.linalg.inv(x.astype(np.float64)).transpose(0, 2, 1)
    np.testing.assert_allclose(run(x), expected, atol=1e-4)


def test_few_or_larger_matrices_and_several_devices_keep_lapack(mesh):
    run = jit(lambda x: linalg.lu(x)[0])
    assert "getrf" in run.lower(np.zeros((1000, 3, 3), np.float32)).as_text()
    assert "getrf" in run.lower(np.zeros((1024, 5, 5), np.float32)).as_text()
    many = np.zeros((1024, 3, 3), np.float32)
    assert "getrf" not in run.lower(many).as_text()
    divided = device_put(many, NamedSharding(mesh, PartitionSpec("x")))
    assert "getrf" in run.lower(divided).as_text()
