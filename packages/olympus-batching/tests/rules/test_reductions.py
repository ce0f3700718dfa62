# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import lax

X = np.linspace(0.1, 0.9, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()])
def test_batches_of_reductions_equal_a_loop(check, axes):
    check(lambda x: lax.reduce_sum(x, axes), X)
    check(lambda x: lax.reduce_max(x, axes), X)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_arguments_of_extrema(check, axis):
    check(lambda x: lax.argmax(x, axis, np.int32), np.sin(X * 40))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_batches_of_cumulative_reductions_equal_a_loop(check, axis):
    check(lambda x: lax.cumsum(x, axis), X)
    check(lambda x: lax.cumlogsumexp(x, axis, reverse=True), X)


def test_reduce_of_several_operands(check):
    def largest_and_place(values, places):
        def combine(first, second):
            (x, i), (y, j) = first, second
            keep = lax.ge(x, y)
            return lax.select(keep, x, y), lax.select(keep, i, j)

        start = (np.float32(-np.inf), np.int32(-1))
        return lax.reduce((values, places), start, combine, (1,))

    places = np.broadcast_to(np.arange(3, dtype=np.int32)[None, :, None], X.shape).copy()
    check(largest_and_place, np.sin(X * 40), [places, places, places])


def test_reduce_with_batched_initial_value(check):
    def fun(x, start):
        return lax.reduce(x, start, lambda a, b: lax.add(a, b), (0, 2))

    check(fun, X, np.float32(2.0))
