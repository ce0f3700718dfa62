# SPDX-License-Identifier: Apache-2.0
"""Operands of pipelines: arrays in HBM, with several buffers in the core's memory."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import ds
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..grids.block_dims import Blocked, Buffered, Element, Indirect, Squeezed
from ..grids.block_specs import BlockSpec
from ..memory.annotations import IntLike
from ..memory.spaces import MemorySpace, SemaphoreType, TpuMemorySpace
from ..operations.transfers import make_async_copy
from .info import Tiling

__all__ = ["BufferType", "BufferedRef", "BufferedRefBase", "as_int32"]

_INT32 = np.dtype(np.int32)


class BufferType(enum.Enum):
    """Directions in which a pipeline copies an operand."""

    INPUT = 1
    OUTPUT = 2
    INPUT_OUTPUT = 3
    MANUAL = 4

    @property
    def is_input(self) -> bool:
        """Returns whether the pipeline copies blocks in."""
        return self in (BufferType.INPUT, BufferType.INPUT_OUTPUT)

    @property
    def is_output(self) -> bool:
        """Returns whether the pipeline copies blocks out."""
        return self in (BufferType.OUTPUT, BufferType.INPUT_OUTPUT)


def _size(dim: Any) -> int:
    if dim is None or isinstance(dim, Squeezed):
        return 1
    if isinstance(dim, Blocked | Element | Indirect):
        return dim.block_size
    if isinstance(dim, int | np.integer):
        return int(dim)
    raise ValueError(f"the blocks of a pipeline must have known sizes, got the dimension {dim!r}")


class BufferedRefBase:
    """Base class of operands of pipelines."""

    is_trivial_windowing: bool = False
    has_allocated_buffer: bool = False

    @property
    def spec(self) -> BlockSpec:
        """The block specification."""
        raise TypeError(f"{type(self).__name__} must define `spec`")

    @property
    def buffer_type(self) -> BufferType:
        """The directions of copies."""
        raise TypeError(f"{type(self).__name__} must define `buffer_type`")

    @property
    def is_input(self) -> bool:
        """Returns whether the pipeline copies blocks in."""
        return self.buffer_type.is_input

    @property
    def is_output(self) -> bool:
        """Returns whether the pipeline copies blocks out."""
        return self.buffer_type.is_output

    @property
    def is_input_output(self) -> bool:
        """Returns whether the pipeline copies blocks in and out."""
        return self.buffer_type is BufferType.INPUT_OUTPUT

    @property
    def is_manual(self) -> bool:
        """Returns whether the kernel itself copies the blocks of the operand."""
        return self.buffer_type is BufferType.MANUAL

    @property
    def is_buffered(self) -> bool:
        """Returns whether the operand has buffers."""
        return True

    @property
    def block_shape(self) -> Sequence[Any] | None:
        """The shape of a block."""
        return self.spec.block_shape

    @property
    def compute_index(self) -> Callable[..., Any]:
        """The function from a grid index to a block index."""
        index_map = self.spec.index_map
        rank = len(self.block_shape or ())
        return (lambda *position: (0,) * rank) if index_map is None else index_map

    @property
    def has_indirect(self) -> bool:
        """Returns whether the index map returns an index for each element of some dimension."""
        return any(isinstance(dim, Indirect) for dim in self.block_shape or ())

    def get_dma_slice(self, src_ty: Any, grid_indices: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the slices of an array that select the block of a grid index.

        Args:
          src_ty: the type of the array.
          grid_indices: the grid index.

        Raises:
          ValueError: blocks do not cover the array evenly.
        """
        shape = src_ty.shape
        block = self.compute_index(*grid_indices)
        block = tuple(block) if isinstance(block, tuple | list) else (block,)
        dims = self.block_shape or shape
        parts = []
        for dim, index, whole in zip(dims, block, shape, strict=True):
            size = _size(dim)
            if not isinstance(dim, Element) and whole % size:
                raise ValueError(
                    f"the blocks of a pipeline must cover arrays evenly, got blocks of shape "
                    f"{tuple(dims)} of an array of shape {shape}; pad the array."
                )
            start = index if isinstance(dim, Element) else as_int32(index) * size
            parts.append(ds(as_int32(start), size))
        return tuple(parts)

    def bind_existing_ref(self, window_ref: Any, indices: Any) -> Any:
        """Binds the operand to an array in the core's memory, which serves as the buffer."""
        return self

    def unbind_refs(self) -> Any:
        """Returns the operand without the array that it is bound to."""
        return self

    def initialize_slots(self) -> Any:
        """Returns the operand with all buffers free."""
        return self

    def with_spec(self, spec: BlockSpec) -> Any:
        """Returns the operand with another block specification."""
        raise TypeError(f"{type(self).__name__} cannot change its block specification")

    def advance_copy_in_slot(self, predicate: Any = True) -> Any:
        """Returns the operand after the start of a copy in; by default the same operand."""
        return self

    def advance_wait_in_slot(self, predicate: Any = True) -> Any:
        """Returns the operand after the wait for a copy in; by default the same operand."""
        return self

    def advance_copy_out_slot(self, predicate: Any = True) -> Any:
        """Returns the operand after the start of a copy out; by default the same operand."""
        return self

    def advance_wait_out_slot(self, predicate: Any = True) -> Any:
        """Returns the operand after the wait for a copy out; by default the same operand."""
        return self


def as_int32(value: Any) -> Any:
    """Returns an integer, or an integer scalar, as a 32-bit scalar."""
    return np.int32(value) if isinstance(value, int) else lax.convert_element_type(value, _INT32)


@dataclasses.dataclass(frozen=True)
class BufferedRef(BufferedRefBase):
    """An operand of a pipeline with several buffers in vector memory.

    The operand is a pytree. Its leaves are descriptions of the buffers, or references to them, and
    counts of copies. A count modulo the number of buffers is the index of the buffer in use.

    Attributes:
      window_ref: the buffers.
      copy_in_slot: number of copies in that have started.
      wait_in_slot: number of copies in that have been waited for.
      copy_out_slot: number of copies out that have started.
      wait_out_slot: number of copies out that have been waited for.
      next_fetch: grid index of the next block to copy in, with lookahead.
      sem_recvs: semaphores of copies in, one for each buffer.
      sem_sends: semaphores of copies out, one for each buffer.
      tiling: the layout of blocks.
      is_trivial_windowing: whether there is one block, the whole array.
      has_allocated_buffer: whether the operand has buffers of its own.

    Example:
      >>> BufferedRef.input(BlockSpec((8, 128), lambda i: (i, 0)), "float32").window_ref.shape
      (2, 8, 128)
    """

    _spec: BlockSpec
    _buffer_type: BufferType
    _buffer_count: int
    _grid_rank: int | None
    window_ref: Any
    copy_in_slot: IntLike | None
    wait_in_slot: IntLike | None
    copy_out_slot: IntLike | None
    wait_out_slot: IntLike | None
    next_fetch: Sequence[Any] | None
    sem_recvs: Any
    sem_sends: Any
    tiling: Tiling | None
    is_trivial_windowing: bool = False
    has_allocated_buffer: bool = False

    @classmethod
    def create(
        cls,
        spec: BlockSpec,
        dtype_or_type: Any,
        buffer_type: BufferType,
        buffer_count: int,
        grid_rank: int | None = None,
        use_lookahead: bool = False,
        source_memory_space: Any = MemorySpace.ANY,
        tiling: Tiling | None = None,
        is_trivial_windowing: bool = False,
    ) -> BufferedRef:
        """Returns an operand whose buffers are to be allocated.

        Args:
          spec: block specification.
          dtype_or_type: the dtype of the array's elements, or the type of the array.
          buffer_type: directions of copies.
          buffer_count: the number of buffers.
          grid_rank: the rank of the pipeline's grid, for lookahead.
          use_lookahead: whether a block is copied in as soon as a buffer is free.
          source_memory_space: memory space of the array. An array in VMEM needs no buffers.
          tiling: the layout of blocks.
          is_trivial_windowing: whether there is one block, the whole array.
        """
        dtype = getattr(dtype_or_type, "dtype", dtype_or_type)
        if use_lookahead and grid_rank is None:
            raise ValueError("grid_rank must be given with use_lookahead")
        if use_lookahead:
            mode = spec.pipeline_mode or Buffered(buffer_count)
            spec = spec.replace(pipeline_mode=dataclasses.replace(mode, use_lookahead=True))
        beside = source_memory_space is TpuMemorySpace.VMEM
        block = tuple(map(_size, spec.block_shape or ()))
        window = None
        if not beside:
            space = spec.memory_space or TpuMemorySpace.VMEM
            window = space((buffer_count, *block), dtypes.dtype(dtype))
        semaphores = None if beside else SemaphoreType.DMA((buffer_count,))
        return cls(
            _spec=spec,
            _buffer_type=buffer_type,
            _buffer_count=buffer_count,
            _grid_rank=grid_rank,
            window_ref=window,
            copy_in_slot=None,
            wait_in_slot=None,
            copy_out_slot=None,
            wait_out_slot=None,
            next_fetch=None,
            sem_recvs=semaphores if buffer_type.is_input else None,
            sem_sends=semaphores if buffer_type.is_output else None,
            tiling=tiling,
            is_trivial_windowing=is_trivial_windowing,
            has_allocated_buffer=not beside,
        )

    @classmethod
    def input(cls, spec: Any, dtype_or_type: Any, buffer_count: int = 2, **kwargs: Any) -> Any:
        """Returns an operand that is copied in."""
        return cls.create(spec, dtype_or_type, BufferType.INPUT, buffer_count, **kwargs)

    @classmethod
    def output(cls, spec: Any, dtype_or_type: Any, buffer_count: int = 2, **kwargs: Any) -> Any:
        """Returns an operand that is copied out."""
        return cls.create(spec, dtype_or_type, BufferType.OUTPUT, buffer_count, **kwargs)

    @classmethod
    def input_output(
        cls, spec: Any, dtype_or_type: Any, buffer_count: int = 2, **kwargs: Any
    ) -> Any:
        """Returns an operand that is copied in and out."""
        return cls.create(spec, dtype_or_type, BufferType.INPUT_OUTPUT, buffer_count, **kwargs)

    # ---- properties ----

    @property
    def spec(self) -> BlockSpec:
        """The block specification."""
        return self._spec

    @property
    def buffer_type(self) -> BufferType:
        """The directions of copies."""
        return self._buffer_type

    @property
    def buffer_count(self) -> int:
        """The number of buffers."""
        return self._buffer_count

    @property
    def is_buffered(self) -> bool:
        """Returns whether there are buffers."""
        return self.has_allocated_buffer

    @property
    def use_lookahead(self) -> bool:
        """Returns whether a block is copied in as soon as a buffer is free."""
        mode = self._spec.pipeline_mode
        return mode is not None and mode.use_lookahead

    @property
    def next_fetch_indices(self) -> Sequence[Any]:
        """The grid index of the next block to copy in.

        Raises:
          ValueError: there is no lookahead.
        """
        if self.next_fetch is None:
            raise ValueError("only operands with lookahead have a next block to fetch")
        return self.next_fetch

    # ---- slots ----

    def _count(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{name} has no value yet: call initialize_slots() first")
        return value

    def _slot(self, name: str) -> Any:
        return lax.rem(self._count(name), np.int32(self._buffer_count))

    @property
    def cumulative_copy_in(self) -> Any:
        """The number of copies in that have started."""
        return self._count("copy_in_slot")

    @property
    def cumulative_wait_in(self) -> Any:
        """The number of copies in that have been waited for."""
        return self._count("wait_in_slot")

    @property
    def cumulative_copy_out(self) -> Any:
        """The number of copies out that have started."""
        return self._count("copy_out_slot")

    @property
    def cumulative_wait_out(self) -> Any:
        """The number of copies out that have been waited for."""
        return self._count("wait_out_slot")

    @property
    def current_copy_in_slot(self) -> Any:
        """The index of the buffer of the next copy in."""
        return self._slot("copy_in_slot")

    @property
    def current_wait_in_slot(self) -> Any:
        """The index of the buffer that is read next."""
        return self._slot("wait_in_slot")

    @property
    def current_copy_out_slot(self) -> Any:
        """The index of the buffer of the next copy-out."""
        return self._slot("copy_out_slot")

    @property
    def current_wait_out_slot(self) -> Any:
        """The index of the buffer whose copy-out is the next to wait for."""
        return self._slot("wait_out_slot")

    def initialize_slots(self) -> BufferedRef:
        """Returns the operand with all buffers free."""
        into = np.int32(0) if self.is_input else None
        out = np.int32(0) if self.is_output else None
        return self.with_slot_index(into, out, into, out)

    def with_slot_index(
        self,
        copy_in_slot: Any = None,
        copy_out_slot: Any = None,
        wait_in_slot: Any = None,
        wait_out_slot: Any = None,
    ) -> BufferedRef:
        """Returns the operand with new values for the given counts."""
        fields = {
            "copy_in_slot": copy_in_slot,
            "copy_out_slot": copy_out_slot,
            "wait_in_slot": wait_in_slot,
            "wait_out_slot": wait_out_slot,
        }
        changes = {name: value for name, value in fields.items() if value is not None}
        return dataclasses.replace(self, **changes)

    def _advanced(self, name: str, predicate: Any) -> BufferedRef:
        value = getattr(self, name)
        if value is None:
            return self
        step = lax.convert_element_type(predicate, _INT32)
        return dataclasses.replace(self, **{name: lax.add(value, step)})

    def advance_copy_in_slot(self, predicate: Any = True) -> BufferedRef:
        """Returns the operand with ``copy_in_slot`` increased by one, if a predicate holds."""
        return self._advanced("copy_in_slot", predicate)

    def advance_wait_in_slot(self, predicate: Any = True) -> BufferedRef:
        """Returns the operand with ``wait_in_slot`` increased by one, if a predicate holds."""
        return self._advanced("wait_in_slot", predicate)

    def advance_copy_out_slot(self, predicate: Any = True) -> BufferedRef:
        """Returns the operand with ``copy_out_slot`` increased by one, if a predicate holds."""
        return self._advanced("copy_out_slot", predicate)

    def advance_wait_out_slot(self, predicate: Any = True) -> BufferedRef:
        """Returns the operand with ``wait_out_slot`` increased by one, if a predicate holds."""
        return self._advanced("wait_out_slot", predicate)

    def with_spec(self, spec: BlockSpec) -> BufferedRef:
        """Returns the operand with another block specification, for blocks of the same shape."""
        return dataclasses.replace(self, _spec=spec)

    def with_next_fetch(self, next_fetch: Sequence[Any] | None = None) -> BufferedRef:
        """Returns the operand with another grid index of the next block to copy in."""
        return dataclasses.replace(self, next_fetch=next_fetch)

    # ---- references ----

    def bind_existing_ref(self, window_ref: Any, indices: Any) -> BufferedRef:
        """Binds an operand without buffers to an array in the core's memory."""
        if self.has_allocated_buffer:
            return self
        part = window_ref.at[self.compute_slice(indices)]
        return dataclasses.replace(self, window_ref=part)

    def unbind_refs(self) -> BufferedRef:
        """Returns the operand without the array that it is bound to."""
        return self if self.has_allocated_buffer else dataclasses.replace(self, window_ref=None)

    @property
    def current_ref(self) -> Any:
        """The reference to the block that the body sees."""
        index = [
            0 if dim is None or isinstance(dim, Squeezed) else slice(None)
            for dim in self.block_shape or ()
        ]
        if not self.has_allocated_buffer:
            return self.window_ref.at[tuple(index)]
        slot = self.current_wait_in_slot if self.is_input else self.current_copy_out_slot
        return self.window_ref.at[(slot, *index)]

    def compute_slice(self, grid_indices: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the slices of the array that select the block of a grid index."""
        block = self.compute_index(*grid_indices)
        block = tuple(block) if isinstance(block, tuple | list) else (block,)
        return tuple(
            ds(as_int32(index) * _size(dim), _size(dim))
            for index, dim in zip(block, self.block_shape or (), strict=True)
        )

    # ---- copies ----

    def _part(self, ref: Any, grid_indices: Sequence[Any]) -> Any:
        return ref.at[self.get_dma_slice(ref, grid_indices)]

    def copy_in(self, src_ref: Any, grid_indices: Sequence[Any]) -> None:
        """Starts the copy of a block to its buffer."""
        slot = self.current_copy_in_slot
        part = self._part(src_ref, grid_indices)
        make_async_copy(part, self.window_ref.at[slot], self.sem_recvs.at[slot]).start()

    def wait_in(self, src_ref: Any, grid_indices: Sequence[Any]) -> None:
        """Waits until the copy of a block to its buffer is complete."""
        slot = self.current_wait_in_slot
        part = self._part(src_ref, grid_indices)
        make_async_copy(part, self.window_ref.at[slot], self.sem_recvs.at[slot]).wait()

    def copy_out(self, dst_ref: Any, grid_indices: Sequence[Any]) -> None:
        """Starts the copy of a block from its buffer."""
        slot = self.current_copy_out_slot
        part = self._part(dst_ref, grid_indices)
        make_async_copy(self.window_ref.at[slot], part, self.sem_sends.at[slot]).start()

    def wait_out(self, dst_ref: Any, grid_indices: Sequence[Any]) -> None:
        """Waits until the copy of a block from its buffer is complete."""
        slot = self.current_wait_out_slot
        part = self._part(dst_ref, grid_indices)
        make_async_copy(self.window_ref.at[slot], part, self.sem_sends.at[slot]).wait()


_CHILDREN = (
    "window_ref",
    "copy_in_slot",
    "wait_in_slot",
    "copy_out_slot",
    "wait_out_slot",
    "next_fetch",
    "sem_recvs",
    "sem_sends",
)
_SETTINGS = tuple(
    field.name for field in dataclasses.fields(BufferedRef) if field.name not in _CHILDREN
)


class _Settings(tuple):
    """Static fields of the pytree; specifications are compared by identity."""

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


def _flatten(ref: BufferedRef) -> tuple[list[Any], Any]:
    children = [getattr(ref, name) for name in _CHILDREN]
    return children, _Settings(getattr(ref, name) for name in _SETTINGS)


def _unflatten(settings: Any, children: Sequence[Any]) -> BufferedRef:
    fields = {**dict(zip(_SETTINGS, settings, strict=True))}
    fields.update(zip(_CHILDREN, children, strict=True))
    return BufferedRef(**fields)


pytrees.register_pytree_node(BufferedRef, _flatten, _unflatten)
