# SPDX-License-Identifier: Apache-2.0
"""Selection by NumPy: the same bits as XLA's sort, under every transformation."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import selection

CALL = "xla_buffer_python_cpu_callback"
RNG = np.random.default_rng(0)


def odd_values(dtype, shape):
    """Numbers with many equal ones, among them zeros and NaNs of both signs and subnormals."""
    if np.issubdtype(dtype, np.integer):
        return (RNG.integers(0, 256, shape) - 100).astype(dtype)
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, tiny, -tiny, 3 * tiny], dtype)
    mixed = np.where(RNG.random(shape) < 0.3, RNG.choice(odd, shape), RNG.normal(size=shape))
    return mixed.astype(dtype)


def by_xla(function, *args):
    cpu_lowerings.update(False)
    try:
        lowered = jit(function).lower(*args)
        assert CALL not in lowered.as_text()
        return lowered.compile()(*args)
    finally:
        cpu_lowerings.update(True)


def by_numpy(function, *args):
    lowered = jit(function).lower(*args)
    assert CALL in lowered.as_text()
    return lowered.compile()(*args)


def assert_same_bits(function, *args):
    ours, theirs = (np.asarray(run(function, *args)) for run in (by_numpy, by_xla))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("shape", [(40_000,), (2, 40_000), (40, 50)])
def test_bits_equal_xla(dtype, shape):
    length = shape[-1]
    with enable_x64(True):
        x = odd_values(np.dtype(dtype), shape)
        shared = np.sort(RNG.integers(0, length, 9)).astype(np.int32)
        by_line = RNG.integers(0, length, (*shape[:-1], 14)).astype(np.int32)
        for places in (shared, by_line, np.arange(length, dtype=np.int32)):
            assert_same_bits(lax.order_statistics, x, places)


@pytest.mark.parametrize("kind", ["sorted", "reversed", "equal", "periodic", "all_nan", "two"])
def test_inputs_with_unrepresentative_samples(kind):
    length = 1 << 16
    x = {
        "sorted": np.arange(length),
        "reversed": -np.arange(length),
        "equal": np.ones(length),
        "periodic": np.arange(length) % 7,
        "all_nan": np.full(length, np.nan),
        "two": np.arange(length) == length // 2,
    }[kind].astype(np.float32)
    places = np.array([0, 1, 5, length // 2, length // 2 + 1, length - 2, length - 1], np.int32)
    found = by_numpy(lax.order_statistics, x, places)
    assert np.array_equal(found, np.sort(x)[places], equal_nan=True)


def test_wrong_bounds_are_detected(monkeypatch, without_cache):
    monkeypatch.setattr(selection, "_MARGIN", 0)
    x = RNG.normal(size=1 << 16).astype(np.float32)
    places = np.arange(10, 1 << 16, 6000, dtype=np.int32)
    found = by_numpy(lambda x, y: lax.order_statistics(x, y), x, places)
    assert np.array_equal(found, np.sort(x)[places])


@pytest.fixture
def every_size(cpu_limits):
    """NumPy selects from arrays of all sizes."""
    cpu_limits(selection, SMALLEST_SORT=0)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive is lax.order_statistics_p], ids=str
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        actual = eager.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(actual, expected)


def test_derivatives_and_batches():
    x = RNG.normal(size=(3, 40_000)).astype(np.float32)
    places = np.array([0, 20_000, 39_999], np.int32)

    def total(row, at):
        return lax.reduce_sum(lax.order_statistics(row, at), (0,))

    values = by_numpy(vmap(total, (0, None)), x, places)
    assert np.array_equal(values, np.sort(x, 1)[:, places].sum(1))
    values = by_numpy(vmap(total, (None, 0)), x[0], places[:, None])
    assert np.array_equal(values, np.sort(x[0])[places])
    values = by_numpy(vmap(total, (0, 0)), x, places[:, None])
    assert np.array_equal(values, np.sort(x, 1)[np.arange(3), places])
    gradient = by_numpy(vmap(grad(total), (0, None)), x, places)
    expected = np.zeros_like(x)
    np.put_along_axis(expected, np.argsort(x, 1)[:, places], 1, 1)
    assert np.array_equal(gradient, expected)


def test_donated_operands_are_read_before_reuse():
    def least_and_shifted(x):
        return lax.sub(x, lax.reshape(lax.order_statistics(x, np.zeros(1, np.int32)), ()))

    f = jit(least_and_shifted, donate_argnums=0)
    for _ in range(3):
        host = RNG.normal(size=50_000).astype(np.float32)
        x = device_put(host)
        assert np.array_equal(f(x), host - host.min())
        assert x.is_deleted()


def test_xla_keeps_other_programs(mesh):
    places = np.array([7], np.int32)

    def lowered(x, **options):
        return jit(lambda x: lax.order_statistics(x, places)).lower(x, **options).as_text()

    large = np.arange(4096, dtype=np.float32)
    assert CALL in lowered(large)
    assert CALL not in lowered(large[:100])
    assert CALL not in lowered(large, lowering_platforms=("cpu", "cuda"))
    rows = device_put(np.tile(large, (2, 1)), NamedSharding(mesh, PartitionSpec("x")))
    assert CALL not in lowered(rows)
    found = jit(lambda x: lax.order_statistics(x, places))(rows)
    assert np.array_equal(found, np.full((2, 1), 7.0))
