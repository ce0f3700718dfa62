# SPDX-License-Identifier: Apache-2.0
"""Padding rules of reductions and cumulative operations: padding becomes the neutral element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import lax
from ...lax.reductions import reduce_p
from ...programs.primitives import Primitive
from ..evaluation import Site, padding_rules
from ..identities import highest, lowest

Identity = Callable[[Any], Any]


def _zero(dtype: Any) -> Any:
    return 0


def _one(dtype: Any) -> Any:
    return 1


def _all_bits(dtype: Any) -> Any:
    return np.invert(np.zeros((), dtype))


def _define_reduction(primitive: Primitive, identity: Identity) -> None:
    @padding_rules.define(primitive)
    def rule(site: Site, operand: Any, *, axes: Sequence[int], **params: Any) -> Any:
        aval = site.operands[0]
        filled = site.lengths.filled(operand, aval, identity(aval.dtype), axes)
        return primitive.bind(filled, axes=axes, **params)


_define_reduction(lax.reduce_sum_p, _zero)
_define_reduction(lax.reduce_prod_p, _one)
_define_reduction(lax.reduce_max_p, lowest)
_define_reduction(lax.reduce_min_p, highest)
_define_reduction(lax.reduce_and_p, _all_bits)
_define_reduction(lax.reduce_or_p, _zero)
_define_reduction(lax.reduce_xor_p, _zero)
# For ties, the result is the first position, which belongs to a valid element.
_define_reduction(lax.argmax_p, lowest)
_define_reduction(lax.argmin_p, highest)


def _define_cumulative(primitive: Primitive, identity: Identity) -> None:
    @padding_rules.define(primitive)
    def rule(site: Site, operand: Any, *, axis: int, reverse: bool) -> Any:
        aval = site.operands[0]
        filled = site.lengths.filled(operand, aval, identity(aval.dtype), [axis])
        return site.lengths.guarded(
            primitive.bind(filled, axis=axis, reverse=reverse), site.results[0]
        )


_define_cumulative(lax.cumsum_p, _zero)
_define_cumulative(lax.cumprod_p, _one)
_define_cumulative(lax.cummax_p, lowest)
_define_cumulative(lax.cummin_p, highest)
_define_cumulative(lax.cumlogsumexp_p, lowest)


@padding_rules.define(reduce_p)
def _reduce(site: Site, *values: Any, dimensions: Sequence[int], **params: Any) -> Any:
    count = len(values) // 2
    filled = [
        _filled_with(site, position, operand, values[count + position], dimensions)
        for position, operand in enumerate(values[:count])
    ]
    return reduce_p.bind(*filled, *values[count:], dimensions=dimensions, **params)


def _filled_with(site: Site, position: int, x: Any, value: Any, axes: Sequence[int]) -> Any:
    mask = site.lengths.valid(site.operands[position].shape, axes)
    return x if mask is None else lax.select(mask, x, lax.broadcast(value, x.shape))
