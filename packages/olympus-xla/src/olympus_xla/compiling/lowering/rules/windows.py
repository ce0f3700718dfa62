# SPDX-License-Identifier: Apache-2.0
"""Lowering of operations on windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.lax.windows import reductions
from olympus_ir.lax.windows.folds import neutral_element

from .. import mlir
from ..context import LoweringContext
from ..cpu.pooling import is_scattered_by_views, scatter_to_extremes
from ..layouts import kept_whole
from ..tables import lowering_rules
from .reductions import identity_value, reducer


def _window_attributes(
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    return {
        "window_dimensions": mlir.i64_array(window_dimensions),
        "window_strides": mlir.i64_array(window_strides),
        "padding": mlir.i64_elements(np.reshape(padding, (len(window_dimensions), 2))),
    }


def reduce_windows(
    context: LoweringContext,
    operands: Sequence[Any],
    initials: Sequence[Any],
    result_types: Sequence[Any],
    scalar_types: Sequence[Any],
    *,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **window: Any,
) -> tuple[Any, LoweringContext]:
    """Builds a ``stablehlo.reduce_window`` with an empty region.

    Also returns the context to fill the region.
    """
    operation = context.operation(
        "stablehlo.reduce_window",
        result_types,
        [*operands, *initials],
        {
            **_window_attributes(**window),
            "base_dilations": mlir.i64_array(base_dilation),
            "window_dilations": mlir.i64_array(window_dilation),
        },
        regions=1,
    )
    return operation, context.region(operation, 0, [*scalar_types, *scalar_types])


def _monoid(operation: str) -> Any:
    def rule(context: LoweringContext, operand: Any, **window: Any) -> Any:
        aval = context.aval_out
        dtype = aval.dtype
        initial = context.scalar(identity_value(operation, dtype), dtype)
        scalar = mlir.tensor_type((), dtype)
        reduced, inner = reduce_windows(
            context, [operand], [initial], [mlir.aval_type(aval)], [scalar], **window
        )
        left, right = inner.block.arguments
        inner.end_region([reducer(inner, operation, left, right, dtype)])
        return reduced.results[0]

    return rule


lowering_rules.define(reductions.reduce_window_sum_p, _monoid("add"))
lowering_rules.define(reductions.reduce_window_max_p, _monoid("maximum"))
lowering_rules.define(reductions.reduce_window_min_p, _monoid("minimum"))


@lowering_rules.define(reductions.reduce_window_p)
def _reduce_window(
    context: LoweringContext,
    *operands_and_initials: Any,
    jaxpr: Any,
    consts: tuple,
    **window: Any,
) -> list[Any]:
    count = len(operands_and_initials) // 2
    operands, initials = operands_and_initials[:count], operands_and_initials[count:]
    scalars = [mlir.tensor_type((), aval.dtype) for aval in context.avals_out]
    reduced, inner = reduce_windows(
        context, operands, initials, context.result_types, scalars, **window
    )
    inner.end_region(inner.lower(jaxpr, list(inner.block.arguments)))
    return list(reduced.results)


def _direction(select_prim: Any) -> str:
    return "GE" if select_prim.name == "ge" else "LE"


@lowering_rules.define(reductions.select_and_gather_add_p)
def _select_and_gather_add(
    context: LoweringContext, tangents: Any, operand: Any, *, select_prim: Any, **window: Any
) -> Any:
    """Lowers to a window reduction of pairs, which selects an element together with its tangent."""
    aval = context.aval_out
    dtype = aval.dtype
    scalar, result_type = mlir.tensor_type((), dtype), mlir.aval_type(aval)
    initials = [
        context.scalar(neutral_element(select_prim, dtype), dtype),
        context.scalar(0, dtype),
    ]
    reduced, inner = reduce_windows(
        context, [operand, tangents], initials, [result_type] * 2, [scalar] * 2, **window
    )
    best, best_tangent, element, tangent = inner.block.arguments
    stays = inner.compare(_direction(select_prim), best, element, (), dtype)
    inner.end_region(
        [
            inner.create("stablehlo.select", scalar, (stays, best, element)),
            inner.create("stablehlo.select", scalar, (stays, best_tangent, tangent)),
        ]
    )
    return reduced.results[1]


def _scatter_operation(
    context: LoweringContext, operand: Any, source: Any, initial: Any, **window: Any
) -> tuple[Any, LoweringContext, LoweringContext]:
    """Builds ``stablehlo.select_and_scatter``, and the contexts of its two regions."""
    aval = context.aval_out
    operation = context.operation(
        "stablehlo.select_and_scatter",
        [mlir.aval_type(aval)],
        [_with_whole_windows(context, operand, **window), source, initial],
        _window_attributes(**window),
        regions=2,
    )
    scalars = [mlir.tensor_type((), aval.dtype)] * 2
    return operation, context.region(operation, 0, scalars), context.region(operation, 1, scalars)


def _with_whole_windows(
    context: LoweringContext,
    array: Any,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    **window: Any,
) -> Any:
    """Keeps an array whole along dimensions in which windows overlap.

    XLA's partitioner loses what the windows of one device add to elements of another.
    """
    sizes = zip(window_dimensions, window_strides, strict=True)
    overlapping = [dim for dim, (size, stride) in enumerate(sizes) if size > stride]
    return kept_whole(context, array, context.aval_out, overlapping)


@lowering_rules.define(reductions.select_and_scatter_add_p)
def _select_and_scatter_add(
    context: LoweringContext, source: Any, operand: Any, *, select_prim: Any, **window: Any
) -> Any:
    if not window["window_dimensions"]:
        return source  # the compiler aborts for windows without dimensions
    if is_scattered_by_views(context, **window):
        params = {"select_prim": select_prim, **window}
        return context.inline_function(scatter_to_extremes, (source, operand), params)
    dtype = context.aval_out.dtype
    initial = context.scalar(0, dtype)
    operation, select, scatter = _scatter_operation(context, operand, source, initial, **window)
    left, right = select.block.arguments
    select.end_region([select.compare(_direction(select_prim), left, right, (), dtype)])
    left, right = scatter.block.arguments
    scatter.end_region([reducer(scatter, "add", left, right, dtype)])
    return _with_whole_windows(context, operation.results[0], **window)


@lowering_rules.define(reductions.select_and_scatter_p)
def _select_and_scatter(
    context: LoweringContext,
    operand: Any,
    source: Any,
    initial: Any,
    *,
    select_jaxpr: Any,
    select_consts: tuple,
    scatter_jaxpr: Any,
    scatter_consts: tuple,
    **window: Any,
) -> Any:
    if not window["window_dimensions"]:  # the compiler aborts for windows without dimensions
        return context.lower(scatter_jaxpr, [initial, source])[0]
    operation, select, scatter = _scatter_operation(context, operand, source, initial, **window)
    select.end_region(select.lower(select_jaxpr, list(select.block.arguments)))
    scatter.end_region(scatter.lower(scatter_jaxpr, list(scatter.block.arguments)))
    return _with_whole_windows(context, operation.results[0], **window)
