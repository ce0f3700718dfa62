# SPDX-License-Identifier: Apache-2.0
"""Trigonometric functions and cube roots in double precision: exact to 0.51 last units.

    python test_cpu_trigonometry.py

checks all numbers of single precision, in some minutes.
"""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.reference import reference_evaluator
from olympus_testing import assert_close, cases
from olympus_xla import jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import trigonometry

FUNCTIONS = {
    "sin": (lax.sin, np.sin),
    "cos": (lax.cos, np.cos),
    "tan": (lax.tan, np.tan),
    "asin": (lax.asin, np.arcsin),
    "acos": (lax.acos, np.arccos),
    "atan": (lax.atan, np.arctan),
    "cbrt": (lax.cbrt, np.cbrt),
}
PRIMITIVES = [getattr(lax, f"{name}_p") for name in (*FUNCTIONS, "atan2", "pow")]
BOUND = 0.51
RNG = np.random.default_rng(0)


def errors(ours, expected):
    """Errors in units in the last place; the expected values are doubles."""
    info = ml_dtypes.finfo(ours.dtype)
    exponent = np.frexp(expected)[1] - 1
    exponent = np.maximum(exponent, info.minexp)
    return np.abs(ours.astype(np.float64) - expected) / np.ldexp(1.0, exponent - info.nmant)


def largest_error(name, x):
    ours, numpys = FUNCTIONS[name]
    function = jit(ours)
    if name in ("asin", "acos"):
        with np.errstate(divide="ignore", over="ignore"):
            x = np.where(np.abs(x) <= 1, x, np.reciprocal(x))
    # XLA flushes numbers below the normal ones to zero.
    x = np.where(np.abs(x) < ml_dtypes.finfo(x.dtype).smallest_normal, x.dtype.type(0), x)
    expected = numpys(x.astype(np.float64))
    # Results below the normal numbers are flushed to zero; the tangent of a half overflows.
    info = ml_dtypes.finfo(x.dtype)
    kept = np.abs(expected) >= float(info.smallest_normal)
    kept &= np.abs(expected) < float(info.max)
    return errors(np.asarray(function(x)), expected)[kept].max()


def finite_floats(bits):
    x = bits.view(np.float32)
    return np.where(np.isfinite(x), x, np.float32(1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision_has_small_errors(name):
    samples = finite_floats(RNG.integers(0, 2**32, 300_000, dtype=np.uint64).astype(np.uint32))
    # Next to multiples of pi/2 the result has the fewest digits.
    multiples = (np.arange(1, 100_000) * (np.pi / 2)).astype(np.float32)
    hard = np.float32(16367173.0) * np.float32(2.0) ** np.arange(-30, 104, dtype=np.float32)
    x = np.concatenate([samples, multiples, -multiples, hard])
    assert largest_error(name, x) <= BOUND


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_precision_errors_are_about_half_a_unit(name, dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    infinity = np.array(np.inf, dtype).view(np.uint16)
    x = bits[(bits & 0x7FFF) < infinity].view(dtype)
    assert largest_error(name, x) <= BOUND


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_numpy(name):
    function, numpys = FUNCTIONS[name]
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30], np.float32)
    x = np.resize(values, 7 * 1000)
    with np.errstate(invalid="ignore"):
        expected = numpys(x.astype(np.float64)).astype(np.float32)
    actual = np.asarray(jit(function)(x))
    assert np.array_equal(actual, expected, equal_nan=True)
    assert np.array_equal(np.signbit(actual[:2]), np.signbit(expected[:2]))


def test_atan2_at_special_points():
    special = np.float32([0.0, -0.0, 1.0, -1.0, 2.5, -1e30, 1e-30, np.inf, -np.inf, np.nan])
    y, x = (each.ravel() for each in np.meshgrid(special, special))
    y, x = np.resize(y, 5000), np.resize(x, 5000)
    actual, expected = np.asarray(jit(lax.atan2)(y, x)), np.arctan2(y, x)
    np.testing.assert_allclose(actual, expected, rtol=1e-7)
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(actual)[is_number], np.signbit(expected)[is_number])
    y, x = RNG.normal(size=(2, 300_000)).astype(np.float32) ** 3
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert errors(np.asarray(jit(lax.atan2)(y, x)), exact).max() <= BOUND


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_accurate_as_xla(name, operations_of_xla):
    x = RNG.normal(0, 100, 50_000).astype(np.float32)
    ours = largest_error(name, x)
    with operations_of_xla():
        assert ours <= largest_error(name, x)


def test_derivatives_and_batches():
    x = RNG.normal(size=(100, 100)).astype(np.float32)
    wide = x.astype(np.float64)
    slopes = jit(vmap(vmap(grad(lax.sin))))(x)
    assert errors(np.asarray(slopes), np.cos(wide)).max() <= BOUND
    slopes = jit(vmap(vmap(grad(lax.tan))))(x)
    np.testing.assert_allclose(slopes, 1 / np.cos(wide) ** 2, rtol=1e-6)


def test_no_array_of_double_precision_is_kept():
    x = np.ones((1000, 1000), np.float32)
    for program in (lax.sin, lambda x: lax.reduce_sum(lax.mul(lax.sin(x), lax.cos(x)), (0, 1))):
        text = jit(program).lower(x).compile().as_text()
        assert "f64[1000,1000]" in text  # inside of fusions, whose values are in registers
        assert "f64[" not in text.partition("ENTRY")[2]


def test_small_arrays_and_other_platforms_keep_the_operation():
    def lowered(size, **options):
        return jit(lax.sin).lower(np.zeros(size, np.float32), **options).as_text()

    assert "stablehlo.sine" not in lowered(4096)
    assert "stablehlo.sine" in lowered(4095)
    assert "stablehlo.sine" in lowered(4096, lowering_platforms=("cuda",))
    assert "stablehlo.sine" in lowered(4096, lowering_platforms=("cpu", "cuda"))


@pytest.fixture
def every_size(cpu_limits):
    """Arrays of all sizes are computed in double precision."""
    cpu_limits(trigonometry, SMALLEST=0)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive in PRIMITIVES], ids=str
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(eager.evaluate(case.primitive, case.args, dict(case.params)), expected)


def check_all_floats():
    """Prints the largest error over all numbers of single precision."""
    count = 2**24
    for name in FUNCTIONS:
        chunks = (np.arange(start, start + count) for start in range(0, 2**32, count))
        largest = max(
            largest_error(name, finite_floats(chunk.astype(np.uint32))) for chunk in chunks
        )
        print(f"{name}: {largest:.6f} units in the last place")
        assert largest <= BOUND


if __name__ == "__main__":
    check_all_floats()
