# SPDX-License-Identifier: Apache-2.0
"""Elementwise reference rules compared with NumPy, SciPy and the semantics of XLA."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from olympus_ir import lax
from olympus_ir.reference import numerics, reference_rules


def rule(primitive, *operands, **params):
    with np.errstate(all="ignore"):
        return reference_rules[primitive](*map(np.asarray, operands), **params)


@pytest.mark.parametrize(
    ("function", "expected", "low", "high"),
    [
        (numerics.erf, special.erf, -6, 6),
        (numerics.erfc, special.erfc, -6, 25),
        (numerics.erf_inv, special.erfinv, -1, 1),
        (numerics.lgamma, special.gammaln, -20, 50),
        (numerics.digamma, special.digamma, 0.01, 100),
        (numerics.digamma, special.digamma, -20, 0),
    ],
)
def test_special_functions_equal_those_of_standard_library(function, expected, low, high):
    x = np.random.default_rng(0).uniform(low, high, 2000)
    np.testing.assert_allclose(function(x), expected(x), rtol=2e-13, atol=1e-13)


def test_inverse_error_function_near_one():
    x = 1 - np.logspace(-15, -2, 50)
    np.testing.assert_allclose(numerics.erf_inv(x), special.erfinv(x), rtol=1e-13)
    tiny = np.logspace(-300, -3, 50)
    np.testing.assert_allclose(numerics.erf_inv(-tiny), special.erfinv(-tiny), rtol=1e-13)


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        (numerics.erf_inv, 1.0, math.inf),
        (numerics.erf_inv, -1.0, -math.inf),
        (numerics.erf_inv, 1.5, math.nan),
        (numerics.erf_inv, math.nan, math.nan),
        (numerics.lgamma, 0.0, math.inf),
        (numerics.lgamma, -3.0, math.inf),
        (numerics.lgamma, math.inf, math.inf),
        (numerics.lgamma, -math.inf, math.inf),
        (numerics.digamma, 0.0, math.nan),
        (numerics.digamma, -3.0, math.nan),
        (numerics.digamma, math.inf, math.inf),
        (numerics.digamma, -math.inf, math.nan),
    ],
)
def test_special_functions_at_poles_and_infinities(function, argument, expected):
    np.testing.assert_equal(float(function(argument)), expected)


def test_functions_are_rounded_once():
    x = np.linspace(0.1, 3, 1000)
    for dtype in (np.float16, np.float32, ml_dtypes.bfloat16):
        narrow = x.astype(dtype)
        expected = np.log(narrow.astype(np.float64)).astype(dtype)
        assert (rule(lax.log_p, narrow, accuracy=None) == expected).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_signed_division_truncates_and_has_defined_edges(dtype):
    smallest = np.iinfo(dtype).min
    x = np.array([7, -7, 7, -7, 5, 0, smallest, smallest], dtype)
    y = np.array([2, 2, -2, -2, 0, 0, -1, 0], dtype)
    assert rule(lax.div_p, x, y).tolist() == [3, -3, -3, 3, -1, -1, smallest, -1]
    assert rule(lax.rem_p, x, y).tolist() == [1, -1, 1, -1, 5, 0, 0, smallest]


def test_unsigned_division_by_zero_sets_all_bits():
    x, y = np.array([7, 5, 0], np.uint8), np.array([2, 0, 0], np.uint8)
    assert rule(lax.div_p, x, y).tolist() == [3, 255, 255]
    assert rule(lax.rem_p, x, y).tolist() == [1, 5, 0]


def test_integers_wrap_around():
    assert rule(lax.add_p, np.int8(127), np.int8(1)) == -128
    assert rule(lax.neg_p, np.uint8(1)) == 255
    assert rule(lax.abs_p, np.int8(-128)) == -128
    assert rule(lax.integer_pow_p, np.uint8(7), y=3) == 343 % 256


def test_float_remainder_has_sign_of_dividend():
    x, y = np.array([5.5, -5.5, 5.5], np.float32), np.array([2, 2, -2], np.float32)
    assert rule(lax.rem_p, x, y).tolist() == [1.5, -1.5, 1.5]


def test_sign_keeps_zeros_and_nan():
    x = np.array([2.0, -3.0, 0.0, -0.0, np.nan], np.float32)
    result = rule(lax.sign_p, x)
    np.testing.assert_array_equal(result, np.array([1, -1, 0, -0.0, np.nan], np.float32))
    assert np.signbit(result).tolist() == [False, True, False, True, False]
    np.testing.assert_allclose(rule(lax.sign_p, np.complex64(3 + 4j)), 0.6 + 0.8j, rtol=1e-6)
    assert rule(lax.sign_p, np.complex64(0)) == 0


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (lax.RoundingMethod.AWAY_FROM_ZERO, [-3, -2, -1, 1, 2, 3, 0, 2.0**60]),
        (lax.RoundingMethod.TO_NEAREST_EVEN, [-2, -2, -0.0, 0, 2, 2, 0, 2.0**60]),
    ],
)
def test_halves_are_rounded_by_the_chosen_method(method, expected):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, 2.0**60])
    assert rule(lax.round_p, x, rounding_method=method).tolist() == expected


def test_maximum_propagates_nan():
    x, y = np.array([1, np.nan, 2], np.float32), np.array([np.nan, 1, 3], np.float32)
    np.testing.assert_array_equal(rule(lax.max_p, x, y), np.array([np.nan, np.nan, 3], np.float32))


def test_complex_numbers_are_ordered_lexically():
    x, y = np.array([1 + 2j, 1 + 2j], np.complex64), np.array([1 + 1j, 2 - 5j], np.complex64)
    assert rule(lax.max_p, x, y).tolist() == [1 + 2j, 2 - 5j]
    assert rule(lax.min_p, x, y).tolist() == [1 + 1j, 1 + 2j]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64])
def test_bits_are_counted_in_the_unsigned_pattern(dtype):
    x = np.array([0, 1, 5, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    bits = np.iinfo(dtype).bits
    patterns = [int(value) & (2**bits - 1) for value in x]
    assert rule(lax.population_count_p, x).tolist() == [p.bit_count() for p in patterns]
    assert rule(lax.clz_p, x).tolist() == [bits - p.bit_length() for p in patterns]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_shifts_beyond_the_width_have_defined_results(dtype):
    bits = np.iinfo(dtype).bits
    x = np.array([1, -77 if np.iinfo(dtype).min else 200], dtype)[:, None]
    y = np.array([0, 1, 3, bits - 1, bits, bits + 5], dtype)
    pattern = np.array([[int(value) & (2**bits - 1)] for value in x[:, 0]], object)
    shift = y.astype(object)
    left = (pattern * 2**shift) % 2**bits
    right = pattern // 2**shift
    as_dtype = lambda p: p.astype(np.uint64).astype(dtype)  # noqa: E731
    np.testing.assert_array_equal(rule(lax.shift_left_p, x, y), as_dtype(left))
    np.testing.assert_array_equal(rule(lax.shift_right_logical_p, x, y), as_dtype(right))
    # The highest bit is the sign, also of unsigned numbers.
    arithmetic = np.where(pattern < 2 ** (bits - 1), pattern, pattern - 2**bits) // 2**shift
    np.testing.assert_array_equal(
        rule(lax.shift_right_arithmetic_p, x, y), arithmetic.astype(np.int64).astype(dtype)
    )


def test_shifts_by_negative_amounts():
    assert rule(lax.shift_left_p, np.int32(1), np.int32(-1)) == 0
    assert rule(lax.shift_right_arithmetic_p, np.int32(-1), np.int32(-1)) == -1


def test_small_integers_wrap_around():
    x = np.array([7, -8, 3], ml_dtypes.int4)
    y = np.array([1, 1, -2], ml_dtypes.int4)
    assert rule(lax.add_p, x, y).tolist() == [-8, -7, 1]
    assert rule(lax.and_p, x, y).tolist() == [1, 0, 2]
    assert rule(lax.population_count_p, x).tolist() == [3, 1, 2]
    assert rule(lax.div_p, x, y).tolist() == [7, -8, -1]


def test_select_chooses_by_number():
    cases = [np.full(4, value, np.float32) for value in (0, 1, 2)]
    which = np.array([0, 2, 1, 2], np.int32)
    assert rule(lax.select_n_p, which, *cases).tolist() == [0, 2, 1, 2]
    assert rule(lax.select_n_p, np.array(True), *cases[:2]).tolist() == [1, 1, 1, 1]


def test_convert_from_complex_warns():
    params = {"new_dtype": np.dtype(np.float32), "weak_type": False, "sharding": None}
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert rule(lax.convert_element_type_p, np.complex64(1 + 2j), **params) == 1


@pytest.mark.parametrize("dtype", [np.bool_, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, np.float16])
def test_convert_to_small_dtypes(dtype):
    params = {"new_dtype": np.dtype(dtype), "weak_type": False, "sharding": None}
    result = rule(lax.convert_element_type_p, np.array([0.0, 1.0, 3.0], np.float32), **params)
    assert result.dtype == dtype
    assert result.astype(np.float32).tolist() == ([0, 1, 1] if dtype is np.bool_ else [0, 1, 3])


def test_bitcast_of_small_integers():
    x = np.array([0x21, 0xF3], np.uint8)
    nibbles = rule(lax.bitcast_convert_type_p, x, new_dtype=np.dtype(ml_dtypes.uint4))
    assert nibbles.astype(int).tolist() == [[1, 2], [3, 15]]
    again = rule(lax.bitcast_convert_type_p, nibbles, new_dtype=np.dtype(np.uint8))
    assert (again == x).all()
    signed = rule(lax.bitcast_convert_type_p, x, new_dtype=np.dtype(ml_dtypes.int4))
    assert signed.astype(int).tolist() == [[1, 2], [3, -1]]


@pytest.mark.parametrize("target", [np.float16, ml_dtypes.bfloat16])
def test_reduce_precision_rounds_as_conversion_does(target):
    limits = ml_dtypes.finfo(target)
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    rounded = rule(
        lax.reduce_precision_p,
        x,
        exponent_bits=limits.bits - 1 - limits.nmant,
        mantissa_bits=limits.nmant,
    )
    assert (rounded == x.astype(target).astype(np.float32)).all()


def test_reduce_precision_out_of_range():
    x = np.array([1e30, -1e30, 1e-30, -1e-30, np.inf, np.nan], np.float32)
    result = rule(lax.reduce_precision_p, x, exponent_bits=5, mantissa_bits=10)
    np.testing.assert_array_equal(
        result, np.array([np.inf, -np.inf, 0, -0.0, np.inf, np.nan], np.float32)
    )


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4"])
def test_narrow_integers_keep_their_dtype(name):
    """NumPy computes some functions of narrow integers in eight bits."""
    info = ml_dtypes.iinfo(name)
    x = np.arange(info.min, info.max + 1).astype(name)
    wide, size = x.astype(np.int64), 2**info.bits
    for primitive, operands, expected in (
        (lax.abs_p, (x,), np.abs(wide)),
        (lax.neg_p, (x,), -wide),
        (lax.max_p, (x, x[::-1]), np.maximum(wide, wide[::-1])),
        (lax.min_p, (x, x[::-1]), np.minimum(wide, wide[::-1])),
    ):
        result = rule(primitive, *operands)
        assert result.dtype == name
        np.testing.assert_array_equal((result.astype(np.int64) - expected) % size, 0)
    for primitive, expected in ((lax.reduce_max_p, info.max), (lax.reduce_min_p, info.min)):
        result = rule(primitive, x, axes=(0,))
        assert (result.dtype, int(result)) == (name, expected)
