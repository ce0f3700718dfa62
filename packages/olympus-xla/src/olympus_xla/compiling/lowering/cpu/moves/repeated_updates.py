# SPDX-License-Identifier: Apache-2.0
"""Scatters of many updates to few elements, to several copies of the elements in turn.

XLA's CPU backend applies one update after the other. An update of the element that the update
before it has written waits for this store, which takes 4 ns. In sums and extremes of segments whose
rows are in order, nearly all updates wait. Here, consecutive updates go to four copies, which are
combined in the end: 1.3 ns. Updates in any order do not wait, and copies would make them slower, so
the program compares the first indices and chooses.

Extremes and results of integers stay the same. Sums and products of floats have other, mostly
smaller errors, because four partial results are rounded in place of one. The operations "segments:
max" and "segments in order: sum" of the benchmarks cover this module.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..keys import FLOATS, INTEGERS
from .scatters import SMALLEST, flat_positions

COPIES = 4

# Copies of more elements than these would leave the caches.
MOST_ELEMENTS = 1 << 14

# With fewer updates for each element, few of them wait.
FEWEST_UPDATES = 16

# The number of indices that are compared with the ones before them.
_SAMPLE = 1 << 10

_NUMBERS = lax.ScatterDimensionNumbers((), (0,), (0,))

_DTYPES = frozenset((*FLOATS, *INTEGERS))

_COMBINED = {
    lax.scatter_add_p: lax.add,
    lax.scatter_mul_p: lax.mul,
    lax.scatter_min_p: lax.min,
    lax.scatter_max_p: lax.max,
}


def is_scattered_to_copies(
    context: LoweringContext, primitive: Primitive, numbers: Any, mode: str, unique_indices: bool
) -> bool:
    """Returns whether `scatter_to_copies` replaces a scatter.

    Its own scatters promise that their indices are in bounds, so such scatters stay.
    """
    operand, _, updates = context.avals_in
    return (
        primitive in _COMBINED
        and mode == "FILL_OR_DROP"
        and not unique_indices
        and not numbers.update_window_dims
        and tuple(numbers.scatter_dims_to_operand_dims) == (0,)
        and len(operand.shape) == 1
        and operand.dtype in _DTYPES
        and all(is_static(aval.shape) for aval in context.avals_in)
        and 0 < operand.shape[0] <= MOST_ELEMENTS
        and math.prod(updates.shape) >= max(SMALLEST, FEWEST_UPDATES * operand.shape[0])
        and math.prod(updates.shape) < 2**31
        and is_for_this_cpu(context)
    )


def scatter_to_copies(operand: Any, indices: Any, updates: Any, *, primitive: Primitive) -> Any:
    """Scatters elements to a vector, or to copies of it if neighbors have the same index."""
    operands = operand, lax.reshape(indices, (updates.size,)), lax.reshape(updates, (updates.size,))
    scatter = functools.partial(_scattered, primitive)
    to_copies = functools.partial(_combined_copies, primitive)
    return lax.cond(_are_mostly_repeated(operands[1]), to_copies, scatter, *operands)


def _are_mostly_repeated(indices: Any) -> Any:
    """Returns whether more than half of the first indices equal the ones before them.

    A heuristic: the first indices stand for all.
    """
    first = lax.slice_in_dim(indices, 0, min(_SAMPLE, indices.shape[0]))
    same = lax.eq(lax.slice_in_dim(first, 1, None), lax.slice_in_dim(first, 0, -1))
    count = lax.reduce_sum(lax.convert_element_type(same, np.int32), (0,))
    return lax.gt(lax.mul(count, np.int32(2)), np.int32(first.shape[0]))


def _scattered(primitive: Primitive, operand: Any, indices: Any, updates: Any) -> Any:
    """Scatters to a vector. XLA drops updates out of bounds whatever the mode promises."""
    return primitive.bind(
        operand,
        lax.reshape(indices, (updates.size, 1)),
        updates,
        dimension_numbers=_NUMBERS,
        indices_are_sorted=False,
        unique_indices=False,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        update_jaxpr=None,
        update_consts=(),
    )


def _combined_copies(primitive: Primitive, operand: Any, indices: Any, updates: Any) -> Any:
    """Scatters to a vector and to copies of neutral elements, and combines them."""
    (size,) = operand.shape
    column = lax.reshape(indices, (updates.size, 1))
    places = lax.reshape(flat_positions(column, (size,), _NUMBERS), (updates.size,))
    copy = lax.bitwise_and(lax.iota(np.int32, updates.size), np.int32(COPIES - 1))
    in_copy = lax.add(places, lax.mul(copy, np.int32(size)))
    in_copy = lax.select(lax.lt(places, np.int32(0)), places, in_copy)
    neutral = lax.full(((COPIES - 1) * size,), _neutral(primitive, operand.dtype))
    copies = _scattered(primitive, lax.concatenate([operand, neutral], 0), in_copy, updates)
    parts = [lax.slice_in_dim(copies, i * size, (i + 1) * size) for i in range(COPIES)]
    return functools.reduce(_COMBINED[primitive], parts)


def _neutral(primitive: Primitive, dtype: Any) -> Any:
    """Returns the element that changes no other one, not even the sign of zero."""
    if primitive is lax.scatter_mul_p:
        return np.ones((), dtype)
    is_float = dtype in FLOATS
    if primitive is lax.scatter_add_p:
        return np.array(-0.0 if is_float else 0, dtype)
    is_least = primitive is lax.scatter_max_p
    if is_float:
        return np.array(-np.inf if is_least else np.inf, dtype)
    return np.array(np.iinfo(dtype).min if is_least else np.iinfo(dtype).max, dtype)
