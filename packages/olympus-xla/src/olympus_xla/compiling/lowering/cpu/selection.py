# SPDX-License-Identifier: Apache-2.0
"""Selection of order statistics by NumPy: a few elements of each sorted line.

A line is a slice along the last dimension. XLA sorts the lines. NumPy sorts short lines, too,
because its vectorized sort is then faster than its selection. In a long line, a sample gives bounds
of the wanted element. Only a few hundredths of the elements are between the bounds, and NumPy
selects from these elements. This takes 1 ms for 10^6 elements, whereas a sort takes 10 to 40 ms.

The bounds are a guess that is checked. Where a bound is wrong, NumPy selects from the whole line.

The median in the group ``sorting`` of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir.types.avals import ShapedArray

from ....foreign.buffer_callbacks import buffer_callback
from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .keys import FLOATS, INTEGERS
from .sorting import SMALLEST_SORT, write_sorted

_DTYPES = frozenset(dtype for dtype in (*FLOATS, *INTEGERS) if dtype.itemsize >= 4)

# In lines of at least this length, bounds from a sample are faster than a sort.
_LONG = 1 << 15

# The size of a sample, and the distance of the bounds from the expected positions in the sample:
# four standard deviations of the position of a median.
_SAMPLE = 1 << 14
_MARGIN = 4 * math.isqrt(_SAMPLE) // 2

# For more positions than this, a sort is faster.
_MOST_PLACES = 16


def is_selected_by_numpy(context: LoweringContext, aval: Any) -> bool:
    """Returns whether `select_by_numpy` replaces a sort of arrays of this type."""
    return (
        is_for_this_cpu(context)
        and is_static(aval.shape)
        and SMALLEST_SORT <= math.prod(aval.shape) < 2**31
        and aval.shape[-1] > 1
        and aval.dtype in _DTYPES
    )


def select_by_numpy(operand: Any, places: Any) -> Any:
    """Returns the elements at the given positions of the sorted lines.

    Elements may be equal but have different bits, such as zeros of both signs. Among these, the
    result is the element that a stable sort puts at the position.
    """
    shape = (*operand.shape[:-1], places.shape[-1])
    return buffer_callback(_write_selected, ShapedArray(shape, operand.dtype))(operand, places)


def _write_selected(context: Any, result: Any, operand: Any, positions: Any) -> None:
    lines, out, at = np.asarray(operand), np.asarray(result), np.asarray(positions)
    length = lines.shape[-1]
    at = np.clip(at, 0, length - 1)
    if length < _LONG or at.shape[-1] > _MOST_PLACES:
        ordered = np.empty_like(lines)
        write_sorted(lines, ordered)
        at = at.reshape((1,) * (lines.ndim - at.ndim) + at.shape)
        out[...] = np.take_along_axis(ordered, at, -1)
        return
    at = np.broadcast_to(at, out.shape)
    for index in np.ndindex(lines.shape[:-1]):
        out[index] = _selected_from(lines[index], at[index])


def _selected_from(line: Any, at: Any) -> Any:
    """Returns the elements of the sorted line at the given positions."""
    values = np.empty(at.shape, line.dtype)
    remaining = np.argsort(at, kind="stable").tolist()
    while remaining:
        below, candidates = _between_bounds(line, int(at[remaining[0]]))
        # The candidates for the first position also serve for other positions near it.
        shared = [rank for rank in remaining if at[rank] < below + candidates.size]
        candidates.partition([at[rank] - below for rank in shared])
        for rank in shared:
            values[rank] = _of_equals(line, int(at[rank]), candidates[at[rank] - below])
        remaining = remaining[len(shared) :]
    return values


def _of_equals(line: Any, position: int, value: Any) -> Any:
    """Returns the element at a position of a stably sorted line, given a value equal to it."""
    if line.dtype not in FLOATS:
        return value
    if value != value:
        # NaNs are last.
        nans = line[np.isnan(line)]
        return nans[position - line.size + nans.size]
    smallest_normal = np.finfo(line.dtype).smallest_normal
    if abs(value) < smallest_normal:
        # XLA flushes subnormal numbers to zero, so that they are equal to zeros.
        zeros = line[np.abs(line) < smallest_normal]
        return zeros[position - np.count_nonzero(line <= -smallest_normal)]
    return value


def _between_bounds(line: Any, position: int) -> tuple[int, Any]:
    """Returns the number of elements below all candidates for a position, and the candidates."""
    # Steps by the golden ratio spread the sample evenly, without a common period with the line.
    step = int(line.size * 0.6180339887) | 1
    sample = line[np.arange(_SAMPLE, dtype=np.int64) * step % line.size]
    sample.sort()
    expected = position * _SAMPLE // line.size
    lower, upper = expected - _MARGIN, expected + _MARGIN
    inside, below = None, 0
    if lower >= 0:
        beneath = line < sample[lower]
        below = int(np.count_nonzero(beneath))
        inside = np.logical_not(beneath, out=beneath)  # NaNs are above all bounds
    if upper < _SAMPLE:
        not_above = line <= sample[upper]
        inside = not_above if inside is None else np.logical_and(inside, not_above, out=inside)
    if inside is not None:
        candidates = line[inside]
        if below <= position < below + candidates.size:
            return below, candidates
    return 0, line.copy()
