# SPDX-License-Identifier: Apache-2.0
"""Pipelines in kernels for GPUs: loops over blocks that overlap copies with computation."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import ds
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.arrays import Array

from ..grids.block_dims import Squeezed
from ..grids.block_specs import BlockSpec
from ..operations.control import unraveled, when
from ..operations.scoped import run_scoped
from .primitives import (
    barrier_arrive,
    barrier_wait,
    commit_smem,
    copy_gmem_to_smem,
    copy_smem_to_gmem,
    set_max_registers,
    wait_smem_to_gmem,
)
from .types import GMEM, SMEM, Barrier

__all__ = ["PipelinePipeline", "emit_pipeline", "emit_pipeline_warp_specialized"]


class PipelinePipeline(enum.IntEnum):
    """Positions in a sequence of pipelines: the first one, those that follow, and the last one."""

    START = 0
    STEADY = 1
    STOP = 2


class _Operand:
    """Operand of a pipeline: an array in global memory, and its blocks.

    Args:
      ref: the array.
      spec: the specification of the blocks.
      slots: the number of buffers in shared memory, each for one block.
    """

    def __init__(self, ref: Any, spec: BlockSpec, slots: int) -> None:
        shape: Any = ref.shape if spec.block_shape is None else spec.block_shape
        self.ref = ref
        self.slots = slots
        self.is_direct = spec.memory_space is GMEM
        self.squeezed = [dim is None or isinstance(dim, Squeezed) for dim in shape]
        self.sizes = [
            1 if squeezed else getattr(dim, "block_size", dim)
            for dim, squeezed in zip(shape, self.squeezed, strict=True)
        ]
        self.index_map = spec.index_map or (lambda *place: (0,) * len(shape))
        self.transforms = tuple(getattr(spec, "transforms", ()))

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The shape of a block without squeezed dimensions."""
        return tuple(
            size for size, squeezed in zip(self.sizes, self.squeezed, strict=True) if not squeezed
        )

    @property
    def buffer(self) -> Any:
        """The type of the buffers for this operand, stacked along the first dimension."""
        return SMEM((self.slots, *self.block_shape), self.ref.dtype, transforms=self.transforms)

    def part(self, place: Sequence[Any]) -> Any:
        """Returns the block at a grid index, as a part of the array in global memory."""
        block = self.index_map(*place)
        block = tuple(block) if isinstance(block, tuple | list) else (block,)
        index = []
        for position, size, squeezed in zip(block, self.sizes, self.squeezed, strict=True):
            if isinstance(position, int):
                position = np.int32(position)
            index.append(position if squeezed else ds(lax.mul(position, np.int32(size)), size))
        return self.ref.at[tuple(index)]


def _flat(specs: Any) -> list[BlockSpec]:
    return pytrees.tree_leaves(specs, is_leaf=lambda spec: isinstance(spec, BlockSpec))


class _Pipeline:
    """Pipeline over a grid, whose blocks are copied to shared memory and back.

    Attributes:
      body: the function that runs in each step.
      grid: the number of steps along each axis.
      num_inputs: the number of operands that are inputs; the other operands are outputs.
      specs: the block specifications of all operands.
      steps: the number of steps.
      slots: the number of buffers that each operand has.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        grid: Sequence[Any],
        in_specs: Any,
        out_specs: Any,
        max_concurrent_steps: int,
    ) -> None:
        inputs, outputs = _flat(in_specs), _flat(out_specs)
        self.body = body
        self.grid = grid
        self.num_inputs = len(inputs)
        self.specs = [*inputs, *outputs]
        self.steps = math.prod(grid)
        self.slots = max(min(max_concurrent_steps, self.steps), 1)

    def operands(self, refs: Sequence[Any]) -> list[_Operand]:
        """Returns the operands of a call.

        Raises:
          ValueError: the numbers of references and specifications differ.
        """
        if len(refs) != len(self.specs):
            raise ValueError(
                f"the pipeline has {len(self.specs)} specifications, but was given {len(refs)} "
                "references"
            )
        return [_Operand(ref, spec, self.slots) for ref, spec in zip(refs, self.specs, strict=True)]

    def slot(self, step: Any) -> Any:
        """Returns the buffer that a step uses."""
        return lax.rem(step, np.int32(self.slots))

    def place(self, step: Any) -> Any:
        """Returns the index of a step in the grid."""
        return unraveled(step, self.grid)

    def loop(self, step: Callable[[Any, Any], Any], carry: Any = None) -> Any:
        """Runs a function of the step's index and the carry for all steps."""
        return lax.fori_loop(np.int32(0), np.int32(self.steps), step, carry)


class _Window(NamedTuple):
    """Operand of a pipeline, with its buffers in shared memory if it has any."""

    operand: _Operand
    buffers: Any

    def view(self, place: Sequence[Any], slot: Any) -> Any:
        """Returns the body's reference to the block at the grid index ``place``.

        The block is in the buffer ``slot``, or in global memory if the operand has no buffers.
        """
        return self.operand.part(place) if self.buffers is None else self.buffers.at[slot]

    def copy_in(self, place: Sequence[Any], slot: Any, barriers: Any) -> None:
        """Starts the copy of a block to shared memory. The completed copy arrives at a barrier."""
        copy_gmem_to_smem(self.operand.part(place), self.buffers.at[slot], barriers.at[slot])

    def copy_out(self, place: Sequence[Any], slot: Any, **options: Any) -> None:
        """Starts the copy of a block from shared memory."""
        copy_smem_to_gmem(self.buffers.at[slot], self.operand.part(place), **options)


class _UniformPipeline(_Pipeline):
    """Pipeline in which every thread copies and computes."""

    def __init__(self, *args: Any, init_carry: Any) -> None:
        super().__init__(*args)
        self.init_carry = init_carry

    def __call__(self, *refs: Any) -> Any:
        operands = self.operands(refs)
        if not self.steps:
            return self.init_carry
        buffered = [operand for operand in operands if not operand.is_direct]
        num_copies = sum(not operand.is_direct for operand in operands[: self.num_inputs])
        barriers = []
        if num_copies:
            barriers = [Barrier(num_arrivals=num_copies, num_barriers=self.slots)]

        def run(*allocated: Any) -> Any:
            buffers = iter(allocated)
            windows = [
                _Window(operand, None if operand.is_direct else next(buffers))
                for operand in operands
            ]
            return self._run(windows, next(buffers, None))

        return run_scoped(run, *(operand.buffer for operand in buffered), *barriers)

    def _run(self, windows: Sequence[_Window], barriers: Any) -> Any:
        copied_in = [w for w in windows[: self.num_inputs] if w.buffers is not None]
        copied_out = [w for w in windows[self.num_inputs :] if w.buffers is not None]

        def fetch(step: Any, slot: Any) -> None:
            place = self.place(step)
            for window in copied_in:
                window.copy_in(place, slot, barriers)

        def run_step(step: Any, carry: Any) -> Any:
            slot = self.slot(step)
            place = self.place(step)
            if copied_in:
                barrier_wait(barriers.at[slot])
            if copied_out:
                # Wait until the last copies from the buffers of this slot have completed.
                wait_smem_to_gmem(self.slots - 1)
            views = [window.view(place, slot) for window in windows]
            result = self.body(place, *views, *(() if self.init_carry is None else (carry,)))
            _store(copied_out, place, slot)
            following = lax.add(step, np.int32(self.slots))
            when(lax.lt(following, np.int32(self.steps)))(lambda: fetch(following, slot))
            return None if self.init_carry is None else result

        for first in range(self.slots):
            fetch(np.int32(first), np.int32(first))
        last = self.loop(run_step, self.init_carry)
        if copied_out:
            wait_smem_to_gmem(0)
        return last


def _store(windows: Sequence[_Window], place: Sequence[Any], slot: Any) -> None:
    """Starts the copies of a step's results, as one group."""
    if windows:
        commit_smem()
    for window in windows:
        window.copy_out(place, slot, commit_group=window is windows[-1])


@dataclasses.dataclass(frozen=True)
class _Warpgroups:
    """Threads of a warp-specialized pipeline.

    Attributes:
      axis: the axis of the threads.
      num_compute: the number of threads that compute.
      memory_thread: the index of the thread that copies.
      memory_registers: the number of registers that the copying thread keeps.
      manual_consumed_barriers: whether the body itself arrives at the barriers ``consumed``.
      compute_context: the function around the loop of the computing threads, or None.
    """

    axis: str
    num_compute: int
    memory_thread: int
    memory_registers: int
    manual_consumed_barriers: bool
    compute_context: Callable[..., Any] | None


class _Barriers(NamedTuple):
    """Barriers of a warp-specialized pipeline.

    Attributes:
      ready: one barrier for each slot, which signals that the inputs of a step have arrived.
      done: two barriers. The first signals that all threads have written their results, the second
        that the results have been copied.
      consumed: one array of barriers, or one array for each input. They signal that all threads
        have read the inputs.
    """

    ready: Any
    done: Any
    consumed: Sequence[Any]


class _WarpSpecializedPipeline(_Pipeline):
    """Pipeline in which one thread copies, and the others compute."""

    def __init__(self, *args: Any, warpgroups: _Warpgroups) -> None:
        super().__init__(*args)
        self.warpgroups = warpgroups

    def get_allocations(self, *refs: Any) -> dict[str, Any]:
        """Returns the buffers and barriers of a call, as keyword arguments of `run_scoped`.

        A call that gets references to these buffers as ``allocations`` makes no buffers itself.
        Pipelines that run one after the other may share the buffers.

        Args:
          *refs: references to the inputs and outputs.
        """
        num_inputs = max(self.num_inputs, 1)
        num_compute = self.warpgroups.num_compute
        num_consumed = num_inputs if self.warpgroups.manual_consumed_barriers else 1
        consumed = Barrier(num_arrivals=num_compute, num_barriers=self.slots)
        return {
            "buffers": [operand.buffer for operand in self.operands(refs)],
            "ready": Barrier(num_arrivals=num_inputs, num_barriers=self.slots),
            "done": Barrier(num_arrivals=num_compute, num_barriers=2),
            "consumed": [consumed] * num_consumed,
        }

    def __call__(self, *refs: Any, allocations: dict[str, Any] | None = None) -> None:
        operands = self.operands(refs)
        if not self.steps:
            return

        def run(buffers: Sequence[Any], **barriers: Any) -> None:
            windows = list(map(_Window, operands, buffers))
            self._run_threads(windows, _Barriers(**barriers))

        if allocations is not None:
            run(**allocations)
        else:
            axis = self.warpgroups.axis
            run_scoped(run, **self.get_allocations(*refs), collective_axes=axis)

    def _run_threads(self, windows: Sequence[_Window], barriers: _Barriers) -> None:
        memory_thread = self.warpgroups.memory_thread
        number = lax.axis_index(self.warpgroups.axis)
        # The compute thread with the lowest index copies the results.
        first = np.int32(1 if memory_thread == 0 else 0)
        lax.cond(
            lax.eq(number, np.int32(memory_thread)),
            lambda: self._copy_inputs(windows[: self.num_inputs], barriers),
            lambda: self._compute(windows, barriers, lax.eq(number, first)),
        )

    def _copy_inputs(self, inputs: Sequence[_Window], barriers: _Barriers) -> None:
        set_max_registers(self.warpgroups.memory_registers, action="decrease")

        def copy_step(step: Any, carry: Any) -> None:
            slot = self.slot(step)

            @when(lax.ge(step, np.int32(self.slots)))
            def _() -> None:
                for barrier in barriers.consumed:
                    barrier_wait(barrier.at[slot])

            place = self.place(step)
            for window in inputs:
                window.copy_in(place, slot, barriers.ready)
            if not inputs:
                barrier_arrive(barriers.ready.at[slot])

        self.loop(copy_step)
        # The next pipeline may use the same barriers, so no arrival may remain.
        for step in range(self.steps - self.slots, self.steps):
            for barrier in barriers.consumed:
                barrier_wait(barrier.at[step % self.slots])

    def _compute(self, windows: Sequence[_Window], barriers: _Barriers, is_first: Any) -> None:
        manual = self.warpgroups.manual_consumed_barriers
        outputs = windows[self.num_inputs :]

        def compute_step(step: Any, carry: Any) -> Any:
            slot = self.slot(step)
            place = self.place(step)
            barrier_wait(barriers.ready.at[slot])
            views = [window.buffers.at[slot] for window in windows]
            consumed = [barrier.at[slot] for barrier in barriers.consumed] if manual else []
            result = self.body(place, *views, *consumed, *([] if carry is None else [carry]))
            if outputs:
                self._store_together(outputs, place, slot, barriers.done, is_first)
            if not manual:
                barrier_arrive(barriers.consumed[0].at[slot])
            return result

        context = self.warpgroups.compute_context or (lambda run: run())
        context(lambda carry=None: self.loop(compute_step, carry))

    def _store_together(
        self, outputs: Sequence[_Window], place: Any, slot: Any, done: Any, is_first: Any
    ) -> None:
        """Makes the first thread copy the results that all threads have computed."""
        commit_smem()
        barrier_arrive(done.at[0])
        barrier_wait(done.at[0])

        @when(is_first)
        def _() -> None:
            for window in outputs:
                window.copy_out(place, slot)
            wait_smem_to_gmem(0)

        barrier_arrive(done.at[1])
        barrier_wait(done.at[1])


def emit_pipeline(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    in_specs: Sequence[BlockSpec] = (),
    out_specs: Sequence[BlockSpec] = (),
    max_concurrent_steps: int = 1,
    init_carry: PyTree = None,
) -> Callable[..., Any]:
    """Makes a loop over blocks of arrays, which are copied to shared memory and back.

    Args:
      body: function of the grid index and of references to the blocks of the inputs and of the
        outputs. With ``init_carry`` it also takes the carry, and returns the next carry.
      grid: the numbers of steps along each axis.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output a `BlockSpec`.
      max_concurrent_steps: number of steps whose blocks are in flight at once.
      init_carry: initial carry of the loop.

    Returns:
      A function that takes references to the inputs and outputs, in GMEM, and returns the last
      carry.

    Raises:
      ValueError: the numbers of references and specifications differ.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import mosaic_gpu as plgpu
      >>> def double(place, x_ref, o_ref):
      ...     o_ref[...] = 2 * x_ref[...]
      >>> block = plgpu.BlockSpec((2,), lambda i: (i,))
      >>> def kernel(x_ref, o_ref):
      ...     plgpu.emit_pipeline(double, grid=(2,), in_specs=[block], out_specs=[block])(
      ...         x_ref, o_ref)
      >>> plgpu.kernel(kernel, ShapeDtypeStruct((4,), "int32"), interpret=True)(np.arange(4))
      Array([0, 2, 4, 6], dtype=int32)
    """
    return _UniformPipeline(
        body, grid, in_specs, out_specs, max_concurrent_steps, init_carry=init_carry
    )


def emit_pipeline_warp_specialized(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    memory_registers: int,
    in_specs: PyTree = (),
    out_specs: PyTree = (),
    max_concurrent_steps: int = 2,
    wg_axis: str,
    num_compute_wgs: int,
    pipeline_state: int | Array | PipelinePipeline | None = None,
    manual_consumed_barriers: bool = False,
    compute_context: Callable[..., Any] | None = None,
    memory_thread_idx: int | None = None,
) -> Callable[..., None]:
    """Makes a pipeline in which one thread copies, and the others compute.

    Args:
      body: function of the grid index and of references to the blocks of the inputs and of the
        outputs. With ``manual_consumed_barriers`` it also takes the barriers of the inputs, and
        with ``compute_context`` the carry. All threads that compute run it on the same blocks.
      grid: the numbers of steps along each axis.
      memory_registers: number of registers that the copying thread keeps.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output a `BlockSpec`.
      max_concurrent_steps: number of steps whose blocks are in flight at once.
      wg_axis: the axis of the block's threads.
      num_compute_wgs: number of threads that compute.
      pipeline_state: position in a sequence of pipelines, a `PipelinePipeline` or its integer
        value. On simulated threads each pipeline of a sequence ends before the next one begins.
      manual_consumed_barriers: whether the body itself arrives at the barrier of each input when it
        has read the input.
      compute_context: function that runs on the computing threads, around the loop. Its argument is
        a function that runs the loop: it takes the initial carry and returns the last carry.
      memory_thread_idx: index of the copying thread; the last thread by default.

    Returns:
      A function of references to the inputs and outputs, in GMEM, which all threads call. Its
      method ``get_allocations`` returns the buffers and barriers of a call, for `run_scoped`; the
      references made from them are the keyword argument ``allocations`` of the function.

    Raises:
      ValueError: the numbers of references and specifications differ, or ``pipeline_state`` is
        unknown.
    """
    if isinstance(pipeline_state, int):
        PipelinePipeline(pipeline_state)
    warpgroups = _Warpgroups(
        axis=wg_axis,
        num_compute=num_compute_wgs,
        memory_thread=num_compute_wgs if memory_thread_idx is None else memory_thread_idx,
        memory_registers=memory_registers,
        manual_consumed_barriers=manual_consumed_barriers,
        compute_context=compute_context,
    )
    return _WarpSpecializedPipeline(
        body, grid, in_specs, out_specs, max_concurrent_steps, warpgroups=warpgroups
    )
