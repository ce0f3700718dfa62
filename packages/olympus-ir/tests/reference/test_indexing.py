# SPDX-License-Identifier: Apache-2.0
"""Reference rules of slices, gathers and scatters, compared with NumPy's indexing."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.types.shape_struct import ShapeDtypeStruct

X = np.arange(20, dtype=np.float32).reshape(4, 5)
ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTERED_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def values(array):
    return np.asarray(array).tolist()


@pytest.mark.parametrize(("start", "expected"), [(0, 0), (2, 2), (9, 2), (-1, 2), (-4, 0), (-9, 0)])
def test_dynamic_slice_clamps_start_indices(start, expected):
    assert values(lax.dynamic_slice_in_dim(X, start, 2)) == X[expected : expected + 2].tolist()


def test_allow_negative_indices_false_clamps():
    result = lax.dynamic_slice_in_dim(X, np.array(-1), 2, allow_negative_indices=False)
    assert values(result) == X[:2].tolist()


@pytest.mark.parametrize("index", [-1, np.int32(-1)])
def test_unsupported_negative_indices_raise(index):
    with pytest.raises(ValueError, match="Index -1 is out of bounds for dimension 4"):
        lax.dynamic_slice_in_dim(X, index, 2, allow_negative_indices=False)


def test_dynamic_update_slice():
    result = lax.dynamic_update_slice(X, -np.ones((2, 2), np.float32), (9, 1))
    expected = X.copy()
    expected[2:4, 1:3] = -1
    assert values(result) == expected.tolist()


def test_dynamic_update_index_in_dim():
    row = np.zeros(5, np.float32)
    expected = X.copy()
    expected[1] = 0
    assert values(lax.dynamic_update_index_in_dim(X, row, 1, 0)) == expected.tolist()
    assert values(lax.dynamic_update_index_in_dim(X, row[None], 1, 0)) == expected.tolist()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("clip", [X[3], X[0]]),
        ("fill", [np.full(5, np.nan), np.full(5, np.nan)]),
        ("promise_in_bounds", [X[3], X[0]]),
    ],
)
def test_gather_out_of_bounds(mode, expected):
    result = lax.gather(X, np.array([[7], [-1]]), ROWS, (1, 5), mode=mode)
    np.testing.assert_array_equal(np.asarray(result), np.stack(expected))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.int8, -128), (np.uint8, 255), (np.bool_, True), (np.float32, np.nan)],
)
def test_default_fill_values(dtype, expected):
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    result = lax.gather(np.ones(3, dtype), np.array([[5]]), numbers, (1,), mode="fill")
    np.testing.assert_array_equal(np.asarray(result), np.array([expected], dtype))


def test_gather_fills_with_a_given_value():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    result = lax.gather(X[0], np.array([[1], [9]]), numbers, (1,), mode="fill", fill_value=-1)
    assert values(result) == [1, -1]


def test_gather_of_batches():
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
    indices = np.array([[2], [0], [4], [1]])
    assert values(lax.gather(X, indices, numbers, (1, 1))) == [2, 5, 14, 16]


@pytest.mark.parametrize(
    ("scatter", "ufunc"),
    [
        (lax.scatter_add, np.add),
        (lax.scatter_sub, np.subtract),
        (lax.scatter_mul, np.multiply),
        (lax.scatter_min, np.minimum),
        (lax.scatter_max, np.maximum),
    ],
)
def test_scatters_combine_all_updates_of_an_element(scatter, ufunc):
    indices = np.array([1, 3, 1, 1])
    updates = np.array([2, 3, -4, 5], np.float32)
    expected = X[0].copy()
    ufunc.at(expected, indices, updates)
    assert values(scatter(X[0], indices[:, None], updates, ELEMENTS)) == expected.tolist()


def test_scatter_replaces():
    updates = -np.ones((2, 5), np.float32)
    expected = X.copy()
    expected[[2, 0]] = -1
    result = lax.scatter(X, np.array([[2], [0]]), updates, SCATTERED_ROWS)
    assert values(result) == expected.tolist()


@pytest.mark.parametrize(("mode", "last"), [("drop", 4), ("clip", 9)])
def test_scatter_out_of_bounds(mode, last):
    result = lax.scatter(X[0], np.array([[7]]), np.array([9.0], np.float32), ELEMENTS, mode=mode)
    assert values(result) == [0, 1, 2, 3, last]


def test_scatter_apply_runs_the_function_on_elements():
    result = lax.scatter_apply(
        X[0], np.array([[1], [3], [1]]), lambda x: lax.mul(x, 10.0), ELEMENTS, update_shape=(3,)
    )
    assert values(result) == [0, 100, 2, 30, 4]


def test_index_take_gathers_elements():
    result = lax.index_take(X, [np.array([0, -1]), np.array([2, -5])], [0, 1])
    assert values(result) == [X[0, 2], X[-1, -5]]
    wrapped = lax.index_take(X, [np.array([len(X) + 1], np.int8)], [0])
    np.testing.assert_array_equal(wrapped[0], X[1])


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (
            lambda x: lax.gt(x, 0.0),
            "of the operand's dtype float32, got bool",
        ),
        (lambda x: lax.broadcast(x, (2,)), "got float32.2."),
        (
            lambda x: lax.pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x),
            "may not have effects or call code outside",
        ),
        (
            lambda x: lax.reshape(linalg.cholesky(lax.broadcast(x, (1, 1))), ()),
            "may not have effects or call code outside",
        ),
    ],
)
def test_invalid_scatter_apply_functions_raise(function, complaint):
    with pytest.raises(ValueError, match=complaint):
        lax.scatter_apply(X[0], np.array([[1]]), function, ELEMENTS, update_shape=(1,))
