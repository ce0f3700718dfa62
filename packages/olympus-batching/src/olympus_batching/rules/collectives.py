# SPDX-License-Identifier: Apache-2.0
"""Batching of collectives.

If the axis of the `vmap` is one of the axes of the collective, the collective becomes an operation
along the batch dimension (`collective_batching_rules`). Otherwise the collective keeps its axes and
its operand has a batch dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import get_aval

from ..tables import (
    BatchAxis,
    BatchingRule,
    axis_rules,
    batching_rules,
    collective_batching_rules,
    define_axis_rule,
    materialize,
    move_dim,
    shifted,
    to_front,
    unary,
)
from ..trace import call_batched


def _names(params: dict[str, Any]) -> tuple:
    """Returns the axes of a collective, both names and dimensions."""
    names = params["axes"] if "axes" in params else params["axis_name"]
    return names if isinstance(names, tuple) else (names,)


def _define(primitive: Primitive, over_other_axes: BatchingRule, over_axis: BatchingRule) -> None:
    """Defines the rules of a collective over other axes and over the mapped axis."""
    over_axis = _with_groups(over_axis)
    collective_batching_rules.define(primitive, over_axis)

    def rule(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
        if axis.name is not None and axis.name in _names(params):
            return collective_batching_rules.rules[primitive](axis, args, batch_dims, **params)
        if all(dim is None for dim in batch_dims):
            return primitive.bind(*args, **params), None
        return over_other_axes(axis.size, args, batch_dims, **params)

    define_axis_rule(primitive, rule)


def _others(names: Any, name: Any) -> tuple:
    return tuple(other for other in names if other != name)


def _take(operand: Any, indices: Sequence[int], dim: int) -> Any:
    """Returns the slices of ``operand`` along ``dim`` with the given indices."""
    if tuple(indices) == tuple(range(operand.shape[dim])):
        return operand
    sizes = tuple(1 if axis == dim else size for axis, size in enumerate(operand.shape))
    return lax.gather_p.bind(
        operand,
        np.asarray(indices, np.int32).reshape(-1, 1),
        dimension_numbers=lax.GatherDimensionNumbers(
            offset_dims=tuple(axis for axis in range(operand.ndim) if axis != dim),
            collapsed_slice_dims=(dim,),
            start_index_map=(dim,),
        ),
        slice_sizes=sizes,
        indices_are_sorted=False,
        unique_indices=False,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


# ---- groups of indices ----


def _with_groups(rule: BatchingRule) -> BatchingRule:
    """Returns the rule for ``axis_index_groups``, given the rule for the whole axis.

    The batch dimension is split into a dimension of groups and one of members. The rule maps over
    the groups.
    """

    def rule_of_groups(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
        groups = params.get("axis_index_groups")
        if groups is None:
            return rule(axis, args, batch_dims, **params)
        if _names(params) != (axis.name,):
            raise NotImplementedError(
                f"axis_index_groups of a collective over the axes {_names(params)} cannot be "
                f"batched over {axis.name!r} alone. Use groups of one axis, or reshape that axis "
                "into two and map over both."
            )
        order = [index for group in groups for index in group]
        members = len(groups[0])
        operand = _take(materialize(args[0], axis.size, batch_dims[0]), order, 0)
        operand = lax.reshape(operand, (len(groups), members, *operand.shape[1:]))
        params["axis_index_groups"] = None
        if "axis_size" in params:
            params["axis_size"] = members

        def of_one_group(values: Any) -> list[Any]:
            out, dim = rule(BatchAxis(members, axis.name), [values], [0], **params)
            return [materialize(out, members, dim)]

        (out,), (dim,) = call_batched(of_one_group, BatchAxis(len(groups)), [operand], [0])
        out = materialize(out, len(groups), dim)
        out = lax.reshape(out, (axis.size, *out.shape[2:]))
        return _take(out, np.argsort(order).tolist(), 0), 0

    return rule_of_groups


# ---- sums and extrema ----


def _reduce_over_other_axes(primitive: Primitive) -> BatchingRule:
    def rule(axis_size: int, args: Any, batch_dims: Any, *, axes: Any, **params: Any) -> Any:
        (operand,), (dim,) = args, batch_dims
        rank = operand.ndim - 1
        removed = {shifted(axis % rank, dim) for axis in axes if type(axis) is int}
        named = tuple(axis for axis in axes if type(axis) is not int)
        out = primitive.bind(operand, axes=(*named, *sorted(removed)), **params)
        return out, dim - sum([axis < dim for axis in removed])

    return rule


def _reduce_over_axis(primitive: Primitive, of_equal: Callable[[Any, int], Any]) -> BatchingRule:
    """Returns the rule of a collective reduction, which becomes a reduction over a dimension.

    Args:
      primitive: the collective.
      of_equal: reduces a value that all examples share.
    """

    def rule(axis: BatchAxis, args: Any, batch_dims: Any, *, axes: Any, **params: Any) -> Any:
        (operand,), (dim,) = args, batch_dims
        remaining = _others(axes, axis.name)
        if dim is None:
            out = of_equal(operand, axis.size)
            return (primitive.bind(out, axes=remaining, **params) if remaining else out), None
        rank = operand.ndim - 1
        here = [shifted(other % rank, dim) for other in remaining if type(other) is int]
        named = [other for other in remaining if type(other) is not int]
        return primitive.bind(operand, axes=(*named, *sorted((dim, *here))), **params), None

    return rule


def _times(value: Any, count: int) -> Any:
    factor = convert_dtype(count, value.dtype, weak_type=get_aval(value).weak_type)
    return lax.mul(value, factor)


for _primitive, _of_equal in (
    (lax.psum_p, _times),
    (lax.pmax_p, lambda value, count: value),
    (lax.pmin_p, lambda value, count: value),
):
    _define(
        _primitive,
        _reduce_over_other_axes(_primitive),
        _reduce_over_axis(_primitive, _of_equal),
    )


@define_axis_rule(lax.axis_index_p)
def _axis_index(axis: BatchAxis, args: Any, batch_dims: Any, *, axis_name: Any) -> Any:
    if axis.name is None or axis_name != axis.name:
        return lax.axis_index_p.bind(axis_name=axis_name), None
    return lax.iota(np.int32, axis.size), 0


collective_batching_rules.define(lax.axis_index_p, _axis_index)


# ---- gathering and scattering ----


def _all_gather_others(
    batch_size: int, args: Any, batch_dims: Any, /, *, all_gather_dimension: int, **params: Any
) -> Any:
    operand = to_front(args[0], batch_dims[0])
    params["all_gather_dimension"] = all_gather_dimension + 1
    return lax.all_gather_p.bind(operand, **params), 0


def _all_gather(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    axis_size: int,
    tiled: bool,
    **params: Any,
) -> Any:
    (operand,), (dim,) = args, batch_dims
    position = axis_name.index(axis.name)
    before, after = axis_name[:position], axis_name[position + 1 :]
    dimension = all_gather_dimension
    # The last axis varies fastest, so it is gathered first. Later gathers extend the dimension.
    if after:
        operand = materialize(operand, axis.size, dim)
        operand, dim = _all_gather_others(
            axis.size,
            (operand,),
            (0,),
            all_gather_dimension=dimension,
            axis_name=after,
            axis_size=lax.axis_size(after),
            tiled=tiled,
            **params,
        )
        tiled = True
    out = materialize(operand, axis.size, dim, dimension)
    if tiled:
        out = _merge(out, dimension)
    if before:
        out = lax.all_gather_p.bind(
            out,
            all_gather_dimension=dimension,
            axis_name=before,
            axis_size=lax.axis_size(before),
            tiled=True,
            **params,
        )
    return out, None


def _merge(operand: Any, dim: int) -> Any:
    """Merges a dimension of an array with the next dimension."""
    shape = operand.shape
    return lax.reshape(operand, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _split(operand: Any, dim: int, count: int) -> Any:
    """Returns the array with a dimension split in two, the first one of size ``count``."""
    shape = operand.shape
    return lax.reshape(operand, (*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :]))


_define(lax.all_gather_p, _all_gather_others, _all_gather)


def _reduce_scatter_others(
    batch_size: int, args: Any, batch_dims: Any, /, *, scatter_dimension: int, **params: Any
) -> Any:
    operand = to_front(args[0], batch_dims[0])
    params["scatter_dimension"] = scatter_dimension + 1
    return lax.reduce_scatter_p.bind(operand, **params), 0


def _reduce_scatter(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    scatter_dimension: int,
    axis_name: Any,
    axis_size: int,
    tiled: bool,
    **params: Any,
) -> Any:
    if axis_name != (axis.name,):
        raise several_axes("psum_scatter", axis_name, axis)
    (operand,), (dim,) = args, batch_dims
    if dim is None:
        total = _times(operand, axis.size)
    else:
        total = lax.reduce_sum(operand, (dim,))
    if axis.size == 0:
        raise ValueError(f"psum_scatter over axis {axis.name!r} of size 0 has no parts to scatter")
    if tiled:
        total = _split(total, scatter_dimension, axis.size)
    return total, scatter_dimension


_define(lax.reduce_scatter_p, _reduce_scatter_others, _reduce_scatter)


def several_axes(name: str, axis_name: Any, axis: BatchAxis) -> NotImplementedError:
    """Returns the error for an exchange over several axes if only one of them is mapped."""
    return NotImplementedError(
        f"{name} over the axes {axis_name} cannot be batched over {axis.name!r} alone. Call it for "
        "one axis after the other."
    )


# ---- exchanging ----


def _same_dim(primitive: Primitive) -> BatchingRule:
    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        return primitive.bind(args[0], **params), batch_dims[0]

    return rule


def _ppermute(axis: BatchAxis, args: Any, batch_dims: Any, *, axis_name: Any, perm: Any) -> Any:
    if axis_name != (axis.name,):
        raise several_axes("ppermute", axis_name, axis)
    operand = materialize(args[0], axis.size, batch_dims[0])
    if any(not 0 <= position < axis.size for pair in perm for position in pair):
        raise ValueError(
            f"ppermute over axis {axis.name!r} of size {axis.size}: the permutation {list(perm)} "
            "has positions outside of the axis"
        )
    source_of = {destination: source for source, destination in perm}
    sources = [source_of.get(position, 0) for position in range(axis.size)]
    out = _take(operand, sources, 0)
    if len(source_of) < axis.size:
        is_destination = np.array([position in source_of for position in range(axis.size)])
        mask = lax.broadcast_in_dim(is_destination, out.shape, (0,))
        out = lax.select(mask, out, lax.full(out.shape, 0, out.dtype))
    return out, 0


_define(lax.ppermute_p, _same_dim(lax.ppermute_p), _ppermute)


def _pbroadcast(axis: BatchAxis, args: Any, batch_dims: Any, *, axis_name: Any, source: int) -> Any:
    (operand,), (dim,) = args, batch_dims
    if axis_name not in (axis.name, (axis.name,)):
        raise several_axes("pbroadcast", axis_name, axis)
    if dim is None:
        return operand, None
    return lax.index_in_dim(operand, source, dim, keepdims=False), None


_define(lax.pbroadcast_p, _same_dim(lax.pbroadcast_p), _pbroadcast)


def _all_to_all_others(
    axis_size: int, args: Any, batch_dims: Any, *, split_axis: int, concat_axis: int, **params: Any
) -> Any:
    out = lax.all_to_all_p.bind(
        to_front(args[0], batch_dims[0]),
        split_axis=split_axis + 1,
        concat_axis=concat_axis + 1,
        **params,
    )
    return out, 0


def _all_to_all(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    **params: Any,
) -> Any:
    if axis_name not in (axis.name, (axis.name,)):
        operand = materialize(args[0], axis.size, batch_dims[0])
        return _all_to_all_of_several(axis, operand, split_axis, concat_axis, axis_name), 0
    # [source, ...] -> [source, ... target, part ...]
    operand = _split(materialize(args[0], axis.size, batch_dims[0]), split_axis + 1, axis.size)
    # -> [target, source, ... part ...] -> [target, ... source, part ...] -> [target, ...]
    operand = move_dim(operand, split_axis + 1, 0)
    return _merge(move_dim(operand, 1, concat_axis + 1), concat_axis + 1), 0


def _all_to_all_of_several(
    axis: BatchAxis, operand: Any, split_axis: int, concat_axis: int, axis_name: tuple
) -> Any:
    """Exchanges along the mapped axis, which is dimension 0, and over other axes.

    The indices along the axes identify the slices of a dimension. The last axis varies fastest.
    Once the dimension is split by axes, each axis can exchange its own part separately.

    In the comments, "before" and "after" are the axes before and after the mapped axis in
    ``axis_name``. A slice moves from the index "source" of the mapped axis to the index "target".
    """
    position = axis_name.index(axis.name)
    before, after = axis_name[:position], axis_name[position + 1 :]
    counts = [lax.axis_size(names) if names else 1 for names in (before, after)]
    operand = _split(operand, split_axis + 1, counts[0])
    operand = _split(operand, split_axis + 2, axis.size)
    operand = _split(operand, split_axis + 3, counts[1])
    # The dimensions become [target, before, after, source, *slice].
    targets = [split_axis + 2, split_axis + 1, split_axis + 3, 0]
    rest = [dim for dim in range(operand.ndim) if dim not in targets]
    operand = _merge(lax.transpose(operand, (*targets, *rest)), 1)
    operand = lax.all_to_all_p.bind(
        operand,
        split_axis=1,
        concat_axis=1,
        axis_name=before + after,
        axis_index_groups=None,
        tiled=True,
    )
    operand = _split(operand, 1, counts[0])
    # They become [target, *slice[:concat_axis], before, source, after, *slice[concat_axis:]].
    rest = list(range(4, operand.ndim))
    rest[concat_axis:concat_axis] = [1, 3, 2]
    operand = lax.transpose(operand, (0, *rest))
    for _ in range(3):
        operand = _merge(operand, concat_axis + 1)
    return operand


_define(lax.all_to_all_p, _all_to_all_others, _all_to_all)


# ---- variation over mesh axes, which never include the mapped axis ----


for _primitive in (lax.pvary_p, lax.psum_invariant_p):
    batching_rules.define(_primitive, unary(_primitive))
    for _table in (collective_batching_rules, axis_rules):
        _table.exempt(
            _primitive, reason="its axes are those of a mesh in shard_map, which vmap does not bind"
        )
