# SPDX-License-Identifier: Apache-2.0
"""Batches of convolutions and reductions of windows that the samples do not cover."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax, make_olympuspr
from olympus_ir.lax.windows.reductions import select_and_scatter


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def names(fun, *args):
    return [str(equation.primitive) for equation in make_olympuspr(fun)(*args).eqns]


@pytest.mark.parametrize(("groups", "batch_groups"), [(1, 1), (3, 1), (1, 2)])
def test_convolutions_batched_twice(groups, batch_groups):
    """Batched inputs within batched kernels, for every batch dimension."""
    x, kernel = numbers(2, 2, 3, 5), numbers(2, 6, 3 // groups, 2, seed=1)

    def convolve(x, kernel):
        return lax.conv_general_dilated(
            x,
            kernel,
            (2,),
            [(1, 0)],
            feature_group_count=groups,
            batch_group_count=batch_groups,
        )

    expected = np.stack([np.stack([convolve(one, other) for other in kernel]) for one in x])
    for x_dim, kernel_dim in itertools.product(range(4), range(4)):
        inner = vmap(convolve, (None, kernel_dim))
        outer = vmap(inner, (x_dim, None))
        result = outer(np.moveaxis(x, 0, x_dim), np.moveaxis(kernel, 0, kernel_dim))
        np.testing.assert_array_equal(result, expected)


def test_a_batch_of_convolutions_is_one_convolution():
    x, kernels = numbers(5, 1, 2, 8), numbers(5, 3, 2, 3, seed=1)
    for axes in ((0, None), (None, 0), (0, 0)):
        operands = [
            batch if axis == 0 else batch[0] for batch, axis in zip((x, kernels), axes, strict=True)
        ]
        batched = vmap(lambda x, kernel: lax.conv(x, kernel, (1,), "SAME"), axes)
        assert names(batched, *operands).count("conv_general_dilated") == 1


@pytest.mark.parametrize("batched", [(0, 0), (0, None), (None, 0)])
def test_convolutions_with_empty_batch(batched):
    operands = [
        numbers(*((0,) if dim == 0 else ()), *shape)
        for dim, shape in zip(batched, ((1, 2, 5), (4, 2, 3)), strict=True)
    ]

    def convolved(image, kernel):
        return lax.conv(image, kernel, (1,), "VALID")

    assert vmap(convolved, batched)(*operands).shape == (0, 1, 4, 3)


def test_reduce_window_with_batched_initial_value():
    x, inits = numbers(3, 4, 5), np.array([1.0, 2.0, -1.0], np.float32)

    def reduced(x, init):
        return lax.reduce_window(x, init, lax.mul, (2, 2), (1, 2), [(1, 0), (0, 1)], (1, 2), (2, 1))

    expected = np.stack([reduced(one, init) for one, init in zip(x, inits, strict=True)])
    np.testing.assert_array_equal(vmap(reduced)(x, inits), expected)
    shared = np.stack([reduced(x[0], init) for init in inits])
    np.testing.assert_array_equal(vmap(reduced, (None, 0))(x[0], inits), shared)


def test_select_and_scatter_with_batched_initial_value():
    x, source = numbers(3, 4, 4), numbers(3, 3, 2, seed=1)
    inits = np.array([1.0, 2.0, -1.0], np.float32)
    window = ((2, 2), (1, 2), ((0, 0), (1, 0)))

    def scattered(x, source, init):
        return select_and_scatter(x, lax.ge, *window, source, init, lax.mul)

    expected = np.stack([scattered(*example) for example in zip(x, source, inits, strict=True)])
    np.testing.assert_array_equal(vmap(scattered)(x, source, inits), expected)
    expected = np.stack([scattered(one, source[0], inits[0]) for one in x])
    np.testing.assert_array_equal(
        vmap(scattered, (0, None, None))(x, source[0], inits[0]), expected
    )


def test_reduce_window_with_unbatched_operands():
    x, y = numbers(3, 5), numbers(5, seed=1)

    def reduced(x, y):
        return lax.reduce_window(
            (x, y), (0.0, 1.0), lambda p, q: (p[0] + q[0], p[1] * q[1]), (2,), (1,)
        )

    # The products are the same for all examples, and are computed once.
    sums, products = vmap(reduced, (0, None), (0, None))(x, y)
    for one, total in zip(x, sums, strict=True):
        np.testing.assert_array_equal(total, reduced(one, y)[0])
    np.testing.assert_array_equal(products, reduced(x[0], y)[1])

    def mixed(x, y):
        return lax.reduce_window(
            (x, y, y), (0.0, 1.0, 0.0), lambda p, q: (p[0] + q[1], p[1] * q[1], p[2] + q[0]), (2,)
        )

    results = vmap(mixed, (0, None), (0, None, 0))(x, y)
    for one, first, last in zip(x, results[0], results[2], strict=True):
        np.testing.assert_array_equal(first, mixed(one, y)[0])
        np.testing.assert_array_equal(last, mixed(one, y)[2])
    np.testing.assert_array_equal(results[1], mixed(x[0], y)[1])
