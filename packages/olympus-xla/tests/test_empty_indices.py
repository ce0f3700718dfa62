# SPDX-License-Identifier: Apache-2.0
"""Scatters with empty index vectors, for which XLA loses updates or crashes."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_xla import jit

WHOLE = lax.ScatterDimensionNumbers((0, 1), (), ())
ROW = lax.ScatterDimensionNumbers((1,), (0,), ())
UPDATES = np.arange(1.0, 7).reshape(2, 3).astype(np.float32)
COMBINATIONS = {
    lax.scatter: lambda old, update: update,
    lax.scatter_add: np.add,
    lax.scatter_sub: np.subtract,
    lax.scatter_mul: np.multiply,
    lax.scatter_max: np.maximum,
}


@pytest.mark.parametrize("scatter", COMBINATIONS)
def test_one_update_of_the_whole_array(scatter):
    def reversed_result(number, updates):
        x = lax.broadcast(number, updates.shape)
        result = scatter(x, np.zeros(0, np.int32), lax.mul(x, x), WHOLE)
        return lax.rev(result, (1,)), scatter(x, np.zeros(0, np.int32), updates, WHOLE)

    constant, each = jit(reversed_result)(np.float32(3), UPDATES)
    combine = COMBINATIONS[scatter]
    np.testing.assert_array_equal(constant, np.full((2, 3), combine(3, 9)))
    np.testing.assert_array_equal(each, combine(np.full((2, 3), 3), UPDATES))


def test_functions_are_not_applied_without_indices():
    def reversed_result(x):
        applied = lax.scatter_apply(
            lax.rev(x, (1,)), np.zeros(0, np.int32), lambda e: e * e + 1, WHOLE, update_shape=(2, 3)
        )
        return lax.rev(applied, (1,))

    np.testing.assert_array_equal(jit(reversed_result)(UPDATES), UPDATES**2 + 1)


@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_all_updates_of_one_element_are_applied(mode):
    """The updates have the operand's shape, and all go to its first row."""

    def scatter(operand, updates):
        places = np.zeros((2, 0), np.int32)
        return lax.scatter_add(operand, places, updates, ROW, mode=mode)

    result = jit(scatter)(np.ones((2, 3), np.float32), UPDATES)
    np.testing.assert_array_equal(result, [[6, 8, 10], [1, 1, 1]])
