# SPDX-License-Identifier: Apache-2.0
"""Reference rule of ragged products, which computes one product for each group of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.ragged import (
    RaggedDotDimensionNumbers,
    RaggedKind,
    prefix_dimensions,
    ragged_dot_general_p,
    ragged_kind,
)
from .contractions import dot_general
from .tables import reference_rules


@reference_rules.define(ragged_dot_general_p)
def _ragged_dot_general(
    lhs: np.ndarray,
    rhs: np.ndarray,
    group_sizes: np.ndarray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    group_offset: Any,
    **params: Any,
) -> np.ndarray:
    numbers = ragged_dot_dimension_numbers
    kind = ragged_kind(numbers)
    dimensions = numbers.dot_dimension_numbers
    if kind is RaggedKind.BATCH:
        return dot_general(lhs, rhs, dimension_numbers=dimensions, **params)
    groups = range(group_sizes.shape[-1])
    rows = [np.where(_in_group(lhs, group_sizes, group, numbers), lhs, 0) for group in groups]
    rows = [row.astype(lhs.dtype) for row in rows]
    if kind is RaggedKind.CONTRACTING:
        return np.stack(
            [dot_general(row, rhs, dimension_numbers=dimensions, **params) for row in rows]
        )
    # Each row belongs to at most one group, so the sum over groups is a selection.
    (axis,) = numbers.rhs_group_dimensions
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimensions
    dimensions = (
        (lhs_contracting, tuple(dim - (dim > axis) for dim in rhs_contracting)),
        (lhs_batch, tuple(dim - (dim > axis) for dim in rhs_batch)),
    )
    products = [
        dot_general(row, np.take(rhs, group, axis), dimension_numbers=dimensions, **params)
        for group, row in zip(groups, rows, strict=True)
    ]
    total = products[0]
    for product in products[1:]:
        total = (total + product).astype(total.dtype)
    return total


def _in_group(
    lhs: np.ndarray, group_sizes: np.ndarray, group: int, numbers: RaggedDotDimensionNumbers
) -> np.ndarray:
    """Returns a boolean for each element of ``lhs``: whether it belongs to the group."""
    (ragged,) = numbers.lhs_ragged_dimensions
    ends = np.cumsum(group_sizes, axis=-1)[..., group]
    starts = ends - group_sizes[..., group]
    shape = [1] * lhs.ndim
    if ends.ndim:
        prefix = prefix_dimensions(numbers)
        order = np.argsort(prefix)
        starts, ends = np.transpose(starts, order), np.transpose(ends, order)
        for dimension in prefix:
            shape[dimension] = lhs.shape[dimension]
    positions = np.indices(lhs.shape)[ragged]
    return (positions >= starts.reshape(shape)) & (positions < ends.reshape(shape))
