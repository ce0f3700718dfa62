# SPDX-License-Identifier: Apache-2.0
"""Lowering of reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.expansions.log_add_exp import log_add_exp
from olympus_ir.lax.reductions import refuse_logarithms_of_integers
from olympus_ir.types import dtypes

from .. import mlir
from ..comparisons import comparison_attributes
from ..context import LoweringContext
from ..cpu.extremes import is_found_in_passes, position_in_passes
from ..cpu.reductions import (
    extreme_in_lanes,
    extreme_of_bytes,
    is_extreme_in_lanes,
    is_extreme_of_bytes,
    keeps_loops,
    without_library,
)
from ..cpu.scans.blocks import is_scanned_in_loops, scan_in_loops
from ..cpu.two_bits import in_bytes
from ..tables import lowering_rules
from .elementwise import complex_comparison, complex_extreme


def reducer(
    context: LoweringContext,
    operation: str,
    left: Any,
    right: Any,
    dtype: Any,
    shape: tuple[int, ...] = (),
) -> Any:
    """Builds the binary operation of a reduction: on scalars in its region, or on whole arrays."""
    if operation in ("maximum", "minimum") and dtypes.issubdtype(dtype, np.complexfloating):
        return complex_extreme(context, operation, left, right, shape, dtype)
    return context.create(f"stablehlo.{operation}", mlir.tensor_type(shape, dtype), (left, right))


def identity_value(operation: str, dtype: Any) -> Any:
    """Returns the neutral element of a binary operation."""
    if operation in ("add", "or", "xor"):
        return 0
    if operation == "multiply":
        return 1
    if operation == "and":
        return (
            True
            if dtype == np.bool_
            else -1
            if dtypes.issubdtype(dtype, np.signedinteger)
            else dtypes.iinfo(dtype).max
        )
    lowest = operation == "maximum"
    if dtype == np.bool_:
        return not lowest
    if dtypes.issubdtype(dtype, np.inexact):
        # 8-bit floats without infinities use their largest finite numbers instead.
        real = (
            np.zeros((), dtype).real.dtype
            if dtypes.issubdtype(dtype, np.complexfloating)
            else dtype
        )
        infinity = np.array(-np.inf if lowest else np.inf).astype(real)
        if np.isinf(infinity.astype(np.float64)):
            return infinity
        info = dtypes.finfo(real)
        return info.min if lowest else info.max
    info = dtypes.iinfo(dtype)
    return info.min if lowest else info.max


def reduce_operation(
    context: LoweringContext,
    operands: Sequence[Any],
    initials: Sequence[Any],
    result_types: Sequence[Any],
    axes: Sequence[int],
    scalar_types: Sequence[Any],
) -> tuple[Any, LoweringContext]:
    """Builds ``stablehlo.reduce`` with an empty region; also returns the region's context."""
    operation = context.operation(
        "stablehlo.reduce",
        result_types,
        [*operands, *initials],
        {"dimensions": mlir.i64_array(axes)},
        regions=1,
    )
    return operation, context.region(operation, 0, [*scalar_types, *scalar_types])


def _monoid(operation: str) -> Any:
    def rule(context: LoweringContext, operand: Any, *, axes: Sequence[int], **_: Any) -> Any:
        aval = context.aval_out
        dtype = aval.dtype
        if not axes:
            return operand
        params = {"operation": operation, "axes": axes}
        if is_extreme_of_bytes(context, operation, axes):
            return context.inline_function(extreme_of_bytes, (operand,), params)
        if is_extreme_in_lanes(context, operation, axes):
            return context.inline_function(extreme_in_lanes, (operand,), params)
        scalar = mlir.tensor_type((), dtype)
        initial = context.scalar(identity_value(operation, dtype), dtype)
        reduced, inner = reduce_operation(
            context, [operand], [initial], [mlir.aval_type(aval)], axes, [scalar]
        )
        left, right = inner.block.arguments
        result = reducer(inner, operation, left, right, dtype)
        if keeps_loops(context, operation, axes):
            result = without_library(inner, result, dtype)
        inner.end_region([result])
        return reduced.results[0]

    return rule


for _primitive, _operation in {
    lax.reduce_sum_p: "add",
    lax.reduce_prod_p: "multiply",
    lax.reduce_max_p: "maximum",
    lax.reduce_min_p: "minimum",
    lax.reduce_and_p: "and",
    lax.reduce_or_p: "or",
    lax.reduce_xor_p: "xor",
}.items():
    lowering_rules.define(_primitive, _monoid(_operation))


@lowering_rules.define(lax.reduce_p)
def _reduce(
    context: LoweringContext,
    *operands_and_initials: Any,
    jaxpr: Any,
    dimensions: Any,
    **params: Any,
) -> list[Any]:
    count = len(operands_and_initials) // 2
    operands, initials = operands_and_initials[:count], operands_and_initials[count:]
    scalars = [mlir.tensor_type((), aval.dtype) for aval in context.avals_out]
    reduced, inner = reduce_operation(
        context, operands, initials, context.result_types, dimensions, scalars
    )
    inner.end_region(inner.lower(jaxpr, list(inner.block.arguments)))
    return list(reduced.results)


def _arg_extremum(direction: str) -> Any:
    def rule(
        context: LoweringContext, operand: Any, *, axes: Sequence[int], index_dtype: Any
    ) -> Any:
        """Returns the first index of the extremum. NaN counts as the extremum."""
        (axis,) = axes
        aval_in, aval = context.avals_in[0], context.aval_out
        if is_found_in_passes(context, aval_in, axis):
            params = {"axis": axis, "dtype": aval.dtype, "largest": direction == "GT"}
            return context.inline_function(position_in_passes, (operand,), params)
        dtype, index_dtype = aval_in.dtype, aval.dtype
        positions = context.create(
            "stablehlo.iota",
            mlir.tensor_type(aval_in.shape, index_dtype),
            (),
            {"iota_dimension": mlir.i64(axis)},
        )
        worst = identity_value("maximum" if direction == "GT" else "minimum", dtype)
        scalar, index = mlir.tensor_type((), dtype), mlir.tensor_type((), index_dtype)
        reduced, inner = reduce_operation(
            context,
            [operand, positions],
            [context.scalar(worst, dtype), context.scalar(0, index_dtype)],
            [mlir.tensor_type(aval.shape, dtype), mlir.aval_type(aval)],
            [axis],
            [scalar, index],
        )
        left, left_index, right, right_index = inner.block.arguments
        flag = mlir.tensor_type((), np.dtype(np.bool_))
        if dtypes.issubdtype(dtype, np.complexfloating):
            better = complex_comparison(inner, direction, left, right, (), dtype)
        else:
            better = inner.compare(direction, left, right, (), dtype)
        if dtypes.issubdtype(dtype, np.inexact):
            is_nan = inner.compare("NE", left, left, (), dtype)
            better = inner.create("stablehlo.or", flag, (better, is_nan))
        equal = inner.compare("EQ", left, right, (), dtype)
        first = inner.compare("LT", left_index, right_index, (), index_dtype)
        earlier = inner.create("stablehlo.and", flag, (equal, first))
        keep_index = inner.create("stablehlo.or", flag, (better, earlier))
        inner.end_region(
            [
                inner.create("stablehlo.select", scalar, (better, left, right)),
                inner.create("stablehlo.select", index, (keep_index, left_index, right_index)),
            ]
        )
        return reduced.results[1]

    return rule


lowering_rules.define(lax.argmax_p, in_bytes(lax.argmax_p, _arg_extremum("GT")))
lowering_rules.define(lax.argmin_p, in_bytes(lax.argmin_p, _arg_extremum("LT")))


def _window_scan(combine: Any, initial: Any, function: Any) -> Any:
    """Returns a cumulative operation as a reduction over windows that reach back to the start.

    XLA recognizes this form and replaces it by a scan of logarithmic depth.

    Args:
      combine: builds the operation on two scalars.
      initial: returns the identity of the operation for a dtype.
      function: the operation on two arrays, used on CPUs.
    """

    def rule(context: LoweringContext, operand: Any, *, axis: int, reverse: bool) -> Any:
        aval = context.aval_out
        if is_scanned_in_loops(context, aval, axis):
            identity = initial(aval.dtype)
            params = {"axis": axis, "reverse": reverse, "combine": function, "identity": identity}
            return context.inline_function(scan_in_loops, (operand,), params)
        rank, size, dtype = len(aval.shape), aval.shape[axis], aval.dtype
        if size == 0:
            return operand
        window = [size if d == axis else 1 for d in range(rank)]
        padding: list[tuple[Any, Any]] = [(0, 0)] * rank
        padding[axis] = (0, size - 1) if reverse else (size - 1, 0)
        ones = mlir.i64_array((1,) * rank)
        operation = context.operation(
            "stablehlo.reduce_window",
            [mlir.aval_type(aval)],
            [operand, context.scalar(initial(dtype), dtype)],
            {
                "window_dimensions": mlir.i64_array(window),
                "window_strides": ones,
                "base_dilations": ones,
                "window_dilations": ones,
                "padding": mlir.i64_elements(padding),
            },
            regions=1,
        )
        scalar = mlir.tensor_type((), dtype)
        inner = context.region(operation, 0, [scalar, scalar])
        left, right = inner.block.arguments
        inner.end_region([combine(inner, left, right, dtype)])
        return operation.results[0]

    return rule


def _combine_with(operation: str) -> Any:
    return lambda context, left, right, dtype: reducer(context, operation, left, right, dtype)


def _log_add_exp(context: LoweringContext, left: Any, right: Any, dtype: Any) -> Any:
    """Builds ``log(exp(left) + exp(right))`` without overflow, also for equal infinities."""
    scalar = mlir.tensor_type((), dtype)

    def create(name: str, *operands: Any) -> Any:
        return context.create(f"stablehlo.{name}", scalar, operands)

    larger, difference = create("maximum", left, right), create("subtract", left, right)
    is_nan = context.create(
        "stablehlo.compare",
        mlir.tensor_type((), np.dtype(np.bool_)),
        (difference, difference),
        comparison_attributes("NE", dtype),
    )
    tail = create(
        "log_plus_one", create("exponential", create("negate", create("abs", difference)))
    )
    return create("select", is_nan, create("add", left, right), create("add", larger, tail))


for _primitive, (_operation, _function) in {
    lax.cumsum_p: ("add", lax.add),
    lax.cumprod_p: ("multiply", lax.mul),
    lax.cummax_p: ("maximum", lax.max),
    lax.cummin_p: ("minimum", lax.min),
}.items():
    lowering_rules.define(
        _primitive,
        _window_scan(
            _combine_with(_operation),
            lambda dtype, operation=_operation: identity_value(operation, dtype),
            _function,
        ),
    )
_running_log_sum = _window_scan(
    _log_add_exp, lambda dtype: identity_value("maximum", dtype), log_add_exp
)


@lowering_rules.define(lax.cumlogsumexp_p)
def _cumulative_log_sum(context: LoweringContext, operand: Any, *, axis: int, reverse: bool) -> Any:
    refuse_logarithms_of_integers(context.avals_in[0].dtype)
    if not dtypes.issubdtype(context.avals_in[0].dtype, np.complexfloating):
        return _running_log_sum(context, operand, axis=axis, reverse=reverse)
    return context.inline_function(_log_sums, (operand,), {"axis": axis, "reverse": reverse})


def _log_sums(operand: Any, *, axis: int, reverse: bool) -> Any:
    return lax.associative_scan(log_add_exp, operand, reverse=reverse, axis=axis)
