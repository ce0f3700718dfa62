# SPDX-License-Identifier: Apache-2.0
"""Patterns of elementwise operations whose results do not depend on all operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..patterns import Flow, Pattern, broadcast_rows, merged, select_rows
from ..propagation import numbered, sparsity_rules

define = sparsity_rules.define


@define(lax.mul_p)
def _mul(results: Sequence[Any], x: Flow, y: Flow, **_: Any) -> Pattern:
    """Leaves out products with constants that are zero."""
    shape = results[0].shape
    parts = []
    for factor, other in ((x, y), (y, x)):
        pattern = broadcast_rows(factor, shape)
        if pattern is not None and other.known is not None and not np.all(other.known):
            kept = np.broadcast_to(other.known != 0, shape).ravel()
            pattern = select_rows(pattern, np.where(kept, np.arange(kept.size), -1))
        parts.append(pattern)
    return merged(parts)


@define(lax.select_n_p)
def _select_n(results: Sequence[Any], which: Flow, *cases: Flow, **_: Any) -> Pattern:
    if which.known is None:
        return merged(each.pattern for each in cases)
    arrays, pattern = numbered(cases)
    chosen = np.broadcast_to(which.known, results[0].shape).astype(int)
    return select_rows(pattern, np.choose(chosen, arrays))


@define(lax.stop_gradient_p)
def _stop_gradient(results: Sequence[Any], x: Flow, **_: Any) -> Pattern:
    return None


def _same(results: Sequence[Any], x: Flow, *_: Flow, **params: Any) -> Pattern:
    return x.pattern


for _primitive in (lax.convert_element_type_p, lax.copy_p, lax.reduce_precision_p):
    define(_primitive, _same)


@define(lax.clamp_p)
def _clamp(results: Sequence[Any], low: Flow, x: Flow, high: Flow, **_: Any) -> Pattern:
    return merged(broadcast_rows(each, results[0].shape) for each in (low, x, high))
