# SPDX-License-Identifier: Apache-2.0
"""Pipelines inside of kernels for TPUs: a loop over blocks that lie in the large memory.

Each operand has two buffers in vector memory. While the body works on one block, the next one is on
its way into the other buffer, and the one before on its way out. A block that is wanted again in
the next step stays where it is, so that outputs can be added to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import ds

from ..grids.block_dims import Blocked, Squeezed
from ..grids.block_specs import BlockSpec
from ..grids.program_ids import inside_grid
from ..operations.control import when
from ..operations.scoped import run_scoped
from ..operations.transfers import make_async_copy
from .buffered_refs import BufferedRef, BufferType

__all__ = ["emit_pipeline", "emit_pipeline_with_allocations"]

_INT32 = np.dtype(np.int32)


class _Operand:
    """One operand of a pipeline: the array, its blocks, and two buffers."""

    def __init__(self, ref: Any, spec: BlockSpec, origin: str) -> None:
        shape: Any = ref.shape if spec.block_shape is None else spec.block_shape
        if len(shape) != len(ref.shape):
            raise ValueError(
                f"Block shape for {origin} (= {tuple(shape)}) must have the same number of "
                f"dimensions as the array shape {ref.shape}."
            )
        self.ref = ref
        self.shape = tuple(shape)
        self.origin = origin
        self.squeezed = tuple(dim is None or isinstance(dim, Squeezed) for dim in shape)
        self.sizes = tuple(map(_size, shape))
        for size, whole in zip(self.sizes, ref.shape, strict=True):
            if whole % size:
                raise ValueError(
                    f"the blocks of a pipeline must cover {origin} evenly, got blocks of shape "
                    f"{self.sizes} of an array of shape {ref.shape}; pad the array."
                )
        self.index_map = spec.index_map or (lambda *place: (0,) * len(shape))

    def allocation(self, spec: BlockSpec, kind: BufferType) -> BufferedRef:
        """The buffers and semaphores that it needs."""
        spec = spec.replace(block_shape=self.shape, memory_space=None)
        return BufferedRef.create(spec, self.ref.dtype, kind, 2)

    def block(self, place: Sequence[Any]) -> tuple[Any, ...]:
        """Which block a step sees."""
        block = self.index_map(*place)
        return tuple(block) if isinstance(block, tuple | list) else (block,)

    def differs(self, here: Sequence[Any], there: Sequence[Any]) -> Any:
        """Whether two steps see different blocks."""
        result: Any = np.bool_(False)
        for one, other in zip(self.block(here), self.block(there), strict=True):
            result = lax.bitwise_or(result, lax.ne(_number(one), _number(other)))
        return result

    def part(self, place: Sequence[Any]) -> Any:
        """The block in the array."""
        starts = [_number(b) * size for b, size in zip(self.block(place), self.sizes, strict=True)]
        return self.ref.at[tuple(ds(s, n) for s, n in zip(starts, self.sizes, strict=True))]

    def seen(self, buffer: Any, slot: Any) -> Any:
        """What the body is given of a buffer."""
        index = [0 if squeezed else slice(None) for squeezed in self.squeezed]
        return buffer.at[(slot, *index)]


def _size(dim: Any) -> int:
    if dim is None or isinstance(dim, Squeezed):
        return 1
    if isinstance(dim, Blocked):
        return dim.block_size
    if isinstance(dim, int | np.integer):
        return int(dim)
    raise ValueError(f"the blocks of a pipeline have known sizes, got the dimension {dim!r}")


def _number(value: Any) -> Any:
    return np.int32(value) if isinstance(value, int) else lax.convert_element_type(value, _INT32)


def emit_pipeline(
    body: Callable[..., None],
    *,
    grid: Sequence[int],
    in_specs: Any = (),
    out_specs: Any = (),
    tiling: Any = None,
    core_axis: int | tuple[int, ...] | None = None,
    core_axis_name: Any = None,
    dimension_semantics: Any = None,
    trace_scopes: bool = True,
    no_pipelining: bool = False,
) -> Callable[..., None]:
    """Makes a loop over blocks of arrays in the large memory, which are brought as they are needed.

    Args:
      body: takes references to the blocks of the inputs, then of the outputs, in vector memory.
      grid: the numbers of steps along each axis; in the body, `program_id` counts them.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output, likewise.
      tiling: how blocks are laid out, where not as the compiler chooses; not known here.
      core_axis: the axis that is divided among cores; not known here.
      core_axis_name: the axis of a mesh of cores; not known here.
      dimension_semantics: whether the steps along an axis depend on each other.
      trace_scopes: whether profiles show the parts of a step.
      no_pipelining: whether each block is waited for before the next is asked for.

    Returns:
      A function of references to the inputs and outputs, to be called in a kernel.

    Raises:
      ValueError: where blocks do not fit the arrays, or where what is not known here is asked for.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import ANY, BlockSpec, pallas_call
      >>> def double(x_ref, o_ref):
      ...     o_ref[...] = 2 * x_ref[...]
      >>> block = BlockSpec((2,), lambda i: (i,))
      >>> def kernel(x_ref, o_ref):
      ...     emit_pipeline(double, grid=(2,), in_specs=[block], out_specs=[block])(x_ref, o_ref)
      >>> whole = BlockSpec(memory_space=ANY)
      >>> pallas_call(kernel, ShapeDtypeStruct((4,), "int32"), in_specs=[whole], out_specs=whole,
      ...             interpret=True)(np.arange(4))
      Array([0, 2, 4, 6], dtype=int32)
    """
    _check_one_core(tiling, core_axis, core_axis_name)
    pipeline, _ = _pipeline(body, grid, in_specs, out_specs, no_pipelining)
    return pipeline


def emit_pipeline_with_allocations(
    body: Callable[..., None], *, grid: Sequence[int], in_specs: Any = (), out_specs: Any = ()
) -> tuple[Callable[..., None], Callable[..., Any]]:
    """Makes a pipeline, and what makes its buffers, so that several runs of it share them.

    Args:
      body: takes references to the blocks of the inputs, then of the outputs.
      grid: the numbers of steps along each axis.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output, likewise.

    Returns:
      Two functions of references to the inputs and outputs. The second gives buffers to be made, a
      `BufferedRef` an operand, for `run_scoped` or ``scratch_shapes``; the first runs the pipeline
      and takes them as ``allocations``. ``scratches`` are further arguments of the body, and
      ``body_prologue`` is called before it in each step.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import ANY, BlockSpec, pallas_call, run_scoped
      >>> def double(x_ref, o_ref):
      ...     o_ref[...] = 2 * x_ref[...]
      >>> block = BlockSpec((2,), lambda i: (i,))
      >>> run, buffers = emit_pipeline_with_allocations(double, grid=(2,), in_specs=[block],
      ...                                               out_specs=[block])
      >>> def kernel(x_ref, o_ref):
      ...     run_scoped(lambda made: run(x_ref, o_ref, allocations=made), buffers(x_ref, o_ref))
      >>> whole = BlockSpec(memory_space=ANY)
      >>> pallas_call(kernel, ShapeDtypeStruct((4,), "int32"), in_specs=[whole], out_specs=whole,
      ...             interpret=True)(np.arange(4))
      Array([0, 2, 4, 6], dtype=int32)
    """
    return _pipeline(body, grid, in_specs, out_specs, False)


def _check_one_core(tiling: Any, core_axis: Any, core_axis_name: Any) -> None:
    for name, value in (
        ("tiling", tiling), ("core_axis", core_axis), ("core_axis_name", core_axis_name)
    ):  # fmt: skip
        if value is not None:
            raise ValueError(f"emit_pipeline runs on one core, with the compiler's tiling: {name}")


def _pipeline(
    body: Callable[..., None], grid: Sequence[int], in_specs: Any, out_specs: Any, one_by_one: bool
) -> tuple[Callable[..., None], Callable[..., Any]]:
    """The pipeline, and what makes its buffers; with ``one_by_one`` nothing happens at once."""
    in_specs = [in_specs] if isinstance(in_specs, BlockSpec) else list(in_specs)
    out_specs = [out_specs] if isinstance(out_specs, BlockSpec) else list(out_specs)
    grid = tuple(grid)
    steps = math.prod(grid)

    def place_of(step: Any) -> tuple[Any, ...]:
        place: list[Any] = []
        for size in reversed(grid[1:]):
            place.append(lax.rem(step, np.int32(size)))
            step = lax.div(step, np.int32(size))
        return (step, *reversed(place)) if grid else ()

    def operands_of(refs: Sequence[Any]) -> list[_Operand]:
        if len(refs) != len(in_specs) + len(out_specs):
            raise ValueError(
                f"the pipeline has {len(in_specs)} inputs and {len(out_specs)} outputs, but was "
                f"given {len(refs)} references"
            )
        return [
            _Operand(ref, spec, f"refs[{number}]")
            for number, (ref, spec) in enumerate(zip(refs, [*in_specs, *out_specs], strict=True))
        ]

    def make_allocations(*refs: Any) -> tuple[BufferedRef, ...]:
        kinds = [BufferType.INPUT] * len(in_specs) + [BufferType.OUTPUT] * len(out_specs)
        return tuple(
            operand.allocation(spec, kind)
            for operand, spec, kind in zip(
                operands_of(refs), [*in_specs, *out_specs], kinds, strict=True
            )
        )

    def pipeline(
        *refs: Any, scratches: Any = None, allocations: Any = None, body_prologue: Any = None
    ) -> None:
        operands = operands_of(refs)
        more = () if scratches is None else tuple(scratches)
        if not steps:
            return
        if allocations is not None:
            loop(operands, allocations, more, body_prologue)
            return
        run_scoped(
            lambda *made: loop(operands, made, more, body_prologue), *make_allocations(*refs)
        )

    def loop(
        operands: Sequence[_Operand], made: Sequence[Any], scratches: tuple, prologue: Any
    ) -> None:
        buffers = [each.window_ref for each in made]
        arrived = [each.sem_recvs if each.is_input else each.sem_sends for each in made]
        count = len(in_specs)

        def copy_in(number: int, slot: Any, place: Sequence[Any]) -> Any:
            operand = operands[number]
            return make_async_copy(
                operand.part(place), buffers[number].at[slot], arrived[number].at[slot]
            )

        def copy_out(number: int, slot: Any, place: Sequence[Any]) -> Any:
            operand = operands[number]
            return make_async_copy(
                buffers[number].at[slot], operand.part(place), arrived[number].at[slot]
            )

        first_place = place_of(np.int32(0))
        for number in range(count):
            copy_in(number, np.int32(0), first_place).start()

        def step(index: Any, slots: Sequence[Any]) -> list[Any]:
            """One step; ``slots`` has the number of blocks that each operand has left behind."""
            here = place_of(index)
            after = place_of(lax.add(index, np.int32(1)))
            before = place_of(lax.max(lax.sub(index, np.int32(1)), np.int32(0)))
            is_first = lax.eq(index, np.int32(0))
            is_last = lax.eq(index, np.int32(steps - 1))
            next_slots = []
            leaves = []
            for number, operand in enumerate(operands):
                left = slots[number]
                slot = lax.rem(left, np.int32(2))
                other = lax.sub(np.int32(1), slot)
                leave = lax.bitwise_or(is_last, operand.differs(here, after))
                enter = lax.bitwise_or(is_first, operand.differs(here, before))
                leaves.append(leave)
                if number < count:
                    more = lax.bitwise_and(leave, lax.bitwise_not(is_last))
                    if not one_by_one:
                        when(more)(lambda n=number, s=other: copy_in(n, s, after).start())
                    when(enter)(lambda n=number, s=slot: copy_in(n, s, here).wait())
                else:
                    # The buffer is free when the copy of two blocks ago has gone.
                    used = lax.bitwise_and(enter, lax.ge(left, np.int32(2)))
                    when(used)(lambda n=number, s=slot: copy_out(n, s, here).wait())
                next_slots.append(lax.add(left, lax.convert_element_type(leave, _INT32)))
            views = [
                operand.seen(buffer, lax.rem(left, np.int32(2)))
                for operand, buffer, left in zip(operands, buffers, slots, strict=True)
            ]
            with inside_grid(grid, here):
                if prologue is not None:
                    prologue()
                body(*views, *scratches)
            for number in range(len(operands)):
                slot = lax.rem(slots[number], np.int32(2))
                if number >= count:
                    when(leaves[number])(lambda n=number, s=slot: copy_out(n, s, here).start())
                elif one_by_one:
                    more = lax.bitwise_and(leaves[number], lax.bitwise_not(is_last))
                    other = lax.sub(np.int32(1), slot)
                    when(more)(lambda n=number, s=other: copy_in(n, s, after).start())
            return next_slots

        start = [np.int32(0)] * len(operands)
        ends = lax.fori_loop(np.int32(0), np.int32(steps), step, start)
        last_place = place_of(np.int32(steps - 1))
        for number in range(count, len(operands)):
            for back in (1, 2):
                slot = lax.rem(
                    lax.sub(lax.add(ends[number], np.int32(2)), np.int32(back)), np.int32(2)
                )
                sent = lax.ge(ends[number], np.int32(back))
                when(sent)(lambda n=number, s=slot: copy_out(n, s, last_place).wait())

    return pipeline, make_allocations
