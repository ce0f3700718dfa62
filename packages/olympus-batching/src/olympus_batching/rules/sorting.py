# SPDX-License-Identifier: Apache-2.0
"""Batching of sorting, which sorts each example along the same dimension."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import along_dimension, batching_rules, shifted

batching_rules.define(lax.sort_p, along_dimension(lax.sort_p))


@batching_rules.define(lax.top_k_p)
def _top_k(axis_size: int, args: Any, batch_dims: Any, *, axis: int, **params: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    outs = lax.top_k_p.bind(operand, axis=shifted(axis, dim), **params)
    return outs, [dim, dim]


@batching_rules.define(lax.approx_top_k_p)
def _approx_top_k(
    axis_size: int, args: Any, batch_dims: Any, *, reduction_dimension: int, **params: Any
) -> Any:
    (operand,), (dim,) = args, batch_dims
    axis = shifted(reduction_dimension % (operand.ndim - 1), dim)
    outs = lax.approx_top_k_p.bind(operand, reduction_dimension=axis, **params)
    return outs, [dim, dim]
