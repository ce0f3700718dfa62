# SPDX-License-Identifier: Apache-2.0
"""Remainders of floats in double precision: the bits of the C library, which NumPy calls."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit

RNG = np.random.default_rng(0)
SIZE = 1 << 16


def same(found, dividend, divisor):
    """Returns whether remainders have the bits of NumPy's; all NaNs are the same."""
    with np.errstate(invalid="ignore"):
        expected = np.fmod(dividend.astype(np.float32), divisor.astype(np.float32))
    found = np.asarray(found).astype(np.float32)
    is_nan = np.isnan(expected) & np.isnan(found)
    return bool((is_nan | (expected.view(np.int32) == found.view(np.int32))).all())


def is_arithmetic(*args, **options):
    return "floor" in jit(lax.rem).lower(*args, **options).as_text()


def near_multiples():
    """Returns dividends within a few units in the last place of multiples of their divisors."""
    divisor = np.exp2(RNG.uniform(-90, 90, SIZE)).astype(np.float32)
    factor = np.floor(np.exp2(RNG.uniform(-3, 27.9, SIZE)))
    dividend = (divisor * factor).astype(np.float32)
    dividend = (dividend.view(np.int32) + RNG.integers(-2, 3, SIZE, np.int32)).view(np.float32)
    fits = np.abs(dividend.astype(np.float64)) < divisor * 2.0**28
    signs = RNG.choice(np.array([-1, 1], np.float32), (2, SIZE))
    return np.where(fits, dividend, divisor) * signs[0], divisor * signs[1]


def test_near_multiples_have_the_bits_of_numpy():
    dividend, divisor = near_multiples()
    assert is_arithmetic(dividend, divisor)
    assert same(jit(lax.rem)(dividend, divisor), dividend, divisor)


def test_large_quotients_have_the_bits_of_numpy():
    # The exponents of all normal numbers; the C library does not know subnormal divisors in XLA.
    bits = RNG.integers(1 << 23, 0x7F800000, (2, SIZE)).astype(np.int32)
    dividend, divisor = bits.view(np.float32)
    assert same(jit(lax.rem)(dividend, divisor), dividend, divisor)


@pytest.mark.parametrize("divisor", [2.5, -2.5, 0.0, np.inf, -np.inf, np.nan, 3e38, 2.0**-120])
def test_special_operands(divisor):
    special = [0.0, -0.0, 1.0, -2.5, 7.5, 1e-45, -1e-40, 1e-37, 3e38, np.inf, -np.inf, np.nan]
    dividend = np.tile(np.array(special, np.float32), 400)
    divisors = np.full_like(dividend, divisor)
    assert same(jit(lax.rem)(dividend, divisors), dividend, divisors)
    assert same(jit(lax.rem)(dividend, divisors[:1].reshape(())), dividend, divisors)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    dividend, divisor = (RNG.normal(size=(2, SIZE)) * [[100], [1]]).astype(dtype)
    assert same(jit(lax.rem)(dividend, divisor), dividend, divisor)


def test_derivatives_and_batches():
    dividend, divisor = RNG.normal(size=(2, 8, 1024)).astype(np.float32)
    gradients = jit(grad(lambda x, y: lax.reduce_sum(lax.rem(x, y), (0, 1)), (0, 1)))
    of_dividend, of_divisor = gradients(dividend, divisor)
    assert np.array_equal(of_dividend, np.ones_like(dividend))
    assert np.array_equal(of_divisor, -np.trunc(dividend / divisor))
    mapped = jit(vmap(lax.rem, (0, None)))(dividend, divisor[0])
    assert same(mapped, dividend, np.broadcast_to(divisor[0], dividend.shape))


def test_other_remainders_are_unchanged(mesh):
    dividend, divisor = near_multiples()
    assert not is_arithmetic(dividend[:1000], divisor[:1000])
    assert not is_arithmetic(dividend, divisor, lowering_platforms=("cpu", "cuda"))
    assert not is_arithmetic(*(RNG.integers(1, 9, (2, SIZE)).astype(np.int32)))
    sharded = device_put(dividend, NamedSharding(mesh, PartitionSpec("x")))
    assert not is_arithmetic(sharded, divisor)
    assert same(jit(lax.rem)(sharded, divisor), dividend, divisor)
