# SPDX-License-Identifier: Apache-2.0
"""Patterns of sums along axes, complete and cumulative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..patterns import Flow, Pattern, relation, united_rows
from ..propagation import sparsity_rules


def _reduction(results: Sequence[Any], x: Flow, *, axes: Sequence[int], **_: Any) -> Pattern:
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    groups = np.arange(math.prod(shape)).reshape(shape)
    return united_rows(x.pattern, np.broadcast_to(groups, x.shape), groups.size)


for _primitive in (lax.reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p):
    sparsity_rules.define(_primitive, _reduction)


def _cumulative(results: Sequence[Any], x: Flow, *, axis: int, reverse: bool, **_: Any) -> Pattern:
    length = x.shape[axis]
    last, first = np.tril_indices(length)
    if reverse:
        last, first = first, last
    ids = np.moveaxis(x.ids, axis, -1)
    return relation(ids[..., last], ids[..., first], (x.size, x.size)) @ x.pattern


for _primitive in (
    lax.cumsum_p,
    lax.cumprod_p,
    lax.cummax_p,
    lax.cummin_p,
    lax.cumlogsumexp_p,
):
    sparsity_rules.define(_primitive, _cumulative)
