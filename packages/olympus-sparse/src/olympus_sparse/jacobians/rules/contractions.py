# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of contractions, without zeros of constant operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..elimination import term_rules
from ..patterns import Flow, Pattern, merged, relation, select_rows, united_rows
from ..propagation import sparsity_rules
from ..terms import MOST_SUMMED, Linear, Term, Unsupported, added, filled, is_known, times


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


def _as_batch_of_matrices(ids: Any, batch: Sequence[int], contracted: Sequence[int]) -> Any:
    free = [axis for axis in range(ids.ndim) if axis not in (*batch, *contracted)]
    shape = [math.prod(ids.shape[axis] for axis in part) for part in (batch, free, contracted)]
    return ids.transpose(*batch, *free, *contracted).reshape(shape)


def _factor(
    factor: Flow, ids: np.ndarray, other: Flow, other_ids: np.ndarray, out_ids: np.ndarray
) -> Pattern:
    """Returns the part of the pattern that comes from one factor.

    Args:
      factor: the factor.
      ids: the flat indices of the factor's elements, [batch, row, contracted].
      other: the other factor.
      other_ids: the flat indices of the other factor's elements, [batch, column, contracted].
      out_ids: the flat indices of the result's elements, [batch, row, column].
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


@term_rules.define(lax.dot_general_p)
def _dot_general_terms(
    results: Sequence[Any], lhs: Any, rhs: Any, *, dimension_numbers: Any, **_: Any
) -> list[Term]:
    """Returns one term for each summand of the contraction."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    is_left = isinstance(lhs, Linear)
    x, other = (lhs, rhs) if is_left else (rhs, lhs)
    own, others = ((left_batch, left), (right_batch, right))[:: 1 if is_left else -1]
    factors = _as_batch_of_matrices(other, *others)  # [batch, free, contracted]
    if factors.shape[2] > MOST_SUMMED or any(term.rows is not None for term in x.terms):
        raise Unsupported("a long contraction")
    ids = _as_batch_of_matrices(np.empty(x.shape, bool), *own)
    batch, rows, count = ids.shape
    full = (batch, rows, factors.shape[1])

    # The dimensions of ``value``: batch, free dimensions of x, free dimensions of ``other``.
    def in_result(value: Any) -> Any:
        return (value if is_left else value.swapaxes(1, 2)).reshape(results[0].shape)

    terms = []
    for term in x.terms:
        columns = _as_batch_of_matrices(term.columns, *own)
        coefficients = term.coefficient
        if np.ndim(coefficients):
            coefficients = _as_batch_of_matrices(filled(coefficients, x.shape), *own)
        for position in range(count):
            factor = factors[:, None, :, position]
            chosen = np.broadcast_to(columns[:, :, position, None], full)
            if is_known(factor):
                chosen = np.where(factor != 0, chosen, -1)
            coefficient = coefficients
            if np.ndim(coefficient):
                coefficient = coefficient[:, :, position, None]
            product = filled(times(coefficient, factor), full)
            terms.append(Term(in_result(chosen), in_result(product)))
    return added(terms)
