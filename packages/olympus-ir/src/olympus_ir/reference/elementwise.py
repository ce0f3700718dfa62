# SPDX-License-Identifier: Apache-2.0
"""Reference rules of elementwise operations.

NumPy broadcasts scalars and dimensions of size one as the operations do. Mathematical functions are
computed in double precision and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.core.values import cast
from ..lax.elementwise import arithmetic, conversion, extended, logic, mathematics
from ..types import dtypes
from . import numerics
from .arrays import elements_of, physical_of
from .numerics import in_double, in_wide_integers, wide_integer, widen
from .tables import reference_rules

define = reference_rules.define


# ---- arithmetic ----

define(arithmetic.neg_p, in_wide_integers(np.negative))
define(arithmetic.add_p, np.add)
define(arithmetic.sub_p, np.subtract)
define(arithmetic.add_any_p, np.add)
define(arithmetic.square_p, lambda x: x * x)
define(arithmetic.max_p, in_wide_integers(np.maximum))
define(arithmetic.min_p, in_wide_integers(np.minimum))


@define(arithmetic.mul_p)
def _mul(x: np.ndarray, y: np.ndarray, *, out_dtype: Any = None) -> np.ndarray:
    if out_dtype is not None:
        x, y = cast(x, np.dtype(out_dtype)), cast(y, np.dtype(out_dtype))
    return x * y


def _is_integer(x: np.ndarray) -> bool:
    return dtypes.issubdtype(x.dtype, np.integer)


@define(arithmetic.div_p)
def _div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x):
        return np.divide(x, y)
    dtype = x.dtype
    x, y = wide_integer(x), wide_integer(y)
    divisor = np.where((y == 0) | (y == -1), y.dtype.type(1), y)
    quotient = x // divisor
    # NumPy rounds down; XLA rounds toward zero.
    quotient = quotient + ((x % divisor != 0) & ((x < 0) != (divisor < 0))).astype(x.dtype)
    # The negation of the smallest integer is itself. Division by zero sets all bits.
    quotient = np.where(y == -1, -x, quotient)
    return np.where(y == 0, np.bitwise_not(np.zeros_like(x)), quotient).astype(dtype)


@define(arithmetic.rem_p)
def _rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x):
        return np.fmod(widen(x), widen(y)).astype(x.dtype)
    dtype = x.dtype
    x, y = wide_integer(x), wide_integer(y)
    divisor = np.where((y == 0) | (y == -1), y.dtype.type(1), y)
    return np.where(y == 0, x, np.fmod(x, divisor)).astype(dtype)


@define(arithmetic.sign_p)
def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        modulus = np.abs(widen(x))
        return np.where(x == 0, 0, widen(x) / np.where(modulus == 0, 1, modulus)).astype(x.dtype)
    if _is_integer(x):
        return np.sign(wide_integer(x)).astype(x.dtype)
    return np.where(x == 0, x, np.sign(widen(x)).astype(x.dtype))  # zeros keep their signs


@define(arithmetic.abs_p)
def _abs(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return np.abs(widen(x)).astype(dtypes.to_floating_dtype(x.dtype))
    return in_wide_integers(np.abs)(x)


@define(arithmetic.integer_pow_p)
def _integer_pow(x: np.ndarray, *, y: int) -> np.ndarray:
    base, result, exponent = widen(x), np.ones_like(widen(x)), abs(y)
    while exponent:
        if exponent & 1:
            result = result * base
        base, exponent = base * base, exponent >> 1
    return (1 / result if y < 0 else result).astype(x.dtype)


@define(arithmetic.pow_p)
def _pow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    base = widen(x)
    return np.power(base, y.astype(base.dtype)).astype(x.dtype)


@define(arithmetic.nextafter_p)
def _nextafter(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.nextafter(x, y)


# ---- rounding ----

define(arithmetic.floor_p, in_double(np.floor))
define(arithmetic.ceil_p, in_double(np.ceil))
define(arithmetic.is_finite_p, lambda x: np.isfinite(widen(x)))


@define(arithmetic.round_p)
def _round(x: np.ndarray, *, rounding_method: arithmetic.RoundingMethod) -> np.ndarray:
    if rounding_method is arithmetic.RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(widen(x)).astype(x.dtype)
    whole = np.trunc(widen(x))
    away = np.where(np.abs(widen(x) - whole) >= 0.5, np.copysign(1, whole), 0)
    return np.where(np.isfinite(whole), np.copysign(whole + away, widen(x)), whole).astype(x.dtype)


# ---- mathematical functions ----


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _exp2(x: np.ndarray) -> np.ndarray:
    return np.exp(x * np.log(2)) if x.dtype.kind == "c" else np.exp2(x)


for _primitive, _function in {
    mathematics.exp_p: np.exp,
    mathematics.exp2_p: _exp2,
    mathematics.expm1_p: np.expm1,
    mathematics.log_p: np.log,
    mathematics.log1p_p: np.log1p,
    mathematics.logistic_p: _logistic,
    mathematics.sqrt_p: np.sqrt,
    mathematics.rsqrt_p: lambda x: 1 / np.sqrt(x),
    mathematics.cbrt_p: np.cbrt,
    mathematics.sin_p: np.sin,
    mathematics.cos_p: np.cos,
    mathematics.tan_p: np.tan,
    mathematics.asin_p: np.arcsin,
    mathematics.acos_p: np.arccos,
    mathematics.atan_p: np.arctan,
    mathematics.sinh_p: np.sinh,
    mathematics.cosh_p: np.cosh,
    mathematics.tanh_p: np.tanh,
    mathematics.asinh_p: np.arcsinh,
    mathematics.acosh_p: np.arccosh,
    mathematics.atanh_p: np.arctanh,
    mathematics.erf_p: numerics.erf,
    mathematics.erfc_p: numerics.erfc,
    mathematics.erf_inv_p: numerics.erf_inv,
    mathematics.lgamma_p: numerics.lgamma,
    mathematics.digamma_p: numerics.digamma,
}.items():
    define(_primitive, in_double(_function))


@define(mathematics.atan2_p)
def _atan2(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.arctan2(widen(x), widen(y)).astype(x.dtype)
    x_wide, y_wide = widen(x), widen(y)
    angle = -1j * np.log((y_wide + 1j * x_wide) / np.sqrt(x_wide * x_wide + y_wide * y_wide))
    return angle.astype(x.dtype)


# ---- complex numbers ----

define(arithmetic.real_p, np.real)
define(arithmetic.imag_p, np.imag)


@define(arithmetic.complex_p)
def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = np.empty(np.broadcast_shapes(x.shape, y.shape), dtypes.to_complex_dtype(x.dtype))
    result.real, result.imag = x, y
    return result


@define(arithmetic.conj_p)
def _conj(x: np.ndarray, *, input_dtype: Any = None) -> np.ndarray:
    return np.conj(x).astype(dtypes.to_complex_dtype(x.dtype))


# ---- comparisons and choices ----

define(logic.eq_p, lambda x, y: x == y)
define(logic.ne_p, lambda x, y: x != y)
define(logic.lt_p, np.less)
define(logic.le_p, np.less_equal)
define(logic.gt_p, np.greater)
define(logic.ge_p, np.greater_equal)


def _in_total_order(compare: Any) -> Any:
    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return compare(_place_in_total_order(x), _place_in_total_order(y))

    return rule


def _place_in_total_order(x: np.ndarray) -> np.ndarray:
    """Maps elements to integers in the same order.

    The order of floats follows from the sign and the magnitude in their bits.
    """
    if not dtypes.issubdtype(x.dtype, np.floating):
        return wide_integer(x)
    sign_bit = 1 << (dtypes.itemsize_bits(x.dtype) - 1)
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    magnitude = (bits & (sign_bit - 1)).astype(np.int64)
    return np.where(bits & sign_bit, -1 - magnitude, magnitude)


define(logic.eq_to_p, _in_total_order(np.equal))
define(logic.lt_to_p, _in_total_order(np.less))
define(logic.le_to_p, _in_total_order(np.less_equal))


@define(logic.clamp_p)
def _clamp(minimum: np.ndarray, x: np.ndarray, maximum: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(minimum, x), maximum)


@define(logic.select_n_p)
def _select_n(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        result = np.where(which if which.dtype == bool else which >= number, case, result)
    return result


# ---- bits ----


def _unsigned(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Returns the bits of integers as unsigned numbers, and the number of bits."""
    bits = dtypes.itemsize_bits(x.dtype)
    storage = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    return (storage & (2**bits - 1) if bits < 8 else storage), bits


@define(logic.mulhi_p)
def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Python's integers do not wrap around.
    product = x.astype(object) * y.astype(object)
    high = np.asarray(product // 2 ** dtypes.itemsize_bits(x.dtype))
    return high.astype(np.int64 if x.dtype.kind == "i" else np.uint64).astype(x.dtype)


define(logic.and_p, in_wide_integers(np.bitwise_and))
define(logic.or_p, in_wide_integers(np.bitwise_or))
define(logic.xor_p, in_wide_integers(np.bitwise_xor))
define(logic.not_p, in_wide_integers(np.bitwise_not))


@define(logic.population_count_p)
def _population_count(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(_unsigned(x)[0]).astype(x.dtype)


@define(logic.clz_p)
def _clz(x: np.ndarray) -> np.ndarray:
    unsigned, bits = _unsigned(x)
    zeros = sum(((unsigned >> bit) == 0).astype(np.int64) for bit in range(bits))
    return np.asarray(zeros).astype(x.dtype)


def _shift_amount(y: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shift amounts, and for each whether it is out of range: below 0, or >= ``bits``.

    Amounts out of range are replaced by zero.
    """
    amount = wide_integer(y).astype(np.int64)
    outside = (amount < 0) | (amount >= bits)
    return np.where(outside, 0, amount), outside


@define(logic.shift_left_p)
def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned, bits = _unsigned(x)
    amount, outside = _shift_amount(y, bits)
    shifted = np.left_shift(unsigned, amount.astype(unsigned.dtype))
    return _from_unsigned(np.where(outside, 0, shifted), x.dtype)


@define(logic.shift_right_logical_p)
def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned, bits = _unsigned(x)
    amount, outside = _shift_amount(y, bits)
    shifted = np.right_shift(unsigned, amount.astype(unsigned.dtype))
    return _from_unsigned(np.where(outside, 0, shifted), x.dtype)


@define(logic.shift_right_arithmetic_p)
def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = dtypes.itemsize_bits(x.dtype)
    amount, outside = _shift_amount(y, bits)
    # The shift copies the highest bit, even of an unsigned number.
    wide = x.view(np.dtype(f"i{x.dtype.itemsize}")) if x.dtype.kind == "u" else wide_integer(x)
    shifted = np.right_shift(wide, np.where(outside, bits - 1, amount).astype(wide.dtype))
    return shifted.astype(x.dtype)


def _from_unsigned(unsigned: np.ndarray, dtype: Any) -> np.ndarray:
    """Returns integers of a dtype, given unsigned numbers with their low bits."""
    bits = dtypes.itemsize_bits(dtype)
    if bits >= 8:
        return unsigned.astype(np.dtype(f"u{dtype.itemsize}")).view(dtype)
    low = unsigned.astype(np.int32) & (2**bits - 1)
    if dtypes.issubdtype(dtype, np.signedinteger):
        low = np.where(low >= 2 ** (bits - 1), low - 2**bits, low)
    return low.astype(dtype)


# ---- changes of dtype ----


@define(conversion.convert_element_type_p)
def _convert_element_type(
    x: np.ndarray, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> np.ndarray:
    if dtypes.is_extended(new_dtype) or x.dtype.type is np.void:  # the elements keep their bytes
        bytes_of_x = np.ascontiguousarray(x).reshape(*x.shape, 1)
        plain = np.dtype((np.void, x.itemsize)) if dtypes.is_extended(new_dtype) else new_dtype
        return bytes_of_x.view(plain).reshape(x.shape)
    return cast(x, new_dtype)


@define(conversion.bitcast_convert_type_p)
def _bitcast_convert_type(x: np.ndarray, *, new_dtype: Any) -> np.ndarray:
    old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if x.dtype == new_dtype:
        return x
    bytes_of_x = _packed(x, old_bits)
    shape = x.shape
    if old_bits > new_bits:
        shape = (*shape, old_bits // new_bits)
    elif old_bits < new_bits:
        shape = shape[:-1]
    return _unpacked(bytes_of_x, new_dtype, new_bits).reshape(shape)


def _packed(x: np.ndarray, bits: int) -> np.ndarray:
    """Returns the elements' bits as bytes, with the first element in the lowest bits."""
    storage = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    if bits >= 8:
        return storage
    planes = (storage[:, None] >> np.arange(bits)) & 1
    return np.packbits(planes.reshape(-1), bitorder="little")


def _unpacked(data: np.ndarray, dtype: Any, bits: int) -> np.ndarray:
    if bits >= 8:
        return data.view(dtype)
    planes = np.unpackbits(data, bitorder="little").reshape(-1, bits)
    storage = (planes << np.arange(bits)).sum(axis=1).astype(np.uint8)
    if dtypes.issubdtype(dtype, np.integer):
        return _from_unsigned(storage, dtype)
    return storage.view(dtype)


@define(conversion.reduce_precision_p)
def _reduce_precision(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Rounds mantissas to nearest even; numbers out of range become infinities or zeros."""
    limits = dtypes.finfo(x.dtype)
    full_mantissa = int(limits.nmant)
    full_exponent = dtypes.itemsize_bits(x.dtype) - 1 - full_mantissa
    # Use 64-bit integers, in which rounding up does not wrap around.
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    sign_mask = 1 << (full_mantissa + full_exponent)
    sign, magnitude = bits & sign_mask, bits & (sign_mask - 1)
    dropped = full_mantissa - mantissa_bits
    if dropped > 0:
        last_kept = (magnitude >> dropped) & 1
        magnitude = (magnitude + last_kept + (1 << (dropped - 1)) - 1) >> dropped << dropped
    if exponent_bits < full_exponent:
        exponent = magnitude >> full_mantissa
        bias, reach = (1 << (full_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        infinity = ((1 << full_exponent) - 1) << full_mantissa
        magnitude = np.where(exponent > bias + reach, infinity, magnitude)
        magnitude = np.where(exponent <= bias - reach, 0, magnitude)
    rounded = (sign | magnitude).astype(np.dtype(f"u{x.dtype.itemsize}")).view(x.dtype)
    return np.where(np.isnan(widen(x)), x, rounded)


@define(extended.to_edtype_p)
def _to_edtype(x: np.ndarray, *, edtype: Any) -> np.ndarray:
    return elements_of(x, edtype)


@define(extended.from_edtype_p)
def _from_edtype(x: np.ndarray, *, edtype: Any) -> np.ndarray:
    return physical_of(x, edtype)


# ---- the identity ----

define(conversion.copy_p, np.copy)
define(conversion.stage_p, lambda x: x)
define(conversion.stop_gradient_p, lambda x: x)
