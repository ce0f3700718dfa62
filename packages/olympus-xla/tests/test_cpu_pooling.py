# SPDX-License-Identifier: Apache-2.0
"""Derivatives of pooling by strided views, compared with a loop over windows."""

import itertools

import numpy as np
import pytest

from olympus_autodiff import grad, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_xla import jit

RNG = np.random.default_rng(0)
# Shapes, windows, strides and padding.
CASES = {
    "halves": ((8, 4, 16, 16), (1, 1, 2, 2), (1, 1, 2, 2), ((0, 0),) * 4),
    "rest": ((4, 17, 19, 5), (1, 2, 3, 1), (1, 2, 3, 1), ((0, 0),) * 4),
    "gaps": ((64, 70), (2, 1), (3, 2), ((0, 0),) * 2),
    "overlap": ((4, 8, 15, 15), (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0),) * 4),
    "padded": ((4, 15, 15, 8), (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (0, 1), (0, 0))),
    "dense": ((70, 80), (3, 2), (1, 1), ((2, 0), (0, 1))),
    "long": ((5000,), (7,), (3,), ((3, 5),)),
}


def scattered(x, source, window, strides, padding, is_better):
    """Adds each source to the first extreme of its window."""
    result = np.zeros(x.shape, np.float64)
    for place in np.ndindex(source.shape):
        best = None
        for offset in itertools.product(*map(range, window)):
            at = tuple(
                p * s + o - low
                for p, s, o, (low, _) in zip(place, strides, offset, padding, strict=True)
            )
            if any(not 0 <= i < size for i, size in zip(at, x.shape, strict=True)):
                continue
            if best is None or not is_better(x[best], x[at]):
                best = at
        result[best] += source[place]
    return result


def operands(name):
    shape, window, strides, padding = CASES[name]
    x = RNG.integers(-20, 20, shape).astype(np.float32)
    special = RNG.integers(0, x.size, (4, 30))
    x.ravel()[special] = np.float32([[np.nan], [np.inf], [-np.inf], [-0.0]])
    return x, {"window_dimensions": window, "window_strides": strides, "padding": padding}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("largest", [True, False])
def test_sources_reach_the_first_extremes(name, largest):
    x, params = operands(name)
    start, extreme = (-np.inf, lax.max) if largest else (np.inf, lax.min)
    pool = jit(lambda x: lax.reduce_window(x, start, extreme, *params.values()))
    source = RNG.normal(size=pool(x).shape).astype(np.float32)
    function = jit(lambda x, source: vjp(pool, x)[1](source)[0])
    assert "select_and_scatter" not in function.lower(x, source).as_text()
    better = np.greater_equal if largest else np.less_equal
    expected = scattered(x, source, *params.values(), better)
    np.testing.assert_allclose(function(x, source), expected, rtol=1e-6, atol=1e-6)


def test_xla_keeps_other_operands():
    def pooled(x):
        windows = lax.reduce_window(x, x.dtype.type(-np.inf), lax.max, (2,), (2,), "VALID")
        return lax.reduce_sum(lax.mul(windows, windows), (0,))

    texts = [
        jit(grad(pooled)).lower(np.ones(size, dtype)).as_text()
        for size, dtype in ((4095, np.float32), (4096, np.float16), (4096, np.float32))
    ]
    assert ["select_and_scatter" in text for text in texts] == [True, True, False]


def test_batches_and_second_derivatives():
    def pooled(x):
        windows = lax.reduce_window(x, -np.inf, lax.max, (3,), (2,), "VALID")
        return lax.reduce_sum(lax.mul(lax.sin(windows), windows), (0,))

    x = RNG.normal(size=(2, 5001)).astype(np.float32)
    direction = RNG.normal(size=5001).astype(np.float32)

    def curvature(x):
        return grad(lambda x: lax.reduce_sum(lax.mul(grad(pooled)(x), direction), (0,)))(x)

    first, second = (jit(vmap(each))(x) for each in (grad(pooled), curvature))
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)[:, ::2]
    found = windows.argmax(-1) + 2 * np.arange(windows.shape[1])
    for row in range(2):
        value = x[row, found[row]]
        slope, bend = np.zeros(5001), np.zeros(5001)
        np.add.at(slope, found[row], np.sin(value) + value * np.cos(value))
        np.add.at(bend, found[row], 2 * np.cos(value) - value * np.sin(value))
        np.testing.assert_allclose(first[row], slope, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(second[row], bend * direction, rtol=1e-4, atol=1e-5)
