# SPDX-License-Identifier: Apache-2.0
"""Cumulative operations by loops over blocks, compared with NumPy and XLA's windows."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings.config_states import enable_x64
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu.scans import blocks as scans

RNG = np.random.default_rng(0)
SCANS = {
    lax.cumsum: np.cumsum,
    lax.cumprod: np.cumprod,
    lax.cummax: np.maximum.accumulate,
    lax.cummin: np.minimum.accumulate,
    lax.cumlogsumexp: np.logaddexp.accumulate,
}
# Vectors with and without divisors, rows, columns, few and many neighbors.
SHAPES = [(10_007,), (90_000,), (40, 100), (3, 700, 5), (5000, 2)]


def by_numpy(function, x, axis, reverse):
    x = np.flip(x, axis) if reverse else x
    result = SCANS[function](x, axis=axis, dtype=x.dtype)
    return np.flip(result, axis) if reverse else result


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", SCANS, ids=lambda function: function.__name__)
def test_scans_of_real_numbers_equal_numpy(function, shape):
    x = RNG.normal(size=shape).astype(np.float32)
    x = np.exp2(x / 16) if function is lax.cumprod else x

    def scans_along_all_axes(x):
        return [function(x, axis, rev) for axis in range(x.ndim) for rev in (False, True)]

    results = iter(jit(scans_along_all_axes)(x))
    for axis in range(x.ndim):
        for reverse in (False, True):
            expected = by_numpy(function, x.astype(np.float64), axis, reverse)
            if function in (lax.cummax, lax.cummin):
                assert np.array_equal(next(results), expected)
            else:
                atol = 1e-5 * np.abs(expected).max() if function is not lax.cumprod else 0
                np.testing.assert_allclose(next(results), expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_scans_of_integers_are_exact(dtype):
    x = RNG.integers(0, 120, (3, 5000)).astype(dtype)
    with enable_x64(True):
        for function in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin):
            for axis, reverse in ((0, False), (1, True)):
                result = jit(lambda x, f=function, a=axis, r=reverse: f(x, a, r))(x)
                assert np.array_equal(result, by_numpy(function, x, axis, reverse))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_sums_are_rounded_once(dtype):
    x = RNG.random((20, 1000)).astype(dtype)
    expected = np.cumsum(x.astype(np.float64), 1).astype(dtype).astype(np.float64)
    result = np.asarray(jit(lambda x: lax.cumsum(x, 1))(x))
    assert result.dtype == dtype
    # Where a sum of single precision lies next to the middle of two halves, it may be the other.
    np.testing.assert_allclose(
        result.astype(np.float64), expected, rtol=float(ml_dtypes.finfo(dtype).eps)
    )


@pytest.mark.parametrize("function", SCANS, ids=lambda function: function.__name__)
def test_special_values_equal_xla(function, operations_of_xla):
    x = RNG.choice([0.0, -0.0, 1.0, 0.5, 2.0], (8, 4096)).astype(np.float32)
    for row, value in enumerate([np.inf, -np.inf, np.nan, -np.nan]):
        x[row, 100 * (row + 1)] = value
        x[row + 4, ::1000] = value
    x[0, 3000] = -np.inf

    def scanned(x):
        return [function(x, 1), function(x, 0, True)]

    ours = jit(scanned)(x)
    with operations_of_xla():
        theirs = jit(lambda x: scanned(x))(x)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
        zero = np.asarray(other) == 0
        assert np.array_equal(np.signbit(one)[zero], np.signbit(other)[zero])


def test_errors_grow_with_square_root_of_length():
    x = RNG.random(1_000_000).astype(np.float32)
    exact = np.cumsum(x.astype(np.float64))
    error = np.abs(np.asarray(jit(lambda x: lax.cumsum(x, 0))(x)) - exact) / exact
    assert error.max() <= 2 * 1000 * 2.0**-24
    assert (np.diff(jit(lambda x: lax.cumsum(x, 0))(x)) >= 0).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_long_sums_are_rounded_once(reverse):
    x = RNG.normal(size=(2, 50_003)).astype(np.float32)
    exact = by_numpy(lax.cumsum, x.astype(np.float64), 1, reverse)
    found = np.asarray(jit(lambda x: lax.cumsum(x, 1, reverse))(x))
    assert (np.abs(found - exact) <= np.spacing(np.abs(found)) * 0.501).all()


def test_derivatives_and_batches():
    x = RNG.normal(size=(30, 300)).astype(np.float32)
    weights = RNG.normal(size=(30, 300)).astype(np.float32)

    def value(x, weights):
        return lax.reduce_sum(lax.mul(weights, lax.cumsum(x, 0)), (0,))

    slopes = jit(vmap(grad(value)))(x, weights)
    np.testing.assert_allclose(slopes, np.cumsum(weights[:, ::-1], 1)[:, ::-1], atol=1e-4)


@pytest.fixture
def every_size(cpu_limits):
    """Loops scan arrays of all sizes, in short blocks."""
    cpu_limits(scans, SMALLEST=0, _LONGEST=4)


PRIMITIVES = [lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p, lax.cumlogsumexp_p]


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive in PRIMITIVES], ids=str
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(eager.evaluate(case.primitive, case.args, dict(case.params)), expected)


def test_programs_for_several_devices_keep_the_windows(mesh):
    def lowered(x, **options):
        return jit(lambda x: lax.cumsum(x, 0)).lower(x, **options).as_text()

    x = np.ones(4096, np.float32)
    assert "reduce_window" not in lowered(x)
    assert "reduce_window" in lowered(x[:1000])
    assert "reduce_window" in lowered(x, lowering_platforms=("tpu",))
    sharded = device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert "reduce_window" in lowered(sharded)
    assert np.array_equal(jit(lambda x: lax.cumsum(x, 0))(sharded), np.arange(1, 4097))
