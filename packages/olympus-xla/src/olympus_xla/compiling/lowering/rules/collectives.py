# SPDX-License-Identifier: Apache-2.0
"""Lowering of collectives: operations across the devices of a mesh, inside a manual region.

The module's ``axis_context`` has the mesh axes in order, with their sizes. Within a group, the
devices' coordinates differ only along the named axes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes

from .. import mlir
from ..context import LoweringContext
from ..tables import lowering_rules
from .reductions import identity_value, reduce_operation, reducer


class AxisContext:
    """The mesh of a manual region.

    Attributes:
      axis_names: the axes in order; the last axis varies fastest over the devices.
      axis_sizes: the sizes of the axes.
      automatic: the axes that are not manual, which the compiler handles.
      symbol: the symbol of the mesh in the module.
    """

    __slots__ = ("automatic", "axis_names", "axis_sizes", "symbol")

    def __init__(
        self,
        axis_names: Sequence[Any],
        axis_sizes: Sequence[int],
        automatic: Sequence[Any] = (),
        symbol: str = "mesh",
    ) -> None:
        self.axis_names = tuple(axis_names)
        self.axis_sizes = tuple(axis_sizes)
        self.automatic = tuple(automatic)
        self.symbol = symbol

    def with_manual(self, axes: Iterable[Any]) -> AxisContext:
        """Returns the mesh of an inner region, in which further axes are manual."""
        automatic = [name for name in self.automatic if name not in axes]
        return AxisContext(self.axis_names, self.axis_sizes, automatic, self.symbol)

    def groups(self, names: Sequence[Any], index_groups: Any = None) -> np.ndarray:
        """Returns the groups of partitions that communicate, one row for each group."""
        positions = [self._position(name) for name in names]
        others = [p for p in range(len(self.axis_names)) if p not in positions]
        ids = np.arange(math.prod(self.axis_sizes), dtype=np.int64).reshape(self.axis_sizes)
        size = math.prod(self.axis_sizes[p] for p in positions)
        rows = ids.transpose(*others, *positions).reshape(-1, size)
        if index_groups is None:
            return rows
        return np.concatenate([rows[:, np.asarray(group)] for group in index_groups])

    def _position(self, name: Any) -> int:
        try:
            return self.axis_names.index(name)
        except ValueError:
            bound = ", ".join(map(repr, self.axis_names)) or "none"
            raise NameError(
                f"Found an unbound axis name: {name} (axes of the mesh: {bound}). Collectives over "
                "an axis of a mesh run inside shard_map or pmap."
            ) from None

    def stride_and_size(self, name: Any) -> tuple[int, int]:
        """Returns an axis's stride (the distance of neighbors in device order) and size."""
        position = self._position(name)
        return math.prod(self.axis_sizes[position + 1 :]), self.axis_sizes[position]


def axis_context_of(context: LoweringContext, names: Sequence[Any]) -> AxisContext:
    """Returns the mesh of the module. Raises if the mesh lacks one of the named axes."""
    axis_context = context.module.axis_context
    if axis_context is None:
        axis_context = AxisContext((), ())
    axis_context.groups(names)  # this raises an error for axes that the mesh lacks
    return axis_context


def _names(axis_name: Any) -> tuple:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def _groups(context: LoweringContext, axis_name: Any, index_groups: Any = None) -> np.ndarray:
    """Returns the groups of partitions along one or several axes; see `AxisContext.groups`."""
    names = _names(axis_name)
    return axis_context_of(context, names).groups(names, index_groups)


def _group_attributes(
    context: LoweringContext, groups: np.ndarray, *, global_ids: bool = True
) -> dict[str, Any]:
    attributes = {"replica_groups": mlir.i64_elements(groups)}
    if groups.size > 1:
        # Collectives between the partitions of one program need a channel.
        handle = context.module.new_channel()
        attributes["channel_handle"] = mlir.parsed(
            f"#stablehlo.channel_handle<handle = {handle}, type = 1>"
        )
        if global_ids:
            attributes["use_global_device_ids"] = mlir.unit()
    return attributes


def _all_reduce(operation: str) -> Any:
    def rule(
        context: LoweringContext, operand: Any, *, axes: Sequence[Any], axis_index_groups: Any
    ) -> Any:
        aval_in, aval = context.avals_in[0], context.aval_out
        dtype = aval.dtype
        scalar = mlir.tensor_type((), dtype)
        dimensions = [axis % len(aval_in.shape) for axis in axes if type(axis) is int]
        if dimensions:
            initial = context.scalar(identity_value(operation, dtype), dtype)
            reduced, inner = reduce_operation(
                context, [operand], [initial], [mlir.aval_type(aval)], sorted(dimensions), [scalar]
            )
            left, right = inner.block.arguments
            inner.end_region([reducer(inner, operation, left, right, dtype)])
            operand = reduced.results[0]
        names = [axis for axis in axes if type(axis) is not int]
        if not names:
            return operand
        groups = _groups(context, names, axis_index_groups)
        return _reduced_over(context, operand, groups, operation)

    return rule


def _reduced_over(
    context: LoweringContext, operand: Any, groups: np.ndarray, operation: str
) -> Any:
    """Combines the operands of the devices of each group; returns the result's value.

    Args:
      context: the context of the equation, whose result has the type of the operand.
      operand: the operand.
      groups: the groups of partitions; see `AxisContext.groups`.
      operation: the operation that combines two elements, such as ``"add"``.
    """
    aval = context.aval_out
    reduced = context.operation(
        "stablehlo.all_reduce",
        [mlir.aval_type(aval)],
        [operand],
        _group_attributes(context, groups),
        regions=1,
    )
    scalar = mlir.tensor_type((), aval.dtype)
    inner = context.region(reduced, 0, [scalar, scalar])
    left, right = inner.block.arguments
    inner.end_region([reducer(inner, operation, left, right, aval.dtype)])
    return reduced.results[0]


_sum_over = _all_reduce("add")
lowering_rules.define(lax.psum_p, _sum_over)


@lowering_rules.define(lax.psum_invariant_p)
def _psum_invariant(
    context: LoweringContext, operand: Any, *, axes: Sequence[Any], axis_index_groups: Any = None
) -> Any:
    return _sum_over(context, operand, axes=axes, axis_index_groups=axis_index_groups)


@lowering_rules.define(lax.pvary_p)
def _pvary(context: LoweringContext, operand: Any, **params: Any) -> Any:
    return operand


lowering_rules.define(lax.pmax_p, _all_reduce("maximum"))
lowering_rules.define(lax.pmin_p, _all_reduce("minimum"))


def axis_index(context: LoweringContext, name: Any) -> Any:
    """Returns this device's coordinate along a mesh axis, an int32 scalar."""
    axes = axis_context_of(context, (name,))
    stride, size = axes.stride_and_size(name)
    if size == 1:
        return context.scalar(0, np.dtype(np.int32))
    if not axes.automatic:
        return _coordinate(context, stride, size)
    # The partition id is defined only if all axes are manual, so it is computed in an inner
    # region in which the other axes are manual, too.
    region = context.operation(
        "sdy.manual_computation",
        [mlir.tensor_type((), np.dtype(np.int32))],
        [],
        {
            "in_shardings": mlir.parsed("#sdy.sharding_per_value<[]>"),
            "out_shardings": mlir.parsed(f"#sdy.sharding_per_value<[<@{axes.symbol}, []>]>"),
            "manual_axes": manual_axes_attribute(axes.automatic),
        },
        regions=1,
    )
    inner = context.region(region, 0, [])
    inner.end_region([_coordinate(inner, stride, size)], "sdy.return")
    return region.results[0]


def manual_axes_attribute(axes: Iterable[Any]) -> Any:
    """Returns the attribute that lists the manual axes of a region."""
    return mlir.parsed(f"#sdy<manual_axes{{{', '.join(json.dumps(str(axis)) for axis in axes)}}}>")


def _coordinate(context: LoweringContext, stride: int, size: int) -> Any:
    """Computes the coordinate of this device from the partition id."""
    unsigned = np.dtype(np.uint32)
    kind = mlir.tensor_type((), unsigned)
    index = context.create("stablehlo.partition_id", kind, ())
    if stride != 1:
        index = context.create("stablehlo.divide", kind, (index, context.scalar(stride, unsigned)))
    index = context.create("stablehlo.remainder", kind, (index, context.scalar(size, unsigned)))
    return context.convert(index, (), np.dtype(np.int32))


@lowering_rules.define(lax.axis_index_p)
def _axis_index(context: LoweringContext, *, axis_name: Any) -> Any:
    return axis_index(context, axis_name)


@lowering_rules.define(lax.all_gather_p)
def _all_gather(
    context: LoweringContext,
    operand: Any,
    *,
    all_gather_dimension: int,
    axis_index_groups: Any,
    axis_name: Any,
    axis_size: int,
    tiled: bool,
) -> Any:
    aval_in, aval = context.avals_in[0], context.aval_out
    groups = _groups(context, axis_name, axis_index_groups)
    if not tiled:
        shape = list(aval_in.shape)
        shape.insert(all_gather_dimension, 1)
        operand = context.reshape(operand, shape, aval.dtype)
    return context.operation(
        "stablehlo.all_gather",
        [mlir.aval_type(aval)],
        [operand],
        {
            **_group_attributes(context, groups),
            "all_gather_dim": mlir.i64(all_gather_dimension),
        },
    ).results[0]


@lowering_rules.define(lax.reduce_scatter_p)
def _reduce_scatter(
    context: LoweringContext,
    operand: Any,
    *,
    scatter_dimension: int,
    axis_index_groups: Any,
    axis_name: Any,
    axis_size: int,
    tiled: bool,
) -> Any:
    aval_in, aval = context.avals_in[0], context.aval_out
    groups = _groups(context, axis_name, axis_index_groups)
    shape = list(aval_in.shape)
    shape[scatter_dimension] //= axis_size
    scalar = mlir.tensor_type((), aval.dtype)
    scattered = context.operation(
        "stablehlo.reduce_scatter",
        [mlir.tensor_type(shape, aval.dtype)],
        [operand],
        {
            **_group_attributes(context, groups),
            "scatter_dimension": mlir.i64(scatter_dimension),
        },
        regions=1,
    )
    inner = context.region(scattered, 0, [scalar, scalar])
    left, right = inner.block.arguments
    inner.end_region([reducer(inner, "add", left, right, aval.dtype)])
    result = scattered.results[0]
    return result if tiled else context.reshape(result, aval.shape, aval.dtype)


@lowering_rules.define(lax.all_to_all_p)
def _all_to_all(
    context: LoweringContext,
    operand: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    axis_index_groups: Any,
    tiled: bool,
) -> Any:
    groups = _groups(context, axis_name, axis_index_groups)
    return context.operation(
        "stablehlo.all_to_all",
        [mlir.aval_type(context.aval_out)],
        [operand],
        {
            **_group_attributes(context, groups, global_ids=False),
            "split_dimension": mlir.i64(split_axis),
            "concat_dimension": mlir.i64(concat_axis),
            "split_count": mlir.i64(groups.shape[1]),
        },
    ).results[0]


@lowering_rules.define(lax.ppermute_p)
def _ppermute(
    context: LoweringContext, operand: Any, *, axis_name: Any, perm: Sequence[tuple[int, int]]
) -> Any:
    groups = _groups(context, axis_name)
    pairs = [
        (int(group[source]), int(group[target])) for group in groups for source, target in perm
    ]
    if groups.size == 1:
        return operand if pairs else context.full(0, context.aval_out.shape, context.aval_out.dtype)
    handle = context.module.new_channel()
    return context.create(
        "stablehlo.collective_permute",
        mlir.aval_type(context.aval_out),
        (operand,),
        {
            "source_target_pairs": mlir.i64_elements(np.asarray(pairs, np.int64).reshape(-1, 2)),
            "channel_handle": mlir.parsed(
                f"#stablehlo.channel_handle<handle = {handle}, type = 1>"
            ),
        },
    )


@lowering_rules.define(lax.pbroadcast_p)
def _pbroadcast(context: LoweringContext, operand: Any, *, axis_name: Any, source: int) -> Any:
    """Broadcasts by a sum of the source's value and zeros from other devices, which is exact."""
    aval = context.aval_out
    integer = np.dtype(np.int32)
    index = _index_in_group(context, _names(axis_name))
    is_source = context.compare("EQ", index, context.scalar(source, integer), (), integer)
    if aval.shape:
        is_source = context.broadcast(is_source, aval.shape, np.dtype(np.bool_), ())
    zero = context.full(0, aval.shape, aval.dtype)
    chosen = context.create("stablehlo.select", mlir.aval_type(aval), (is_source, operand, zero))
    combine = "or" if dtypes.issubdtype(aval.dtype, np.bool_) else "add"
    return _reduced_over(context, chosen, _groups(context, axis_name), combine)


def _index_in_group(context: LoweringContext, names: Sequence[Any]) -> Any:
    """Returns this device's index among those along some axes; the last axis varies fastest."""
    integer = np.dtype(np.int32)
    kind = mlir.tensor_type((), integer)
    index = axis_index(context, names[0])
    for name in names[1:]:
        _, size = axis_context_of(context, (name,)).stride_and_size(name)
        scaled = context.create("stablehlo.multiply", kind, (index, context.scalar(size, integer)))
        index = context.create("stablehlo.add", kind, (scaled, axis_index(context, name)))
    return index
