# SPDX-License-Identifier: Apache-2.0
"""Largest elements on a CPU: the same bits as XLA's, under every transformation."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import largest

CALL = "xla_buffer_python_cpu_callback"
RNG = np.random.default_rng(0)
DTYPES = (
    "float32 float16 bfloat16 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool"
).split()


def odd_values(dtype, shape):
    """Numbers of the whole range with many equal ones, zeros and NaNs of both signs."""
    if dtype == np.bool_:
        return RNG.random(shape) < 0.5
    if dtypes.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        few = np.array([limits.min, limits.min + 1, 0, 1, limits.max], dtype)
        many = RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.where(RNG.random(shape) < 0.3, RNG.choice(few, shape), many)
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, tiny, -tiny, 3 * tiny], dtype)
    mixed = np.where(RNG.random(shape) < 0.3, RNG.choice(odd, shape), RNG.normal(size=shape))
    return mixed.astype(dtype)


def ranks(x):
    """Python's integers in the total order of the bits."""
    x = np.asarray(x)
    if x.dtype == np.bool_ or dtypes.issubdtype(x.dtype, np.integer):
        return x.astype(object)
    signed = x.view(f"i{x.dtype.itemsize}")
    lowest = int(np.iinfo(signed.dtype).min)
    return np.where(signed < 0, lowest - 1 - signed.astype(object), signed.astype(object))


def expected_positions(x, k):
    """The positions of the largest elements by Python's stable sort."""
    keys = ranks(x).reshape(-1, x.shape[-1])
    rows = [sorted(range(row.size), key=lambda i, row=row: -row[i])[:k] for row in keys]
    return np.array(rows).reshape(*x.shape[:-1], k)


def bits(x):
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "counts"),
    [((3, 700), (1, 10, 40, 699, 700)), ((1500,), (5, 1000)), ((2, 40_000), (3, 5000))],
)
def test_largest_elements_in_the_total_order(dtype, shape, counts):
    with enable_x64(True):
        x = odd_values(np.dtype(getattr(ml_dtypes, dtype, dtype)), shape)
        for k in counts:
            values, positions = jit(lambda x, k=k: lax.top_k(x, k))(x)
            expected = expected_positions(x, k)
            assert np.array_equal(positions, expected)
            assert positions.dtype == np.int32
            assert bits(values) == bits(np.take_along_axis(x, expected, -1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("k", [5, 60])
def test_bits_equal_xla(dtype, k):
    with enable_x64(True):
        x = odd_values(np.dtype(getattr(ml_dtypes, dtype, dtype)), (20, 64))
        ours = jit(lambda x: lax.top_k(x, k))(x)
        cpu_lowerings.update(False)
        try:
            theirs = jit(lambda x: lax.top_k(x, k))(x)
        finally:
            cpu_lowerings.update(True)
        assert list(map(bits, ours)) == list(map(bits, theirs))


def test_other_axes_and_equal_elements():
    x = (RNG.integers(0, 4, (50, 3, 40)) - 2).astype(np.int32)
    values, positions = jit(lambda x: lax.top_k(x, 45, axis=0))(x)
    order = np.argsort(-x, axis=0, kind="stable")[:45]
    assert np.array_equal(positions, order)
    assert np.array_equal(values, np.take_along_axis(x, order, 0))


@pytest.fixture
def every_size(cpu_limits):
    """Arrays of all sizes use these lowerings."""
    cpu_limits(largest, SMALLEST_SORT=0, _MANY=0)


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case.primitive is lax.top_k_p],
    ids=str,
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        actual = eager.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(actual, expected)


def test_derivatives_and_batches():
    x = RNG.normal(size=(3, 800)).astype(np.float32)
    weights = np.arange(1, 101, dtype=np.float32)

    def weighted(row):
        return lax.reduce_sum(lax.mul(lax.top_k(row, 100)[0], weights), (0,))

    order = np.argsort(-x, 1)[:, :100]
    values = jit(vmap(weighted))(x)
    np.testing.assert_allclose(values, np.take_along_axis(x, order, 1) @ weights, rtol=1e-5)
    expected = np.zeros_like(x)
    np.put_along_axis(expected, order, weights, 1)
    assert np.array_equal(jit(vmap(grad(weighted)))(x), expected)


def test_donated_operands_are_read_before_reuse():
    f = jit(lambda x: (lax.top_k(x, 900), lax.add(x, x)), donate_argnums=0)
    for _ in range(3):
        host = RNG.normal(size=4096).astype(np.float32)
        x = device_put(host)
        (values, positions), doubled = f(x)
        assert np.array_equal(values, np.sort(host)[:-901:-1])
        assert np.array_equal(host[np.asarray(positions)], values)
        assert np.array_equal(doubled, 2 * host)
        assert x.is_deleted()


def test_xla_keeps_other_programs(mesh):
    def lowered(x, k=1000, **options):
        return jit(lambda x: lax.top_k(x, k)).lower(x, **options).as_text()

    large = np.arange(4096, dtype=np.float32)
    assert CALL in lowered(large)
    assert CALL not in lowered(large, 10)
    assert CALL not in lowered(large[:1000])
    assert CALL not in lowered(large, lowering_platforms=("cpu", "cuda"))
    rows = device_put(np.tile(large, (2, 1)), NamedSharding(mesh, PartitionSpec("x")))
    assert CALL not in lowered(rows)
    assert np.array_equal(jit(lambda x: lax.top_k(x, 1000)[1])(rows)[1], np.arange(4095, 3095, -1))
    # XLA's function for float32 serves integers of 32 bits, without a call of Python.
    text = lowered(large.astype(np.int32), 10)
    assert CALL not in text
    assert "bitcast_convert" in text
