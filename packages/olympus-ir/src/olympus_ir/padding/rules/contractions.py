# SPDX-License-Identifier: Apache-2.0
"""Padding rules of contractions: padding is replaced by zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...types import dtypes
from ..evaluation import Site, padding_rules


@padding_rules.define(lax.dot_general_p)
def _dot_general(site: Site, lhs: Any, rhs: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    contracted, batch = dimension_numbers
    operands = []
    for operand, aval, summed, mapped in zip(
        (lhs, rhs), site.operands, contracted, batch, strict=True
    ):
        axes = list(summed)
        if dtypes.issubdtype(aval.dtype, np.inexact):
            # The derivative with respect to the other operand also sums over the free axes, so
            # their padding must be zero, too.
            axes = [axis for axis in range(aval.ndim) if axis not in mapped]
        operands.append(site.lengths.filled(operand, aval, 0, axes))
    product = lax.dot_general_p.bind(*operands, dimension_numbers=dimension_numbers, **params)
    return site.lengths.guarded(product, site.results[0])
