# SPDX-License-Identifier: Apache-2.0
"""Pipelines in kernels for TPUs: loops over blocks of arrays in HBM.

Each operand has two buffers in vector memory. While the body works on one block, the next block is
copied in, and the previous one is copied out. A block that the next step uses again stays in its
buffer, so that steps can accumulate in outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import ds
from olympus_ir.types.annotations import PyTree

from ..grids.block_dims import Blocked, Squeezed
from ..grids.block_specs import BlockSpec
from ..grids.program_ids import inside_grid
from ..operations.control import unraveled, when
from ..operations.scoped import run_scoped
from ..operations.transfers import AsyncCopy, make_async_copy
from .buffered_refs import BufferedRef, BufferType, as_int32
from .info import Tiling
from .parameters import GridDimensionSemantics

__all__ = ["emit_pipeline", "emit_pipeline_with_allocations"]

_INT32 = np.dtype(np.int32)


class _Operand:
    """Operand of a pipeline: an array in HBM, and its blocks."""

    def __init__(self, ref: Any, spec: BlockSpec, origin: str) -> None:
        shape: Any = ref.shape if spec.block_shape is None else spec.block_shape
        if len(shape) != len(ref.shape):
            raise ValueError(
                f"Block shape for {origin} (= {tuple(shape)}) must have the same number of "
                f"dimensions as the array shape {ref.shape}."
            )
        self.ref = ref
        self.spec = spec
        self.shape = tuple(shape)
        self.squeezed = tuple(dim is None or isinstance(dim, Squeezed) for dim in shape)
        self.sizes = tuple(map(_size, shape))
        for size, whole in zip(self.sizes, ref.shape, strict=True):
            if whole % size:
                raise ValueError(
                    f"the blocks of a pipeline must cover {origin} evenly, got blocks of shape "
                    f"{self.sizes} of an array of shape {ref.shape}; pad the array."
                )
        self.index_map = spec.index_map or (lambda *position: (0,) * len(shape))

    def allocation(self, kind: BufferType) -> BufferedRef:
        """Returns the description of two buffers with their semaphores."""
        spec = self.spec.replace(block_shape=self.shape, memory_space=None)
        return BufferedRef.create(spec, self.ref.dtype, kind, 2)

    def block_index(self, place: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the index of the block at a grid index."""
        block = self.index_map(*place)
        return tuple(block) if isinstance(block, tuple | list) else (block,)

    def changes_between(self, place: Sequence[Any], other_place: Sequence[Any]) -> Any:
        """Returns whether two grid indices have different blocks, as a boolean scalar."""
        result: Any = np.bool_(False)
        for left, right in zip(self.block_index(place), self.block_index(other_place), strict=True):
            result = lax.bitwise_or(result, lax.ne(as_int32(left), as_int32(right)))
        return result

    def block_ref(self, place: Sequence[Any]) -> Any:
        """Returns a reference to the block in the array."""
        starts = [
            as_int32(index) * size
            for index, size in zip(self.block_index(place), self.sizes, strict=True)
        ]
        return self.ref.at[tuple(ds(s, n) for s, n in zip(starts, self.sizes, strict=True))]


class _Step(NamedTuple):
    """One step of a pipeline.

    Attributes:
      place: the grid index of the step.
      after: the grid index of the next step.
      before: the grid index of the previous step.
      is_first: whether it is the first step, a boolean scalar.
      is_last: whether it is the last step.
    """

    place: tuple[Any, ...]
    after: tuple[Any, ...]
    before: tuple[Any, ...]
    is_first: Any
    is_last: Any


class _Visit(NamedTuple):
    """The block of one operand in one step.

    Attributes:
      step: the step.
      number: the number of the operand's blocks that were finished before this block.
      slot: the buffer that holds the block.
      enters: whether the step is the first with this block, a boolean scalar.
      leaves: whether the step is the last with this block, a boolean scalar.
    """

    step: _Step
    number: Any
    slot: Any
    enters: Any
    leaves: Any


class _Window:
    """The two buffers of an operand in vector memory."""

    def __init__(self, operand: _Operand, made: BufferedRef) -> None:
        self.operand = operand
        self.buffers = made.window_ref
        self.semaphores = made.sem_recvs if made.is_input else made.sem_sends

    def visit(self, step: _Step, number: Any) -> _Visit:
        """Returns the operand's block in a step; ``number`` blocks were finished before it."""
        slot = lax.rem(number, np.int32(2))
        leaves = lax.bitwise_or(step.is_last, self.operand.changes_between(step.place, step.after))
        enters = lax.bitwise_or(
            step.is_first, self.operand.changes_between(step.place, step.before)
        )
        return _Visit(step, number, slot, enters, leaves)

    def view(self, slot: Any) -> Any:
        """Returns the body's reference to the block in the buffer ``slot``."""
        index = [0 if squeezed else slice(None) for squeezed in self.operand.squeezed]
        return self.buffers.at[(slot, *index)]

    def start(self, place: Sequence[Any]) -> None:
        """Hook that runs before the first step."""

    def prepare(self, visit: _Visit) -> None:
        """Hook that runs in each step before the body."""

    def finish(self, visit: _Visit) -> None:
        """Hook that runs in each step after the body."""

    def drain(self, count: Any, place: Sequence[Any]) -> None:
        """Hook that runs after the last step, when ``count`` blocks have been finished."""


class _InputWindow(_Window):
    """Buffers of an input. The next block is copied in while the body works on this block."""

    def start(self, place: Sequence[Any]) -> None:
        self._copy(np.int32(0), place).start()

    def prepare(self, visit: _Visit) -> None:
        self._fetch_next(visit)
        self._await(visit)

    def _copy(self, slot: Any, position: Sequence[Any]) -> AsyncCopy:
        return make_async_copy(
            self.operand.block_ref(position), self.buffers.at[slot], self.semaphores.at[slot]
        )

    def _fetch_next(self, visit: _Visit) -> None:
        step = visit.step
        follows = lax.bitwise_and(visit.leaves, lax.bitwise_not(step.is_last))
        other = lax.sub(np.int32(1), visit.slot)
        when(follows)(lambda: self._copy(other, step.after).start())

    def _await(self, visit: _Visit) -> None:
        when(visit.enters)(lambda: self._copy(visit.slot, visit.step.place).wait())


class _SequentialInputWindow(_InputWindow):
    """Buffers of an input without pipelining. The next block is copied in after the body."""

    def prepare(self, visit: _Visit) -> None:
        self._await(visit)

    def finish(self, visit: _Visit) -> None:
        self._fetch_next(visit)


class _OutputWindow(_Window):
    """Buffers of an output. The previous block is copied out while the body works on this block."""

    def prepare(self, visit: _Visit) -> None:
        # The block before the previous one used this buffer. The buffer is free when the copy of
        # that block has completed.
        in_use = lax.bitwise_and(visit.enters, lax.ge(visit.number, np.int32(2)))
        when(in_use)(lambda: self._copy(visit.slot, visit.step.place).wait())

    def finish(self, visit: _Visit) -> None:
        when(visit.leaves)(lambda: self._copy(visit.slot, visit.step.place).start())

    def drain(self, count: Any, place: Sequence[Any]) -> None:
        for back in (1, 2):
            slot = lax.rem(lax.sub(lax.add(count, np.int32(2)), np.int32(back)), np.int32(2))
            sent = lax.ge(count, np.int32(back))
            when(sent)(lambda slot=slot: self._copy(slot, place).wait())

    def _copy(self, slot: Any, position: Sequence[Any]) -> AsyncCopy:
        return make_async_copy(
            self.buffers.at[slot], self.operand.block_ref(position), self.semaphores.at[slot]
        )


def _size(dim: Any) -> int:
    if dim is None or isinstance(dim, Squeezed):
        return 1
    if isinstance(dim, Blocked):
        return dim.block_size
    if isinstance(dim, int | np.integer):
        return int(dim)
    raise ValueError(f"the blocks of a pipeline must have known sizes, got the dimension {dim!r}")


class _Pipeline:
    """Pipeline over a grid. A call with references to inputs and outputs runs the pipeline."""

    def __init__(
        self,
        body: Callable[..., None],
        grid: Sequence[int],
        in_specs: Any,
        out_specs: Any,
        no_pipelining: bool = False,
    ) -> None:
        self.body = body
        self.grid = tuple(grid)
        self.in_specs = [in_specs] if isinstance(in_specs, BlockSpec) else list(in_specs)
        self.out_specs = [out_specs] if isinstance(out_specs, BlockSpec) else list(out_specs)
        input_window = _SequentialInputWindow if no_pipelining else _InputWindow
        self.window_kinds = [
            *[input_window] * len(self.in_specs),
            *[_OutputWindow] * len(self.out_specs),
        ]
        self.num_steps = math.prod(self.grid)

    def allocations(self, *refs: Any) -> tuple[BufferedRef, ...]:
        """Returns the buffers that a run needs, one `BufferedRef` for each operand."""
        kinds = [BufferType.INPUT] * len(self.in_specs) + [BufferType.OUTPUT] * len(self.out_specs)
        return tuple(
            operand.allocation(kind)
            for operand, kind in zip(self._operands(refs), kinds, strict=True)
        )

    def __call__(
        self, *refs: Any, scratches: Any = None, allocations: Any = None, body_prologue: Any = None
    ) -> None:
        operands = self._operands(refs)
        if not self.num_steps:
            return

        extra = () if scratches is None else tuple(scratches)

        def body(*views: Any) -> None:
            if body_prologue is not None:
                body_prologue()
            self.body(*views, *extra)

        def run(*made: Any) -> None:
            windows = [
                kind(operand, spec)
                for kind, operand, spec in zip(self.window_kinds, operands, made, strict=True)
            ]
            self._run(body, windows)

        if allocations is not None:
            run(*allocations)
        else:
            run_scoped(run, *self.allocations(*refs))

    def _operands(self, refs: Sequence[Any]) -> list[_Operand]:
        if len(refs) != len(self.in_specs) + len(self.out_specs):
            raise ValueError(
                f"the pipeline has {len(self.in_specs)} inputs and {len(self.out_specs)} outputs, "
                f"but was given {len(refs)} references"
            )
        return [
            _Operand(ref, spec, f"refs[{index}]")
            for index, (ref, spec) in enumerate(
                zip(refs, [*self.in_specs, *self.out_specs], strict=True)
            )
        ]

    def _run(self, body: Callable[..., None], windows: Sequence[_Window]) -> None:
        """Runs all steps. The carry counts the blocks of each operand that are finished."""
        first_position = self._place(np.int32(0))
        for window in windows:
            window.start(first_position)

        def step(index: Any, counts: Sequence[Any]) -> list[Any]:
            return self._run_step(self._step(index), counts, body, windows)

        start = [np.int32(0)] * len(windows)
        counts = lax.fori_loop(np.int32(0), np.int32(self.num_steps), step, start)
        last_position = self._place(np.int32(self.num_steps - 1))
        for window, count in zip(windows, counts, strict=True):
            window.drain(count, last_position)

    def _run_step(
        self,
        step: _Step,
        counts: Sequence[Any],
        body: Callable[..., None],
        windows: Sequence[_Window],
    ) -> list[Any]:
        visits = [window.visit(step, n) for window, n in zip(windows, counts, strict=True)]
        for window, visit in zip(windows, visits, strict=True):
            window.prepare(visit)
        views = [window.view(visit.slot) for window, visit in zip(windows, visits, strict=True)]
        with inside_grid(self.grid, step.place):
            body(*views)
        for window, visit in zip(windows, visits, strict=True):
            window.finish(visit)
        return [
            lax.add(visit.number, lax.convert_element_type(visit.leaves, _INT32))
            for visit in visits
        ]

    def _place(self, step: Any) -> tuple[Any, ...]:
        return unraveled(step, self.grid)

    def _step(self, index: Any) -> _Step:
        return _Step(
            place=self._place(index),
            after=self._place(lax.add(index, np.int32(1))),
            before=self._place(lax.max(lax.sub(index, np.int32(1)), np.int32(0))),
            is_first=lax.eq(index, np.int32(0)),
            is_last=lax.eq(index, np.int32(self.num_steps - 1)),
        )


def emit_pipeline(
    body: Callable[..., None],
    *,
    grid: Sequence[int],
    in_specs: PyTree = (),
    out_specs: PyTree = (),
    tiling: Tiling | None = None,
    core_axis: int | tuple[int, ...] | None = None,
    core_axis_name: str | tuple[str, ...] | None = None,
    dimension_semantics: Sequence[GridDimensionSemantics] | None = None,
    trace_scopes: bool = True,
    no_pipelining: bool = False,
) -> Callable[..., None]:
    """Makes a loop over blocks of arrays in HBM. Copies of the blocks overlap with the body.

    Args:
      body: takes references to the blocks of the inputs, then of the outputs, in vector memory.
      grid: the numbers of steps along each axis; in the body, `program_id` is the index of the
        step.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output a `BlockSpec`.
      tiling: the layout of blocks, by default the compiler's choice; not supported.
      core_axis: the axis of the grid that is divided among cores; not supported.
      core_axis_name: the axis of a mesh of cores; not supported.
      dimension_semantics: whether the steps along an axis depend on each other.
      trace_scopes: whether profiles show the parts of a step.
      no_pipelining: whether to wait for each block before the copy of the next block starts.

    Returns:
      A function of references to the inputs and outputs, to be called in a kernel.

    Raises:
      ValueError: blocks do not fit the arrays, or an option is not supported.

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
    return _Pipeline(body, grid, in_specs, out_specs, no_pipelining)


def emit_pipeline_with_allocations(
    body: Callable[..., None], *, grid: Sequence[int], in_specs: PyTree = (), out_specs: PyTree = ()
) -> tuple[Callable[..., None], Callable[..., Any]]:
    """Makes a pipeline, and a function that describes its buffers.

    Several runs of the pipeline can share the buffers.

    Args:
      body: takes references to the blocks of the inputs, then of the outputs.
      grid: the numbers of steps along each axis.
      in_specs: for each input a `BlockSpec`.
      out_specs: for each output a `BlockSpec`.

    Returns:
      Two functions of references to the inputs and outputs. The first runs the pipeline. Its
      keyword arguments are ``allocations``, the buffers; ``scratches``, further arguments of the
      body; and ``body_prologue``, a function called before the body in each step. The second
      returns descriptions of the buffers, one `BufferedRef` for each operand, for `run_scoped` or
      ``scratch_shapes``.

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
    pipeline = _Pipeline(body, grid, in_specs, out_specs)
    return pipeline, pipeline.allocations


def _check_one_core(tiling: Any, core_axis: Any, core_axis_name: Any) -> None:
    for name, value in (
        ("tiling", tiling), ("core_axis", core_axis), ("core_axis_name", core_axis_name)
    ):  # fmt: skip
        if value is not None:
            raise ValueError(
                f"emit_pipeline does not support {name}={value!r}. The pipeline runs on one core, "
                f"and the compiler chooses the tiling: omit {name}."
            )
