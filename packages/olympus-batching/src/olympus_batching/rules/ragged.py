# SPDX-License-Identifier: Apache-2.0
"""Batching rule of ragged products, in which each group of rows has its own matrix."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import all_shifted, batching_rules, materialize


@batching_rules.define(lax.ragged_dot_general_p)
def _ragged_dot_general(
    axis_size: int, args: Any, batch_dims: Any, *, ragged_dot_dimension_numbers: Any, **params: Any
) -> Any:
    """Batching rule of ragged products: adds a batch dimension in front of both factors."""
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, group_sizes = args
    lhs_dim, rhs_dim, sizes_dim = batch_dims
    lhs, rhs = materialize(lhs, axis_size, lhs_dim), materialize(rhs, axis_size, rhs_dim)
    if sizes_dim is not None or group_sizes.ndim > 1:
        group_sizes = materialize(group_sizes, axis_size, sizes_dim)
    contracting, batch = numbers.dot_dimension_numbers
    lhs_contracting, rhs_contracting = (all_shifted(dims, 0) for dims in contracting)
    lhs_batch, rhs_batch = ((0, *all_shifted(dims, 0)) for dims in batch)
    out = lax.ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=lax.RaggedDotDimensionNumbers(
            ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)),
            all_shifted(numbers.lhs_ragged_dimensions, 0),
            all_shifted(numbers.rhs_group_dimensions, 0),
        ),
        **params,
    )
    # If the ragged dimension is contracted, the dimension of the groups comes first in the result.
    (ragged,) = numbers.lhs_ragged_dimensions
    return out, int(ragged in contracting[0])
