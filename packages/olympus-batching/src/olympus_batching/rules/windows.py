# SPDX-License-Identifier: Apache-2.0
"""Batching of operations on windows, which have size one in the new dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.lax.windows import reductions
from olympus_ir.lax.windows.folds import fold_windows, scatter_to_selected
from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.olympuspr import ClosedOlympuspr

from ..tables import BatchAxis, all_at, batching_rules
from ..trace import call_batched
from ..vmap import vmap

# The parameters of windows along the new dimension.
_ALONG_BATCH = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def batched_window(params: Any, dim: int) -> dict[str, Any]:
    """Returns the window parameters with an entry for a new dimension."""
    return {
        name: (*value[:dim], _ALONG_BATCH[name], *value[dim:]) if name in _ALONG_BATCH else value
        for name, value in params.items()
    }


def _window_reduction(primitive: Any) -> Callable[..., Any]:
    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        (operand,), (dim,) = args, batch_dims
        return primitive.bind(operand, **batched_window(params, dim)), dim

    return rule


def _selection(primitive: Any) -> Callable[..., Any]:
    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        operands = all_at(args, axis_size, batch_dims, 0)
        return primitive.bind(*operands, **batched_window(params, 0)), 0

    return rule


for _primitive in (
    reductions.reduce_window_sum_p,
    reductions.reduce_window_max_p,
    reductions.reduce_window_min_p,
):
    batching_rules.define(_primitive, _window_reduction(_primitive))
for _primitive in (reductions.select_and_scatter_add_p, reductions.select_and_gather_add_p):
    batching_rules.define(_primitive, _selection(_primitive))


@batching_rules.define(reductions.reduce_window_p)
def _reduce_window(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    count = len(args) // 2
    if any(dim is not None for dim in batch_dims[count:]):
        # The compiler's operation has one initial value for all windows.
        return _element_by_element(fold_windows, axis_size, args, batch_dims, params)
    operands = all_at(args[:count], axis_size, batch_dims[:count], 0)
    results = reductions.reduce_window_p.bind(*operands, *args[count:], **batched_window(params, 0))
    batched = _batched_results(params["jaxpr"], [dim is not None for dim in batch_dims[:count]])
    if not all(batched):
        # Results that do not depend on batched operands stay unbatched. The results of the primal
        # part of a derivative are an example.
        results = list(results)
        same = [position for position, flag in enumerate(batched) if not flag]
        chosen = [not flag for flag in batched]
        program, _ = dce_closed(params["jaxpr"], chosen, instantiate=[*chosen, *chosen])
        operands = [
            args[position] for position in (*same, *(count + position for position in same))
        ]
        outs = reductions.reduce_window_p.bind(*operands, **{**params, "jaxpr": program})
        for index, out in zip(same, outs, strict=True):
            results[index] = out
    return results, [0 if flag else None for flag in batched]


def _batched_results(jaxpr: ClosedOlympuspr, batched: list[bool]) -> list[bool]:
    """Returns a flag for each result: true if the result depends on batched operands."""
    count = len(batched)
    used = [
        dce_closed(jaxpr, [position == result for position in range(count)])[1]
        for result in range(count)
    ]
    while True:
        reached = [
            batched[result]
            or any(flag and batched[position % count] for position, flag in enumerate(used[result]))
            for result in range(count)
        ]
        if reached == batched:
            return batched
        batched = reached


@batching_rules.define(reductions.select_and_scatter_p)
def _select_and_scatter(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    operand, source, init_value = args
    if batch_dims[2] is not None:
        results, dims = _element_by_element(
            lambda *args, **params: [scatter_to_selected(*args, **params)],
            axis_size,
            args,
            batch_dims,
            params,
        )
        return results[0], dims[0]
    operand, source = all_at((operand, source), axis_size, batch_dims[:2], 0)
    params = batched_window(params, 0)
    return reductions.select_and_scatter_p.bind(operand, source, init_value, **params), 0


def _element_by_element(
    function: Callable[..., Any], axis_size: int, args: Any, batch_dims: Any, params: Any
) -> Any:
    return call_batched(
        lambda *args: function(vmap, *args, **params), BatchAxis(axis_size), args, batch_dims
    )
