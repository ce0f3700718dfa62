# SPDX-License-Identifier: Apache-2.0
"""Logarithm of the gamma function and its derivative: errors, poles and reflections."""

import math

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

FUNCTIONS = {"lgamma": lax.lgamma, "digamma": lax.digamma}
RNG = np.random.default_rng(0)


def exact_lgamma(x):
    return np.array([math.lgamma(each) for each in x.tolist()])


def unit(expected, dtype=np.float32):
    info = ml_dtypes.finfo(dtype)
    return np.ldexp(1.0, np.frexp(expected)[1] - 1 - info.nmant)


def operands():
    """Operands on both sides of the reflection, next to zeros and poles, and of all sizes."""
    parts = [
        RNG.uniform(-6, 12, 20_000),
        RNG.uniform(-300, 300, 5_000),
        10.0 ** RNG.uniform(-30, 30, 5_000),
        1 + RNG.uniform(-1, 1, 2_000) * 10.0 ** RNG.uniform(-6, 0, 2_000),
        2 + RNG.uniform(-1, 1, 2_000) * 10.0 ** RNG.uniform(-6, 0, 2_000),
    ]
    x = np.concatenate(parts).astype(np.float32)
    return x[(x > 0) | (x != np.floor(x))]


def test_errors_of_the_logarithm(operations_of_xla):
    x = operands()
    expected = exact_lgamma(x.astype(np.float64))
    errors = np.abs(np.asarray(jit(lax.lgamma)(x)) - expected)
    away = np.abs(expected) > 1e-3
    assert np.max((errors / unit(expected))[away]) <= 0.51
    assert np.max(errors[~away]) <= 2.0**-34
    with operations_of_xla():
        theirs = np.abs(np.asarray(jit(lax.lgamma)(x)) - expected)
    assert np.max(errors / unit(expected)) <= np.max(theirs / unit(expected))


def test_errors_of_the_derivative():
    """The differences between neighbors and the reflection are independent of the series."""
    x = np.abs(operands())
    x = x[(x > 0.01) & (x < 1e4)]
    one_more = x + np.float32(1)
    x = x[(one_more - np.float32(1)) == x]
    ours = jit(lax.digamma)
    difference = np.asarray(ours(x + np.float32(1)), np.float64) - np.asarray(ours(x), np.float64)
    size = np.maximum(np.abs(np.asarray(ours(x))), 1)
    assert np.max(np.abs(difference - 1 / x.astype(np.float64)) / size) <= 1.5e-7
    eighths = (np.arange(-4001, 4001, 2) / 8).astype(np.float32)
    eighths = eighths[np.abs(eighths) < 500]
    expected = np.pi / np.tan(np.pi * (eighths.astype(np.float64) % 1))
    many = np.resize(eighths, 8 * eighths.size)
    reflected = np.asarray(ours(np.float32(1) - many)) - np.asarray(ours(many), np.float64)
    np.testing.assert_allclose(reflected[: eighths.size], expected, atol=2e-6)


def test_known_values_of_the_derivative():
    euler = 0.5772156649015329
    values = {
        1.0: -euler,
        2.0: 1 - euler,
        0.5: -euler - 2 * math.log(2),
        0.25: -euler - math.pi / 2 - 3 * math.log(2),
        10.0: sum(1 / k for k in range(1, 10)) - euler,
        100.0: sum(1 / k for k in range(1, 100)) - euler,
        -0.5: -euler - 2 * math.log(2) + 2,
    }
    x = np.resize(np.float32(list(values)), 7 * 1000)
    actual = np.asarray(jit(lax.digamma)(x))[: len(values)]
    expected = np.array(list(values.values()))
    assert np.max(np.abs(actual - expected) / unit(expected)) <= 0.51


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_errors_are_about_half_a_unit(dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    infinity = np.array(np.inf, dtype).view(np.uint16)
    x = bits[(bits & 0x7FFF) < infinity].view(dtype)
    wide = x.astype(np.float64)
    is_normal = np.abs(wide) >= float(ml_dtypes.finfo(dtype).smallest_normal)
    x = x[((wide > 0) | (wide != np.floor(wide))) & is_normal]
    expected = exact_lgamma(x.astype(np.float64))
    actual = np.asarray(jit(lax.lgamma)(x)).astype(np.float64)
    kept = (np.abs(expected) < float(ml_dtypes.finfo(dtype).max)) & (np.abs(expected) > 1e-4)
    assert np.max((np.abs(actual - expected) / unit(expected, dtype))[kept]) <= 0.51


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_equal_xla(name, operations_of_xla):
    values = [0.0, -0.0, -1, -2, -7, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 3e38, -3e38, 1e37]
    x = np.resize(np.float32(values), 13 * 400)
    ours = np.asarray(jit(FUNCTIONS[name])(x))
    with operations_of_xla():
        theirs = np.asarray(jit(FUNCTIONS[name])(x))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_derivatives_and_batches():
    x = RNG.uniform(0.5, 9, size=(100, 100)).astype(np.float32)
    np.testing.assert_allclose(
        jit(vmap(vmap(grad(lax.lgamma))))(x), jit(vmap(lax.digamma))(x), rtol=1e-6
    )
    # The integral of the derivative, by the trapezoidal rule.
    above, below = (np.asarray(jit(lax.lgamma)(x + step)) for step in np.float32([0.25, -0.25]))
    slopes = [np.asarray(jit(lax.digamma)(x + np.float32(k / 64 - 0.25))) for k in range(33)]
    integral = (sum(slopes) - (slopes[0] + slopes[-1]) / 2) / 64
    np.testing.assert_allclose(above - below, integral, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_array_of_double_precision_is_kept(name):
    compiled = jit(FUNCTIONS[name]).lower(np.ones(100_000, np.float32)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_arrays_and_other_platforms_keep_the_operation(name):
    def lowered(size, dtype=np.float32, **options):
        return jit(FUNCTIONS[name]).lower(np.zeros(size, dtype), **options).as_text()

    assert f"chlo.{name}" not in lowered(4096)
    assert f"chlo.{name}" in lowered(4095)
    assert f"chlo.{name}" in lowered(4096, lowering_platforms=("cuda",))
    assert f"chlo.{name}" in lowered(4096, lowering_platforms=("cpu", "cuda"))


@pytest.fixture
def every_size(cpu_limits):
    """Arrays of all sizes are computed in double precision."""
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
