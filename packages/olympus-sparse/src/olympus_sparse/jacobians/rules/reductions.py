# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of sums and cumulative sums along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.reductions import CUMULATIVE

from ..elimination import term_rules
from ..patterns import Flow, Pattern, relation, united_rows
from ..propagation import sparsity_rules
from ..terms import MOST_SUMMED, Linear, Term, added, filled


def _reduction(results: Sequence[Any], x: Flow, *, axes: Sequence[int], **_: Any) -> Pattern:
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    groups = np.arange(math.prod(shape)).reshape(shape)
    return united_rows(x.pattern, np.broadcast_to(groups, x.shape), groups.size)


for _primitive in (lax.reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p):
    sparsity_rules.define(_primitive, _reduction)


@term_rules.define(lax.reduce_sum_p)
def _sum_terms(results: Sequence[Any], x: Linear, *, axes: Sequence[int], **_: Any) -> list[Term]:
    """Returns one term for each summand of a short sum, and one term for all of a long sum."""
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    shape = [x.shape[axis] for axis in kept]
    count = math.prod(x.shape[axis] for axis in axes)
    sums = np.arange(math.prod(shape)).reshape(shape)
    groups = np.broadcast_to(np.expand_dims(sums, tuple(axes)), x.shape)
    terms = []
    for term in x.terms:
        if term.rows is not None:
            terms.append(term._replace(rows=groups.ravel()[term.rows]))
        elif count > MOST_SUMMED:
            coefficient = term.coefficient
            if np.ndim(coefficient):
                coefficient = coefficient.reshape(-1)
            terms.append(Term(term.columns.ravel(), coefficient, groups.ravel()))
        else:
            order = (*kept, *axes)
            columns = term.columns.transpose(order).reshape(*shape, count)
            coefficient = term.coefficient
            for position in range(count):
                if np.ndim(term.coefficient):
                    whole = filled(term.coefficient, x.shape).transpose(order)
                    coefficient = whole.reshape(*shape, count)[..., position]
                terms.append(Term(columns[..., position], coefficient))
    return added(terms)


def _cumulative(results: Sequence[Any], x: Flow, *, axis: int, reverse: bool, **_: Any) -> Pattern:
    length = x.shape[axis]
    last, first = np.tril_indices(length)
    if reverse:
        last, first = first, last
    ids = np.moveaxis(x.ids, axis, -1)
    return relation(ids[..., last], ids[..., first], (x.size, x.size)) @ x.pattern


for _primitive in CUMULATIVE:
    sparsity_rules.define(_primitive, _cumulative)
