# SPDX-License-Identifier: Apache-2.0
"""Interpretation of kernels as a loop over the grid, made of operations on whole arrays.

References become arrays (`olympus_ir.references.discharge`). Each step cuts the blocks of its
program out of the operands, and runs the kernel on them. It then puts back the blocks that the
kernel has written. Uninitialized floats are NaN. Uninitialized integers are the smallest of their
dtype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, close_olympuspr
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.references.discharge import discharge_closed
from olympus_ir.types.avals import ShapedArray

from ..grids.block_dims import Blocked, BoundedSlice, Element, Indirect
from ..grids.block_mappings import BlockMapping
from ..grids.grid_mappings import INDEX_DTYPE, GridMapping, dynamic_grid_dim
from ..grids.program_ids import with_places_as_inputs
from ..memory.spaces import SemaphoreDType
from ..memory.uninitialized import empty_buffer, interpreted_aval, uninitialized, unset_value
from .pallas_call import pallas_call_p

__all__ = ["interpret_call"]


@expansion_rules.define(pallas_call_p)
def expand_call(*operands: Any, interpret: Any, **params: Any) -> list[Any]:
    """Evaluates a kernel as array operations; the expansion rule of `pallas_call`."""
    if not interpret:
        raise ValueError("Only interpret mode is supported on CPU backend.")
    return interpret_call(*operands, **params)


def interpret_call(
    *operands: Any,
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    input_output_aliases: Sequence[tuple[int, int]],
    out_avals: Sequence[ShapedArray],
    **params: Any,
) -> list[Any]:
    """Returns the outputs of a kernel on given operands."""
    sizes = _grid_sizes(grid_mapping, operands)
    operands = operands[grid_mapping.num_dynamic_grid_bounds :]
    prefetched = list(operands[: grid_mapping.num_index_operands])
    inputs = list(operands[grid_mapping.num_index_operands :])
    outputs = [uninitialized(aval.shape, aval.dtype) for aval in out_avals]
    for source, target in input_output_aliases:
        outputs[target] = operands[source]
    blocks = grid_mapping.block_mappings
    arrays = [
        _padded(array, block) for array, block in zip([*inputs, *outputs], blocks, strict=True)
    ]
    scratch = [empty_buffer(aval) for aval in grid_mapping.scratch_avals]
    kernel = _Kernel(jaxpr, grid_mapping, sizes)
    state = [*prefetched, *arrays, *scratch]
    state = kernel.run_all(state)
    first = grid_mapping.num_index_operands + grid_mapping.num_inputs
    return [
        _without_padding(array, block)
        for array, block in zip(
            state[first : first + len(outputs)], grid_mapping.block_mappings_output, strict=True
        )
    ]


def _grid_sizes(grid_mapping: GridMapping, operands: Sequence[Any]) -> list[Any]:
    bounds = iter(operands)
    return [next(bounds) if size is dynamic_grid_dim else size for size in grid_mapping.grid]


# ---- blocks ----


def _padding(block: BlockMapping) -> list[tuple[int, int]]:
    """Returns the numbers of padding elements before and after the array, for each dimension."""
    padding = []
    for dim, size in zip(block.block_shape, block.array_aval.shape, strict=True):
        if isinstance(dim, Element):
            # A window may begin at any element. The padding extends the array to consecutive whole
            # windows.
            low, high = dim.padding
            padding.append((low, high + _missing(size + low + high, dim.block_size)))
        elif isinstance(dim, Blocked):
            padding.append((0, _missing(size, dim.block_size)))
        elif isinstance(dim, BoundedSlice | Indirect):
            raise ValueError(
                f"Unsupported block dimension {dim} for {block.origin}: the interpreter cuts "
                "arrays into blocks whose sizes are known; use Blocked, Element or Squeezed."
            )
        else:
            padding.append((0, 0))
    return padding


def _missing(size: Any, block_size: int) -> Any:
    """Returns the number of elements that complete a dimension to a multiple of a block size."""
    if size is block_size or size == block_size:
        return 0
    # This form also works for symbolic sizes.
    return (size + block_size - 1) // block_size * block_size - size


def _padded(array: Any, block: BlockMapping) -> Any:
    padding = _padding(block)
    if not any(map(any, padding)):
        return array
    unset = np.asarray(unset_value(array.dtype), array.dtype)
    return lax.pad(array, unset, [(low, high, 0) for low, high in padding])


def _without_padding(array: Any, block: BlockMapping) -> Any:
    padding = _padding(block)
    if not any(map(any, padding)):
        return array
    starts = [low for low, _ in padding]
    limits = [low + size for (low, _), size in zip(padding, block.array_aval.shape, strict=True)]
    return lax.slice(array, starts, limits)


def _starts(block: BlockMapping, places: Sequence[Any]) -> list[Any]:
    """Returns the index of a block's first element."""
    starts = []
    for dim, place in zip(block.block_shape, places, strict=True):
        place = lax.convert_element_type(place, INDEX_DTYPE)
        if isinstance(dim, Blocked):
            place = lax.mul(place, np.asarray(dim.block_size, INDEX_DTYPE))
        starts.append(place)
    return starts


def _cut(array: Any, block: BlockMapping, starts: Sequence[Any]) -> Any:
    if block.is_whole:
        return array
    piece = lax.dynamic_slice(array, starts, block.sizes)
    return lax.squeeze(piece, block.squeezed_dims)


def _put(array: Any, block: BlockMapping, starts: Sequence[Any], piece: Any) -> Any:
    if block.is_whole:
        return piece
    piece = lax.expand_dims(piece, block.squeezed_dims)
    return lax.dynamic_update_slice(array, piece, starts)


# ---- the loop ----


class _Kernel:
    """A discharged kernel, and the loop that runs it over a grid."""

    def __init__(self, jaxpr: Olympuspr, grid_mapping: GridMapping, sizes: Sequence[Any]) -> None:
        self.grid_mapping = grid_mapping
        self.sizes = sizes
        self.own_dims = grid_mapping.own_dims
        rank = len(self.own_dims)
        placed = with_places_as_inputs(close_olympuspr(_with_numbers(jaxpr)), rank)
        discharged = discharge_closed(placed)
        self.program: ClosedOlympuspr = discharged.closed
        self.num_places = 2 * rank
        # Positions of the written references among the kernel's own operands.
        self.written = {place - self.num_places for place in discharged.written}

    def run_all(self, state: list[Any]) -> list[Any]:
        """Returns the operands after all programs have run."""
        if all(isinstance(size, int) for size in self.sizes):
            count = math.prod(self.sizes)
            if count == 1:
                return self.run_one([_index(0) for _ in self.sizes], state)
            if count <= 0:
                return state
            total = _index(count)
        else:
            total = _index(1)
            for size in self.sizes:
                total = lax.mul(total, _index(size))
        carried = sorted(self.written)

        def not_done(carry: Any) -> Any:
            return lax.lt(carry[0], total)

        def step(carry: Any) -> Any:
            number, *changing = carry
            current = list(state)
            for place, value in zip(carried, changing, strict=True):
                current[place] = value
            current = self.run_one(self._places(number), current)
            return [lax.add(number, _index(1)), *[current[place] for place in carried]]

        _, *last = lax.while_loop(not_done, step, [_index(0), *[state[p] for p in carried]])
        state = list(state)
        for place, value in zip(carried, last, strict=True):
            state[place] = value
        return state

    def _places(self, number: Any) -> list[Any]:
        """Returns a program's grid indices from its linear index; the last axis varies fastest."""
        places: list[Any] = []
        for size in reversed(self.sizes[1:]):
            places.append(lax.rem(number, _index(size)))
            number = lax.div(number, _index(size))
        return [number, *reversed(places)] if self.sizes else []

    def run_one(self, places: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Returns the operands after one program has run."""
        mapping = self.grid_mapping
        state = list(state)
        prefetched = state[mapping.slice_index_ops]
        first = mapping.num_index_operands
        starts = []
        blocks = []
        for array, block in zip(
            state[mapping.slice_block_ops], mapping.block_mappings, strict=True
        ):
            start = (
                () if block.is_whole else _starts(block, _block_place(block, places, prefetched))
            )
            starts.append(start)
            blocks.append(_cut(array, block, start))
        own_places = [places[dim] for dim in self.own_dims]
        sizes = [_index(self.sizes[dim]) for dim in self.own_dims]
        scratch = state[mapping.slice_scratch_ops]
        results = eval_olympuspr(
            self.program.jaxpr,
            self.program.consts,
            *own_places,
            *sizes,
            *prefetched,
            *blocks,
            *scratch,
        )
        for place in self.written:
            value = results[place]
            number = place - first
            if 0 <= number < len(mapping.block_mappings):
                block = mapping.block_mappings[number]
                value = _put(state[place], block, starts[number], value)
            state[place] = value
        return state


def _block_place(
    block: BlockMapping, places: Sequence[Any], prefetched: Sequence[Any]
) -> list[Any]:
    index_map = block.index_map_jaxpr
    if prefetched:
        index_map = discharge_closed(index_map).closed
    results = eval_olympuspr(index_map.jaxpr, index_map.consts, *places, *prefetched)
    return results[: len(block.block_shape)]


def _with_numbers(jaxpr: Olympuspr) -> Olympuspr:
    """Returns the kernel with integers in place of its semaphores."""
    if not any(isinstance(var.aval.dtype, SemaphoreDType) for var in jaxpr.invars):
        return jaxpr
    avals = [interpreted_aval(var.aval) for var in jaxpr.invars]
    closed = close_olympuspr(jaxpr)

    def run(*refs: Any) -> list[Any]:
        return eval_olympuspr(closed.jaxpr, closed.consts, *refs)

    return trace_to_closed(run, avals, jaxpr.debug_info).jaxpr


def _index(value: Any) -> Any:
    if isinstance(value, int):
        return np.asarray(value, INDEX_DTYPE)
    return value
