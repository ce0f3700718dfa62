# SPDX-License-Identifier: Apache-2.0
"""Reference rules of shaping operations without a counterpart in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import lax


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ((0, 0, 0), [1, 2, 3]),
        ((1, 2, 0), [9, 1, 2, 3, 9, 9]),
        ((0, 0, 2), [1, 9, 9, 2, 9, 9, 3]),
        ((-1, 0, 0), [2, 3]),
        ((-1, -1, 1), [9, 2, 9]),
        ((-2, 1, 1), [2, 9, 3, 9]),
        ((2, -4, 0), [9]),
        ((-3, 0, 0), []),
        ((-4, 2, 0), [9]),
    ],
)
def test_pads_may_be_negative_and_interior(config, expected):
    result = lax.pad(np.array([1, 2, 3]), 9, [config])
    assert np.asarray(result).tolist() == expected


def test_pad_an_empty_array():
    assert np.asarray(lax.pad(np.zeros(0), 9.0, [(1, 1, 5)])).tolist() == [9, 9]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, ml_dtypes.bfloat16, np.complex64])
def test_iota_counts_in_every_dtype(dtype):
    result = lax.broadcasted_iota(dtype, (2, 3), 1)
    assert result.dtype == dtype
    np.testing.assert_array_equal(np.asarray(result).astype(complex), [[0, 1, 2]] * 2)


def test_reshape_in_another_order():
    x = np.arange(6).reshape(2, 3)
    assert np.asarray(lax.reshape(x, (6,), dimensions=(1, 0))).tolist() == [0, 3, 1, 4, 2, 5]
