# SPDX-License-Identifier: Apache-2.0
"""Lowering of slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types import dtypes

from .. import mlir
from ..context import LoweringContext
from ..cpu.moves.repeated_updates import is_scattered_to_copies, scatter_to_copies
from ..cpu.moves.scatters import is_scattered_flat, scatter_flat
from ..layouts import kept_whole
from ..tables import lower_with, lowering_rules
from .reductions import reducer
from .shaping import _words


@lowering_rules.define(lax.slice_p)
def _slice(
    context: LoweringContext,
    operand: Any,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> Any:
    aval = context.aval_out
    words = _words(context, aval)
    rank = len(aval.shape)
    return context.create(
        "stablehlo.slice",
        mlir.aval_type(aval),
        (operand,),
        {
            "start_indices": mlir.i64_array((*start_indices, *(0 for _ in words))),
            "limit_indices": mlir.i64_array((*limit_indices, *words)),
            "strides": mlir.i64_array((*(strides or (1,) * rank), *(1 for _ in words))),
        },
    )


def _start_indices(
    context: LoweringContext, starts: Sequence[Any], avals: Sequence[Any], extra: int
) -> list[Any]:
    starts = list(starts)
    if extra:
        dtype = avals[0].dtype if avals else np.dtype(np.int32)
        starts += [context.scalar(0, dtype)] * extra
    return starts


@lowering_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(
    context: LoweringContext, operand: Any, *starts: Any, slice_sizes: Sequence[int]
) -> Any:
    aval = context.aval_out
    words = _words(context, aval)
    starts_all = _start_indices(context, starts, context.avals_in[1:], len(words))
    return context.create(
        "stablehlo.dynamic_slice",
        mlir.aval_type(aval),
        (operand, *starts_all),
        {"slice_sizes": mlir.i64_array((*slice_sizes, *words))},
    )


@lowering_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(context: LoweringContext, operand: Any, update: Any, *starts: Any) -> Any:
    aval = context.aval_out
    if context.module.num_partitions > 1:
        starts = _clamped_starts(context, starts)
    starts_all = _start_indices(context, starts, context.avals_in[2:], len(_words(context, aval)))
    return context.create(
        "stablehlo.dynamic_update_slice", mlir.aval_type(aval), (operand, update, *starts_all)
    )


def _clamped_starts(context: LoweringContext, starts: Sequence[Any]) -> tuple[Any, ...]:
    """Clamps the starts of an update into bounds, as XLA's partitioner does not always do."""
    operand, update, *start_avals = context.avals_in
    clamped = list(starts)
    for dim, (aval, size, count) in enumerate(
        zip(start_avals, operand.shape, update.shape, strict=True)
    ):
        if isinstance(size, int) and isinstance(count, int) and count < size:
            last = min(size - count, int(dtypes.iinfo(aval.dtype).max))
            low, high = (context.scalar(bound, aval.dtype) for bound in (0, last))
            clamped[dim] = context.create(
                "stablehlo.clamp", mlir.aval_type(aval), (low, starts[dim], high)
            )
    return tuple(clamped)


def _list(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _mode_name(mode: Any) -> str:
    return getattr(mode, "name", str(mode)).upper()


@lowering_rules.define(lax.gather_p)
def _gather(
    context: LoweringContext,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
) -> Any:
    aval = context.aval_out
    name = _mode_name(mode)
    if name in ("FILL_OR_DROP", "FILL"):
        return _gather_or_fill(
            context,
            operand,
            indices,
            dimension_numbers=dimension_numbers,
            slice_sizes=tuple(slice_sizes),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            fill_value=fill_value,
        )
    # XLA clamps start indices. The modes "clip" and "promise_in_bounds" allow this.
    words = _words(context, aval)
    offset_dims = tuple(dimension_numbers.offset_dims)
    offset_dims += tuple(range(len(aval.shape), len(aval.shape) + len(words)))
    indices_rank = len(context.avals_in[1].shape)
    numbers = mlir.parsed(
        f"#stablehlo.gather<offset_dims = {_list(offset_dims)}, "
        f"collapsed_slice_dims = {_list(dimension_numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {_list(dimension_numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {_list(dimension_numbers.start_indices_batching_dims)}, "
        f"start_index_map = {_list(dimension_numbers.start_index_map)}, "
        f"index_vector_dim = {indices_rank - 1}>"
    )
    return context.create(
        "stablehlo.gather",
        mlir.aval_type(aval),
        (operand, indices),
        {
            "dimension_numbers": numbers,
            "slice_sizes": mlir.i64_array((*slice_sizes, *words)),
            "indices_are_sorted": mlir.boolean(indices_are_sorted),
        },
    )


def _filled_gather(
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    fill_value: Any,
) -> Any:
    """Builds a gather with clamped indices; fills slices that are out of bounds."""
    limits = [operand.shape[d] - slice_sizes[d] for d in dimension_numbers.start_index_map]
    # If a limit is too large for the indices' dtype, no index exceeds it.
    largest = dtypes.iinfo(indices.dtype).max
    limits = [min(limit, int(largest)) if type(limit) is int else limit for limit in limits]
    limits = lax.sizes_array(limits, indices.dtype)
    limit_array = lax.broadcast_in_dim(limits, indices.shape, (indices.ndim - 1,))
    within = lax.bitwise_and(
        lax.ge(indices, np.zeros((), indices.dtype)), lax.le(indices, limit_array)
    )
    mask = lax.reduce_and(within, axes=(indices.ndim - 1,))
    gathered = lax.gather(
        operand,
        indices,
        dimension_numbers,
        slice_sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode="clip",
    )
    offset = set(dimension_numbers.offset_dims)
    batch_dims = tuple(d for d in range(gathered.ndim) if d not in offset)
    mask = lax.broadcast_in_dim(mask, gathered.shape, batch_dims)
    if fill_value is None:
        fill_value = _default_fill_value(operand.dtype)
    if type(fill_value) is int and not dtypes.is_extended(operand.dtype):
        # The largest unsigned integers do not fit the default dtype of Python integers.
        fill_value = np.array(fill_value).astype(operand.dtype)
    fill = lax.full_like(gathered, fill_value)
    return lax.select_n(mask, fill, gathered)


def _default_fill_value(dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return dtypes.iinfo(dtype).min
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return dtypes.iinfo(dtype).max
    return dtype != np.bool_ or True


_gather_or_fill = lower_with(_filled_gather)


def _replacement(
    context: LoweringContext, primitive: Any, operands: Any, mode: str, params: dict[str, Any]
) -> Any:
    """Lowers a scatter to what replaces it on one CPU device; returns None if nothing does."""
    numbers = params["dimension_numbers"]
    if is_scattered_flat(context, numbers, mode):
        return context.inline_function(scatter_flat, operands, {"primitive": primitive, **params})
    is_unique = params["unique_indices"]
    if is_scattered_to_copies(context, primitive, numbers, mode, is_unique):
        return context.inline_function(scatter_to_copies, operands, {"primitive": primitive})
    return None


def _scatter(primitive: Any, combine: str | None) -> Any:
    def rule(
        context: LoweringContext,
        operand: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        update_jaxpr: Any = None,
        update_consts: Any = (),
    ) -> Any:
        aval = context.aval_out
        params = {
            "dimension_numbers": dimension_numbers,
            "unique_indices": unique_indices,
            "update_jaxpr": update_jaxpr,
            "update_consts": update_consts,
        }
        operands = operand, indices, updates
        replacement = _replacement(context, primitive, operands, _mode_name(mode), params)
        if replacement is not None:
            return replacement
        operand_aval, indices_aval, updates_aval = context.avals_in
        physical = mlir.physical_aval(aval)
        if _is_of_whole_arrays(dimension_numbers, operand_aval, updates_aval):
            if combine is None and update_jaxpr is None:
                return updates
            if combine is not None:
                return reducer(context, combine, operand, updates, physical.dtype, physical.shape)
            params = {"jaxpr": update_jaxpr, "consts": tuple(update_consts)}
            return context.inline_function(_applied, (operand, indices, updates), params)
        if _mode_name(mode) == "CLIP":
            indices = _clamped(
                context, indices, operand_aval, indices_aval, updates_aval, dimension_numbers
            )
        words = _words(context, aval)
        first = _dimension_without_indices(dimension_numbers, operand_aval)
        if first is not None:
            dimension_numbers = dimension_numbers._replace(scatter_dims_to_operand_dims=(first,))
            indices = context.full(0, (*indices_aval.shape[:-1], 1), indices_aval.dtype)
        indices, updates = _evenly_sharded(context, dimension_numbers, indices, updates)
        numbers = _scatter_numbers(dimension_numbers, indices_aval, updates_aval, len(words))
        operation = context.operation(
            "stablehlo.scatter",
            [mlir.aval_type(aval)],
            [operand, indices, updates],
            {
                "scatter_dimension_numbers": numbers,
                "indices_are_sorted": mlir.boolean(indices_are_sorted),
                "unique_indices": mlir.boolean(unique_indices),
            },
            regions=1,
        )
        program = None if update_jaxpr is None else ClosedOlympuspr(update_jaxpr, update_consts)
        _combine_in_region(context, operation, combine, program, physical.dtype)
        return operation.results[0]

    return rule


def _evenly_sharded(
    context: LoweringContext, numbers: Any, indices: Any, updates: Any
) -> tuple[Any, Any]:
    """Keeps indices and updates whole along dimensions that shards may not divide evenly.

    XLA's partitioner would apply the elements that fill up the last shard, which are arbitrary.
    """
    mesh = context.module.mesh
    if mesh is None:
        return indices, updates
    _, indices_aval, updates_aval = context.avals_in
    scattered = [
        dim for dim in range(len(updates_aval.shape)) if dim not in numbers.update_window_dims
    ]
    # The same dimensions of the indices, in the same order; the last one has the index vectors.
    pairs = zip(range(len(indices_aval.shape) - 1), scattered, strict=True)
    uneven = [pair for pair in pairs if not _is_multiple(indices_aval.shape[pair[0]], mesh.size)]
    return (
        kept_whole(context, indices, indices_aval, [own for own, _ in uneven]),
        kept_whole(context, updates, updates_aval, [other for _, other in uneven]),
    )


def _is_multiple(size: Any, count: int) -> bool:
    return isinstance(size, int) and size % count == 0


def _combine_in_region(
    context: LoweringContext,
    operation: Any,
    combine: str | None,
    program: ClosedOlympuspr | None,
    dtype: Any,
) -> None:
    """Builds the function of an element and its update."""
    scalar = mlir.tensor_type((), dtype)
    inner = context.region(operation, 0, [scalar, scalar])
    current, update = inner.block.arguments
    if combine is not None:
        inner.end_region([reducer(inner, combine, current, update, dtype)])
    elif program is not None:  # that of `scatter_apply`
        inner.end_region(inner.lower(program, [current, update]))
    else:
        inner.end_region([update])


# XLA combines the operand and the updates of a scatter elementwise if the index vectors are empty
# and the shapes are equal. It compares shapes alone, so several updates of one element are lost,
# and its operation ("map") ends other passes that do not expect it. No such scatter reaches XLA.


def _is_of_whole_arrays(numbers: Any, operand: Any, updates: Any) -> bool:
    """Returns whether a scatter has one update, which covers the operand."""
    return (
        not numbers.scatter_dims_to_operand_dims
        and len(numbers.update_window_dims) == len(operand.shape)
        and operand.shape == updates.shape
    )


def _applied(operand: Any, indices: Any, updates: Any, *, jaxpr: Any, consts: Any) -> Any:
    """Applies a program of an element and its update to all elements."""
    flat = (operand.size,)
    fun = vmap(lambda x, update: eval_olympuspr(jaxpr, consts, x, update)[0])
    return lax.reshape(fun(lax.reshape(operand, flat), lax.reshape(updates, flat)), operand.shape)


def _dimension_without_indices(numbers: Any, operand: Any) -> int | None:
    """Returns the dimension that gets an index, zero, if the index vectors are empty."""
    if numbers.scatter_dims_to_operand_dims:
        return None
    batch = numbers.operand_batching_dims
    return next((d for d in range(len(operand.shape)) if d not in batch), None)


def _scatter_numbers(
    dimension_numbers: Any, indices_aval: Any, updates_aval: Any, count_of_words: int
) -> Any:
    """Builds the dimension numbers of ``stablehlo.scatter``."""
    rank = len(updates_aval.shape)
    window_dims = tuple(dimension_numbers.update_window_dims)
    window_dims += tuple(range(rank, rank + count_of_words))
    return mlir.parsed(
        f"#stablehlo.scatter<update_window_dims = {_list(window_dims)}, "
        f"inserted_window_dims = {_list(dimension_numbers.inserted_window_dims)}, "
        f"input_batching_dims = {_list(dimension_numbers.operand_batching_dims)}, "
        "scatter_indices_batching_dims = "
        f"{_list(dimension_numbers.scatter_indices_batching_dims)}, "
        "scatter_dims_to_operand_dims = "
        f"{_list(dimension_numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {len(indices_aval.shape) - 1}>"
    )


def _clamped(
    context: LoweringContext,
    indices: Any,
    operand_aval: Any,
    indices_aval: Any,
    updates_aval: Any,
    numbers: Any,
) -> Any:
    """Clamps scatter indices into bounds, because XLA drops updates that are out of bounds."""
    window = iter([updates_aval.shape[d] for d in numbers.update_window_dims])
    skipped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = [1 if d in skipped else next(window) for d in range(len(operand_aval.shape))]
    limits = [operand_aval.shape[d] - sizes[d] for d in numbers.scatter_dims_to_operand_dims]
    shape, dtype = indices_aval.shape, indices_aval.dtype
    high = context.broadcast(
        context.constant(limits, indices_aval.dtype), shape, dtype, (len(shape) - 1,)
    )
    low = context.full(0, shape, dtype)
    return context.create("stablehlo.clamp", mlir.tensor_type(shape, dtype), (low, indices, high))


for _primitive, _combine in {
    lax.scatter_p: None,
    lax.scatter_add_p: "add",
    lax.scatter_sub_p: "subtract",
    lax.scatter_mul_p: "multiply",
    lax.scatter_min_p: "minimum",
    lax.scatter_max_p: "maximum",
}.items():
    lowering_rules.define(_primitive, _scatter(_primitive, _combine))
