# SPDX-License-Identifier: Apache-2.0
"""Patterns of products of arrays; zeros of a constant factor are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..patterns import Flow, Pattern, merged, relation, select_rows, united_rows
from ..propagation import sparsity_rules


@sparsity_rules.define(lax.dot_general_p)
def _dot_general(
    results: Sequence[Any], lhs: Flow, rhs: Flow, *, dimension_numbers: Any, **_: Any
) -> Pattern:
    (left, right), (left_batch, right_batch) = dimension_numbers
    lhs_ids = _as_batch_of_matrices(lhs.ids, left_batch, left)  # [batch, free, contracted]
    rhs_ids = _as_batch_of_matrices(rhs.ids, right_batch, right)
    batch, rows, columns = lhs_ids.shape[0], lhs_ids.shape[1], rhs_ids.shape[1]
    out_ids = np.arange(batch * rows * columns).reshape(batch, rows, columns)
    return merged(
        [
            _factor(lhs, lhs_ids, rhs, rhs_ids, out_ids),
            _factor(rhs, rhs_ids, lhs, lhs_ids, out_ids.transpose(0, 2, 1)),
        ]
    )


def _as_batch_of_matrices(
    ids: np.ndarray, batch: Sequence[int], contracted: Sequence[int]
) -> np.ndarray:
    free = [axis for axis in range(ids.ndim) if axis not in (*batch, *contracted)]
    shape = [math.prod(ids.shape[axis] for axis in part) for part in (batch, free, contracted)]
    return ids.transpose(*batch, *free, *contracted).reshape(shape)


def _factor(
    factor: Flow, ids: np.ndarray, other: Flow, other_ids: np.ndarray, out_ids: np.ndarray
) -> Pattern:
    """Returns the part of the pattern that comes from one factor.

    Args:
      factor: the factor.
      ids: the numbers of the factor's elements, [batch, row, contracted].
      other: the other factor.
      other_ids: the numbers of the other factor's elements, [batch, column, contracted].
      out_ids: the numbers of the elements of the result, [batch, row, column].
    """
    if factor.pattern is None:
        return None
    batch, rows, _ = out_ids.shape
    if other.known is None:
        groups = np.empty(factor.size, np.int64)
        groups[ids] = np.arange(batch * rows).reshape(batch, rows, 1)
        united = united_rows(factor.pattern, groups, batch * rows)
        sources = np.empty(out_ids.size, np.int64)
        sources[out_ids] = np.arange(batch * rows).reshape(batch, rows, 1)
        return select_rows(united, sources)
    b, column, k = np.nonzero(other.known.ravel()[other_ids])
    outputs = out_ids[b, :, column]  # [nonzero, row]
    inputs = ids[b, :, k]
    return relation(outputs, inputs, (out_ids.size, factor.size)) @ factor.pattern
