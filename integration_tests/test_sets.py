# SPDX-License-Identifier: Apache-2.0
"""Set functions of concrete arrays, compared with NumPy; devices and types of results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus import device_put, devices, grad
from olympus.numpy import asarray, sum, unique

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "float32", "bfloat16"])
def test_unique_values_equal_numpy(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = RNG.integers(0, 50, (40, 50)).astype(dtype)
    result = unique(asarray(x))
    assert result.dtype == dtype
    assert np.array_equal(result, np.unique(x))


@pytest.mark.parametrize("equal_nan", [True, False])
def test_nans_and_zeros(equal_nan):
    x = np.array([np.nan, -0.0, 2, np.nan, 0.0, 1], np.float32)
    result = unique(asarray(x), equal_nan=equal_nan)
    np.testing.assert_array_equal(result, np.unique(x, equal_nan=equal_nan))
    assert np.signbit(result[0])  # of equal elements, the first one


def test_slices_and_no_elements():
    x = RNG.integers(0, 2, (30, 1)).astype(np.int32)
    for axis in (0, 1):
        assert np.array_equal(unique(asarray(x), axis=axis), np.unique(x, axis=axis))
    assert unique(asarray(np.zeros((0,), np.float32))).shape == (0,)


def test_unique_keeps_device_and_weak_type():
    committed = device_put(np.arange(3.0, dtype=np.float32), devices()[0])
    assert unique(committed).committed
    assert not unique(asarray([2.0, 1.0])).committed
    assert unique(asarray(2.0) * 1).weak_type == (asarray(2.0) * 1).weak_type


def test_gradients_flow_to_first_of_equal_elements():
    x = np.array([3.0, 1.0, 3.0], np.float32)
    gradient = grad(lambda x: sum(unique(x) * np.array([2.0, 5.0], np.float32)))(x)
    assert np.array_equal(gradient, [5.0, 2.0, 0.0])
