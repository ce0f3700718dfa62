# SPDX-License-Identifier: Apache-2.0
"""Reference rules of sorting: NaNs, zeros, ties, several keys."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import lax


def values(array):
    return np.asarray(array).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_nans_come_last(dtype):
    x = np.array([np.nan, 1, -np.inf, np.inf, -1], dtype)
    np.testing.assert_array_equal(
        np.asarray(lax.sort(x)).astype(float), [-np.inf, -1, 1, np.inf, np.nan]
    )


def test_zeros_of_both_signs_keep_their_order():
    x = np.array([0.0, -0.0, -1.0, 0.0, -0.0], np.float32)
    assert np.signbit(np.asarray(lax.sort(x))).tolist() == [True, False, True, False, True]


def test_sorting_is_stable():
    keys = np.array([1, 0, 1, 0, 1])
    _, order = lax.sort_key_val(keys, np.arange(5))
    assert values(order) == [1, 3, 0, 2, 4]


def test_several_keys_and_values():
    first, second = np.array([1, 0, 1, 0]), np.array([2.0, 3.0, 1.0, 4.0])
    result = lax.sort((first, second, np.arange(4)), num_keys=2)
    assert [values(part) for part in result] == [[0, 0, 1, 1], [3, 4, 1, 2], [1, 3, 2, 0]]


def test_complex_numbers_are_ordered_lexically():
    x = np.array([1 + 2j, 1 + 1j, 0 + 9j], np.complex64)
    assert values(lax.sort(x)) == [9j, 1 + 1j, 1 + 2j]


@pytest.mark.parametrize("axis", [0, 1])
def test_sort_along_each_axis(axis):
    x = np.random.default_rng(0).permutation(12).reshape(3, 4)
    assert values(lax.sort(x, dimension=axis)) == np.sort(x, axis).tolist()


def test_top_k_takes_first_of_equal_elements():
    largest, indices = lax.top_k(np.array([1.0, 3.0, 3.0, 2.0, 3.0]), 4)
    assert values(largest) == [3, 3, 3, 2]
    assert values(indices) == [1, 2, 4, 3]


def test_top_k_counts_nans_as_largest():
    largest, indices = lax.top_k(np.array([1.0, np.nan, 2.0]), 2)
    np.testing.assert_array_equal(np.asarray(largest), [np.nan, 2])
    assert values(indices) == [1, 2]
