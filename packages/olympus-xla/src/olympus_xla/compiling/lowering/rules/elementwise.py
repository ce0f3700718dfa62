# SPDX-License-Identifier: Apache-2.0
"""Lowering of elementwise operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Literal
from olympus_ir.types import dtypes

from .. import mlir
from ..comparisons import comparison_attributes
from ..context import LoweringContext
from ..cpu import (
    double_trigonometry,
    gamma,
    hyperbolic,
    inverses,
    logarithms,
    powers,
    remainders,
    trigonometry,
)
from ..cuts.fusions import Cuts
from ..tables import lowering_rules, nary, spread

for _primitive, _operation in {
    lax.neg_p: "stablehlo.negate",
    lax.floor_p: "stablehlo.floor",
    lax.ceil_p: "stablehlo.ceil",
    lax.is_finite_p: "stablehlo.is_finite",
    lax.exp_p: "stablehlo.exponential",
    lax.log_p: "stablehlo.log",
    lax.expm1_p: "stablehlo.exponential_minus_one",
    lax.tanh_p: "stablehlo.tanh",
    lax.logistic_p: "stablehlo.logistic",
    lax.acosh_p: "chlo.acosh",
    lax.sqrt_p: "stablehlo.sqrt",
    lax.rsqrt_p: "stablehlo.rsqrt",
    lax.abs_p: "stablehlo.abs",
    lax.real_p: "stablehlo.real",
    lax.imag_p: "stablehlo.imag",
    lax.complex_p: "stablehlo.complex",
    lax.add_p: "stablehlo.add",
    lax.sub_p: "stablehlo.subtract",
    lax.and_p: "stablehlo.and",
    lax.or_p: "stablehlo.or",
    lax.xor_p: "stablehlo.xor",
    lax.not_p: "stablehlo.not",
    lax.shift_left_p: "stablehlo.shift_left",
    lax.shift_right_logical_p: "stablehlo.shift_right_logical",
    lax.shift_right_arithmetic_p: "stablehlo.shift_right_arithmetic",
    lax.population_count_p: "stablehlo.popcnt",
    lax.mulhi_p: "chlo.mulhi",
    lax.clz_p: "stablehlo.count_leading_zeros",
    lax.erf_p: "chlo.erf",
    lax.erfc_p: "chlo.erfc",
    lax.erf_inv_p: "chlo.erf_inv",
    lax.nextafter_p: "chlo.next_after",
    lax.add_any_p: "stablehlo.add",
}.items():
    lowering_rules.define(_primitive, nary(_operation))


_multiply = nary("stablehlo.multiply")


@lowering_rules.define(lax.mul_p)
def _mul(context: LoweringContext, left: Any, right: Any, *, out_dtype: Any = None) -> Any:
    aval = context.aval_out
    if out_dtype is None or context.avals_in[0].dtype == aval.dtype:
        return _multiply(context, left, right)
    # The product has a wider dtype, so widen the operands first.
    operands = []
    for operand, aval_in in zip((left, right), context.avals_in, strict=True):
        operand = context.convert(operand, aval_in.shape, aval.dtype)
        if aval_in.shape != aval.shape:
            dimensions = range(len(aval_in.shape))
            operand = context.broadcast(operand, aval.shape, aval.dtype, dimensions)
        operands.append(operand)
    return context.create("stablehlo.multiply", mlir.aval_type(aval), operands)


def _are_equal(x: Any, y: Any) -> Any:
    """Compares elements of an extended dtype by the numbers in their physical arrays."""
    rank = max(x.ndim, y.ndim)
    numbers = []
    for operand in (x, y):
        plain = lax.from_edtype(operand)
        missing = rank - operand.ndim
        numbers.append(lax.expand_dims(plain, tuple(range(missing))) if missing else plain)
    equal = lax.eq(*numbers)
    return lax.reduce_and(equal, tuple(range(rank, equal.ndim)))


_extended_comparisons = {"EQ": _are_equal, "NE": lambda x, y: lax.bitwise_not(_are_equal(x, y))}


def _comparison(direction: str, *, total_order: bool = False) -> Any:
    def rule(context: LoweringContext, left: Any, right: Any) -> Any:
        equation = context.equation
        aval = equation.outvars[0].aval
        operands: Any = (left, right)
        first, second = equation.invars
        if dtypes.is_extended(first.aval.dtype):
            return context.inline_function(_extended_comparisons[direction], operands, {})
        if first.aval.shape != second.aval.shape:
            operands = spread(context, operands, aval.shape)
        total = total_order and dtypes.issubdtype(first.aval.dtype, np.floating)
        return context.create(
            "stablehlo.compare",
            mlir.aval_type(aval),
            operands,
            comparison_attributes(direction, first.aval.dtype, total),
        )

    return rule


def _division(operation: str) -> Any:
    """Returns the rule of division or remainder.

    As in XLA, an integer division by zero sets all bits, and the remainder is the dividend. XLA's
    constant folding divides on the host, and crashes the process if a constant divisor is zero, so
    divisors that may be zero are replaced first.
    """
    plain = nary(operation)

    def rule(context: LoweringContext, *operands: Any) -> Any:
        aval, divisor = context.aval_out, context.equation.invars[1]
        if not dtypes.issubdtype(aval.dtype, np.integer) or (
            type(divisor) is Literal and divisor.val != 0
        ):
            return plain(context, *operands)
        shape, dtype = aval.shape, aval.dtype
        if any(atom.aval.shape != shape for atom in context.equation.invars):
            operands = tuple(spread(context, operands, shape))
        dividend, number = operands
        kind = mlir.aval_type(aval)
        is_zero = context.compare("EQ", number, context.full(0, shape, dtype), shape, dtype)
        one = context.full(1, shape, dtype)
        number = context.create("stablehlo.select", kind, (is_zero, one, number))
        result = context.create(operation, kind, (dividend, number))
        if operation == "stablehlo.divide":
            dividend = context.full(np.int64(-1).astype(dtype), shape, dtype)
        return context.create("stablehlo.select", kind, (is_zero, dividend, result))

    return rule


def complex_extreme(
    context: LoweringContext, operation: str, left: Any, right: Any, shape: tuple, dtype: Any
) -> Any:
    """Returns the ``"maximum"`` or ``"minimum"`` of complex numbers in lexicographic order.

    XLA's own operation compares only the real parts.
    """
    direction = "GT" if operation == "maximum" else "LT"
    takes_left = complex_comparison(context, direction, left, right, shape, dtype)
    kind = mlir.tensor_type(shape, dtype)
    return context.create("stablehlo.select", kind, (takes_left, left, right))


def complex_comparison(
    context: LoweringContext, direction: str, left: Any, right: Any, shape: tuple, dtype: Any
) -> Any:
    """Compares complex numbers in lexicographic order; ``direction`` is "LT" or "GT".

    XLA does not support this comparison of complex numbers: if both operands are constants, its
    constant folding crashes the process. So this function compares real and imaginary parts.
    """
    part = np.zeros((), dtype).real.dtype
    kind = mlir.tensor_type(shape, part)
    real, other_real = [context.create("stablehlo.real", kind, (x,)) for x in (left, right)]
    imag, other_imag = [context.create("stablehlo.imag", kind, (x,)) for x in (left, right)]
    is_equal = context.compare("EQ", real, other_real, shape, part)
    by_real = context.compare(direction, real, other_real, shape, part)
    by_imag = context.compare(direction, imag, other_imag, shape, part)
    flags = mlir.tensor_type(shape, np.dtype(np.bool_))
    return context.create("stablehlo.select", flags, (is_equal, by_imag, by_real))


def _extreme(operation: str) -> Any:
    plain = nary(f"stablehlo.{operation}")

    def rule(context: LoweringContext, *operands: Any) -> Any:
        aval = context.aval_out
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            return plain(context, *operands)
        left, right = spread(context, operands, aval.shape)
        return complex_extreme(context, operation, left, right, aval.shape, aval.dtype)

    return rule


lowering_rules.define(lax.max_p, _extreme("maximum"))
lowering_rules.define(lax.min_p, _extreme("minimum"))
lowering_rules.define(lax.div_p, _division("stablehlo.divide"))


def _remainder(context: LoweringContext, *operands: Any) -> Any:
    aval = context.aval_out
    if not trigonometry.is_double_arithmetic(context, aval):
        return _library_remainder(context, *operands)
    return context.inline_function(remainders.remainder, operands, {"shape": aval.shape})


_library_remainder = _division("stablehlo.remainder")
lowering_rules.define(lax.rem_p, _remainder)

for _primitive, _direction in {
    lax.eq_p: "EQ",
    lax.ne_p: "NE",
    lax.lt_p: "LT",
    lax.le_p: "LE",
    lax.gt_p: "GT",
    lax.ge_p: "GE",
}.items():
    lowering_rules.define(_primitive, _comparison(_direction))
for _primitive, _direction in {lax.eq_to_p: "EQ", lax.lt_to_p: "LT", lax.le_to_p: "LE"}.items():
    lowering_rules.define(_primitive, _comparison(_direction, total_order=True))


@lowering_rules.define(lax.sign_p)
def _sign(context: LoweringContext, operand: Any, **params: Any) -> Any:
    aval = context.aval_out
    if not dtypes.issubdtype(aval.dtype, np.unsignedinteger):
        return context.create("stablehlo.sign", mlir.aval_type(aval), (operand,))
    zero = context.full(0, aval.shape, aval.dtype)
    one = context.full(1, aval.shape, aval.dtype)
    is_zero = context.compare("EQ", operand, zero, aval.shape, aval.dtype)
    return context.create("stablehlo.select", mlir.aval_type(aval), (is_zero, zero, one))


@lowering_rules.define(lax.round_p)
def _round(context: LoweringContext, operand: Any, *, rounding_method: Any) -> Any:
    to_even = int(rounding_method) == 1
    name = "stablehlo.round_nearest_even" if to_even else "stablehlo.round_nearest_afz"
    return context.create(name, mlir.aval_type(context.aval_out), (operand,))


@lowering_rules.define(lax.exp2_p)
def _exp2(context: LoweringContext, operand: Any, *, accuracy: Any = None) -> Any:
    aval = context.aval_out
    attributes = None
    if accuracy is not None:
        attributes = {"result_accuracy": mlir.result_accuracy(accuracy)}
    dtype = aval.dtype
    if dtypes.itemsize_bits(dtype) < 32:
        # The logarithm of two and the product would have few correct bits.
        dtype = np.dtype(np.float32)
        operand = context.convert(operand, aval.shape, dtype)
    kind = mlir.tensor_type(aval.shape, dtype)
    log_2 = context.full(np.log(2.0), aval.shape, dtype)
    scaled = context.create("stablehlo.multiply", kind, (log_2, operand))
    value = context.create("stablehlo.exponential", kind, (scaled,), attributes)
    return value if dtype == aval.dtype else context.convert(value, aval.shape, aval.dtype)


@lowering_rules.define(lax.square_p)
def _square(context: LoweringContext, operand: Any, **params: Any) -> Any:
    kind = mlir.aval_type(context.aval_out)
    if dtypes.issubdtype(context.aval_out.dtype, np.complexfloating):
        # The real part is x^2 - y^2. These squares may overflow where (x + y) (x - y), which
        # `chlo.square` computes, does not.
        return context.create("chlo.square", kind, (operand,))
    return context.create("stablehlo.multiply", kind, (operand, operand))


def _sine_of_complex(z: Any, **params: Any) -> Any:
    x, (cosh, sinh) = lax.real(z), _hyperbolic(lax.imag(z))
    imag = lax.mul(lax.cos(x), sinh)
    real = lax.select(lax.eq(x, lax.full_like(x, 0)), x, lax.mul(lax.sin(x), cosh))
    return lax.complex(real, imag)


def _cosine_of_complex(z: Any, **params: Any) -> Any:
    x, y = lax.real(z), lax.imag(z)
    cosh, sinh = _hyperbolic(y)
    is_zero = lax.eq(x, lax.full_like(x, 0))
    imag = lax.select(is_zero, lax.full_like(x, 0), lax.neg(lax.mul(lax.sin(x), sinh)))
    return lax.complex(lax.mul(lax.cos(x), cosh), imag)


def _hyperbolic(y: Any) -> tuple[Any, Any]:
    """Returns the hyperbolic cosine and sine, accurate near zero."""
    half = lax.full_like(y, 0.5)
    up, down = lax.expm1(y), lax.expm1(lax.neg(y))
    cosh = lax.add(lax.mul(half, lax.add(up, down)), lax.full_like(y, 1))
    return cosh, lax.mul(half, lax.sub(up, down))


def _in_double(
    operation: str, in_double: Any, of_complex: Any = None, of_double: Any = None
) -> Any:
    """Returns the rule of a function that CPUs compute in double precision.

    Args:
      operation: the operation of XLA.
      in_double: the function of numbers of single precision and less on CPUs.
      of_complex: the function of complex numbers; None for XLA's.
      of_double: the function of doubles on CPUs; None for XLA's.

    The compiler's sine and cosine of complex numbers lose the signs of zeros. They return NaNs
    for infinities on the imaginary axis.
    """
    plain = nary(operation)

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        aval = context.equation.outvars[0].aval
        if of_complex is not None and aval.dtype.kind == "c":
            return context.inline_function(of_complex, operands, {})
        if params.get("accuracy") is None:
            if trigonometry.is_double_arithmetic(context, aval):
                return context.inline_function(in_double, operands, {})
            if of_double is not None and double_trigonometry.is_vectorized(context, aval):
                return context.inline_function(of_double, operands, {})
        return plain(context, *operands, **params)

    return rule


for _primitive, _arguments in {
    lax.sin_p: (
        "stablehlo.sine",
        trigonometry.sine,
        _sine_of_complex,
        double_trigonometry.sine,
    ),
    lax.cos_p: (
        "stablehlo.cosine",
        trigonometry.cosine,
        _cosine_of_complex,
        double_trigonometry.cosine,
    ),
    lax.tan_p: ("stablehlo.tan", trigonometry.tangent),
    lax.asin_p: ("chlo.asin", inverses.arc_sine),
    lax.acos_p: ("chlo.acos", inverses.arc_cosine),
    lax.atan_p: ("chlo.atan", inverses.arc_tangent),
    lax.atan2_p: ("stablehlo.atan2", inverses.angle_of_point),
    lax.cbrt_p: ("stablehlo.cbrt", inverses.cube_root),
    lax.sinh_p: ("chlo.sinh", hyperbolic.hyperbolic_sine),
    lax.cosh_p: ("chlo.cosh", hyperbolic.hyperbolic_cosine),
    lax.lgamma_p: ("chlo.lgamma", gamma.log_gamma),
    lax.digamma_p: ("chlo.digamma", gamma.digamma),
    lax.log1p_p: ("stablehlo.log_plus_one", logarithms.log_plus_one),
    lax.asinh_p: ("chlo.asinh", logarithms.arc_hyperbolic_sine),
    lax.atanh_p: ("chlo.atanh", logarithms.arc_hyperbolic_tangent),
}.items():
    lowering_rules.define(_primitive, _in_double(*_arguments))


@lowering_rules.define(lax.conj_p)
def _conj(context: LoweringContext, operand: Any, **params: Any) -> Any:
    aval_in, aval = context.avals_in[0], context.aval_out
    part_dtype = np.finfo(aval.dtype).dtype
    part = mlir.tensor_type(aval.shape, part_dtype)
    if not dtypes.issubdtype(aval_in.dtype, np.complexfloating):
        zero = context.full(0, aval.shape, part_dtype)
        return context.create("stablehlo.complex", mlir.aval_type(aval), (operand, zero))
    real = context.create("stablehlo.real", part, (operand,))
    imag = context.create("stablehlo.imag", part, (operand,))
    negative = context.create("stablehlo.negate", part, (imag,))
    return context.create("stablehlo.complex", mlir.aval_type(aval), (real, negative))


# XLA replaces powers with these exponents by products and roots.
_SIMPLE = frozenset((-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0))


@lowering_rules.define(lax.pow_p)
def _pow(context: LoweringContext, base: Any, exponent: Any, **params: Any) -> Any:
    aval = context.aval_out
    constant = _constant_of(context.equation.invars[1])
    if trigonometry.is_double_arithmetic(context, aval) and constant not in _SIMPLE:
        params = {"shape": aval.shape, "dtype": aval.dtype}
        if constant is not None and powers.is_half_integer(constant):
            params["exponent"] = constant
            return context.inline_function(powers.half_integer_power, (base, exponent), params)
        return context.inline_function(powers.power, (base, exponent), params)
    operands = []
    for operand, aval_in in zip((base, exponent), context.avals_in, strict=True):
        if aval_in.dtype != aval.dtype:
            operand = context.convert(operand, aval_in.shape, aval.dtype)
        if aval_in.shape != aval.shape:
            operand = context.broadcast(operand, aval.shape, aval.dtype, range(len(aval_in.shape)))
        operands.append(operand)
    return context.create("stablehlo.power", mlir.aval_type(aval), operands)


def _constant_of(exponent: Any) -> float | None:
    """Returns an exponent, an operand of the equation, as a number; None if it is not a literal."""
    return float(np.asarray(exponent.val).flat[0]) if isinstance(exponent, Literal) else None


@lowering_rules.define(lax.integer_pow_p)
def _integer_pow(context: LoweringContext, operand: Any, *, y: int) -> Any:
    """Lowers an integer power by repeated squaring."""
    aval = context.aval_out
    kind = mlir.aval_type(aval)
    if y == 0:
        return context.full(1, aval.shape, aval.dtype)
    remaining, power, result = abs(y), operand, None
    while remaining:
        if remaining & 1:
            result = (
                power
                if result is None
                else context.create("stablehlo.multiply", kind, (result, power))
            )
        remaining >>= 1
        if remaining:
            power = context.create("stablehlo.multiply", kind, (power, power))
    if y < 0:
        one = context.full(1, aval.shape, aval.dtype)
        result = context.create("stablehlo.divide", kind, (one, result))
    return result


@lowering_rules.define(lax.select_n_p)
def _select_n(context: LoweringContext, which: Any, *cases: Any) -> Any:
    avals = context.avals_in
    aval, which_aval = context.aval_out, avals[0]
    physical = mlir.physical_aval(aval)
    kind = mlir.aval_type(aval)
    if len(cases) == 1:
        return cases[0]
    if physical is not aval and which_aval.shape:
        # For typed keys, the selector lacks the dimension of a key's words.
        which = context.broadcast(
            which, physical.shape, which_aval.dtype, range(len(which_aval.shape))
        )
        which_aval = which_aval.update(shape=physical.shape)
    if which_aval.dtype == np.bool_:
        return context.create("stablehlo.select", kind, (which, cases[1], cases[0]))
    return _choose(context, (which, which_aval), kind, cases, 0)


def _choose(
    context: LoweringContext, selector: tuple[Any, Any], kind: Any, cases: Sequence[Any], first: int
) -> Any:
    """Selects one of ``cases`` by bisection; the first case has the index ``first``."""
    if len(cases) == 1:
        return cases[0]
    which, aval = selector
    middle = len(cases) // 2
    bound = context.full(first + middle, aval.shape, aval.dtype)
    below = context.compare("LT", which, bound, aval.shape, aval.dtype)
    lower = _choose(context, selector, kind, cases[:middle], first)
    upper = _choose(context, selector, kind, cases[middle:], first + middle)
    return context.create("stablehlo.select", kind, (below, lower, upper))


@lowering_rules.define(lax.clamp_p)
def _clamp(context: LoweringContext, low: Any, operand: Any, high: Any) -> Any:
    return context.create("stablehlo.clamp", mlir.aval_type(context.aval_out), (low, operand, high))


@lowering_rules.define(lax.convert_element_type_p)
def _convert_element_type(context: LoweringContext, operand: Any, **params: Any) -> Any:
    aval_in, aval = mlir.physical_aval(context.avals_in[0]), mlir.physical_aval(context.aval_out)
    old, new = aval_in.dtype, aval.dtype
    if old == new:
        return operand
    if dtypes.issubdtype(old, np.complexfloating) and not dtypes.issubdtype(
        new, np.complexfloating
    ):
        real = np.finfo(old).dtype
        operand = context.create("stablehlo.real", mlir.tensor_type(aval.shape, real), (operand,))
        old = real
        if old == new:
            return operand
    if new == np.bool_:
        # XLA's conversion to bool truncates, so compare with zero instead.
        zero = context.full(0, aval.shape, old)
        return context.compare("NE", operand, zero, aval.shape, old)
    return context.create("stablehlo.convert", mlir.aval_type(aval), (operand,))


@lowering_rules.define(lax.stored_p)
def _stored(context: LoweringContext, operand: Any) -> Any:
    if context.platforms != ("cpu",):
        return operand
    # In modules with cuts, XLA keeps barriers until it has fused operations.
    context.module.cuts.append(Cuts([], 0, 0))
    types = context.result_types
    return context.operation("stablehlo.optimization_barrier", types, [operand]).results[0]


@lowering_rules.define(lax.bitcast_convert_type_p)
def _bitcast(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return context.create("stablehlo.bitcast_convert", mlir.aval_type(context.aval_out), (operand,))


@lowering_rules.define(lax.reduce_precision_p)
def _reduce_precision(
    context: LoweringContext, operand: Any, *, exponent_bits: int, mantissa_bits: int
) -> Any:
    return context.create(
        "stablehlo.reduce_precision",
        mlir.aval_type(context.aval_out),
        (operand,),
        {"exponent_bits": mlir.i32(exponent_bits), "mantissa_bits": mlir.i32(mantissa_bits)},
    )


def _identity(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return operand


for _primitive in (
    lax.copy_p,
    lax.stage_p,
    lax.stop_gradient_p,
    lax.to_edtype_p,
    lax.from_edtype_p,
):
    lowering_rules.define(_primitive, _identity)
