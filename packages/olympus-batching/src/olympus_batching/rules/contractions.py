# SPDX-License-Identifier: Apache-2.0
"""Batching of contractions: the new dimension is a batch dimension, or free in one operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from ..tables import all_shifted, batched_sharding, batching_rules, materialize


@batching_rules.define(lax.dot_general_p)
def _dot_general(
    axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any
) -> Any:
    lhs, rhs = args
    lhs_dim, rhs_dim = batch_dims
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract = all_shifted(lhs_contract, lhs_dim)
        lhs_batch = all_shifted(lhs_batch, lhs_dim)
    if rhs_dim is not None:
        rhs_contract = all_shifted(rhs_contract, rhs_dim)
        rhs_batch = all_shifted(rhs_batch, rhs_dim)
    count = len(lhs_batch)
    # The result has the batch dimensions, then the free dimensions of lhs, then those of rhs.
    if lhs_dim is not None and rhs_dim is not None:
        lhs_batch = (lhs_dim, *lhs_batch)
        rhs_batch = (rhs_dim, *rhs_batch)
        out_dim = 0
    elif lhs_dim is not None:
        used = (*lhs_contract, *lhs_batch)
        out_dim = count + lhs_dim - sum([dim < lhs_dim for dim in used])
    else:
        assert rhs_dim is not None
        used = (*rhs_contract, *rhs_batch)
        lhs_free = np.ndim(lhs) - count - len(lhs_contract)
        out_dim = count + lhs_free + rhs_dim - sum([dim < rhs_dim for dim in used])
    if params["out_sharding"] is not None:
        params["out_sharding"] = batched_sharding(params["out_sharding"], out_dim)
    out = lax.dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)),
        **params,
    )
    return out, out_dim


@batching_rules.define(lax.scaled_dot_p)
def _scaled_dot(
    axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any
) -> Any:
    operands = [materialize(arg, axis_size, dim) for arg, dim in zip(args, batch_dims, strict=True)]
    contracting, batch = dimension_numbers
    numbers = (
        tuple(all_shifted(dims, 0) for dims in contracting),
        tuple((0, *all_shifted(dims, 0)) for dims in batch),
    )
    return lax.scaled_dot_p.bind(*operands, dimension_numbers=numbers, **params), 0
