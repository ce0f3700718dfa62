# SPDX-License-Identifier: Apache-2.0
"""Batching of sorting, which sorts each example along the same dimension."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..dimensions import all_at, move_dim, to_front
from ..tables import along_dimension, batching_rules, check_examples, shifted

batching_rules.define(lax.sort_p, along_dimension(lax.sort_p))


@batching_rules.define(lax.top_k_p)
def _top_k(axis_size: int, args: Any, batch_dims: Any, *, axis: int, **params: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    outs = lax.top_k_p.bind(operand, axis=shifted(axis, dim), **params)
    return outs, [dim, dim]


@batching_rules.define(lax.approx_top_k_p)
def _approx_top_k(
    axis_size: int, args: Any, batch_dims: Any, *, reduction_dimension: int, **params: Any
) -> Any:
    (operand,), (dim,) = args, batch_dims
    of_example = {"reduction_dimension": reduction_dimension, **params}
    check_examples(lax.approx_top_k_p, args, batch_dims, of_example)
    axis = shifted(reduction_dimension % (operand.ndim - 1), dim)
    outs = lax.approx_top_k_p.bind(operand, reduction_dimension=axis, **params)
    return outs, [dim, dim]


@batching_rules.define(lax.order_statistics_p)
def _order_statistics(axis_size: int, args: Any, batch_dims: Any) -> Any:
    (operand, positions), (dim, positions_dim) = args, batch_dims
    if batch_dims[1] is None and positions.ndim == 1:
        return lax.order_statistics_p.bind(to_front(operand, dim), positions), 0
    if dim is not None:
        operand, positions = all_at(args, axis_size, batch_dims, 0)
        if positions.ndim < operand.ndim:
            shape = (*operand.shape[:-1], positions.shape[-1])
            positions = lax.broadcast_in_dim(positions, shape, (0, operand.ndim - 1))
        return lax.order_statistics_p.bind(operand, positions), 0
    # The examples share the operand, so each line is sorted once for the positions of all examples.
    positions = move_dim(positions, positions_dim, positions.ndim - 2)
    *lines, _, count = positions.shape
    positions = lax.reshape(positions, (*lines, axis_size * count))
    selected = lax.order_statistics_p.bind(operand, positions)
    last = operand.ndim - 1
    return lax.reshape(selected, (*operand.shape[:-1], axis_size, count)), last
