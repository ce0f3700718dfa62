# SPDX-License-Identifier: Apache-2.0
"""Hyperbolic functions, their inverses and log1p: errors and special values.

    python test_cpu_hyperbolic.py

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

# The function, that of NumPy, and the bound on the error in units in the last place.
FUNCTIONS = {
    "log1p": (lax.log1p, np.log1p, 0.95),
    "asinh": (lax.asinh, np.arcsinh, 2.0),
    "atanh": (lax.atanh, np.arctanh, 2.05),
    "sinh": (lax.sinh, np.sinh, 2.1),
    "cosh": (lax.cosh, np.cosh, 2.1),
}
DEFAULTS = {name: f"chlo.{name}" for name in FUNCTIONS} | {"log1p": "log_plus_one"}
RNG = np.random.default_rng(0)


def largest_error(name, x):
    """Returns the largest error in units in the last place of the result's dtype."""
    function, numpys, _ = FUNCTIONS[name]
    info = ml_dtypes.finfo(x.dtype)
    # XLA flushes numbers below the normal ones to zero.
    x = np.where(np.abs(x) < info.smallest_normal, x.dtype.type(0), x)
    with np.errstate(all="ignore"):
        expected = numpys(x.astype(np.float64))
    ours = np.asarray(jit(function)(x))
    assert np.array_equal(np.isnan(ours), np.isnan(expected))
    kept = np.abs(expected) >= float(info.smallest_normal)
    kept &= np.abs(expected) < float(info.max)
    unit = np.ldexp(1.0, np.frexp(expected[kept])[1] - 1 - info.nmant)
    return np.max(np.abs(ours[kept].astype(np.float64) - expected[kept]) / unit)


def finite_floats(bits):
    x = bits.view(np.float32)
    return np.where(np.isfinite(x), x, np.float32(0.5))


def samples():
    spread = finite_floats(RNG.integers(0, 2**32, 300_000, dtype=np.uint64).astype(np.uint32))
    near = RNG.uniform(-1, 3, 300_000).astype(np.float32)
    far = RNG.uniform(-90, 90, 300_000).astype(np.float32)
    to_the_pole = (np.geomspace(2**-24, 1, 10_000) - 1).astype(np.float32)
    return np.concatenate([spread, near, far, near * np.float32(1e-3), to_the_pole, -to_the_pole])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision_is_as_accurate_as_xla(name, operations_of_xla):
    x = samples()
    ours = largest_error(name, x)
    assert ours <= FUNCTIONS[name][2]
    with operations_of_xla():
        assert ours <= largest_error(name, x)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_precision_errors_are_about_half_a_unit(name, dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    infinity = np.array(np.inf, dtype).view(np.uint16)
    assert largest_error(name, bits[(bits & 0x7FFF) < infinity].view(dtype)) <= 0.51


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_numpy(name):
    function, numpys, _ = FUNCTIONS[name]
    values = [0.0, -0.0, 1, -1, 2, -2, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 3e38, 89, 90, -90]
    x = np.resize(np.float32(values), 15 * 300)
    with np.errstate(all="ignore"):
        expected = numpys(x.astype(np.float64)).astype(np.float32)
    actual = np.asarray(jit(function)(x))
    np.testing.assert_allclose(actual, expected, rtol=3e-7)
    assert np.array_equal(np.signbit(actual[:2]), np.signbit(expected[:2]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_and_batches(name):
    x = RNG.uniform(-0.9, 0.9, size=(100, 100)).astype(np.float32)
    slope = {
        "log1p": lambda x: 1 / (1 + x),
        "asinh": lambda x: 1 / np.sqrt(1 + x * x),
        "atanh": lambda x: 1 / (1 - x * x),
        "sinh": np.cosh,
        "cosh": np.sinh,
    }[name](x.astype(np.float64))
    np.testing.assert_allclose(jit(vmap(vmap(grad(FUNCTIONS[name][0]))))(x), slope, rtol=1e-6)
    np.testing.assert_allclose(
        jit(vmap(FUNCTIONS[name][0]))(x), FUNCTIONS[name][1](x.astype(np.float64)), rtol=1e-6
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_arrays_and_other_platforms_keep_the_operation(name):
    def lowered(size, dtype=np.float32, **options):
        return jit(FUNCTIONS[name][0]).lower(np.zeros(size, dtype), **options).as_text()

    assert DEFAULTS[name] not in lowered(4096)
    assert DEFAULTS[name] in lowered(4095)
    assert DEFAULTS[name] in lowered(4096, np.complex64)
    assert DEFAULTS[name] in lowered(4096, lowering_platforms=("cuda",))
    assert DEFAULTS[name] in lowered(4096, lowering_platforms=("cpu", "cuda"))


@pytest.fixture
def every_size(cpu_limits):
    """Arrays of all sizes are computed in this way."""
    cpu_limits(trigonometry, SMALLEST=0)


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case.primitive in [getattr(lax, f"{n}_p") for n in FUNCTIONS]],
    ids=str,
)
def test_samples_agree_with_the_reference(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(eager.evaluate(case.primitive, case.args, dict(case.params)), expected)


def check_all_floats():
    """Prints the largest error over all numbers of single precision."""
    count = 2**24
    for name, (_, _, bound) in FUNCTIONS.items():
        chunks = (np.arange(start, start + count) for start in range(0, 2**32, count))
        largest = max(
            largest_error(name, finite_floats(chunk.astype(np.uint32))) for chunk in chunks
        )
        print(f"{name}: {largest:.6f} units in the last place")
        assert largest <= bound


if __name__ == "__main__":
    check_all_floats()
