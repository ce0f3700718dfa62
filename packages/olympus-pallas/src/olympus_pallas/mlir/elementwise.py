# SPDX-License-Identifier: Apache-2.0
"""Lowers elementwise operations of kernels to the dialects ``arith`` and ``math``.

The kernel languages differ in their mathematical functions. So each language has its own rules for
these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_xla.compiling.lowering import mlir

from .building import BOOL, INT32, KernelBuilder, bit_width, element_type, is_float, is_unsigned
from .tables import define_for_both

__all__ = [
    "cast",
    "compare",
    "divide",
    "maximum",
    "minimum",
    "power",
    "remainder",
    "rounding",
]


def arithmetic(for_floats: str, signed: str, unsigned: str | None = None) -> Callable[..., Any]:
    """Returns the rule of an operation that has one form for each kind of numbers."""

    def rule(builder: KernelBuilder, *operands: Any, **params: Any) -> Any:
        aval = builder.aval_out
        full = builder.full_operands(operands, aval.shape)
        dtype = builder.avals_in[0].dtype
        if is_float(dtype):
            name = for_floats
        else:
            name = (unsigned or signed) if is_unsigned(dtype) else signed
        return builder.create(name, builder.value_type(aval), full)

    return rule


add = arithmetic("arith.addf", "arith.addi")
subtract = arithmetic("arith.subf", "arith.subi")
multiply = arithmetic("arith.mulf", "arith.muli")
maximum = arithmetic("arith.maximumf", "arith.maxsi", "arith.maxui")
minimum = arithmetic("arith.minimumf", "arith.minsi", "arith.minui")

define_for_both(lax.add_p, add)
define_for_both(lax.add_any_p, add)
define_for_both(lax.sub_p, subtract)
define_for_both(lax.mul_p, multiply)
define_for_both(lax.max_p, maximum)
define_for_both(lax.min_p, minimum)
define_for_both(lax.and_p, arithmetic("", "arith.andi"))
define_for_both(lax.or_p, arithmetic("", "arith.ori"))
define_for_both(lax.xor_p, arithmetic("", "arith.xori"))
define_for_both(lax.shift_left_p, arithmetic("", "arith.shli"))
define_for_both(lax.shift_right_logical_p, arithmetic("", "arith.shrui"))
define_for_both(lax.shift_right_arithmetic_p, arithmetic("", "arith.shrsi"))
define_for_both(lax.copy_p, lambda builder, x, **params: x)
define_for_both(lax.stop_gradient_p, lambda builder, x, **params: x)


# ---- comparisons ----

_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5}
_SIGNED_PREDICATES = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_UNSIGNED_PREDICATES = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}


def compare(builder: KernelBuilder, relation: str, left: Any, right: Any, dtype: Any) -> Any:
    """Compares two values of the same type."""
    result = builder.like(left, element_type(BOOL))
    if relation == "ne" and is_float(dtype):
        # NaN differs from every value. Not all compilers know the predicate of this comparison, so
        # the result is the negation of equality.
        equal = compare(builder, "eq", left, right, dtype)
        true = builder.full(True, builder.shape_of(left), BOOL)
        return builder.binary("arith.xori", equal, true)
    if is_float(dtype):
        name, predicate = "arith.cmpf", _FLOAT_PREDICATES[relation]
    elif is_unsigned(dtype):
        name, predicate = "arith.cmpi", _UNSIGNED_PREDICATES[relation]
    else:
        name, predicate = "arith.cmpi", _SIGNED_PREDICATES[relation]
    return builder.create(name, result, (left, right), {"predicate": mlir.i64(predicate)})


def _comparison(relation: str) -> Callable[..., Any]:
    def rule(builder: KernelBuilder, *operands: Any, **params: Any) -> Any:
        left, right = builder.full_operands(operands, builder.aval_out.shape)
        return compare(builder, relation, left, right, builder.avals_in[0].dtype)

    return rule


for _primitive in (lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p):
    define_for_both(_primitive, _comparison(_primitive.name))


# ---- conversion ----


def cast(builder: KernelBuilder, value: Any, old: Any, new: Any) -> Any:
    """Converts the elements of a value to another dtype."""
    old, new = np.dtype(old), np.dtype(new)
    if old == new:
        return value
    shape = builder.shape_of(value)
    target = builder.like(value, element_type(new))
    if new == BOOL:
        return compare(builder, "ne", value, builder.full(0, shape, old), old)
    if is_float(old) and is_float(new):
        # Floats of equal width have no direct conversion. The conversion to float32 is lossless.
        if old.itemsize == new.itemsize:
            return cast(builder, cast(builder, value, old, np.float32), np.float32, new)
        name = "arith.extf" if old.itemsize < new.itemsize else "arith.truncf"
        return builder.create(name, target, (value,))
    if is_float(old):
        name = "arith.fptoui" if is_unsigned(new) else "arith.fptosi"
        return builder.create(name, target, (value,))
    if is_float(new):
        if old == BOOL:
            value, old = cast(builder, value, old, INT32), INT32
        name = "arith.uitofp" if is_unsigned(old) else "arith.sitofp"
        return builder.create(name, target, (value,))
    if bit_width(old) == bit_width(new):
        return value
    if bit_width(old) > bit_width(new):
        return builder.create("arith.trunci", target, (value,))
    name = "arith.extui" if is_unsigned(old) else "arith.extsi"
    return builder.create(name, target, (value,))


@define_for_both(lax.convert_element_type_p)
def _convert(builder: KernelBuilder, x: Any, *, new_dtype: Any, **params: Any) -> Any:
    return cast(builder, x, builder.avals_in[0].dtype, new_dtype)


@define_for_both(lax.reduce_precision_p)
def _reduce_precision(
    builder: KernelBuilder, x: Any, *, exponent_bits: int, mantissa_bits: int
) -> Any:
    dtype = builder.avals_in[0].dtype
    for narrow in (np.dtype(np.float32), np.dtype(dtypes.bfloat16), np.dtype(np.float16)):
        info = dtypes.finfo(narrow)
        if (info.nexp, info.nmant) == (exponent_bits, mantissa_bits):
            return cast(builder, cast(builder, x, dtype, narrow), narrow, dtype)
    raise ValueError(
        "kernels reduce precision to that of float32, bfloat16 and float16, got "
        f"exponent_bits={exponent_bits}, mantissa_bits={mantissa_bits}"
    )


# ---- functions that each language computes by operations of its own ----


def rounding(to_even: Callable[..., Any], away_from_zero: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the rule of `lax.round`, made of one rule for each method of rounding halves."""

    def rule(builder: KernelBuilder, x: Any, *, rounding_method: Any) -> Any:
        is_to_even = rounding_method is lax.RoundingMethod.TO_NEAREST_EVEN
        return (to_even if is_to_even else away_from_zero)(builder, x)

    return rule


def remainder(of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the rule of `lax.rem`, made of the rule for floating-point numbers."""

    def rule(builder: KernelBuilder, x: Any, y: Any) -> Any:
        aval = builder.aval_out
        if is_float(aval.dtype):
            return of_floats(builder, x, y)
        x, y = builder.full_operands((x, y), aval.shape)
        name = "arith.remui" if np.dtype(aval.dtype).kind == "u" else "arith.remsi"
        return builder.binary(name, x, y)

    return rule


def power(of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the rule of `lax.pow`, made of the rule for operands of one dtype."""

    def rule(builder: KernelBuilder, x: Any, y: Any) -> Any:
        dtype = builder.avals_in[1].dtype
        return of_floats(builder, x, cast(builder, y, dtype, builder.aval_out.dtype))

    return rule


# ---- signs, choices, powers ----


def divide(builder: KernelBuilder, x: Any, y: Any, dtype: Any) -> Any:
    """Builds the quotient; narrow floating-point numbers are divided in single precision."""
    if not is_float(dtype):
        return builder.binary("arith.divui" if is_unsigned(dtype) else "arith.divsi", x, y)
    wide = np.dtype(dtype) if np.dtype(dtype).itemsize >= 4 else np.dtype(np.float32)
    x, y = cast(builder, x, dtype, wide), cast(builder, y, dtype, wide)
    return cast(builder, builder.binary("arith.divf", x, y), wide, dtype)


@define_for_both(lax.div_p)
def _divide(builder: KernelBuilder, x: Any, y: Any) -> Any:
    x, y = builder.full_operands((x, y), builder.aval_out.shape)
    return divide(builder, x, y, builder.aval_out.dtype)


@define_for_both(lax.neg_p)
def _negate(builder: KernelBuilder, x: Any) -> Any:
    aval = builder.aval_out
    if is_float(aval.dtype):
        return builder.create("arith.negf", x.type, (x,))
    return builder.binary("arith.subi", builder.full(0, aval.shape, aval.dtype), x)


@define_for_both(lax.abs_p)
def _absolute(builder: KernelBuilder, x: Any) -> Any:
    dtype = builder.aval_out.dtype
    if is_unsigned(dtype):
        return x
    return builder.create("math.absf" if is_float(dtype) else "math.absi", x.type, (x,))


@define_for_both(lax.not_p)
def _invert(builder: KernelBuilder, x: Any) -> Any:
    aval = builder.aval_out
    ones = True if aval.dtype == BOOL else _all_ones(aval.dtype)
    return builder.binary("arith.xori", x, builder.full(ones, aval.shape, aval.dtype))


def _all_ones(dtype: Any) -> int:
    return int(np.iinfo(dtype).max) if np.dtype(dtype).kind == "u" else -1


@define_for_both(lax.sign_p)
def _sign(builder: KernelBuilder, x: Any) -> Any:
    aval = builder.aval_out
    zero = builder.full(0, aval.shape, aval.dtype)
    one = builder.full(1, aval.shape, aval.dtype)
    positive = compare(builder, "gt", x, zero, aval.dtype)
    if is_unsigned(aval.dtype):
        return builder.create("arith.select", x.type, (positive, one, zero))
    minus_one = builder.full(-1, aval.shape, aval.dtype)
    negative = compare(builder, "lt", x, zero, aval.dtype)
    # Zeros keep their sign, and NaN stays NaN.
    rest = builder.create("arith.select", x.type, (negative, minus_one, x))
    return builder.create("arith.select", x.type, (positive, one, rest))


@define_for_both(lax.select_n_p)
def _select(builder: KernelBuilder, which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return cases[0]
    aval = builder.aval_out
    which_aval = builder.avals_in[0]
    cases = tuple(builder.full_operands(cases, aval.shape))
    if which_aval.dtype == BOOL:
        return builder.create("arith.select", cases[0].type, (which, cases[1], cases[0]))
    chosen = cases[0]
    for number, case in enumerate(cases[1:], 1):
        number = builder.full(number, which_aval.shape, which_aval.dtype)
        is_chosen = compare(builder, "ge", which, number, which_aval.dtype)
        chosen = builder.create("arith.select", case.type, (is_chosen, case, chosen))
    return chosen


@define_for_both(lax.clamp_p)
def _clamp(builder: KernelBuilder, low: Any, x: Any, high: Any) -> Any:
    low, x, high = builder.full_operands((low, x, high), builder.aval_out.shape)
    if is_float(builder.aval_out.dtype):
        names = "arith.maximumf", "arith.minimumf"
    elif is_unsigned(builder.aval_out.dtype):
        names = "arith.maxui", "arith.minui"
    else:
        names = "arith.maxsi", "arith.minsi"
    return builder.binary(names[1], builder.binary(names[0], x, low), high)


def _times(builder: KernelBuilder, x: Any, y: Any, dtype: Any) -> Any:
    return builder.binary("arith.mulf" if is_float(dtype) else "arith.muli", x, y)


@define_for_both(lax.square_p)
def _square(builder: KernelBuilder, x: Any) -> Any:
    return _times(builder, x, x, builder.aval_out.dtype)


@define_for_both(lax.integer_pow_p)
def _integer_pow(builder: KernelBuilder, x: Any, *, y: int) -> Any:
    aval = builder.aval_out
    one = builder.full(1, aval.shape, aval.dtype)
    if y == 0:
        return one
    result, power, exponent = None, x, abs(y)
    while exponent:
        if exponent & 1:
            result = power if result is None else _times(builder, result, power, aval.dtype)
        exponent >>= 1
        if exponent:
            power = _times(builder, power, power, aval.dtype)
    if y > 0:
        return result
    return divide(builder, one, result, aval.dtype)


@define_for_both(lax.is_finite_p)
def _is_finite(builder: KernelBuilder, x: Any) -> Any:
    aval = builder.avals_in[0]
    size = builder.create("math.absf", x.type, (x,))
    infinity = builder.full(np.inf, aval.shape, aval.dtype)
    return compare(builder, "lt", size, infinity, aval.dtype)


# Operations that only carry hints or names have no effect in kernels.
define_for_both(lax.optimization_barrier_p, lambda builder, *operands, **params: list(operands))
