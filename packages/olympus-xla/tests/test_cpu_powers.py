# SPDX-License-Identifier: Apache-2.0
"""Powers in double precision: exact to 0.51 last units, and C's special values."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_xla import jit

RNG = np.random.default_rng(0)
BOUND = 0.51


def assert_exact(x, y):
    """Compares with the powers of doubles, where these are normal numbers of the dtype."""
    ours = np.asarray(jit(lax.pow)(x, y)).astype(np.float64)
    info = ml_dtypes.finfo(x.dtype)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    normal = np.abs(expected) >= float(info.smallest_normal)
    normal &= np.abs(expected) <= float(info.max)
    exponent = np.frexp(expected[normal])[1] - 1
    unit = np.ldexp(1.0, exponent - info.nmant)
    assert (np.abs(ours[normal] - expected[normal]) / unit).max() < BOUND
    assert normal.sum() > 10_000
    with np.errstate(all="ignore"):
        rounded = expected.astype(x.dtype).astype(np.float64)
    assert np.array_equal(np.isnan(ours), np.isnan(expected))
    infinite = np.isinf(rounded) & (np.abs(expected) > 1.001 * float(info.max))
    assert np.array_equal(ours[infinite], rounded[infinite])
    tiny = np.abs(expected) < 1e-3 * float(info.smallest_subnormal)
    assert not ours[tiny].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_random_operands_have_small_errors(dtype):
    size = 200_000
    x = np.exp(RNG.normal(size=size) * 2).astype(dtype)
    y = (RNG.normal(size=size) * 5).astype(dtype)
    assert_exact(x, y)
    assert_exact(-x, np.round(y.astype(np.float64)).astype(dtype))
    near_one = (1 + RNG.normal(size=size) * 1e-2).astype(dtype)
    assert_exact(near_one, (RNG.normal(size=size) * 500).astype(dtype))


def test_all_bit_patterns_of_base_in_steps():
    x = np.arange(0, 0x7F800000, 1777, dtype=np.uint32).view(np.float32)
    x = x[x >= np.finfo(np.float32).smallest_normal]
    for y in (-2.5, -1.5, -1 / 3, 0.1, 0.75, 1.5, 2.2, 5.0):
        assert_exact(x, np.full_like(x, y))


@pytest.mark.parametrize("exponent", [-7.5, -2.5, -1.5, 1.5, 2.5, 3.5])
def test_constant_exponents_between_integers(exponent):
    special = [0.0, -0.0, 1.0, -1.0, 1e30, 1e-30, -1e30, np.inf, -np.inf, np.nan]
    x = np.exp(RNG.normal(size=100_000) * 4).astype(np.float32)
    x = np.concatenate([x, np.float32(special)])
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), exponent)
    function = jit(lambda x: lax.pow(x, exponent))
    assert "stablehlo.sqrt" in function.lower(x).as_text()
    ours = np.asarray(function(x))
    normal = np.abs(expected) >= np.finfo(np.float32).smallest_normal
    normal &= np.abs(expected) <= np.finfo(np.float32).max
    unit = np.spacing(expected[normal].astype(np.float32)).astype(np.float64)
    assert (np.abs(ours[normal] - expected[normal]) / unit).max() < BOUND
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float32)
    last = slice(-len(special), None)
    assert np.allclose(ours[last], rounded[last], rtol=1e-6, equal_nan=True)
    assert not np.signbit(ours[~np.isnan(expected)]).any()


def test_special_values_equal_c():
    inf, nan = np.inf, np.nan
    odd = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30, inf, -inf, nan]
    pairs = np.array(list(itertools.product(odd, odd)), np.float32)
    x, y = np.resize(pairs, (40 * len(pairs), 2)).T.copy()
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    ours = np.asarray(jit(lax.pow)(x, y))
    assert np.allclose(ours, expected, rtol=2e-7, atol=0, equal_nan=True)
    kept = ~np.isnan(expected)
    assert np.array_equal(np.signbit(ours[kept]), np.signbit(expected[kept]))


def test_derivatives_and_batches():
    x = np.exp(RNG.normal(size=(2, 5000))).astype(np.float32)
    y = RNG.normal(size=(2, 5000)).astype(np.float32)

    def total(x, y):
        return lax.reduce_sum(lax.pow(x, y), (0,))

    of_x, of_y = jit(vmap(grad(total, (0, 1))))(x, y)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    assert np.allclose(of_x, wide_y * wide_x ** (wide_y - 1), rtol=1e-5)
    assert np.allclose(of_y, wide_x**wide_y * np.log(wide_x), rtol=1e-4, atol=1e-5)


def test_conditions_that_keep_the_operation():
    x = np.ones(5000, np.float32)

    def text(function, *args, **options):
        return jit(function).lower(*args, **options).as_text()

    assert "stablehlo.power" not in text(lambda x: lax.pow(x, np.float32(1.5)), x)
    assert "stablehlo.power" in text(lambda x: lax.pow(x, np.float32(0.5)), x)
    assert "stablehlo.power" in text(lax.pow, x[:100], x[:100])
    assert "stablehlo.power" in text(lax.pow, x, x, lowering_platforms=("cpu", "cuda"))
    cpu_lowerings.update(False)
    try:
        assert "stablehlo.power" in text(lax.pow, x, x)
    finally:
        cpu_lowerings.update(True)


def test_exponents_may_be_integers():
    x = RNG.normal(size=5000).astype(np.float32)
    y = RNG.integers(-5, 5, 5000).astype(np.int32)
    assert np.allclose(jit(lax.pow)(x, y), np.power(x.astype(np.float64), y), rtol=1e-6)
