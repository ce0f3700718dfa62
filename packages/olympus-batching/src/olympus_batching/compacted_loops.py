# SPDX-License-Identifier: Apache-2.0
"""Batching of `while_loop` in which finished examples leave the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.checkpoints import Checkpoints
from olympus_ir.lax.control_flow.operands import WhileOperands

from .dimensions import BatchAxis, materialize
from .rows import rows, with_rows
from .trace import call_batched

__all__ = ["BatchedLoop", "compaction_sizes", "run_compacted"]

# A heuristic: each stage has a quarter of the examples of the stage before. Gathering then costs
# little compared with the iterations. At least a quarter of the examples that run are unfinished.
_SHRINK = 4
_SMALLEST_BATCH = 8


def compaction_sizes(batch: str | tuple[int, ...], size: int) -> tuple[int, ...]:
    """Returns the batch sizes of the stages after the first, in descending order.

    Args:
      batch: ``"compact"`` for sizes chosen by a heuristic, or the sizes.
      size: the number of examples.
    """
    if batch != "compact":
        return tuple(sorted({axis for axis in batch if axis < size}, reverse=True))  # type: ignore[operator]
    sizes = []
    while (size := size // _SHRINK) >= _SMALLEST_BATCH:
        sizes.append(size)
    return tuple(sizes)


class BatchedLoop(NamedTuple):
    """A batched `while_loop` whose examples finish after different numbers of iterations.

    Attributes:
      condition: the condition of one example; it takes the constants and the carry.
      body: the body of one example; it takes the constants and the carry.
      batched: for each operand, whether it is batched; True for every component of the carry.
      checkpoints: the plan of reverse mode, or None.
    """

    condition: Callable[..., list[Any]]
    body: Callable[..., list[Any]]
    batched: WhileOperands[bool]
    checkpoints: Checkpoints | None


def run_compacted(
    loop: BatchedLoop, axis: BatchAxis, sizes: Sequence[int], operands: WhileOperands[Any]
) -> list[Any]:
    """Runs the loop in stages; each stage has fewer examples than the stage before.

    A stage ends when the unfinished examples fit into the next stage. The next stage gathers them,
    and scatters their carries back when it ends.

    Args:
      loop: the loop.
      axis: the axis of the examples.
      sizes: the batch sizes of the further stages, in descending order.
      operands: the operands, with batch dimensions at 0.

    Returns:
      The final carry, with batch dimensions at 0.
    """
    goal = sizes[0] if sizes else 0
    active, carry = _run_stage(loop, axis, goal, operands)
    if not goal:
        return carry
    finished = lax.convert_element_type(lax.bitwise_not(active), np.dtype(np.int32))
    numbers = np.arange(axis.size, dtype=np.int32)
    # Finished examples fill up the next stage. Their condition is false, so they do not change.
    order = lax.sort([finished, numbers], num_keys=1)[1]
    positions = lax.slice_in_dim(order, 0, goal)
    gathered = WhileOperands(
        *(
            [rows(x, positions) if flag else x for x, flag in zip(values, flags, strict=True)]
            for values, flags in zip(operands._replace(carry=carry), loop.batched, strict=True)
        )
    )
    part = axis._replace(size=goal, name=None)
    results = run_compacted(loop, part, sizes[1:], gathered)
    return [with_rows(x, positions, result) for x, result in zip(carry, results, strict=True)]


def _run_stage(
    loop: BatchedLoop, axis: BatchAxis, goal: int, operands: WhileOperands[Any]
) -> tuple[Any, list[Any]]:
    """Iterates until at most ``goal`` examples are unfinished.

    Returns:
      For each example, whether it is unfinished; and the carry.
    """

    def of_examples(
        function: Callable[..., list[Any]],
        consts: Sequence[Any],
        flags: Sequence[bool],
        carry: Sequence[Any],
    ) -> list[Any]:
        dims = [0 if is_batched else None for is_batched in (*flags, *loop.batched.carry)]
        results, out_dims = call_batched(function, axis, [*consts, *carry], dims)
        return [materialize(x, axis.size, dim) for x, dim in zip(results, out_dims, strict=True)]

    def goes_on(carry: Sequence[Any]) -> Any:
        (result,) = of_examples(
            loop.condition, operands.cond_consts, loop.batched.cond_consts, carry
        )
        return result

    def step(state: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
        active, carry = state
        new = of_examples(loop.body, operands.body_consts, loop.batched.body_consts, carry)
        carry = [
            lax.select(_spread(active, after), after, before)
            for before, after in zip(carry, new, strict=True)
        ]
        return lax.bitwise_and(active, goes_on(carry)), carry

    def is_too_large(state: tuple[Any, list[Any]]) -> Any:
        count = lax.reduce_sum(lax.convert_element_type(state[0], np.dtype(np.int32)), (0,))
        return lax.gt(count, np.int32(goal))

    initial = (goes_on(operands.carry), list(operands.carry))
    return lax.while_loop(is_too_large, step, initial, checkpoints=loop.checkpoints)


def _spread(of_examples: Any, like: Any) -> Any:
    return lax.broadcast_in_dim(of_examples, like.shape, (0,))
