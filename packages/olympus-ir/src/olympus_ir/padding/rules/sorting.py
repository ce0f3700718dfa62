# SPDX-License-Identifier: Apache-2.0
"""Padding rules of sorting: padding gets the largest key, and follows equal keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...types import dtypes
from ..evaluation import Site, padding_rules
from ..identities import highest, lowest


def _last_key(dtype: Any) -> Any:
    return np.nan if dtypes.issubdtype(dtype, np.inexact) else highest(dtype)


@padding_rules.define(lax.sort_p)
def _sort(site: Site, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    lengths = site.lengths
    keys = [
        lengths.filled(key, aval, _last_key(aval.dtype), [dimension])
        for key, aval in zip(operands[:num_keys], site.operands, strict=False)
    ]
    # A stable sort keeps padding after valid elements with equal keys.
    return lax.sort_p.bind(
        *keys, *operands[num_keys:], dimension=dimension, is_stable=True, num_keys=num_keys
    )


@padding_rules.define(lax.top_k_p)
def _top_k(site: Site, operand: Any, *, k: Any, axis: int) -> Any:
    aval = site.operands[0]
    filled = site.lengths.filled(operand, aval, lowest(aval.dtype), [axis])
    return lax.top_k_p.bind(filled, k=site.lengths.capacity(k), axis=axis)
