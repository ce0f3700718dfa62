# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of floats: rounding, special values, exponents, adjacent numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ComplexOperandError
from olympus_ir.lax.core.values import as_array
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.axes import refuse_out
from ..core.compilation import compiled, inlined, outlined, unless_default
from ..core.custom_derivatives import custom_jvp
from ..core.promotion import (
    check_arraylike,
    constant,
    convert,
    ensure_array,
    promote_args,
    promote_args_inexact,
    result_type_of,
    scalar_like,
    spread,
)
from ..reductions.extremes import limit
from .arithmetic import copysign

__all__ = [
    "around",
    "ceil",
    "floor",
    "frexp",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "ldexp",
    "modf",
    "nan_to_num",
    "nextafter",
    "rint",
    "round",
    "spacing",
    "trunc",
]

_bool = np.dtype(bool)


def _is(dtype: Any, kind: Any) -> bool:
    return dtypes.issubdtype(dtype, kind)


# ---- rounding ----


def _integral(dtype: Any) -> bool:
    return dtype is _bool or _is(dtype, np.integer)


def _refuse_complex(name: str, dtype: Any) -> None:
    if _is(dtype, np.complexfloating):
        raise ComplexOperandError(f"ufunc '{name}' does not support complex dtypes, got {dtype}")


@inlined()
def floor(x: ArrayLike, /) -> Array:
    """Rounds down to integers, elementwise; the dtype does not change.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> floor(-1.5)
      Array(-2., dtype=float32, weak_type=True)
    """
    x, dtype = promote_args.single("floor", x)
    _refuse_complex("floor", dtype)
    return as_array(x) if _integral(dtype) else lax.floor(x)


@inlined()
def ceil(x: ArrayLike, /) -> Array:
    """Rounds up to integers, elementwise; the dtype does not change.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> ceil(-1.5)
      Array(-1., dtype=float32, weak_type=True)
    """
    x, dtype = promote_args.single("ceil", x)
    _refuse_complex("ceil", dtype)
    return as_array(x) if _integral(dtype) else lax.ceil(x)


@outlined()
def trunc(x: ArrayLike) -> Array:
    """Rounds toward zero to integers, elementwise; the dtype does not change.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> trunc(-1.5)
      Array(-1., dtype=float32, weak_type=True)
    """
    x, dtype = promote_args.single("trunc", x)
    _refuse_complex("trunc", dtype)
    if _integral(dtype):
        return as_array(x)
    return where(lax.lt(x, np.zeros((), dtype)), lax.ceil(x), lax.floor(x))


_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


@outlined()
def rint(x: ArrayLike, /) -> Array:
    """Rounds to the nearest integers, ties to even; the results are floats.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of the shape of ``x``, of its floating or complex dtype; for integers, of the default
      float dtype.

    Example:
      >>> rint(2.5)
      Array(2., dtype=float32, weak_type=True)
    """
    check_arraylike("rint", x)
    if not _is(result_type_of(x)[0], np.inexact):
        return convert(ensure_array(x), dtypes.default_float_dtype())
    x, dtype = promote_args_inexact.single("rint", x)
    if _is(dtype, np.complexfloating):
        return lax.complex(lax.round(lax.real(x), _EVEN), lax.round(lax.imag(x), _EVEN))
    return lax.round(x, _EVEN)


def _rounded(a: Any, decimals: int = 0) -> Any:
    check_arraylike("round", a)
    a = ensure_array(a)
    dtype = a.dtype
    if _integral(dtype):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return as_array(a)
    if _is(dtype, np.complexfloating):
        return lax.complex(
            _round_floats(lax.real(a), decimals), _round_floats(lax.imag(a), decimals)
        )
    return _round_floats(a, decimals)


def _round_floats(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return lax.round(x, _EVEN)
    dtype = x.dtype
    # Half precision is too coarse for the multiplication by powers of ten.
    narrow = dtypes.itemsize_bits(dtype) < 32
    computed = convert(x, np.dtype(np.float32)) if narrow else x
    factor = scalar_like(10.0 ** abs(decimals), computed)
    if decimals > 0:
        result = lax.div(lax.round(lax.mul(computed, factor), _EVEN), factor)
    else:
        result = lax.mul(lax.round(lax.div(computed, factor), _EVEN), factor)
    return convert(result, dtype) if narrow else result


_round = compiled(_rounded, ("decimals",), name="round")


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimals, ties to even.

    Args:
      a: an array or scalar.
      decimals: the number of digits to keep after the point; a negative number rounds before the
        point.
      out: not supported.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> round(11.5), round(12.5)
      (Array(12., dtype=float32, weak_type=True), Array(12., dtype=float32, weak_type=True))
    """
    if out is not None:
        refuse_out("round")
    return _round(a, operator.index(decimals))


around = round


# ---- special values ----


@inlined()
def isfinite(x: ArrayLike, /) -> Array:
    """Returns whether numbers are neither infinite nor NaN.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> bool(isfinite(float("inf")))
      False
    """
    x, dtype = promote_args.single("isfinite", x)
    if _is(dtype, np.floating):
        return lax.is_finite(x)
    if _is(dtype, np.complexfloating):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return _constant(x, True)


def _constant(x: Any, value: bool) -> Any:
    return as_array(spread(np.array(value), np.shape(x)))


@outlined()
def isinf(x: ArrayLike, /) -> Array:
    """Returns whether numbers are infinite.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> isinf(float("inf"))
      Array(True, dtype=bool)
    """
    x, dtype = promote_args.single("isinf", x)
    if _is(dtype, np.floating):
        return _infinite(x, dtype)
    if _is(dtype, np.complexfloating):
        parts = lax.real(x), lax.imag(x)
        first, second = (_infinite(part, part.dtype) for part in parts)
        return lax.bitwise_or(first, second)
    return _constant(x, False)


def _infinite(x: Any, dtype: Any) -> Any:
    return lax.eq(lax.abs(x), np.array(np.inf, dtype))


@inlined()
def isnan(x: ArrayLike, /) -> Array:
    """Returns whether numbers are NaN.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> bool(isnan(float("nan")))
      True
    """
    x, _ = promote_args.single("isnan", x)
    return lax.ne(x, x)


def _is_infinity(name: str, x: Any, infinity: float) -> Any:
    x, dtype = promote_args.single(name, x)
    if _is(dtype, np.floating):
        return lax.eq(x, np.array(infinity, dtype))
    if _is(dtype, np.complexfloating):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return _constant(x, False)


def _positive_infinity(x: Any) -> Any:
    return _is_infinity("isposinf", x, np.inf)


def _negative_infinity(x: Any) -> Any:
    return _is_infinity("isneginf", x, -np.inf)


_isposinf = compiled(_positive_infinity, inline=True, name="isposinf")
_isneginf = compiled(_negative_infinity, inline=True, name="isneginf")


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Returns whether numbers are positive infinity.

    Args:
      x: an array or scalar of real numbers.
      out: not supported.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> isposinf(float("inf"))
      Array(True, dtype=bool)
    """
    if out is not None:
        refuse_out("isposinf")
    return _isposinf(x)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Returns whether numbers are negative infinity.

    Args:
      x: an array or scalar of real numbers.
      out: not supported.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> isneginf(float("inf"))
      Array(False, dtype=bool)
    """
    if out is not None:
        refuse_out("isneginf")
    return _isneginf(x)


def _nan_to_numbers(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    nan = 0.0 if nan is None else nan
    check_arraylike(
        "nan_to_num", x, nan, *(array for array in (posinf, neginf) if array is not None)
    )
    x = ensure_array(x)
    dtype = x.dtype
    if not _is(dtype, np.inexact):
        return as_array(x)
    if _is(dtype, np.complexfloating):
        parts = (_nan_to_numbers(part, nan, posinf, neginf) for part in (lax.real(x), lax.imag(x)))
        return lax.complex(*parts)
    info = dtypes.finfo(dtype)
    posinf = np.array(info.max, dtype) if posinf is None else posinf
    neginf = np.array(info.min, dtype) if neginf is None else neginf
    x = where(lax.ne(x, x), convert(nan, dtype), x)
    x = where(lax.eq(x, limit(dtype, lowest=False)), convert(posinf, dtype), x)
    return where(lax.eq(x, limit(dtype, lowest=True)), convert(neginf, dtype), x)


_nan_to_num = compiled(_nan_to_numbers, name="nan_to_num")


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Returns numbers with NaN and infinities replaced.

    Args:
      x: an array or scalar.
      copy: has no effect: arrays are immutable.
      nan: the replacement of NaN.
      posinf: the replacement of positive infinity; by default the dtype's largest finite number.
      neginf: the replacement of negative infinity; by default the dtype's lowest finite number.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> nan_to_num(float("nan"))
      Array(0., dtype=float32)
    """
    del copy
    check_arraylike("nan_to_num", nan)
    return _nan_to_num(x, unless_default(nan, 0.0), posinf, neginf)


# ---- mantissas, exponents, neighbors ----


def _float_format(dtype: Any) -> tuple[int, int, int]:
    """Returns the number of mantissa bits, the exponent mask and the exponent bias of a dtype."""
    info = dtypes.finfo(dtype)
    exponent_bits = info.bits - info.nmant - 1
    return info.nmant, (1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1


@custom_jvp
def _frexp_of_floats(x: Any) -> Any:
    dtype = x.dtype
    mantissa_bits, mask, bias = _float_format(dtype)
    bits = dtypes.itemsize_bits(dtype)
    integer = np.dtype(f"int{bits}")
    count = np.dtype(np.int32)
    tiny = lax.lt(lax.abs(x), np.array(dtypes.finfo(dtype).smallest_normal, dtype))
    # Subnormal numbers are first scaled to normal numbers.
    scaled = lax.select(tiny, lax.mul(x, np.array(2.0**mantissa_bits, dtype)), x)
    shift = lax.select(
        tiny,
        lax.full(x.shape, np.array(-mantissa_bits, count)),
        lax.full(x.shape, np.array(0, count)),
    )
    pattern = lax.bitcast_convert_type(scaled, integer)
    stored = lax.bitwise_and(
        lax.shift_right_logical(pattern, np.array(mantissa_bits, integer)), np.array(mask, integer)
    )
    exponent = lax.add(lax.add(convert(stored, count), shift), np.array(1 - bias, count))
    # The result keeps sign and mantissa, and has the exponent of one half.
    keep = np.array(~(mask << mantissa_bits), np.int64).astype(integer)
    half = np.array((bias - 1) << mantissa_bits, integer)
    mantissa = lax.bitcast_convert_type(lax.bitwise_or(lax.bitwise_and(pattern, keep), half), dtype)
    plain = lax.bitwise_or(lax.bitwise_not(lax.is_finite(x)), lax.eq(x, np.zeros((), dtype)))
    zero = lax.full(x.shape, np.array(0, count))
    return lax.select(plain, x, mantissa), lax.select(plain, zero, exponent)


@_frexp_of_floats.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    mantissa, exponent = _frexp_of_floats(x)
    scale = lax.pow(np.array(2, x.dtype), lax.neg(convert(exponent, x.dtype)))
    return (mantissa, exponent), (lax.mul(t, scale), np.zeros(np.shape(exponent), dtypes.float0))


@outlined()
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Splits numbers into ``mantissa * 2 ** exponent`` with ``0.5 <= abs(mantissa) < 1``.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      Two arrays of the shape of ``x``: mantissas of its floating dtype, and exponents of dtype
      int32.

    Raises:
      TypeError: if ``x`` is complex.

    Example:
      >>> frexp(6.0)
      (Array(0.75, dtype=float32), Array(3, dtype=int32))
    """
    x, dtype = promote_args_inexact.single("frexp", x)
    if _is(dtype, np.complexfloating):
        raise TypeError("frexp does not support complex-valued inputs")
    mantissa, exponent = _frexp_of_floats(convert(ensure_array(x), dtype))
    return mantissa, exponent


def _ldexp_error(x1: Any, x2: Any, required: str) -> ValueError:
    """Returns the error of operands of dtypes that `ldexp` does not take."""
    return ValueError(f"ldexp not supported for input types {(x1, x2)}: {required}")


@outlined()
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns ``x1 * 2 ** x2``, elementwise; the result is exact if it is representable.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of integers.

    Returns:
      An array of the operands' broadcast shape and of the floating dtype of ``x1``.

    Raises:
      ValueError: if ``x2`` does not have an integer dtype, or ``x1`` is complex.

    Example:
      >>> ldexp(0.75, 3)
      Array(6., dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    exponent = ensure_array(x2)
    if not _is(exponent.dtype, np.integer) and exponent.dtype != np.bool_:
        raise _ldexp_error(ensure_array(x1).dtype, exponent.dtype, "x2 must be an integer")
    x1, dtype = promote_args_inexact.single("ldexp", x1)
    if _is(dtype, np.complexfloating):
        raise _ldexp_error(dtype, exponent.dtype, "x1 must be real")
    shape = np.broadcast_shapes(np.shape(x1), exponent.shape)
    x = spread(ensure_array(x1), shape)
    exponent = convert(spread(exponent, shape), np.dtype(np.int32))
    # Scale in several steps, so that each power of two is a normal number. Only the last step
    # rounds.
    _, _, bias = _float_format(dtype)
    largest = np.array(bias - 1, np.int32)
    for _ in range(4):
        step = lax.clamp(lax.neg(largest), exponent, largest)
        x = lax.mul(x, convert(lax.exp2(convert(step, dtype)), dtype))
        exponent = lax.sub(exponent, step)
    return convert(x, dtype)


def _fraction_and_whole(x: Any) -> tuple[Any, Any]:
    x, dtype = promote_args_inexact.single("modf", x)
    _refuse_complex("modf", dtype)
    whole = where(lax.ge(x, np.zeros((), dtype)), lax.floor(x), lax.ceil(x))
    infinite = lax.eq(lax.abs(x), np.array(np.inf, dtype))
    fraction = where(infinite, constant(0, x), lax.sub(x, whole))
    return fraction, whole


_modf = compiled(_fraction_and_whole, name="modf")


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Returns the fractional and the integral parts of numbers, both with the sign of the number.

    Args:
      x: an array or scalar of real numbers.
      out: not supported.

    Returns:
      Two arrays of the shape of ``x`` and of a floating dtype: the fractional and the integral
      parts.

    Example:
      >>> modf(-1.5)
      (Array(-0.5, dtype=float32, weak_type=True), Array(-1., dtype=float32, weak_type=True))
    """
    if out is not None:
        refuse_out("modf")
    return tuple(_modf(x))


@inlined()
def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Returns the next representable number after ``x`` in the direction of ``y``.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of real numbers.

    Returns:
      An array of the operands' broadcast shape and common floating dtype.

    Example:
      >>> float(nextafter(1.0, 2.0)) - 1.0
      1.1920928955078125e-07
    """
    x, y, _ = promote_args_inexact.pair("nextafter", x, y)
    return lax.nextafter(x, y)


@outlined()
def spacing(x: ArrayLike, /) -> Array:
    """Returns the distance to the next representable number away from zero, with the sign of ``x``.

    As in NumPy, a float16 has the distance to the next larger number.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Example:
      >>> spacing(1.0)
      Array(1.1920929e-07, dtype=float32)
    """
    x, dtype = promote_args_inexact.single("spacing", x)
    _refuse_complex("spacing", dtype)
    infinity = lax.full_like(x, np.inf, dtype)
    x = convert(x, dtype)
    if dtype != np.float16:
        infinity = copysign(infinity, x)
    following = lax.nextafter(x, infinity)
    # The number after zero is subnormal, and differences of such numbers may be flushed to zero.
    return lax.select(lax.eq(x, np.zeros((), dtype)), following, lax.sub(following, x))
