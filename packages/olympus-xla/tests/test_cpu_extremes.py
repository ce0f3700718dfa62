# SPDX-License-Identifier: Apache-2.0
"""Positions of extremes, compared with NumPy and with XLA's reduction of pairs."""

import ml_dtypes
import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import cases
from olympus_xla import clear_caches, device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import extremes

RNG = np.random.default_rng(0)
# Pairs of values and positions are reduced together; passes have one operand each.
PAIRS = "across dimensions = [0] : (tensor<4096xf32>, tensor<4096xi32>"


def values(dtype, shape):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype.kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    x = RNG.choice([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 3.0], shape)
    x = np.where(RNG.random(shape) < 2e-3, RNG.choice([np.nan, -np.nan], shape), x)
    x[..., :2, :] = -np.inf
    return x.astype(dtype)


def positions(x):
    return [pick(x, axis, np.int32) for pick in (lax.argmax, lax.argmin) for axis in range(x.ndim)]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint32", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize("smallest_call", [0, 1 << 30], ids=["numpy", "passes"])
def test_positions_equal_numpy_and_xla(dtype, smallest_call, monkeypatch, without_cache):
    monkeypatch.setattr(extremes, "SMALLEST_CALL", smallest_call)
    clear_caches()
    with enable_x64(True):
        x = values(dtype, (5, 80, 256))
        ours = jit(positions)(x)
        cpu_lowerings.update(False)
        try:
            theirs = jit(positions)(x)
        finally:
            cpu_lowerings.update(True)
    wide = x.astype(np.float64)
    expected = [pick(wide, axis) for pick in (np.argmax, np.argmin) for axis in range(3)]
    for one, other, right in zip(ours, theirs, expected, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, right)


@pytest.mark.parametrize("length", [64, 997, 1000, 4096])
def test_vectors_and_rows(length):
    x = RNG.normal(size=(30, length)).astype(np.float32)
    x[3, length // 2] = np.nan
    for axis in (0, 1):
        assert np.array_equal(
            jit(lambda x, axis=axis: lax.argmax(x, axis, np.int32))(x), x.argmax(axis)
        )
    assert jit(lambda x: lax.argmin(x, 0, np.int32))(x.ravel()) == x.argmin()
    assert np.array_equal(jit(vmap(lambda x: lax.argmin(x, 0, np.int32)))(x), x.argmin(1))


@pytest.fixture
def every_size(cpu_limits):
    """Passes find positions in arrays of all sizes."""
    cpu_limits(extremes, SMALLEST_SIZE=0, SMALLEST_LENGTH=0, _SMALLEST_BLOCK=2)


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case.primitive in (lax.argmax_p, lax.argmin_p)],
    ids=str,
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        actual = eager.evaluate(case.primitive, case.args, dict(case.params))
        assert actual.dtype == expected.dtype
        assert np.array_equal(actual, expected)


def test_programs_for_several_devices_keep_reduction_of_pairs(mesh):
    def lowered(x, **options):
        return jit(lambda x: lax.argmax(x, 0, np.int32)).lower(x, **options).as_text()

    x = np.zeros(4096, np.float32)
    assert PAIRS not in lowered(x)
    assert PAIRS in lowered(x, lowering_platforms=("tpu",))
    sharded = device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert "mesh" in lowered(sharded)
    assert "tensor<64x64xf32>" not in lowered(sharded)
    assert jit(lambda x: lax.argmax(x, 0, np.int32))(sharded) == 0
