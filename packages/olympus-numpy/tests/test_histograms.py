# SPDX-License-Identifier: Apache-2.0
"""Histograms of many numbers by computed bin indices, compared with NumPy."""

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config

RNG = np.random.default_rng(0)
RANGES = [
    (100, (-5, 5)),
    (2, (-1, 1)),
    (10, (0, 1)),
    (50_000, (-5, 5)),
    (3, (2, 2)),
    (64, (-3e38, 3e38)),
]


def counted(x, edges, search=np.searchsorted):
    """Counts by a search."""
    x = x[(x >= edges[0]) & (x <= edges[-1])]
    places = np.asarray(search(edges, x, side="right")) - 1
    return np.bincount(np.where(x == edges[-1], edges.size - 2, places), minlength=edges.size - 1)


def numbers(bins, limits):
    """Returns numbers in and near the bins, on their edges and beside them, and special ones."""
    edges = np.asarray(jnp.histogram_bin_edges(np.zeros(1, np.float32), bins, limits))
    width = min(float(limits[1]) - limits[0], 10) + 1
    spread = (edges[0] + width * RNG.uniform(-0.2, 1.2, 5000)).astype(np.float32)
    with np.errstate(over="ignore"):
        beside = [np.nextafter(edges, np.float32(sign * np.inf)) for sign in (-1, 1)]
    special = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0])
    x = np.concatenate([spread, edges, *beside, special])
    # XLA flushes numbers below the normal ones to zero.
    return np.where(np.abs(x) < np.finfo(np.float32).smallest_normal, np.float32(0), x)


@pytest.mark.parametrize(("bins", "limits"), RANGES)
def test_histogram_of_many_numbers(bins, limits):
    x = numbers(bins, limits)
    counts, edges = jnp.histogram(x, bins, limits)
    np.testing.assert_array_equal(counts, counted(x, np.asarray(edges)))


def test_narrow_bins_use_searchsorted():
    # Rounded edges are equal or decrease.
    limits = (1e6, 1e6 + 3)
    x = numbers(1000, limits)
    counts, edges = jnp.histogram(x, 1000, limits)
    np.testing.assert_array_equal(counts, counted(x, np.asarray(edges), jnp.searchsorted))


def test_limits_of_the_data_in_batches():
    x = RNG.normal(size=(3, 5000)).astype(np.float32) * np.float32([[1], [1e-3], [1e6]])
    counts, edges = jit(vmap(lambda row: jnp.histogram(row, 30)))(x)
    for row, count, edge in zip(x, counts, edges, strict=True):
        np.testing.assert_array_equal(count, counted(row, np.asarray(edge)))


def test_weights_are_added_up_in_bins():
    x, weights = RNG.normal(size=(2, 5000)).astype(np.float32)
    counts = jnp.histogram(x, 16, (-4, 4), weights=weights)[0]
    np.testing.assert_allclose(
        counts, np.histogram(x, 16, (-4, 4), weights=weights)[0], rtol=1e-4, atol=1e-4
    )


def test_sample_and_weights_have_one_dtype():
    sample = jnp.asarray(RNG.uniform(size=(8, 2)), "bfloat16")
    counts, edges = jnp.histogramdd(sample, 2, weights=jnp.ones(8))
    assert [counts.dtype, *(edge.dtype for edge in edges)] == [np.float32] * 3
    counts, _ = jnp.histogramdd(sample.astype("complex64"), 2, weights=jnp.ones(8))
    assert counts.dtype == np.complex64


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_densities_have_the_dtype_of_the_sample(dtype):
    points = np.linspace(0, 1, 8, dtype=dtype)
    density, *_ = jnp.histogram2d(points, points, bins=2, density=True)
    assert density.dtype == dtype
    np.testing.assert_allclose(density, [[2, 0], [0, 2]])


@pytest.mark.parametrize("dtype", [float, int])
def test_arrays_of_64_bits_without_x64(dtype):
    values = np.array([0, 1, 1, 2, 5], dtype)
    with config.enable_x64(True):
        wide = jnp.asarray(values)
    assert wide.dtype.itemsize == 8
    for given in ({"bins": 4}, {"bins": wide[:3]}, {"bins": 5, "weights": wide}):
        counts, edges = jnp.histogram(wide, **given)
        expected, expected_edges = np.histogram(
            values, **{name: np.asarray(value) for name, value in given.items()}
        )
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_allclose(edges, expected_edges, rtol=1e-6)
        assert counts.dtype == edges.dtype == np.float32
    np.testing.assert_array_equal(
        jnp.histogram2d(wide, wide, 3)[0], np.histogram2d(values, values, 3)[0]
    )


def test_weights_of_few_bits_are_counted():
    x, y, weights = np.array([0, 1, 2, 2, 3]), np.array([1, 1, 0, 2, 3]), np.array([1, 2, 3, 1, 2])
    expected = np.histogram2d(x, y, bins=3, weights=weights, density=True)
    for dtype in ("int4", "uint2"):
        small = [jnp.array(values, dtype) for values in (x, y, weights)]
        found = jnp.histogram2d(x.astype(np.float32), small[1], 3, weights=small[2], density=True)
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-6)
