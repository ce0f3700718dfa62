# SPDX-License-Identifier: Apache-2.0
"""Comparison of updates at traced boolean masks with assignments in NumPy."""

import numpy as np
import pytest

import olympus_numpy as np_
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError
from olympus_ir.programs.jit import jit
from olympus_ir.types.placement import PartitionSpec as P

X = np.arange(-6, 6).reshape(3, 4)
IN_PLACE = {
    "set": lambda x, i, v: x.__setitem__(i, v),
    "add": lambda x, i, v: x.__setitem__(i, x[i] + v),
    "subtract": lambda x, i, v: x.__setitem__(i, x[i] - v),
    "multiply": lambda x, i, v: x.__setitem__(i, x[i] * v),
    "divide": lambda x, i, v: x.__setitem__(i, x[i] / v),
    "power": lambda x, i, v: x.__setitem__(i, x[i] ** v),
    "min": lambda x, i, v: x.__setitem__(i, np.minimum(x[i], v)),
    "max": lambda x, i, v: x.__setitem__(i, np.maximum(x[i], v)),
}
ROWS = np.array([True, False, True])
COLUMNS = np.array([False, True, True, False])
INDICES = {
    "whole": (X > 1, lambda mask: mask),
    "rows": (ROWS, lambda mask: mask),
    "rows and all columns": (ROWS, lambda mask: (mask, slice(None))),
    "columns": (COLUMNS, lambda mask: (slice(None), mask)),
    "last": (COLUMNS, lambda mask: (..., mask)),
    "rows and the rest": (ROWS, lambda mask: (mask, ...)),
    "scalar": (np.array(True), lambda mask: mask),
    "scalar that is false": (np.array(False), lambda mask: mask),
}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("operation", IN_PLACE)
@pytest.mark.parametrize("case", INDICES)
def test_updates_equal_numpy(case, operation, dtype):
    mask, index = INDICES[case]
    x = X.astype(dtype)
    quotient = operation == "divide" and dtype == "int32"
    expected = x.astype(np.float32) if quotient else x.copy()
    IN_PLACE[operation](expected, index(mask), 2)
    update = jit(lambda x, mask: getattr(x.at[index(mask)], operation)(2))
    result = update(np_.asarray(x), np_.asarray(mask))
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    eager = getattr(np_.asarray(x).at[index(mask)], operation)(2)
    np.testing.assert_allclose(result, eager, rtol=1e-6)


@pytest.mark.parametrize(
    "case, shape",
    [("rows", (4,)), ("rows", (1, 4)), ("columns", (3, 1)), ("columns", (1,)), ("whole", (1,))],
)
def test_values_broadcast_as_in_numpy(case, shape):
    mask, index = INDICES[case]
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = X.astype(np.float32)
    expected[index(mask)] = values
    result = jit(lambda x, m, v: x.at[index(m)].set(v))(np_.float32(X), np_.asarray(mask), values)
    np.testing.assert_array_equal(result, expected)


def test_booleans_and_wider_values_keep_the_dtype():
    x = np_.asarray([True, False, True])
    result = jit(lambda x, mask: x.at[mask].add(True))(x, np_.asarray([True, True, False]))
    assert result.dtype == bool
    assert result.tolist() == [True, True, True]


def test_functions_are_applied():
    result = jit(lambda x: x.at[x > 1].apply(np_.negative))(np_.asarray([1, 2, 3]))
    assert result.tolist() == [1, -2, -3]


def test_gradient_is_zero_at_replaced_elements():
    def f(x):
        return np_.sum(x.at[x > 1].set(0.0) ** 2)

    np.testing.assert_array_equal(jit(grad(f))(np_.asarray([0.5, 2.0])), [1.0, 0.0])


def test_batched_masks_update_each_row():
    x = np_.asarray(X)
    result = vmap(lambda row, limit: row.at[row > limit].set(0))(x, np_.asarray([-5, -1, 4]))
    expected = np.where(np.array([[-5], [-1], [4]]) < X, 0, X)
    np.testing.assert_array_equal(result, expected)


def test_values_per_selected_element_raise():
    with pytest.raises(NonConcreteBooleanIndexError):
        jit(lambda x, v: x.at[x > 1].set(v))(np_.arange(4.0), np_.arange(2.0))


def test_masks_of_mismatched_shape_raise():
    with pytest.raises(IndexError, match=r"got \(3,\), expected \[4\]"):
        jit(lambda x, mask: x.at[mask].set(0))(np_.arange(4.0), np_.ones(3, bool))


def test_values_of_mismatched_shape_raise():
    with pytest.raises(ValueError, match="Incompatible shapes"):
        jit(lambda x, mask, v: x.at[mask].set(v))(np_.ones((3, 4)), np_.ones(3, bool), np_.ones(3))


@pytest.mark.parametrize(
    "update",
    [
        lambda x, mask: x.at[mask].add(1, out_sharding=P()),
        lambda x, mask: x.at[mask].apply(np_.sin, out_sharding=P()),
    ],
)
def test_a_sharding_without_mesh_raises(update):
    with pytest.raises(ValueError, match="not under a mesh"):
        jit(update)(np_.arange(3.0), np.array([True, False, True]))
