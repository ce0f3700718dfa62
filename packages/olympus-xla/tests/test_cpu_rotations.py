# SPDX-License-Identifier: Apache-2.0
"""Rotations of rows as updates in place, compared with NumPy."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cpu.moves import rotations

RNG = np.random.default_rng(0)
UPDATE = "dynamic_update_slice"


@pytest.fixture(autouse=True)
def every_size(cpu_limits, monkeypatch):
    """Rotations of all sizes are updates, whatever the processor."""
    monkeypatch.setattr(rotations, "has_fast_wide_vectors", lambda identity: True)
    monkeypatch.setattr(rotations, "has_slow_masked_stores", lambda identity: False)
    monkeypatch.setattr(rotations, "threads", lambda: 2)
    cpu_limits(rotations, SMALLEST=0)


def rolled(x, shift, axis=None):
    axis = x.ndim - 1 if axis is None else axis
    place = x.shape[axis] - shift
    parts = lax.slice_in_dim(x, place, None, axis=axis), lax.slice_in_dim(x, 0, place, axis=axis)
    return lax.concatenate(parts, axis)


def is_updated(function, *operands, **options):
    return UPDATE in jit(function).lower(*operands, **options).as_text()


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "int64", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(7, 11), (2, 3, 8), (5, 2)])
def test_rows_equal_numpy(shape, dtype):
    with enable_x64(True):
        x = (RNG.normal(size=shape) * 100).astype(dtype)
        for shift in (1, shape[-1] // 2, shape[-1] - 1):
            lowered = jit(lambda x, shift=shift: rolled(x, shift)).lower(x)
            assert UPDATE in lowered.as_text()
            assert np.array_equal(lowered.compile()(x), np.roll(x, shift, -1))


def test_derivatives_and_batches():
    x, weights = RNG.normal(size=(2, 4, 5, 6)).astype(np.float32)[:2]

    def weighted(x, weights):
        rows = rolled(x, 2)
        return lax.reduce_sum(lax.mul(lax.mul(rows, rows), weights), (0, 1))

    assert is_updated(grad(weighted), x[0], weights[0])
    slopes = jit(vmap(grad(weighted)))(x, weights)
    np.testing.assert_allclose(slopes, 2 * x * np.roll(weights, -2, -1), rtol=1e-5)
    assert is_updated(vmap(lambda x: rolled(x, 1)), x)


def test_computed_and_donated_operands_and_repeated_uses():
    x = RNG.normal(size=(6, 9)).astype(np.float32)
    given = device_put(x)

    def program(x):
        y = lax.mul(x, x)
        return lax.sub(y, rolled(rolled(y, 4), 3)), lax.reduce_sum(rolled(y, 1), (0,))

    differences, sums = jit(program, donate_argnums=0)(given)
    assert given.is_deleted()
    np.testing.assert_allclose(differences, x * x - np.roll(x * x, 7, -1), rtol=1e-6)
    np.testing.assert_allclose(sums, np.roll(x * x, 1, -1).sum(0), rtol=1e-5)


def test_inside_of_loops():
    x = RNG.normal(size=(6, 9)).astype(np.float32)
    result = jit(lambda x: lax.fori_loop(0, 5, lambda _, x: rolled(x, 2), x))(x)
    assert np.array_equal(result, np.roll(x, 10, -1))


def test_other_concatenations_stay():
    x = RNG.normal(size=(6, 9)).astype(np.float32)
    other = x + 1
    part = lax.slice_in_dim

    def joined(*parts):
        return lax.concatenate(parts, 1)

    assert not is_updated(lambda x: rolled(x, 2, 0), x)
    assert not is_updated(lambda x: rolled(x, 2), x[0])
    assert not is_updated(lambda x: rolled(x, 2), x.astype(np.float16))
    assert not is_updated(joined, x, other)
    assert not is_updated(lambda x, y: joined(part(x, 4, 9, axis=1), part(y, 0, 4, axis=1)), x, x)
    assert not is_updated(lambda x: joined(part(x, 4, 9, axis=1), part(x, 0, 5, axis=1)), x)
    assert not is_updated(lambda x: joined(part(x, 0, 4, axis=1), part(x, 4, 9, axis=1)), x)
    assert not is_updated(lambda x: joined(part(x, 4, 9, axis=1)[:3], part(x, 0, 4, axis=1)[:3]), x)
    strided = joined(x[:, ::2], x[:, 1::2])
    assert np.array_equal(jit(lambda x: joined(x[:, ::2], x[:, 1::2]))(x), strided)


def test_programs_and_processors_that_keep_the_concatenation(mesh, monkeypatch):
    x = np.ones((8, 16), np.float32)

    def is_changed(x, **options):
        return is_updated(lambda x: rolled(x, 3), x, **options)

    assert is_changed(x)
    assert not is_changed(x, lowering_platforms=("cpu", "cuda"))
    assert not is_changed(device_put(x, NamedSharding(mesh, PartitionSpec("x"))))
    with monkeypatch.context() as patch:
        patch.setattr(rotations, "threads", lambda: 8)
        assert not is_changed(x)
    with monkeypatch.context() as patch:
        patch.setattr(rotations, "has_fast_wide_vectors", lambda identity: False)
        assert not is_changed(x)
    with monkeypatch.context() as patch:
        patch.setattr(rotations, "SMALLEST", 1 << 17)
        assert not is_changed(x)
    monkeypatch.setattr(rotations, "has_slow_masked_stores", lambda identity: True)
    assert not is_changed(x)
    rows = np.arange(640, dtype=np.float32).reshape(8, 80)
    assert is_changed(rows)
    assert np.array_equal(jit(lambda x: rolled(x, 3))(rows), np.roll(rows, 3, 1))
    assert not is_changed(rows.astype(np.complex64))
