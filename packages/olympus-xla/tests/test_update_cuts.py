# SPDX-License-Identifier: Apache-2.0
"""Updates of arrays by values that are computed from views of the same arrays."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import get_aval
from olympus_xla import jit
from olympus_xla.compiling.lowering.cuts.operands import cut_from_operands

SIZE = 200
RNG = np.random.default_rng(0)


def views(x):
    return x[:-2, 1:-1], x[2:, 1:-1], x[1:-1, :-2], x[1:-1, 2:]


def averaged(x):
    up, down, left, right = views(x)
    return (up + down + left + right) * np.float32(0.25)


def sliced(x, rows, columns):
    return lax.slice(x, (rows[0], columns[0]), (rows[1], columns[1]))


def smoothed(x):
    n = x.shape[0]
    inner, low, high = (1, n - 1), (0, n - 2), (2, n)
    up, down = sliced(x, low, inner), sliced(x, high, inner)
    left, right = sliced(x, inner, low), sliced(x, inner, high)
    around = lax.add(lax.add(up, down), lax.add(left, right))
    return lax.mul(around, np.float32(0.25))


def step(x):
    return lax.dynamic_update_slice(x, smoothed(x), (1, 1))


def steps(x):
    return lax.fori_loop(0, 9, lambda _, x: step(x), x)


def cuts_of(function, *args, platforms=("cpu",)):
    closed = trace_to_closed(lambda *xs: [function(*xs)], tuple(map(get_aval, args)))
    return cut_from_operands(closed.jaxpr, platforms)[1]


def grid(size=SIZE):
    return RNG.random((size, size), np.float32)


def test_values_equal_numpy():
    x = grid()
    expected = x.copy()
    for _ in range(9):
        expected[1:-1, 1:-1] = averaged(expected)
    assert np.allclose(jit(steps)(x), expected, rtol=1e-6)


def test_views_are_not_written_to_memory():
    x = grid()
    statistics = jit(steps).lower(x).compile().memory_analysis()
    assert statistics.temp_size_in_bytes < 1.5 * x.nbytes


def test_gradients_of_updates_equal_the_formula():
    x, weights = grid(40), grid(40)
    gradient = jit(grad(lambda x: lax.reduce_sum(lax.mul(step(x), weights), (0, 1))))(x)
    expected = weights.copy()
    expected[1:-1, 1:-1] = 0
    for view in views(expected):
        view += weights[1:-1, 1:-1] * np.float32(0.25)
    assert np.allclose(gradient, expected, rtol=1e-5)


@pytest.mark.parametrize("size, cut", [(SIZE, True), (20, False)])
def test_large_updates_are_cut(size, cut):
    assert (cuts_of(step, grid(size)) is not None) is cut


def test_updates_by_other_values_are_not_cut():
    def others(x, y):
        return lax.dynamic_update_slice(x, lax.neg(smoothed(y)), (1, 1))

    def same_place(x):
        return lax.dynamic_update_slice(x, lax.sin(x), (0, 0))

    assert cuts_of(others, grid(), grid()) is None
    assert cuts_of(same_place, grid()) is None


def test_other_platforms_are_not_cut():
    assert cuts_of(step, grid(), platforms=("cuda",)) is None
    assert cuts_of(step, grid(), platforms=("cpu", "cuda")) is None
