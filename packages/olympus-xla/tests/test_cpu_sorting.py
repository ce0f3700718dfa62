# SPDX-License-Identifier: Apache-2.0
"""Sorting by NumPy: the same bits as XLA's sort, under every transformation."""

import concurrent.futures

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config import config
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.trees import pytrees
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import sorting

CALL = "xla_buffer_python_cpu_callback"
INTEGERS = ("bool", "int8", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
RNG = np.random.default_rng(0)


def values(dtype, shape):
    """Numbers with many equal ones, among them zeros and NaNs of both signs and subnormals."""
    if dtype in INTEGERS:
        return (RNG.integers(0, 256, shape) - 100).astype(dtype)
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        pair = np.stack([values(part, shape), values(part, shape)], axis=-1)
        return pair.view(dtype)[..., 0]
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    odd = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, tiny, -tiny, 3 * tiny]
    odd = np.concatenate([np.array(odd, dtype), -np.array(odd, dtype)])
    return np.where(RNG.random(shape) < 0.3, RNG.choice(odd, shape), RNG.normal(size=shape)).astype(
        dtype
    )


def by_xla(function, *args):
    """Results of the same function by XLA's own sort."""
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
    actual, expected = (pytrees.tree_leaves(run(function, *args)) for run in (by_numpy, by_xla))
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


def positions(shape, axis):
    return lax.broadcasted_iota(np.int32, shape, axis)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + ("complex64",))
def test_bits_equal_xla(dtype):
    def sorts(vector, matrix, ties):
        shape = matrix.shape
        return (
            lax.sort(vector),
            lax.sort((vector, positions(vector.shape, 0)), num_keys=1),
            lax.sort(matrix, dimension=0),
            lax.sort((ties, matrix, positions(shape, 1)), dimension=1, num_keys=2),
        )

    with enable_x64(True):
        ties = RNG.integers(0, 3, (40, 50)).astype(np.int32)
        assert_same_bits(sorts, values(dtype, (2000,)), values(dtype, (40, 50)), ties)


@pytest.fixture(params=["vectors", "radix"])
def each_sort(request, monkeypatch):
    """Processors with fast and with slow compressed stores."""
    monkeypatch.setattr(sorting, "SMALLEST_RADIX", 0)
    is_slow = request.param == "radix"
    monkeypatch.setattr(sorting, "has_slow_compressed_stores", lambda identity: is_slow)


@pytest.mark.parametrize("high", [2**16, 2**32])
@pytest.mark.parametrize("shape", [(70_000,), (40, 5000)])
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_ranges_of_integers(dtype, shape, high, each_sort):
    x = (RNG.integers(0, high, shape) - (high // 2 if dtype == "int32" else 0)).astype(dtype)
    ordered, *others = by_numpy(
        lambda x: (lax.sort(x), *lax.sort((x, positions(shape, x.ndim - 1)), num_keys=1)), x
    )
    assert np.array_equal(ordered, np.sort(x))
    assert np.array_equal(others[0], ordered)
    assert np.array_equal(others[1], np.argsort(x, kind="stable"))


@pytest.mark.usefixtures("each_sort")
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_argsort_equals_numpy(dtype):
    with enable_x64(True):
        x = RNG.permutation(100_000).astype(dtype)
        _, order = by_numpy(lambda x: lax.sort((x, positions(x.shape, 0)), num_keys=1), x)
    assert np.array_equal(order, np.argsort(x, kind="stable"))


def test_keys_with_constant_digits():
    with enable_x64(True):
        keys = RNG.integers(0, 9, 5000)
        same = np.zeros(5000, np.int32)
        for first in (keys, same):
            *_, order = by_numpy(
                lambda *keys: lax.sort((*keys, positions((5000,), 0)), num_keys=2), first, same
            )
            assert np.array_equal(order, np.argsort(first, kind="stable"))


@pytest.fixture
def every_size(cpu_limits):
    """NumPy sorts arrays of all sizes."""
    cpu_limits(sorting, SMALLEST_SORT=0)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive is lax.sort_p], ids=str
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        actual = eager.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(list(actual), list(expected))


def test_derivatives_and_batches():
    x, weights = values("int8", (30, 100)).astype(np.float32), RNG.normal(size=100)
    weights = weights.astype(np.float32)

    def weighted(row):
        return lax.reduce_sum(lax.mul(lax.sort(row), weights), (0,))

    gradients = by_numpy(vmap(grad(weighted)), x)
    order = np.argsort(x, axis=1, kind="stable")
    expected = np.empty_like(x)
    np.put_along_axis(expected, order, np.broadcast_to(weights, x.shape), 1)
    assert np.array_equal(gradients, expected)


def test_donated_operand_and_repeated_calls():
    f = jit(lambda x: lax.sort(lax.neg(x)), donate_argnums=0)
    for _ in range(3):
        host = RNG.normal(size=5000).astype(np.float32)
        x = device_put(host)
        assert np.array_equal(f(x), np.sort(-host))
        assert x.is_deleted()


def test_inside_of_loops():
    def program(x):
        return lax.fori_loop(0, 3, lambda _, x: lax.sort(lax.neg(x)), x)

    x = RNG.normal(size=2000).astype(np.float32)
    assert np.array_equal(by_numpy(program, x), np.sort(-x))


def test_several_threads_may_sort():
    f = jit(lambda x: lax.sort(x))
    arrays = [RNG.normal(size=200_000).astype(np.float32) for _ in range(12)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: np.asarray(f(x)), arrays))
    assert all(map(np.array_equal, results, map(np.sort, arrays)))


def test_xla_keeps_other_programs(mesh):
    def lowered(x, **options):
        return jit(lambda x: lax.sort(x)).lower(x, **options).as_text()

    large = np.zeros(4096, np.float32)
    assert CALL in lowered(large)
    assert CALL not in lowered(large[:100])
    assert CALL not in lowered(large, lowering_platforms=("cpu", "cuda"))
    assert CALL not in lowered(large, lowering_platforms=("cuda",))
    sharded = device_put(large, NamedSharding(mesh, PartitionSpec("x")))
    assert CALL not in lowered(sharded)
    assert np.array_equal(jit(lambda x: lax.sort(x))(sharded), large)


def test_the_flag_is_part_of_the_key():
    f = jit(lambda x: lax.sort(x))
    x = RNG.normal(size=3000).astype(np.float32)
    assert config.olympus_cpu_lowerings is True
    assert np.array_equal(f(x), np.sort(x))
    cpu_lowerings.update(False)
    try:
        assert CALL not in f.lower(x).as_text()
        assert np.array_equal(f(x), np.sort(x))
    finally:
        cpu_lowerings.update(True)


# Each line uses a result while a thread of XLA sorts, and the interpreter ends while it does.
_WAITS = """
import numpy as np
from olympus_ir import lax
from olympus_xla import device_put, jit
f = jit(lambda x: lax.sort(lax.sort(lax.neg(lax.sort(x)))))
x = device_put(np.random.default_rng(0).normal(size=1_000_000).astype(np.float32))
f(x).block_until_ready()
expected = np.sort(-np.asarray(x))
assert np.array_equal(np.asarray(f(x)), expected)
assert np.array_equal(np.from_dlpack(f(x)), expected)
assert np.array_equal(memoryview(f(x)), expected)
y = f(x); y.copy_to_host_async(); assert y[0] == expected[0]
y = f(x); y.delete()
y = f(f(x)); del y
y = f(x); y.is_ready(); z = jit(lax.add, donate_argnums=0)(y, x); print(z.shape)
y = f(x)
"""


def test_waiting_and_interpreter_shutdown(run_python):
    assert run_python(_WAITS) == "(1000000,)"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "odd", [[], [0.0], [0.0, 0.0], [0.0, -0.0], ["tiny"], ["-tiny", 0.0], ["nan"], ["-nan", "nan"]]
)
def test_long_rows_with_few_special_elements(dtype, odd):
    tiny = np.finfo(dtype).smallest_subnormal
    named = {"tiny": tiny, "-tiny": -tiny, "nan": np.nan, "-nan": -np.nan}
    line = RNG.normal(size=3000).astype(dtype)
    line[RNG.choice(3000, len(odd), replace=False)] = [named.get(each, each) for each in odd]
    with enable_x64(True):
        assert_same_bits(lax.sort, line)
