# SPDX-License-Identifier: Apache-2.0
"""Derivatives of sorting: tangents are permuted like the primal values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..tables import jvp_rules
from ..zeros import Zero, aval_of


@jvp_rules.define(lax.sort_p)
def _sort_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    dimension: int,
    is_stable: bool,
    num_keys: int,
) -> Any:
    shape = aval_of(primals[0]).shape
    positions = lax.broadcasted_iota(np.uint32, shape, dimension)
    *results, order = lax.sort_p.bind(
        *primals, positions, dimension=dimension, is_stable=is_stable, num_keys=num_keys
    )
    order = lax.expand_dims(order, (len(shape),))
    return results, [
        Zero.of(result) if t.__class__ is Zero else take_along(t, order, dimension)
        for t, result in zip(tangents, results, strict=True)
    ]


@jvp_rules.define(lax.top_k_p)
def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int) -> Any:
    (x,), (t,) = primals, tangents
    values, positions = lax.top_k_p.bind(x, k=k, axis=axis)
    indices = lax.expand_dims(positions, (aval_of(positions).ndim,))
    return [values, positions], [take_along(t, indices, axis), Zero.of(positions)]


@jvp_rules.define(lax.approx_top_k_p)
def _approx_top_k_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, reduction_dimension: int, **params: Any
) -> Any:
    (x,), (t,) = primals, tangents
    values, positions = lax.approx_top_k_p.bind(
        x, reduction_dimension=reduction_dimension, **params
    )
    indices = lax.expand_dims(positions, (aval_of(positions).ndim,))
    axis = reduction_dimension % aval_of(x).ndim
    return [values, positions], [take_along(t, indices, axis), Zero.of(positions)]


@jvp_rules.define(lax.order_statistics_p)
def _order_statistics_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x, positions), (t, _) = primals, tangents
    shape, at_shape = aval_of(x).shape, aval_of(positions).shape
    last = len(shape) - 1
    if len(at_shape) < len(shape):
        positions = lax.broadcast_in_dim(positions, (*shape[:-1], at_shape[-1]), (last,))
    ordered, order = lax.sort((x, lax.broadcasted_iota(np.int32, shape, last)), dimension=last)
    indices = lax.expand_dims(positions, (len(shape),))
    sources = lax.expand_dims(take_along(order, indices, last), (len(shape),))
    return take_along(ordered, indices, last), take_along(t, sources, last)


def take_along(operand: Any, indices: Any, axis: int) -> Any:
    """Returns the elements at given indices along an axis, for each position on the other axes.

    Args:
      operand: an array.
      indices: the indices, with an additional last dimension of size one.
      axis: the axis.
    """
    shape = aval_of(operand).shape
    others = tuple(dimension for dimension in range(len(shape)) if dimension != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return lax.gather(
        operand,
        indices,
        numbers,
        tuple(0 if size == 0 else 1 for size in shape),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )
