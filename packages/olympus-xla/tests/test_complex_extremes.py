# SPDX-License-Identifier: Apache-2.0
"""Extremes of complex numbers are ordered by the real part and then by the imaginary one."""

import itertools

import numpy as np
import pytest

from olympus_ir import lax
from olympus_xla import jit

PARTS = (-1.0, 0.0, 2.0)
NUMBERS = np.array([complex(*p) for p in itertools.product(PARTS, PARTS)], np.complex64)
PAIRS = np.array(list(itertools.product(NUMBERS, NUMBERS)), np.complex64)


def ordered(numbers):
    return sorted(numbers.tolist(), key=lambda z: (z.real, z.imag))


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize("place", [0, -1], ids=["min", "max"])
def test_pairs(transform, place):
    operation, reduce = ((lax.min, lax.reduce_min), (lax.max, lax.reduce_max))[place]
    expected = [ordered(pair)[place] for pair in PAIRS]
    left, right = PAIRS.T
    np.testing.assert_array_equal(transform(operation)(left, right), expected)
    np.testing.assert_array_equal(transform(lambda x: reduce(x, (1,)))(PAIRS), expected)
    mixed = transform(operation)(left, np.complex64(1j))
    assert np.asarray(mixed).tolist() == [ordered(np.array([z, 1j]))[place] for z in left]


def test_runs_and_windows():
    x = np.random.default_rng(0).permutation(NUMBERS)
    expected = [ordered(x[: n + 1])[-1] for n in range(len(x))]
    assert np.asarray(lax.cummax(x)).tolist() == expected
    window = {"window_dimensions": (2,), "window_strides": (1,), "padding": "VALID"}
    found = lax.reduce_window(x, np.complex64(-np.inf), lax.max, **window)
    assert np.asarray(found).tolist() == [ordered(x[n : n + 2])[-1] for n in range(len(x) - 1)]
