# SPDX-License-Identifier: Apache-2.0
"""Lowering of mathematical functions to Mosaic, by the dialect ``math`` or by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from ...mlir.building import KernelLoweringError, element_type, is_float
from ...mlir.elementwise import cast, power, remainder, rounding
from ...mlir.tables import mosaic_rules
from .builder import MosaicBuilder

_FLOAT32 = np.dtype(np.float32)


def in_single_precision(operation: str) -> Callable[..., Any]:
    """Returns the rule that lowers to an operation of the dialect ``math``, in single precision."""

    def rule(builder: MosaicBuilder, *operands: Any, **params: Any) -> Any:
        aval = builder.aval_out
        if not is_float(aval.dtype):
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` of {aval.dtype} has no Mosaic form; convert "
                "the operand to a floating-point dtype"
            )
        operands = tuple(
            cast(builder, operand, aval.dtype, _FLOAT32)
            for operand in builder.full_operands(operands, aval.shape)
        )
        kind = builder.like(operands[0], element_type(_FLOAT32))
        return cast(builder, builder.create(operation, kind, operands), _FLOAT32, aval.dtype)

    return rule


def by_formula(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the lowering rule of a function that a formula defines, in single precision."""

    def wide(*operands: Any) -> Any:
        dtype = operands[0].dtype
        operands = tuple(lax.convert_element_type(operand, _FLOAT32) for operand in operands)
        return lax.convert_element_type(formula(*operands), dtype)

    def rule(builder: MosaicBuilder, *operands: Any, **params: Any) -> Any:
        return builder.inline(wide, operands)

    return rule


def _define(primitive: Primitive, operation: str) -> None:
    mosaic_rules.define(primitive, in_single_precision(operation))


_define(lax.exp_p, "math.exp")
_define(lax.exp2_p, "math.exp2")
_define(lax.log_p, "math.log")
_define(lax.log1p_p, "math.log1p")
_define(lax.sqrt_p, "math.sqrt")
_define(lax.rsqrt_p, "math.rsqrt")
_define(lax.sin_p, "math.sin")
_define(lax.cos_p, "math.cos")
_define(lax.tan_p, "math.tan")
_define(lax.tanh_p, "math.tanh")
_define(lax.floor_p, "math.floor")
_define(lax.ceil_p, "math.ceil")
_define(lax.erf_p, "math.erf")
_define(lax.atan2_p, "math.atan2")

mosaic_rules.define(
    lax.round_p, rounding(in_single_precision("math.roundeven"), in_single_precision("math.round"))
)
mosaic_rules.define(lax.rem_p, remainder(in_single_precision("arith.remf")))
mosaic_rules.define(lax.pow_p, power(in_single_precision("math.powf")))


def _logistic(x: Any) -> Any:
    return lax.div(np.float32(1), lax.add(np.float32(1), lax.exp(lax.neg(x))))


def _expm1(x: Any) -> Any:
    # Near zero, exp(x) - 1 would lose digits, because exp(x) is about one. This formula stays
    # accurate.
    return lax.mul(lax.tanh(lax.mul(x, np.float32(0.5))), lax.add(lax.exp(x), np.float32(1)))


def _sinh(x: Any) -> Any:
    half = lax.mul(_expm1(x), np.float32(0.5))
    return lax.add(half, lax.div(half, lax.exp(x)))


def _cosh(x: Any) -> Any:
    exp = lax.exp(lax.abs(x))
    return lax.mul(np.float32(0.5), lax.add(exp, lax.div(np.float32(1), exp)))


def _cbrt(x: Any) -> Any:
    root = lax.exp(lax.div(lax.log(lax.abs(x)), np.float32(3)))
    # One step of Newton's method corrects the error of the logarithm.
    better = lax.div(
        lax.add(lax.add(root, root), lax.div(lax.abs(x), lax.mul(root, root))), np.float32(3)
    )
    nonzero = lax.ne(x, np.float32(0))
    return lax.select_n(nonzero, x, lax.mul(lax.sign(x), better))


def _nextafter(x: Any, y: Any) -> Any:
    # The rank of a number is its position among all floats, subnormals included. It follows from
    # the bits, read as an integer.
    lowest = np.int32(-(2**31))
    zero = np.int32(0)

    def rank(value: Any) -> Any:
        bits = lax.bitcast_convert_type(value, np.int32)
        return lax.select_n(lax.lt(bits, zero), bits, lax.sub(lowest, bits))

    rank_of_x, rank_of_y = rank(x), rank(y)
    ones = lax.full_like(rank_of_x, 1)
    moved = lax.add(rank_of_x, lax.select_n(lax.lt(rank_of_y, rank_of_x), ones, lax.neg(ones)))
    # A negative number that moves up to zero keeps its sign.
    is_negative = lax.bitwise_or(
        lax.lt(moved, zero), lax.bitwise_and(lax.eq(moved, zero), lax.lt(rank_of_x, zero))
    )
    bits = lax.select_n(is_negative, moved, lax.sub(lowest, moved))
    result = lax.select_n(
        lax.eq(rank_of_x, rank_of_y), lax.bitcast_convert_type(bits, np.float32), y
    )
    unordered = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    return lax.select_n(unordered, result, lax.full_like(x, np.nan))


# The polynomials of M. Giles, "Approximating the erfinv function" (2010), near zero and far from
# zero.
_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


def _erf_inv(x: Any) -> Any:
    w = lax.neg(lax.log1p(lax.neg(lax.mul(x, x))))
    is_near = lax.lt(w, np.float32(5))
    far = lax.sub(lax.sqrt(w), np.float32(3))
    position = lax.select_n(is_near, far, lax.sub(w, np.float32(2.5)))
    result: Any = None
    for near_part, far_part in zip(_NEAR, _FAR, strict=True):
        part = lax.select_n(
            is_near,
            lax.full_like(x, np.float32(far_part)),
            lax.full_like(x, np.float32(near_part)),
        )
        result = part if result is None else lax.add(lax.mul(result, position), part)
    at_end = lax.eq(lax.abs(x), np.float32(1))
    return lax.select_n(at_end, lax.mul(result, x), lax.mul(x, np.float32(np.inf)))


mosaic_rules.define(lax.erf_inv_p, by_formula(_erf_inv))
mosaic_rules.define(lax.logistic_p, by_formula(_logistic))
mosaic_rules.define(lax.expm1_p, by_formula(_expm1))
mosaic_rules.define(lax.sinh_p, by_formula(_sinh))
mosaic_rules.define(lax.cosh_p, by_formula(_cosh))
mosaic_rules.define(lax.cbrt_p, by_formula(_cbrt))


@mosaic_rules.define(lax.nextafter_p)
def _next_after(builder: MosaicBuilder, x: Any, y: Any) -> Any:
    if builder.aval_out.dtype != _FLOAT32:
        raise KernelLoweringError(
            f"`nextafter` in Mosaic supports float32 only, got {builder.aval_out.dtype}"
        )
    return builder.inline(_nextafter, (x, y))


mosaic_rules.define(lax.erfc_p, by_formula(lambda x: lax.sub(np.float32(1), lax.erf(x))))


@mosaic_rules.define(lax.population_count_p)
def _population_count(builder: MosaicBuilder, x: Any) -> Any:
    return builder.create("math.ctpop", x.type, (x,))


@mosaic_rules.define(lax.clz_p)
def _leading_zeros(builder: MosaicBuilder, x: Any) -> Any:
    return builder.create("math.ctlz", x.type, (x,))


@mosaic_rules.define(lax.bitcast_convert_type_p)
def _bitcast(builder: MosaicBuilder, x: Any, *, new_dtype: Any) -> Any:
    old = builder.avals_in[0].dtype
    if np.dtype(old).itemsize != np.dtype(new_dtype).itemsize:
        raise KernelLoweringError(
            f"a bitcast in Mosaic keeps the size of elements, got {old} to {new_dtype}"
        )
    kind = builder.like(x, element_type(new_dtype))
    if kind == x.type:
        return x
    return builder.create("tpu.bitcast" if builder.shape_of(x) else "arith.bitcast", kind, (x,))
