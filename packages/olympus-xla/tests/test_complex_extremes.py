# SPDX-License-Identifier: Apache-2.0
"""Extremes of complex numbers, in lexicographic order of real and imaginary parts."""

import itertools

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_xla import jit

PARTS = (-1.0, 0.0, 2.0)
NUMBERS = np.array([complex(*p) for p in itertools.product(PARTS, PARTS)], np.complex64)
PAIRS = np.array(list(itertools.product(NUMBERS, NUMBERS)), np.complex64)


def ordered(numbers):
    return sorted(numbers.tolist(), key=lambda z: (z.real, z.imag))


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize("place", [0, -1], ids=["min", "max"])
def test_pairs_are_ordered_as_in_numpy(transform, place):
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


@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_exponentials(reverse):
    """Also of zero, whose logarithm is minus infinity, and with angles beyond half a turn."""
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(3, 6)) + 3j * rng.normal(size=(3, 6))).astype(np.complex64)
    x[0, 0] = -np.inf
    order = slice(None, None, -1 if reverse else 1)
    sums = np.cumsum(np.exp(x.astype(np.complex128))[:, order], 1)[:, order]
    found = np.asarray(lax.cumlogsumexp(x, 1, reverse))
    np.testing.assert_allclose(np.exp(found.astype(np.complex128)), sums, rtol=2e-5, atol=1e-5)
    assert (np.abs(found.imag[:, 1:-1]) < np.pi + 1e-5).all()  # the ends may be the operand's


def test_derivatives_of_running_sums_of_exponentials():
    """Holomorphic: of the last sum's logarithm they are the weights of its terms."""
    x = np.array([0.5 + 1j, -0.2 + 0.3j, 1 - 0.4j], np.complex64)
    found = grad(lambda x: lax.cumlogsumexp(x)[-1], holomorphic=True)(x)
    np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-5)
