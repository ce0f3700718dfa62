# SPDX-License-Identifier: Apache-2.0
"""Comparison of values: which differences count as close."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_testing import assert_close, tolerance


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_tolerance_is_few_units_in_last_place(dtype):
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    assert epsilon < tolerance(dtype) < 1e6 * epsilon
    close = np.asarray(1 + epsilon, dtype)
    assert_close(close, np.asarray(1, dtype))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_close(np.asarray(1.5, dtype), np.asarray(1, dtype))


def test_integers_must_be_equal():
    assert tolerance(np.int32) == 0
    assert_close(np.array([1, 2]), np.array([1, 2]))
    with pytest.raises(AssertionError):
        assert_close(np.array([1, 2]), np.array([1, 3]))
    with pytest.raises(AssertionError):
        assert_close(np.array([True]), np.array([False]))


def test_nan_and_infinity_are_equal_to_themselves():
    assert_close(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]))
    with pytest.raises(AssertionError):
        assert_close(np.array([np.inf]), np.array([-np.inf]))


def test_types_are_compared():
    with pytest.raises(AssertionError, match="the sum: dtype"):
        assert_close(np.float32(1), np.float16(1), message="the sum")
    assert_close(np.float32(1), np.float16(1), check_dtypes=False)
    with pytest.raises(AssertionError):
        assert_close(np.ones(2, np.float32), np.ones((), np.float32))
    weak = lax.add(1.0, 2.0)
    assert_close(weak, np.float32(3))
    with pytest.raises(AssertionError, match="weak type"):
        assert_close(weak, np.float32(3), check_weak_types=True)


def test_structures_are_compared():
    assert_close({"a": [1.0]}, {"a": [1.0]})
    with pytest.raises(AssertionError, match="structure"):
        assert_close({"a": [1.0]}, {"a": (1.0,)})


def test_values_without_content():
    assert_close(np.zeros(2, dtypes.float0), np.zeros(2, dtypes.float0))
    with pytest.raises(AssertionError, match="shape"):
        assert_close(np.zeros(2, dtypes.float0), np.zeros(3, dtypes.float0))
