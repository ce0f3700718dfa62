# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, vjp
from olympus_ir import lax

X = np.array([1.0, 2.0, 3.0], np.float32)
NUMBERS = lax.ScatterDimensionNumbers((), (0,), (0,))


def test_scatter_tangent_comes_from_update_that_is_kept():
    """If several updates have the same index, result and tangent come from the same update."""
    indices = np.array([[0], [0], [2], [9]], np.int32)
    updates = np.array([10.0, 20.0, 30.0, 40.0], np.float32)
    tangents = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    result, tangent = jvp(
        lambda x, u: lax.scatter(x, indices, u, NUMBERS), (X, updates), (0 * X, tangents)
    )
    np.testing.assert_allclose(np.asarray(result)[0], 10 * np.asarray(tangent)[0])
    np.testing.assert_array_equal(np.asarray(result)[1:], [2, 30])
    np.testing.assert_array_equal(np.asarray(tangent)[1:], [0, 3])


def test_dropped_updates_have_no_cotangent():
    indices = np.array([[0], [9]], np.int32)
    _, pullback = vjp(lambda u: lax.scatter_add(X, indices, u, NUMBERS), X[:2])
    np.testing.assert_array_equal(pullback(X)[0], [1, 0])


def test_scatter_max_divides_cotangent_among_ties():
    indices = np.array([[0], [0], [1]], np.int32)
    updates = np.array([1.0, 1.0, 5.0], np.float32)
    _, pullback = vjp(lambda x, u: lax.scatter_max(x, indices, u, NUMBERS), X, updates)
    by_x, by_updates = pullback(np.array([3.0, 1.0, 1.0], np.float32))
    np.testing.assert_allclose(by_x, [1, 0, 1])
    np.testing.assert_allclose(by_updates, [1, 1, 1])


def test_scatter_mul_with_repeated_indices_raises():
    indices = np.array([[0], [0]], np.int32)
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        vjp(lambda u: lax.scatter_mul(X, indices, u, NUMBERS), X[:2])


def test_fill_values_have_no_tangent():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    indices = np.array([[1], [7]], np.int32)
    f = lambda x: lax.gather(x, indices, numbers, (1,), mode="fill")  # noqa: E731
    value, tangent = jvp(f, (X,), (X,))
    np.testing.assert_array_equal(value, [2, np.nan])
    np.testing.assert_array_equal(tangent, [2, 0])
    np.testing.assert_array_equal(vjp(f, X)[1](X[:2])[0], [0, 1, 0])


def test_gradient_of_dynamic_index_in_dim():
    f = lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)  # noqa: E731
    np.testing.assert_array_equal(grad(f)(X, 1), [0, 1, 0])
    np.testing.assert_array_equal(grad(f)(X, -1), [0, 0, 1])


@pytest.mark.parametrize("scatter", [lax.scatter_add, lax.scatter, lax.scatter_max])
def test_updates_of_nothing_have_no_cotangent(scatter):
    indices = np.array([[0], [1]], np.int32)
    _, pullback = vjp(lambda u: scatter(X[:0], indices, u, NUMBERS), X[:2])
    np.testing.assert_array_equal(pullback(X[:0])[0], [0, 0])


def test_order_statistics_of_no_lines():
    rows = np.ones((0, 3), np.float32)
    value, tangent = jvp(lambda x: lax.order_statistics_p.bind(x, np.array([1])), (rows,), (rows,))
    assert value.shape == tangent.shape == (0, 1)
