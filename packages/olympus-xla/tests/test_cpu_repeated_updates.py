# SPDX-License-Identifier: Apache-2.0
"""Scatters of many updates to few elements: the results of one update after the other."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cpu.moves import repeated_updates

RNG = np.random.default_rng(0)
NUMBERS = lax.ScatterDimensionNumbers((), (0,), (0,))
KINDS = {
    lax.scatter_add: np.add,
    lax.scatter_mul: np.multiply,
    lax.scatter_min: np.minimum,
    lax.scatter_max: np.maximum,
}


@pytest.fixture(autouse=True)
def every_size(cpu_limits):
    """Scatters of all numbers of updates use copies."""
    cpu_limits(repeated_updates, SMALLEST=0)


def operands(dtype, count=999, size=13):
    """Returns a vector, indices of which some are out of bounds, and updates."""
    places = np.sort(RNG.integers(-2, size + 2, count)).astype(np.int32)[:, None]
    if dtypes.issubdtype(dtype, np.integer):
        return (
            RNG.integers(0, 9, size).astype(dtype),
            places,
            RNG.integers(0, 9, count).astype(dtype),
        )
    scaled = 1 + RNG.normal(size=size + count) / 99
    return scaled[:size].astype(dtype), places, scaled[size:].astype(dtype)


def scattered(kind, mode="drop"):
    return lambda *given: kind(*given, NUMBERS, mode=mode)


def has_copies(function, *given, **options):
    size = repeated_updates.COPIES * given[0].shape[0]
    return f"tensor<{size}x" in jit(function).lower(*given, **options).as_text()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_results_equal_numpy(kind, dtype):
    with enable_x64(True):
        given = operands(np.dtype(dtype))
        assert has_copies(scattered(kind), *given)
        result = jit(scattered(kind))(*given)
        expected, (places,) = given[0].copy(), given[1].T
        inside = (places >= 0) & (places < expected.size)
        KINDS[kind].at(expected, places[inside], given[2][inside])
        assert result.dtype == expected.dtype
        if np.issubdtype(dtype, np.integer) or kind in (lax.scatter_min, lax.scatter_max):
            assert np.array_equal(result, expected)
        else:
            np.testing.assert_allclose(result, expected, rtol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype):
    dtype = np.dtype(getattr(dtypes, dtype, dtype))
    start, places, updates = operands(dtype)
    result = jit(scattered(lax.scatter_max))(start, places, updates)
    inside = (places[:, 0] >= 0) & (places[:, 0] < start.size)
    expected = start.astype(np.float32)
    np.maximum.at(expected, places[inside, 0], updates[inside].astype(np.float32))
    assert np.array_equal(np.asarray(result).astype(np.float32), expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_odd_numbers_have_the_bits_of_xla(kind, operations_of_xla):
    # The last elements get at most one update, which is not changed by the copies.
    start = np.array([1, 2, np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0, 1e-40], np.float32)
    places = np.array([0] * 300 + [1] * 300 + [7, 8, 3, -1, 9], np.int32)[:, None]
    updates = np.full(605, 1, np.float32)
    updates[[7, 303]] = np.nan, np.inf
    given = start, places, updates
    ours = np.asarray(jit(scattered(kind))(*given))
    with operations_of_xla():
        theirs = np.asarray(jit(scattered(kind))(*given))
    assert ours.tobytes() == theirs.tobytes()


def test_derivatives_and_batches():
    start, places, updates = operands(np.float32)
    weights = RNG.normal(size=start.size).astype(np.float32)

    def weighted(start, updates):
        result = lax.scatter_add(start, places, updates, NUMBERS, mode="drop")
        return lax.reduce_sum(lax.mul(result, weights), (0,))

    of_start, of_updates = jit(grad(weighted, (0, 1)))(start, updates)
    inside = (places[:, 0] >= 0) & (places[:, 0] < start.size)
    expected = np.where(inside, weights[np.clip(places[:, 0], 0, start.size - 1)], 0)
    assert np.array_equal(of_start, weights)
    assert np.array_equal(of_updates, expected)
    both = jit(vmap(scattered(lax.scatter_max), (0, None, 0)))(
        np.stack([start, -start]), places, np.stack([updates, -updates])
    )
    for result, sign in zip(np.asarray(both), (1, -1), strict=True):
        expected = sign * start
        np.maximum.at(expected, places[inside, 0], sign * updates[inside])
        assert np.array_equal(result, expected)


def test_donated_vectors_and_no_updates():
    start, places, updates = operands(np.float32)
    run = jit(lambda *given: scattered(lax.scatter_max)(*given), donate_argnums=0)
    expected = np.asarray(jit(scattered(lax.scatter_max))(start, places, updates))
    for _ in range(3):
        given = device_put(start)
        assert np.array_equal(run(given, places, updates), expected)
        assert given.is_deleted()
    assert np.array_equal(run(device_put(start), places[:0], updates[:0]), start)


def test_xla_keeps_other_programs(mesh):
    given = operands(np.float32)
    maximum = scattered(lax.scatter_max)
    assert has_copies(maximum, *given)
    assert not has_copies(scattered(lax.scatter_max, "promise_in_bounds"), *given)
    assert not has_copies(maximum, given[0], given[1][:30], given[2][:30])
    assert not has_copies(maximum, *given, lowering_platforms=("cpu", "cuda"))
    whole = device_put(given[0], NamedSharding(mesh, PartitionSpec()))
    assert not has_copies(maximum, whole, *given[1:])
