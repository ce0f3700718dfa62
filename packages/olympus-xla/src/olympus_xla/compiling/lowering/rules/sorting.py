# SPDX-License-Identifier: Apache-2.0
"""Lowering of sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from .. import mlir
from ..comparisons import comparison_attributes
from ..context import LoweringContext
from ..cpu.largest import largest_elements, replaces_top_k
from ..cpu.selection import is_selected_by_numpy, select_by_numpy
from ..cpu.sorting import is_sorted_by_numpy, sort_by_numpy
from ..cpu.two_bits import in_bytes
from ..tables import define_for_platform, lowering_rules


def _sort(
    context: LoweringContext, *operands: Any, dimension: int, is_stable: bool, num_keys: int
) -> list[Any]:
    avals = context.avals_in
    if is_sorted_by_numpy(context, avals, dimension):
        params = {"dimension": dimension % len(avals[0].shape), "num_keys": num_keys}
        return context.inline_function(sort_by_numpy, operands, params)
    operation = context.operation(
        "stablehlo.sort",
        context.result_types,
        operands,
        {"dimension": mlir.i64(dimension), "is_stable": mlir.boolean(is_stable)},
        regions=1,
    )
    scalars = [mlir.tensor_type((), aval.dtype) for aval in avals for _ in range(2)]
    inner = context.region(operation, 0, scalars)
    arguments = list(inner.block.arguments)
    flag = mlir.tensor_type((), np.dtype(np.bool_))
    result = None
    # Lexicographic order: the first key that differs decides.
    for key in reversed(range(num_keys)):
        dtype = avals[key].dtype
        pairs = _ordered_pairs(inner, arguments[2 * key], arguments[2 * key + 1], dtype)
        less = equal = None
        for left, right, part_dtype in reversed(pairs):
            part_less = _compare(inner, "LT", left, right, part_dtype)
            part_equal = _compare(inner, "EQ", left, right, part_dtype)
            if less is None:
                less, equal = part_less, part_equal
            else:
                tie = inner.create("stablehlo.and", flag, (part_equal, less))
                less = inner.create("stablehlo.or", flag, (part_less, tie))
                equal = inner.create("stablehlo.and", flag, (part_equal, equal))
        if result is None:
            result = less
        else:
            tie = inner.create("stablehlo.and", flag, (equal, result))
            result = inner.create("stablehlo.or", flag, (less, tie))
    inner.end_region([result])
    return list(operation.results)


lowering_rules.define(lax.sort_p, in_bytes(lax.sort_p, _sort))


def _compare(context: LoweringContext, direction: str, left: Any, right: Any, dtype: Any) -> Any:
    return context.create(
        "stablehlo.compare",
        mlir.tensor_type((), np.dtype(np.bool_)),
        (left, right),
        comparison_attributes(direction, dtype, dtypes.issubdtype(dtype, np.floating)),
    )


def _ordered_pairs(context: LoweringContext, left: Any, right: Any, dtype: Any) -> list[Any]:
    """Returns pairs to compare in a total order.

    Zeros of both signs are equal. All NaNs are equal and come last.
    """
    if dtypes.issubdtype(dtype, np.complexfloating):
        part = np.zeros((), dtype).real.dtype
        kind = mlir.tensor_type((), part)
        pairs = []
        for name in ("stablehlo.real", "stablehlo.imag"):
            parts = [context.create(name, kind, (operand,)) for operand in (left, right)]
            pairs.append((*(_canonical(context, operand, part) for operand in parts), part))
        return pairs
    if dtypes.issubdtype(dtype, np.floating):
        return [(_canonical(context, left, dtype), _canonical(context, right, dtype), dtype)]
    return [(left, right, dtype)]


def _canonical(context: LoweringContext, value: Any, dtype: Any) -> Any:
    """Returns a number, with the sign of zeros and NaNs removed.

    Both comparisons take ``value`` itself. XLA then recognizes the order, and uses a radix sort on
    GPUs, which is 16 times as fast.
    """
    kind = mlir.tensor_type((), dtype)
    zero = context.scalar(0, dtype)
    is_zero = context.compare("EQ", value, zero, (), dtype)
    number = context.create("stablehlo.select", kind, (is_zero, zero, value))
    is_nan = context.compare("NE", value, value, (), dtype)
    nan = context.scalar(np.nan, dtype)
    return context.create("stablehlo.select", kind, (is_nan, nan, number))


@lowering_rules.define(lax.order_statistics_p)
def _order_statistics(context: LoweringContext, operand: Any, positions: Any) -> Any:
    selected = is_selected_by_numpy(context, context.avals_in[0])
    function = select_by_numpy if selected else expansion_rules[lax.order_statistics_p]
    return context.inline_function(function, (operand, positions), {})


def _top_k(context: LoweringContext, operand: Any, *, k: int, axis: int = -1, **params: Any) -> Any:
    aval = context.avals_in[0]
    rank = len(aval.shape)
    axis = axis % rank if rank else 0
    if replaces_top_k(context, aval, k, axis):
        return context.inline_function(largest_elements, (operand,), {"k": k, "axis": axis})
    attributes = {"k": mlir.i64(k) if type(k) is int else mlir.symbolic_integer(k)}
    if axis == rank - 1:
        return list(
            context.operation("chlo.top_k", context.result_types, [operand], attributes).results
        )
    # chlo.top_k works on the last dimension.
    order = [d for d in range(rank) if d != axis] + [axis]
    moved = tuple(aval.shape[d] for d in order)
    operand = context.create(
        "stablehlo.transpose",
        mlir.tensor_type(moved, aval.dtype),
        (operand,),
        {"permutation": mlir.i64_array(order)},
    )
    kinds = [mlir.tensor_type((*moved[:-1], k), out.dtype) for out in context.avals_out]
    results = context.operation("chlo.top_k", kinds, [operand], attributes).results
    back = [order.index(d) for d in range(rank)]
    return [
        context.create(
            "stablehlo.transpose", kind, (result,), {"permutation": mlir.i64_array(back)}
        )
        for kind, result in zip(context.result_types, results, strict=True)
    ]


lowering_rules.define(lax.top_k_p, in_bytes(lax.top_k_p, _top_k))


def _approx_top_k_on_tpu(
    context: LoweringContext,
    operand: Any,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[Any]:
    (aval,) = context.avals_in
    dtype = aval.dtype
    axis = reduction_dimension % len(aval.shape)
    scalar = ShapedArray((), dtype)
    position = ShapedArray((), np.dtype(np.int32))
    compare = lax.gt if is_max_k else lax.lt
    comparator = trace_to_closed(
        lambda first, second, *positions: [compare(first, second)],
        [scalar, scalar, position, position],
    )
    direction = "gt" if is_max_k else "lt"
    name = f"top_k_{direction}_{mlir.element_type(dtype)}_comparator"
    symbol = context.module.function_for(
        (name,), name, comparator, context.name_prefix, [], context.platforms
    )
    positions = context.create(
        "stablehlo.iota",
        mlir.tensor_type(aval.shape, position.dtype),
        (),
        {"iota_dimension": mlir.i64(axis)},
    )
    worst = context.scalar(-np.inf if is_max_k else np.inf, dtype)
    config = {
        "top_k": mlir.i64(k),
        "reduction_dim": mlir.i64(axis),
        "recall_target": mlir.parsed(f"{recall_target!r} : f32"),
        "aggregate_to_topk": mlir.boolean(aggregate_to_topk),
        "reduction_input_size_override": mlir.i64(reduction_input_size_override),
    }
    return context.custom_call(
        "ApproxTopK",
        context.result_types,
        [operand, positions, worst, context.scalar(-1, position.dtype)],
        api_version=1,
        backend_config="",
        attributes={
            "called_computations": mlir.array([mlir.symbol(symbol)]),
            "mhlo.backend_config": mlir.dictionary(config),
        },
    )


define_for_platform(lax.approx_top_k_p, "tpu", _approx_top_k_on_tpu)
