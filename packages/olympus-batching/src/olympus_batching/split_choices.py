# SPDX-License-Identifier: Apache-2.0
"""Batching of conditionals in which each branch runs only on the examples that select it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.variation import varying_like

from .dimensions import BatchAxis, materialize
from .rows import rows, with_rows
from .trace import call_batched

__all__ = ["run_split"]

# A branch runs on 1 / _PARTS of the examples at a time. Larger parts waste work on rare branches;
# smaller parts make the loops of frequent branches long.
_PARTS = 64
_INT = np.dtype(np.int32)


def run_split(
    axis: BatchAxis,
    index: Any,
    operands: Sequence[Any],
    batched: Sequence[bool],
    branches: Sequence[Callable[..., list[Any]]],
    out_avals: Sequence[Any],
) -> list[Any]:
    """Runs each branch on the examples that select it.

    Args:
      axis: the axis of the examples.
      index: for each example, the index of its branch.
      operands: the operands of the branches, with batch dimensions at 0.
      batched: for each operand, whether it has a batch dimension.
      branches: the branches.
      out_avals: the types of the results of one example.

    Returns:
      The results, with batch dimensions at 0.
    """
    results = [
        varying_like(lax.full((axis.size, *aval.shape), 0, aval.dtype), index, *operands)
        for aval in out_avals
    ]
    index = lax.clamp(_int(0), index, _int(len(branches) - 1))
    for position, branch in enumerate(branches):
        is_taken = lax.eq(index, lax.full_like(index, position))
        results = _run_branch(axis, is_taken, operands, batched, branch, results)
    return results


def _run_branch(
    axis: BatchAxis,
    is_taken: Any,
    operands: Sequence[Any],
    batched: Sequence[bool],
    branch: Callable[..., list[Any]],
    results: list[Any],
) -> list[Any]:
    """Runs one branch on the examples that select it.

    Returns ``results`` with the results of these examples inserted.
    """
    size = axis.size
    lanes = -(-size // _PARTS)
    parts = axis._replace(size=lanes, name=None)
    others = lax.convert_element_type(lax.bitwise_not(is_taken), _INT)
    order = lax.sort([others, np.arange(size, dtype=_INT)], num_keys=1)[1]
    count = lax.sub(_int(size), lax.reduce_sum(others, (0,)))
    first = lax.index_in_dim(order, 0, keepdims=False)
    # An iteration computes one example in each of a fixed number of lanes. Lanes beyond the last
    # example compute the first example again, and their results are dropped.
    order = lax.concatenate([order, np.zeros(lanes, _INT)], 0)
    dims = [0 if is_batched else None for is_batched in batched]

    def compute(carry: Any) -> Any:
        start, results = carry
        lane = lax.add(lax.broadcast(start, (lanes,)), np.arange(lanes, dtype=_INT))
        is_real = lax.lt(lane, lax.broadcast(count, (lanes,)))
        positions = lax.dynamic_slice_in_dim(order, start, lanes)
        sources = lax.select(is_real, positions, lax.broadcast(first, (lanes,)))
        targets = lax.select(is_real, positions, np.full(lanes, size, _INT))
        selected = [
            rows(x, sources) if moves else x for x, moves in zip(operands, batched, strict=True)
        ]
        outs, out_dims = call_batched(branch, parts, selected, dims)
        outs = [materialize(out, lanes, dim) for out, dim in zip(outs, out_dims, strict=True)]
        results = [with_rows(x, targets, out) for x, out in zip(results, outs, strict=True)]
        return lax.add(start, _int(lanes)), results

    _, results = lax.while_loop(
        lambda carry: lax.lt(carry[0], count), compute, (_int(0), results), checkpoints=8
    )
    return results


def _int(value: int) -> Any:
    return np.asarray(value, _INT)
