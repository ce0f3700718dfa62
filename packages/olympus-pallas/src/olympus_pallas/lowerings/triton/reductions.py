# SPDX-License-Identifier: Apache-2.0
"""Lowering of reductions and cumulative sums to Triton, as regions that combine two elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_xla.compiling.lowering import mlir

from ...mlir.building import INT32, element_of, element_type, is_float, is_unsigned
from ...mlir.elementwise import cast, compare
from ...mlir.tables import triton_rules
from .builder import TritonBuilder

Combine = Callable[..., Sequence[Any]]


def _without(shape: Sequence[int], axis: int) -> list[int]:
    return [size for dim, size in enumerate(shape) if dim != axis]


def reduce_axis(
    builder: TritonBuilder, operands: Sequence[Any], axis: int, combine: Combine
) -> list[Any]:
    """Builds ``tt.reduce`` of operands of the same shape along one axis."""
    shape = _without(builder.shape_of(operands[0]), axis)
    elements = [element_of(operand) for operand in operands]
    types = [builder.shaped_type(shape, element) if shape else element for element in elements]
    reduction = builder.operation("tt.reduce", types, operands, {"axis": mlir.i32(axis)}, regions=1)
    inner = builder.region(reduction, 0, elements * 2)
    arguments = list(inner.block.arguments)
    results = combine(inner, arguments[: len(elements)], arguments[len(elements) :])
    inner.end(results, "tt.reduce.return")
    return list(reduction.results)


def _combiner(for_floats: str, signed: str, unsigned: str | None = None) -> Callable[[Any], Any]:
    """Returns a function from a dtype to the function that combines two elements of the dtype."""

    def of_dtype(dtype: Any) -> Combine:
        name = for_floats if is_float(dtype) else signed
        if not is_float(dtype) and is_unsigned(dtype) and unsigned:
            name = unsigned

        def combine(inner: Any, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
            return [inner.binary(name, left[0], right[0])]

        return combine

    return of_dtype


_sum = _combiner("arith.addf", "arith.addi")
_product = _combiner("arith.mulf", "arith.muli")
_largest = _combiner("arith.maximumf", "arith.maxsi", "arith.maxui")
_smallest = _combiner("arith.minimumf", "arith.minsi", "arith.minui")


def _reduction(combiner: Callable[[Any], Combine]) -> Callable[..., Any]:
    def rule(builder: TritonBuilder, x: Any, *, axes: Sequence[int], **params: Any) -> Any:
        combine = combiner(builder.avals_in[0].dtype)
        for axis in sorted(axes, reverse=True):
            (x,) = reduce_axis(builder, [x], axis, combine)
        return x

    return rule


triton_rules.define(lax.reduce_sum_p, _reduction(_sum))
triton_rules.define(lax.reduce_prod_p, _reduction(_product))
triton_rules.define(lax.reduce_max_p, _reduction(_largest))
triton_rules.define(lax.reduce_min_p, _reduction(_smallest))
triton_rules.define(lax.reduce_and_p, _reduction(_combiner("", "arith.andi")))
triton_rules.define(lax.reduce_or_p, _reduction(_combiner("", "arith.ori")))
triton_rules.define(lax.reduce_xor_p, _reduction(_combiner("", "arith.xori")))


def _index_reduction(relation: str) -> Callable[..., Any]:
    """Returns the rule of argmax or argmin.

    The first of equal elements wins. NaN wins over all numbers.
    """

    def rule(
        builder: TritonBuilder, x: Any, *, axes: Sequence[int], index_dtype: Any, **params: Any
    ) -> Any:
        (axis,) = axes
        aval = builder.avals_in[0]
        numbers = builder.along(builder.arange(0, aval.shape[axis]), axis, aval.shape)

        def combine(inner: Any, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
            better = compare(inner, relation, left[0], right[0], aval.dtype)
            equal = compare(inner, "eq", left[0], right[0], aval.dtype)
            if is_float(aval.dtype):
                left_nan = compare(inner, "ne", left[0], left[0], aval.dtype)
                right_nan = compare(inner, "ne", right[0], right[0], aval.dtype)
                both = inner.binary("arith.andi", left_nan, right_nan)
                better = inner.binary("arith.ori", better, left_nan)
                equal = inner.binary("arith.ori", equal, both)
            earlier = compare(inner, "lt", left[1], right[1], INT32)
            take = inner.create("arith.select", better.type, (equal, earlier, better))
            return [
                inner.create(
                    "arith.select", left[position].type, (take, left[position], right[position])
                )
                for position in range(2)
            ]

        _, index = reduce_axis(builder, [x, numbers], axis, combine)
        return cast(builder, index, INT32, index_dtype)

    return rule


triton_rules.define(lax.argmax_p, _index_reduction("gt"))
triton_rules.define(lax.argmin_p, _index_reduction("lt"))


def _running(combiner: Callable[[Any], Combine]) -> Callable[..., Any]:
    def rule(builder: TritonBuilder, x: Any, *, axis: int, reverse: bool) -> Any:
        attributes = {"axis": mlir.i32(axis), "reverse": mlir.boolean(reverse)}
        scan = builder.operation("tt.scan", [x.type], [x], attributes, regions=1)
        element = element_type(np.dtype(builder.aval_out.dtype))
        inner = builder.region(scan, 0, [element, element])
        left, right = inner.block.arguments
        results = combiner(builder.avals_in[0].dtype)(inner, [left], [right])
        inner.end(results, "tt.scan.return")
        return scan.result

    return rule


triton_rules.define(lax.cumsum_p, _running(_sum))
triton_rules.define(lax.cumprod_p, _running(_product))
triton_rules.define(lax.cummax_p, _running(_largest))
triton_rules.define(lax.cummin_p, _running(_smallest))
