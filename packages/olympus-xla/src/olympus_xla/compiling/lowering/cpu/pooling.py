# SPDX-License-Identifier: Apache-2.0
"""Derivatives of maximum and minimum pooling, by views of the windows' elements.

XLA's CPU backend visits one window after another, in 20 ns for each element of the operand. Here
one pass finds the position of the extreme in all windows: the n-th elements of all windows are a
strided view of the operand. Another pass writes the source to these positions. Both are vectorized
and take 1.5 ns together. If windows overlap, an element may be the extreme of several windows, and
gets the sum of their sources. This takes 6 ns.

The application "training step of a convolutional network" of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax

from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .separate_calls import separate_call

# With fewer elements, XLA's operation is as fast and compiles faster.
SMALLEST = 4096

# The largest number of elements of a window. Each element is a view, and positions in a window are
# integers of 8 bits.
_LARGEST_WINDOW = 49

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class _Windows(NamedTuple):
    """Windows of an array, by dimension.

    Attributes:
      sizes: the sizes of a window.
      strides: the distances between windows.
      padding: the numbers of padding elements before and after the array.
      counts: the number of windows along each dimension.
    """

    sizes: Sequence[int]
    strides: Sequence[int]
    padding: Sequence[tuple[int, int]]
    counts: Sequence[int]

    def offsets(self) -> list[tuple[int, ...]]:
        """Returns the offsets of a window's elements from its first element, in row-major order."""
        return list(itertools.product(*map(range, self.sizes)))


def is_scattered_by_views(
    context: LoweringContext, *, window_dimensions: Sequence[int], **params: Any
) -> bool:
    """Returns whether `scatter_to_extremes` replaces XLA's operation."""
    aval = context.aval_out
    return (
        aval.dtype in _DTYPES
        and all(is_static(operand.shape) for operand in context.avals_in)
        and math.prod(aval.shape) >= SMALLEST
        and math.prod(context.avals_in[0].shape) > 0
        and 1 < math.prod(window_dimensions) <= _LARGEST_WINDOW
        and is_for_this_cpu(context)
    )


def scatter_to_extremes(
    source: Any,
    operand: Any,
    *,
    select_prim: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Any:
    """Returns zeros, with each element of the source added at the extreme of its window.

    Args:
      source: one number for each window.
      operand: the array in whose windows extremes are selected.
      select_prim: ``ge_p`` for the largest element, ``le_p`` for the least. The first of equal
        elements is selected.
      window_dimensions: the sizes of a window.
      window_strides: the distances between windows.
      padding: the numbers of elements before and after the operand, which are never selected.
    """
    windows = _Windows(window_dimensions, window_strides, padding, source.shape)
    positions = separate_call(functools.partial(_positions, windows, select_prim), operand)
    # Otherwise XLA computes the source again for each element of a window, with the forward
    # pooling if the source depends on it.
    source = separate_call(lambda computed: computed, source)
    if all(size <= stride for size, stride in zip(windows.sizes, windows.strides, strict=True)):
        spread = _spread(windows, positions, source)
    else:
        spread = _summed(windows, positions, source, ())
    # The result begins after the padding, and ends where the operand does.
    config = [
        (-low, length - size + low, 0)
        for (low, _), length, size in zip(padding, operand.shape, spread.shape, strict=True)
    ]
    return lax.pad(spread, np.zeros((), spread.dtype), config)


def _positions(windows: _Windows, select_prim: Any, operand: Any) -> Any:
    """Returns the position of the extreme in each window, in the order of XLA's comparisons."""
    zero, no = np.zeros((), operand.dtype), np.zeros((), np.bool_)
    config = [(low, high, 0) for low, high in windows.padding]
    is_padded = any(map(any, windows.padding))
    padded = lax.pad(operand, zero, config) if is_padded else operand
    inside = lax.pad(lax.full(operand.shape, True), no, config) if is_padded else None
    best: Any = None
    found: Any = None
    position: Any = None
    for index, offset in enumerate(windows.offsets()):
        element = _view(windows, padded, offset)
        is_inside = None if inside is None else _view(windows, inside, offset)
        if best is None:
            best, found = element, is_inside
            position = lax.full(element.shape, np.int8(0))
            continue
        stays = select_prim.bind(best, element)
        if is_inside is not None:
            stays = lax.bitwise_or(lax.bitwise_and(stays, found), lax.bitwise_not(is_inside))
            found = lax.bitwise_or(found, is_inside)
        best = lax.select(stays, best, element)
        position = lax.select(stays, position, lax.full_like(position, index))
    return position


def _view(windows: _Windows, padded: Any, offset: Sequence[int]) -> Any:
    """Returns the element at ``offset`` in each window, as an array with one element a window."""
    limit = [
        first + (count - 1) * stride + 1
        for first, count, stride in zip(offset, windows.counts, windows.strides, strict=True)
    ]
    return lax.slice(padded, offset, limit, windows.strides)


def _spread(windows: _Windows, positions: Any, source: Any) -> Any:
    """Writes the source of each window to the position of its extreme, and zeros elsewhere.

    The windows must not overlap.
    """
    shape: list[int] = []
    kept, places = [], {}
    for dimension, (count, stride) in enumerate(zip(windows.counts, windows.strides, strict=True)):
        kept.append(len(shape))
        shape.append(count)
        if stride > 1:
            places[dimension] = len(shape)
            shape.append(stride)
    target = lax.full(tuple(shape), np.int8(0))
    never = None
    step = 1
    for dimension in reversed(range(len(windows.sizes))):
        if dimension in places:
            position = lax.broadcasted_iota(np.int8, tuple(shape), places[dimension])
            target = lax.add(target, lax.mul(position, lax.full_like(position, step)))
            if windows.sizes[dimension] < windows.strides[dimension]:
                outside = lax.ge(position, lax.full_like(position, windows.sizes[dimension]))
                never = outside if never is None else lax.bitwise_or(never, outside)
        step *= windows.sizes[dimension]
    hit = lax.eq(lax.broadcast_in_dim(positions, tuple(shape), kept), target)
    if never is not None:
        hit = lax.bitwise_and(hit, lax.bitwise_not(never))
    values = lax.broadcast_in_dim(source, tuple(shape), kept)
    spread = lax.select(hit, values, lax.full_like(values, 0))
    sizes = [count * stride for count, stride in zip(windows.counts, windows.strides, strict=True)]
    return lax.reshape(spread, sizes)


def _summed(windows: _Windows, positions: Any, source: Any, phase: tuple[int, ...]) -> Any:
    """Sums, for each element, the sources of all windows whose extreme is this element.

    Args:
      windows: the windows, which may overlap.
      positions: the position of the extreme in each window.
      source: one number for each window.
      phase: selects elements along the first ``len(phase)`` dimensions: those whose index in the
        padded operand, modulo the windows' stride, is the entry of ``phase``.
    """
    dimension = len(phase)
    if dimension == len(windows.sizes):
        return _sum_of_terms(windows, positions, source, phase)
    stride = windows.strides[dimension]
    parts = [_summed(windows, positions, source, (*phase, position)) for position in range(stride)]
    if stride == 1:
        return parts[0]
    merged = lax.concatenate(
        [lax.expand_dims(part, (dimension + 1,)) for part in parts], dimension + 1
    )
    shape = merged.shape
    joined = shape[dimension] * shape[dimension + 1]
    return lax.reshape(merged, (*shape[:dimension], joined, *shape[dimension + 2 :]))


def _sum_of_terms(windows: _Windows, positions: Any, source: Any, phase: tuple[int, ...]) -> Any:
    """Does the same as `_summed` for a ``phase`` with an entry for every dimension."""
    zero = np.zeros((), source.dtype)
    # The first window that contains an element is at most ``reach`` windows before the last.
    reach = [
        (size - 1) // stride for size, stride in zip(windows.sizes, windows.strides, strict=True)
    ]
    total = None
    for index, offset in enumerate(windows.offsets()):
        pairs = list(zip(offset, windows.strides, strict=True))
        if tuple(position % stride for position, stride in pairs) != phase:
            continue
        hit = lax.eq(positions, lax.full_like(positions, index))
        term = lax.select(hit, source, lax.full_like(source, 0))
        shifts = [position // stride for position, stride in pairs]
        config = [(shift, most - shift, 0) for shift, most in zip(shifts, reach, strict=True)]
        term = lax.pad(term, zero, config)
        total = term if total is None else lax.add(total, term)
    if total is None:
        shape = [count + most for count, most in zip(windows.counts, reach, strict=True)]
        return lax.full(shape, zero)
    return total
