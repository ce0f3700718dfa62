# SPDX-License-Identifier: Apache-2.0
"""Scatters over several dimensions, flattened on CPUs, compared with XLA and NumPy."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_states import enable_x64
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cpu.moves import scatters

RNG = np.random.default_rng(0)
KINDS = (lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul, lax.scatter_max)
NUMBERS = lax.ScatterDimensionNumbers((), (0, 1), (0, 1))


@pytest.fixture(autouse=True)
def every_size(cpu_limits):
    """Scatters of all sizes are flattened."""
    cpu_limits(scatters, SMALLEST=0)


def operands(dtype=np.int32, shape=(7, 9), count=500):
    """Returns an array, indices of which some are out of bounds, and updates."""
    low, high = (-3, 12) if np.issubdtype(dtype, np.signedinteger) else (0, 12)
    places = RNG.integers(low, high, (count, 2)).astype(dtype)
    return RNG.normal(size=shape).astype(np.float32), places, RNG.normal(size=count).astype("f")


def is_flat(text):
    return "scatter_dims_to_operand_dims = [0, 1]" not in text


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_equal_xla(kind, dtype, operations_of_xla):
    def scatter(operand, places, updates):
        return kind(operand, places, updates, NUMBERS, mode="drop")

    with enable_x64(True):
        given = operands(np.dtype(dtype).type)
        if dtype.endswith("64"):
            given[1][:4] += np.array(2**32, given[1].dtype)  # a place that 32 bits do not hold
        lowered = jit(scatter).lower(*given)
        assert is_flat(lowered.as_text())
        ours = np.asarray(lowered.compile()(*given))
        with operations_of_xla():
            theirs = np.asarray(jit(scatter)(*given))
    assert ours.tobytes() == theirs.tobytes()


def test_sums_equal_numpy():
    operand, places, updates = operands()
    inside = ((places >= 0) & (places < operand.shape)).all(1)
    expected = operand.astype(np.float64)
    np.add.at(expected, tuple(places[inside].T), updates[inside])
    result = jit(lambda *xs: lax.scatter_add(*xs, NUMBERS, mode="drop"))(operand, places, updates)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_batches_and_gradients():
    values = RNG.normal(size=300).astype(np.float32)
    bins = RNG.integers(-2, 18, (5, 300)).astype(np.int32)
    weights = RNG.normal(size=(5, 16)).astype(np.float32)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))

    def sums(values, bins):
        zeros = np.zeros(16, np.float32)
        return lax.scatter_add(zeros, bins[:, None], values, numbers, mode="drop")

    def total(values):
        return lax.reduce_sum(lax.mul(vmap(sums, (None, 0))(values, bins), weights), (0, 1))

    lowered = jit(vmap(sums, (None, 0))).lower(values, bins)
    assert is_flat(lowered.as_text())
    inside = (bins >= 0) & (bins < 16)
    expected = [
        np.bincount(row[kept], values[kept], 16) for row, kept in zip(bins, inside, strict=True)
    ]
    np.testing.assert_allclose(lowered.compile()(values, bins), expected, rtol=1e-5, atol=1e-5)
    rows = np.arange(5)[:, None]
    derivative = np.where(inside, weights[rows, np.clip(bins, 0, 15)], 0).sum(0)
    np.testing.assert_allclose(jit(grad(total))(values), derivative, rtol=1e-5, atol=1e-6)


def test_donated_operands_and_clipped_indices():
    operand, places, updates = operands()
    clipped = np.clip(places, 0, np.array(operand.shape) - 1)
    expected = operand.copy()
    np.maximum.at(expected, tuple(clipped.T), updates)
    for mode, given in (("clip", places), ("promise_in_bounds", clipped)):
        run = jit(lambda *xs, m=mode: lax.scatter_max(*xs, NUMBERS, mode=m), donate_argnums=0)
        assert np.array_equal(run(device_put(operand), given, updates), expected)
