# SPDX-License-Identifier: Apache-2.0
"""Loops that run backward from a few stored states, the checkpoints.

`record` runs a loop and stores a fixed number of its states. The number of iterations need not be
known: when all slots are taken, the distance between checkpoints doubles and every second
checkpoint is dropped (Stumm and Walther, "New algorithms for optimal online checkpointing", SIAM J.
Sci. Comput. 32, 2010).

`replay` goes through the iterations from the last to the first. It restarts from the last
checkpoint, and stores further checkpoints in free slots. The positions of the checkpoints bound the
number of times that an iteration is run again (Griewank and Walther, "Algorithm 799: revolve", ACM
TOMS 26, 2000). The last states before the end are recomputed as one block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.collectives.named_axes import pvary
from olympus_ir.lax.control_flow.checkpoints import Checkpoints
from olympus_ir.lax.elementwise.conversion import convert_dtype

from ..zeros import aval_of

__all__ = ["Advance", "Pull", "Recording", "record", "replay", "stored", "varying_like"]

State = list[Any]
# `advance(step, state)` returns the state after an iteration.
Advance = Callable[[Any, State], State]
# `pull(step, state, accumulators)` pulls the accumulators, which hold cotangents, back through an
# iteration.
Pull = Callable[[Any, State, list[Any]], list[Any]]

_INT = np.dtype(np.int32)
# The number of checkpoints of the backward loop itself, used by higher derivatives. The number is
# small because each of these checkpoints holds all checkpoints of the forward loop.
_CHECKPOINTS_OF_REPLAY = 8


class Recording(NamedTuple):
    """Checkpoints of a loop that has run.

    Attributes:
      iterations: the number of iterations.
      steps: for each slot but the last, the number of iterations before its state; -1 if the slot
        is empty. The last slot is spare.
      slots: the states, stacked along a new first dimension.
    """

    iterations: Any
    steps: Any
    slots: list[Any]


def record(
    advance: Callable[[Any, State, list[Any]], tuple[State, list[Any]]],
    goes_on: Callable[[Any, State], Any],
    state: State,
    others: list[Any],
    checkpoints: Checkpoints,
    stride: int = 1,
) -> tuple[State, list[Any], Recording]:
    """Runs a loop and stores some of its states.

    Args:
      advance: takes the iteration's index, the state and other values, and returns the state and
        the other values after the iteration.
      goes_on: takes the number of iterations so far and the state, and returns whether another
        iteration follows.
      state: the initial state.
      others: the other initial values, which are not stored in checkpoints.
      checkpoints: the plan, with the number of slots for states.
      stride: the first distance between checkpoints.

    Returns:
      The last state, the last other values, and the checkpoints.
    """
    first = goes_on(_int(0), state)
    start, stride_now, empty = (
        varying_like(value, aval_of(first))
        for value in (_int(0), _int(stride), np.full(checkpoints.number, -1, _INT))
    )
    slots = [_stack_of(value, checkpoints.number + 1) for value in state]

    def stretch(carry: Any) -> Any:
        step, stride, _, steps, slots, state, others = carry
        is_full = lax.reduce_and(_holds(steps, stride), (0,))
        stride = lax.select(is_full, lax.mul(stride, _int(2)), stride)
        free = lax.convert_element_type(lax.bitwise_not(_holds(steps, stride)), _INT)
        slot = lax.argmax(free, 0, _INT)
        steps = stored(steps, step, slot)
        slots = [stored(stack, value, slot) for stack, value in zip(slots, state, strict=True)]
        end = lax.add(step, stride)

        def iteration(inner: Any) -> Any:
            step, _, state, others = inner
            state, others = advance(step, state, others)
            step = lax.add(step, _int(1))
            return step, goes_on(step, state), state, others

        step, more, state, others = lax.while_loop(
            lambda inner: lax.bitwise_and(inner[1], lax.lt(inner[0], end)),
            iteration,
            (step, goes_on(step, state), state, others),
            checkpoints=_CHECKPOINTS_OF_REPLAY,
        )
        return step, stride, more, steps, slots, state, others

    step, _, _, steps, slots, state, others = lax.while_loop(
        lambda carry: carry[2],
        stretch,
        (start, stride_now, first, empty, slots, state, others),
        checkpoints=_CHECKPOINTS_OF_REPLAY,
    )
    return state, others, Recording(step, steps, slots)


def _holds(steps: Any, stride: Any) -> Any:
    """Returns whether each slot holds a checkpoint at a multiple of ``stride``."""
    strides = lax.broadcast(stride, steps.shape)
    is_kept = lax.eq(lax.rem(steps, strides), lax.full_like(steps, 0))
    return lax.bitwise_and(is_kept, lax.ge(steps, lax.full_like(steps, 0)))


def replay(
    advance: Advance,
    pull: Pull,
    recording: Recording,
    accumulators: list[Any],
    checkpoints: Checkpoints,
) -> list[Any]:
    """Pulls cotangents back through the iterations of a loop, from the last to the first.

    Args:
      advance: recomputes the state after an iteration.
      pull: pulls the cotangents back through an iteration, given the state before it.
      recording: the states that `record` stored, with the numbers of their iterations.
      accumulators: the cotangents of the values after the last iteration.
      checkpoints: the plan: the number of slots for states, and the number of states that are
        recomputed together.

    Returns:
      The cotangents of the values before the first iteration.
    """
    stack = _Stack.of(recording, checkpoints.number)

    def stretch(carry: Any) -> Any:
        end, stack, accumulators = carry
        stack = _Stack(*stack).filled(advance, end, checkpoints.block)
        start, state = stack.top_entry()
        accumulators = _pull_block(
            advance, pull, start, end, state, accumulators, checkpoints.block
        )
        return start, stack.popped(), accumulators

    _, _, accumulators = lax.while_loop(
        lambda carry: lax.gt(carry[0], _int(0)),
        stretch,
        (recording.iterations, stack, accumulators),
        checkpoints=_CHECKPOINTS_OF_REPLAY,
    )
    return accumulators


class _Stack(NamedTuple):
    """A stack of checkpoints, from the first to the last.

    Attributes:
      top: the position of the last checkpoint.
      steps: the number of iterations before each checkpoint.
      positions: the slot of each checkpoint, and then the free slots. The last element is the spare
        slot.
      slots: the states.
    """

    top: Any
    steps: Any
    positions: Any
    slots: list[Any]

    @staticmethod
    def of(recording: Recording, count: int) -> _Stack:
        steps = recording.steps
        is_empty = lax.lt(steps, lax.full_like(steps, 0))
        last = lax.full_like(steps, np.iinfo(_INT).max)
        order = [lax.select(is_empty, last, steps), np.arange(count, dtype=_INT)]
        steps, positions = lax.sort(order, num_keys=1)
        number = lax.reduce_sum(lax.convert_element_type(lax.bitwise_not(is_empty), _INT), (0,))
        spare = varying_like(np.full(1, count, _INT), aval_of(steps))
        return _Stack(
            lax.sub(number, _int(1)),
            lax.concatenate([steps, spare], 0),
            lax.concatenate([positions, spare], 0),
            recording.slots,
        )

    def top_entry(self) -> tuple[Any, State]:
        """Returns the number of iterations before the last checkpoint, and its state."""
        position = _taken(self.positions, self.top)
        return _taken(self.steps, self.top), [_taken(stack, position) for stack in self.slots]

    def popped(self) -> _Stack:
        return self._replace(top=lax.sub(self.top, _int(1)))

    def pushed(self, step: Any, state: State) -> _Stack:
        top = lax.add(self.top, _int(1))
        position = _taken(self.positions, top)
        slots = [stored(stack, value, position) for stack, value in zip(self.slots, state)]
        return _Stack(top, stored(self.steps, step, top), self.positions, slots)

    def filled(self, advance: Advance, end: Any, block: int) -> _Stack:
        """Adds checkpoints until the last checkpoint is at most a block before the end."""

        def is_far(stack: Any) -> Any:
            return lax.gt(lax.sub(end, _Stack(*stack).top_entry()[0]), _int(block))

        def with_another(stack: Any) -> Any:
            stack = _Stack(*stack)
            start, state = stack.top_entry()
            free = lax.sub(_int(stack.positions.shape[0] - 2), stack.top)
            stop = lax.add(start, _distance(lax.sub(end, start), free, block))
            _, state = lax.while_loop(
                lambda carry: lax.lt(carry[0], stop),
                lambda carry: (lax.add(carry[0], _int(1)), advance(*carry)),
                (start, state),
                checkpoints=_CHECKPOINTS_OF_REPLAY,
            )
            return stack.pushed(stop, state)

        return _Stack(
            *lax.while_loop(is_far, with_another, self, checkpoints=_CHECKPOINTS_OF_REPLAY)
        )


def _distance(length: Any, free: Any, block: int) -> Any:
    """Returns the number of iterations from the last checkpoint to the next.

    With s free slots, b(s, r) = (s + r)! / (s! r!) blocks can be pulled back such that no block is
    run again more than r times. The distance is the smallest distance for which the least possible
    r suffices.

    Args:
      length: the number of iterations to pull back, more than a block.
      free: the number of free slots, besides the spare slot. Without free slots, the next
        checkpoint is a block before the end.
      block: the number of iterations of a block.
    """
    blocks = lax.div(lax.add(length, _int(block - 1)), _int(block))
    slots = lax.convert_element_type(free, np.dtype(np.float32))
    total = lax.convert_element_type(blocks, np.dtype(np.float32))

    def repeat(carry: Any) -> Any:
        runs, _, most = carry
        runs = lax.add(runs, np.float32(1))
        return [runs, most, lax.div(lax.mul(most, lax.add(slots, runs)), runs)]

    runs, fewer, most = lax.while_loop(
        lambda carry: lax.bitwise_and(lax.lt(carry[2], total), lax.gt(slots, np.float32(0))),
        repeat,
        [varying_like(np.float32(number), aval_of(total)) for number in (0, 0, 1)],
    )
    # After the next checkpoint one slot less is free: b(s - 1, r) = b(s, r) - b(s, r - 1).
    least = lax.sub(total, lax.sub(most, fewer))
    earlier = lax.sub(runs, np.float32(1))  # b(s, r - 2) = b(s, r - 1) (r - 1) / (s + r - 1)
    earlier = lax.div(lax.mul(fewer, earlier), lax.max(lax.add(slots, earlier), np.float32(1)))
    chosen = lax.convert_element_type(lax.ceil(lax.max(least, earlier)), _INT)
    chosen = lax.clamp(_int(1), chosen, lax.sub(blocks, _int(1)))
    none_is_free = lax.le(free, _int(0))
    return lax.select(none_is_free, lax.sub(length, _int(block)), lax.mul(chosen, _int(block)))


def _pull_block(
    advance: Advance,
    pull: Pull,
    start: Any,
    end: Any,
    state: State,
    accumulators: list[Any],
    block: int,
) -> list[Any]:
    """Recomputes the states of a block, and pulls the cotangents back through the block."""
    if block == 1:
        return pull(start, state, accumulators)
    last = lax.sub(lax.sub(end, start), _int(1))

    def forward(carry: Any) -> Any:
        number, state, states = carry
        states = [stored(stack, value, number) for stack, value in zip(states, state)]
        return lax.add(number, _int(1)), advance(lax.add(start, number), state), states

    _, state, states = lax.while_loop(
        lambda carry: lax.lt(carry[0], last),
        forward,
        (_int(0), state, [_stack_of(value, block) for value in state]),
        checkpoints=_CHECKPOINTS_OF_REPLAY,
    )
    states = [stored(stack, value, last) for stack, value in zip(states, state)]

    def backward(carry: Any) -> Any:
        number, accumulators = carry
        state = [_taken(stack, number) for stack in states]
        accumulators = pull(lax.add(start, number), state, accumulators)
        return lax.sub(number, _int(1)), accumulators

    _, accumulators = lax.while_loop(
        lambda carry: lax.ge(carry[0], _int(0)),
        backward,
        (last, accumulators),
        checkpoints=_CHECKPOINTS_OF_REPLAY,
    )
    return accumulators


# ---- values ----


def varying_like(value: Any, aval: Any) -> Any:
    """Casts a value to vary over the mesh axes of a type."""
    missing = aval.vma - aval_of(value).vma
    return pvary(value, tuple(missing)) if missing else value


def _int(value: int) -> Any:
    return np.asarray(value, _INT)


def _stack_of(value: Any, count: int) -> Any:
    """Returns copies of a value, stacked. The stack has the value's layout."""
    aval = aval_of(value)
    return lax.broadcast_in_dim(value, (count, *aval.shape), tuple(range(1, aval.ndim + 1)))


def _taken(stack: Any, position: Any) -> Any:
    return lax.dynamic_index_in_dim(stack, position, keepdims=False, allow_negative_indices=False)


def stored(stack: Any, value: Any, position: Any) -> Any:
    """Returns a stack with a value at a position. A weakly typed stack remains weakly typed."""
    updated = lax.dynamic_update_index_in_dim(
        stack, value, position, 0, allow_negative_indices=False
    )
    aval = aval_of(stack)
    return convert_dtype(updated, aval.dtype, aval.weak_type)
