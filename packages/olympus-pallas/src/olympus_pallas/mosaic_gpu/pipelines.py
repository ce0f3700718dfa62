# SPDX-License-Identifier: Apache-2.0
"""Pipelines in kernels for GPUs: loops over blocks, which are copied while others are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import ds
from olympus_ir.trees import pytrees

from ..grids.block_dims import Squeezed
from ..grids.block_specs import BlockSpec
from ..operations.control import when
from ..operations.scoped import run_scoped
from .loops import _unraveled
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

__all__ = ["emit_pipeline", "emit_pipeline_warp_specialized"]


class _Operand:
    """One operand: the array, and its blocks in a block's memory."""

    def __init__(self, ref: Any, spec: BlockSpec, steps: int) -> None:
        shape: Any = ref.shape if spec.block_shape is None else spec.block_shape
        self.ref = ref
        self.steps = steps
        self.is_direct = spec.memory_space is GMEM
        self.squeezed = [dim is None or isinstance(dim, Squeezed) for dim in shape]
        self.sizes = [
            1 if squeezed else getattr(dim, "block_size", dim)
            for dim, squeezed in zip(shape, self.squeezed, strict=True)
        ]
        self.index_map = spec.index_map or (lambda *place: (0,) * len(shape))
        self.transforms = tuple(getattr(spec, "transforms", ()))

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(
            size for size, squeezed in zip(self.sizes, self.squeezed, strict=True) if not squeezed
        )

    @property
    def buffer(self) -> Any:
        return SMEM((self.steps, *self.kept), self.ref.dtype, transforms=self.transforms)

    def part(self, place: Sequence[Any]) -> Any:
        """The block of a place in the grid, in the large memory."""
        block = self.index_map(*place)
        block = tuple(block) if isinstance(block, tuple | list) else (block,)
        index = []
        for at, size, squeezed in zip(block, self.sizes, self.squeezed, strict=True):
            at = np.int32(at) if isinstance(at, int) else at
            index.append(at if squeezed else ds(lax.mul(at, np.int32(size)), size))
        return self.ref.at[tuple(index)]


def _flat(specs: Any) -> list[BlockSpec]:
    return pytrees.tree_leaves(specs, is_leaf=lambda spec: isinstance(spec, BlockSpec))


def _operands(refs: Sequence[Any], specs: Sequence[BlockSpec], steps: int) -> list[_Operand]:
    if len(refs) != len(specs):
        raise ValueError(
            f"the pipeline has {len(specs)} specifications, but was given {len(refs)} references"
        )
    return [_Operand(ref, spec, steps) for ref, spec in zip(refs, specs, strict=True)]


def emit_pipeline(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    in_specs: Sequence[BlockSpec] = (),
    out_specs: Sequence[BlockSpec] = (),
    max_concurrent_steps: int = 1,
    init_carry: Any = None,
) -> Callable[..., Any]:
    """Makes a loop over blocks of arrays, which are copied to the block's memory and back.

    Args:
      body: takes the place in the grid, then references to the blocks of the inputs and of the
        outputs, and with ``init_carry`` the carry, of which it returns the next.
      grid: the numbers of steps along each axis.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output, likewise.
      max_concurrent_steps: how many steps' blocks are on their way at once.
      init_carry: what is passed on from step to step, at first.

    Returns:
      A function of references to the inputs and outputs, in GMEM; it gives the last carry.

    Raises:
      ValueError: where there are not as many references as specifications.

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
    ins, outs = _flat(in_specs), _flat(out_specs)
    steps = math.prod(grid)
    slots = max(min(max_concurrent_steps, steps), 1)

    def pipeline(*refs: Any) -> Any:
        operands = _operands(refs, [*ins, *outs], slots)
        moved = [operand for operand in operands[: len(ins)] if not operand.is_direct]
        results = [operand for operand in operands[len(ins) :] if not operand.is_direct]
        if not steps:
            return init_carry
        barriers = [Barrier(num_arrivals=len(moved), num_barriers=slots)] if moved else []
        buffers = [operand.buffer for operand in (*moved, *results)]
        return run_scoped(lambda *made: loop(operands, moved, results, made), *buffers, *barriers)

    def loop(
        operands: Sequence[_Operand],
        moved: Sequence[_Operand],
        results: Sequence[_Operand],
        made: Sequence[Any],
    ) -> Any:
        buffers = dict(zip(map(id, (*moved, *results)), made, strict=False))

        def fetch(step: Any, slot: Any) -> None:
            place = _unraveled(step, grid)
            for operand in moved:
                buffer = buffers[id(operand)].at[slot]
                copy_gmem_to_smem(operand.part(place), buffer, made[-1].at[slot])

        for first in range(slots):
            fetch(np.int32(first), np.int32(first))

        def step(number: Any, carry: Any) -> Any:
            slot = lax.rem(number, np.int32(slots))
            place = _unraveled(number, grid)
            if moved:
                barrier_wait(made[-1].at[slot])
            if results:
                # The buffers' last copies have gone.
                wait_smem_to_gmem(slots - 1)
            seen = [
                operand.part(place) if operand.is_direct else buffers[id(operand)].at[slot]
                for operand in operands
            ]
            given = () if init_carry is None else (carry,)
            after = body(place, *seen, *given)
            if results:
                commit_smem()
                for position, operand in enumerate(results):
                    copy_smem_to_gmem(
                        buffers[id(operand)].at[slot],
                        operand.part(place),
                        commit_group=position == len(results) - 1,
                    )
            following = lax.add(number, np.int32(slots))
            when(lax.lt(following, np.int32(steps)))(lambda: fetch(following, slot))
            return None if init_carry is None else after

        last = lax.fori_loop(np.int32(0), np.int32(steps), step, init_carry)
        if results:
            wait_smem_to_gmem(0)
        return last

    return pipeline


def emit_pipeline_warp_specialized(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    memory_registers: int,
    in_specs: Any = (),
    out_specs: Any = (),
    max_concurrent_steps: int = 2,
    wg_axis: str,
    num_compute_wgs: int,
    pipeline_state: Any = None,
    manual_consumed_barriers: bool = False,
    compute_context: Callable[..., Any] | None = None,
    memory_thread_idx: int | None = None,
) -> Callable[..., None]:
    """Makes a pipeline in which one thread copies, and the others compute.

    Args:
      body: takes the place in the grid, then references to the blocks of the inputs and of the
        outputs, then, where asked for, the inputs' barriers, then the carry of the context. All
        threads that compute run it on the same blocks.
      grid: the numbers of steps along each axis.
      memory_registers: how many registers the copying thread keeps.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output, likewise.
      max_concurrent_steps: how many steps' blocks are on their way at once.
      wg_axis: the axis of the block's threads.
      num_compute_wgs: how many of them compute.
      pipeline_state: must be None: pipelines begin and end by themselves here.
      manual_consumed_barriers: whether the body itself arrives at a barrier an input when it has
        read it.
      compute_context: a function of a function from the carry at first to the last one; runs on
        the computing threads, around the loop.
      memory_thread_idx: which thread copies; the last one where not given.

    Returns:
      A function of references to the inputs and outputs, in GMEM, which all threads call.

    Raises:
      ValueError: where there are not as many references as specifications, or ``pipeline_state``
        is given.
    """
    if pipeline_state is not None:
        raise ValueError("pipelines that go over into one another are not known here")
    ins, outs = _flat(in_specs), _flat(out_specs)
    steps = math.prod(grid)
    slots = max(min(max_concurrent_steps, steps), 1)
    memory_thread = num_compute_wgs if memory_thread_idx is None else memory_thread_idx

    def pipeline(*refs: Any) -> None:
        operands = _operands(refs, [*ins, *outs], slots)
        if not steps:
            return
        count = len(ins)
        consumers = max(count, 1) if manual_consumed_barriers else 1
        buffers = [operand.buffer for operand in operands]
        ready = Barrier(num_arrivals=max(count, 1), num_barriers=slots)
        consumed = [
            Barrier(num_arrivals=num_compute_wgs, num_barriers=slots) for _ in range(consumers)
        ]
        done = Barrier(num_arrivals=num_compute_wgs, num_barriers=2)
        run_scoped(
            lambda *made: threads(operands, made[: len(operands)], made[len(operands) :]),
            *buffers,
            ready,
            done,
            *consumed,
            collective_axes=wg_axis,
        )

    def threads(operands: Sequence[_Operand], buffers: Sequence[Any], made: Sequence[Any]) -> None:
        ready, done, *consumed = made
        number = lax.axis_index(wg_axis)
        is_memory = lax.eq(number, np.int32(memory_thread))
        # Among those that compute, the first copies results.
        first = np.int32(1 if memory_thread == 0 else 0)
        lax.cond(
            is_memory,
            lambda: copying(operands, buffers, ready, consumed),
            lambda: computing(operands, buffers, ready, done, consumed, lax.eq(number, first)),
        )

    def copying(
        operands: Sequence[_Operand], buffers: Sequence[Any], ready: Any, consumed: Sequence[Any]
    ) -> None:
        set_max_registers(memory_registers, action="decrease")

        def step(number: Any, carry: Any) -> None:
            slot = lax.rem(number, np.int32(slots))

            @when(lax.ge(number, np.int32(slots)))
            def _() -> None:
                for barrier in consumed:
                    barrier_wait(barrier.at[slot])

            place = _unraveled(number, grid)
            for operand, buffer in zip(operands[: len(ins)], buffers, strict=False):
                copy_gmem_to_smem(operand.part(place), buffer.at[slot], ready.at[slot])
            if not ins:
                barrier_arrive(ready.at[slot])

        lax.fori_loop(np.int32(0), np.int32(steps), step, None)

    def computing(
        operands: Sequence[_Operand],
        buffers: Sequence[Any],
        ready: Any,
        done: Any,
        consumed: Sequence[Any],
        is_first: Any,
    ) -> None:
        def step(number: Any, carry: Any) -> Any:
            slot = lax.rem(number, np.int32(slots))
            place = _unraveled(number, grid)
            barrier_wait(ready.at[slot])
            seen = [buffer.at[slot] for buffer in buffers]
            more = [barrier.at[slot] for barrier in consumed] if manual_consumed_barriers else []
            given = [] if carry is None else [carry]
            after = body(place, *seen, *more, *given)
            if outs:
                commit_smem()
                barrier_arrive(done.at[0])
                barrier_wait(done.at[0])

                @when(is_first)
                def _() -> None:
                    for operand, buffer in zip(
                        operands[len(ins) :], buffers[len(ins) :], strict=True
                    ):
                        copy_smem_to_gmem(buffer.at[slot], operand.part(place))
                    wait_smem_to_gmem(0)

                barrier_arrive(done.at[1])
                barrier_wait(done.at[1])
            if not manual_consumed_barriers:
                barrier_arrive(consumed[0].at[slot])
            return after

        def run(carry: Any = None) -> Any:
            return lax.fori_loop(np.int32(0), np.int32(steps), step, carry)

        if compute_context is None:
            run()
        else:
            compute_context(run)

    return pipeline
