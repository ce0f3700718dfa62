# SPDX-License-Identifier: Apache-2.0
"""Lowering of mathematical functions to Triton, by NVIDIA's device library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_xla.compiling.lowering import mlir

from ...mlir.building import INT32, KernelLoweringError, element_type, is_float
from ...mlir.elementwise import cast, divide, power, remainder, rounding
from ...mlir.tables import triton_rules
from .builder import TritonBuilder

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


def call_library(builder: TritonBuilder, symbol: str, result_type: Any, operands: Any) -> Any:
    """Calls a function of NVIDIA's device library for each element."""
    attributes = {
        "libname": mlir.string(""),
        "libpath": mlir.string(""),
        "symbol": mlir.string(symbol),
        "pure": mlir.boolean(True),
    }
    return builder.create("tt.extern_elementwise", result_type, operands, attributes)


def library(name: str) -> Callable[..., Any]:
    """Returns the rule of a function that the device library has in single and double precision.

    Narrower numbers are computed in single precision.
    """

    def rule(builder: TritonBuilder, *operands: Any, **params: Any) -> Any:
        aval = builder.aval_out
        dtype = aval.dtype
        if not is_float(dtype):
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` of {dtype} has no Triton form; convert the "
                "operand to a floating-point dtype"
            )
        operands = tuple(builder.full_operands(operands, aval.shape))
        wide = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
        operands = tuple(cast(builder, operand, dtype, wide) for operand in operands)
        symbol = f"__nv_{name}" if wide == _FLOAT64 else f"__nv_{name}f"
        result = call_library(
            builder, symbol, builder.like(operands[0], element_type(wide)), operands
        )
        return cast(builder, result, wide, dtype)

    return rule


def _define(primitive: Primitive, name: str) -> None:
    triton_rules.define(primitive, library(name))


_define(lax.exp_p, "exp")
_define(lax.exp2_p, "exp2")
_define(lax.expm1_p, "expm1")
_define(lax.log_p, "log")
_define(lax.log1p_p, "log1p")
_define(lax.sqrt_p, "sqrt")
_define(lax.rsqrt_p, "rsqrt")
_define(lax.cbrt_p, "cbrt")
_define(lax.sin_p, "sin")
_define(lax.cos_p, "cos")
_define(lax.tan_p, "tan")
_define(lax.asin_p, "asin")
_define(lax.acos_p, "acos")
_define(lax.atan_p, "atan")
_define(lax.atan2_p, "atan2")
_define(lax.sinh_p, "sinh")
_define(lax.cosh_p, "cosh")
_define(lax.tanh_p, "tanh")
_define(lax.asinh_p, "asinh")
_define(lax.acosh_p, "acosh")
_define(lax.atanh_p, "atanh")
_define(lax.erf_p, "erf")
_define(lax.erfc_p, "erfc")
_define(lax.erf_inv_p, "erfinv")
_define(lax.lgamma_p, "lgamma")
_define(lax.nextafter_p, "nextafter")
_define(lax.floor_p, "floor")
_define(lax.ceil_p, "ceil")

triton_rules.define(lax.round_p, rounding(library("rint"), library("round")))
triton_rules.define(lax.rem_p, remainder(library("fmod")))
triton_rules.define(lax.pow_p, power(library("pow")))

_exp = library("exp")


@triton_rules.define(lax.logistic_p)
def _logistic(builder: TritonBuilder, x: Any, **params: Any) -> Any:
    aval = builder.aval_out
    one = builder.full(1, aval.shape, aval.dtype)
    decay = _exp(builder, builder.create("arith.negf", x.type, (x,)))
    return divide(builder, one, builder.binary("arith.addf", one, decay), aval.dtype)


def _bit_count(name: str) -> Callable[..., Any]:
    def rule(builder: TritonBuilder, x: Any) -> Any:
        dtype = np.dtype(builder.aval_out.dtype)
        if dtype.itemsize < 4:
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` in Triton counts bits of 32 and 64-bit "
                f"integers, got {dtype}"
            )
        symbol = f"__nv_{name}ll" if dtype.itemsize == 8 else f"__nv_{name}"
        count = call_library(builder, symbol, builder.like(x, element_type(INT32)), (x,))
        return cast(builder, count, INT32, np.dtype(f"i{dtype.itemsize}"))

    return rule


triton_rules.define(lax.population_count_p, _bit_count("popc"))
triton_rules.define(lax.clz_p, _bit_count("clz"))


@triton_rules.define(lax.bitcast_convert_type_p)
def _bitcast(builder: TritonBuilder, x: Any, *, new_dtype: Any) -> Any:
    old = builder.avals_in[0].dtype
    if np.dtype(old).itemsize != np.dtype(new_dtype).itemsize:
        raise KernelLoweringError(
            f"a bitcast in Triton keeps the size of elements, got {old} to {new_dtype}"
        )
    kind = builder.like(x, element_type(new_dtype))
    return x if kind == x.type else builder.create("tt.bitcast", kind, (x,))
