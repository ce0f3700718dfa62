# SPDX-License-Identifier: Apache-2.0
"""The largest elements of lines (top_k), by XLA's function for float32 or by NumPy.

XLA's CPU backend has a function for the largest elements of float32 arrays, which takes 2 to 60 ns
for an element of the array, the more elements are wanted. Arrays of all other dtypes it sorts, in
260 ns. Two replacements compute the same results:

- Numbers of at most 32 bits are mapped to float32 numbers in the same order, for XLA's function.
- Where many elements of a line are wanted, and for numbers of 64 bits, NumPy selects and sorts
  integers of the same order: 4 to 20 ns. The compiled program calls it with views of its buffers.

The order is that of XLA's function: floats are in the total order of their bits, in which -0 is
below 0 and negative NaNs are the smallest. Equal elements are ordered by position.

The operations "top 100 of rows", "top 10 of rows of int32" and "partition of rows" of the
benchmarks cover this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from ....foreign.buffer_callbacks import buffer_callback
from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .keys import FLOATS, INTEGERS, from_totally_ordered, totally_ordered_integers
from .sorting import SMALLEST_SORT, elements_at, order_of

_DTYPES = frozenset((np.dtype(np.bool_), *FLOATS, *INTEGERS))

# XLA's function takes longer than NumPy if more elements than these are wanted, and more than one
# in this many. XLA cannot write a program that calls Python to the cache on disk, so the function
# is used where it takes up to twice the time.
_MANY = 32
_ONE_IN = 20

# In lines of at least this length, the smallest wanted element is found before positions are
# sorted.
_LONG = 1 << 15


def replaces_top_k(context: LoweringContext, aval: Any, k: Any, axis: int) -> bool:
    """Returns whether `largest_elements` replaces XLA's operation."""
    return (
        is_for_this_cpu(context)
        and aval.dtype in _DTYPES
        and is_static((*aval.shape, k))
        and SMALLEST_SORT <= math.prod(aval.shape) < 2**31
        and k > 0
        and (aval.dtype != np.float32 or _is_for_numpy(aval.dtype, k, aval.shape[axis]))
    )


def largest_elements(operand: Any, *, k: int, axis: int) -> list[Any]:
    """Returns the ``k`` largest elements along an axis, in decreasing order, and where they are."""
    axis_is_last = [*(d for d in range(operand.ndim) if d != axis), axis]
    operand = lax.transpose(operand, axis_is_last)
    keys = totally_ordered_integers(operand)
    if _is_for_numpy(operand.dtype, k, operand.shape[-1]):
        descending = _unsigned(lax.bitwise_not(keys))
        kind = ShapedArray((*operand.shape[:-1], k), np.dtype(np.int32))
        positions = buffer_callback(_write_first, kind)(descending)
    else:
        positions = lax.top_k(_ordered_floats(keys), k)[1]
    back = np.argsort(axis_is_last).tolist()
    return [lax.transpose(x, back) for x in (elements_at(operand, positions), positions)]


def _is_for_numpy(dtype: Any, k: int, length: int) -> bool:
    return dtype.itemsize == 8 or (k >= _MANY and k * _ONE_IN >= length)


def _unsigned(keys: Any) -> Any:
    """Maps signed integers to unsigned ones of the same order."""
    unsigned = np.dtype(f"uint{8 * keys.dtype.itemsize}")
    lowest = lax.full_like(keys, dtypes.iinfo(keys.dtype).min)
    return lax.bitcast_convert_type(lax.bitwise_xor(keys, lowest), unsigned)


def _ordered_floats(keys: Any) -> Any:
    """Maps signed integers of at most 32 bits to float32 numbers in the same total order."""
    return from_totally_ordered(lax.convert_element_type(keys, np.int32), np.dtype(np.float32))


# ---- computed by NumPy, which the program calls ----


def _write_first(context: Any, result: Any, operand: Any) -> None:
    """Writes the positions of the smallest unsigned integers of each line, in their order."""
    lines, out = np.asarray(operand), np.asarray(result)
    count, length = out.shape[-1], lines.shape[-1]
    if length >= _LONG and count < length:
        for index in np.ndindex(lines.shape[:-1]):
            out[index] = _first_of(lines[index], count)
    elif count == length:
        out[...] = order_of([lines])
    elif lines.dtype.itemsize == 8:
        found = _first_of_distinct(lines, count)
        out[...] = order_of([lines])[..., :count] if found is None else found
    else:
        out[...] = _first_of_packed(lines, count)


def _first_of(line: Any, count: int) -> Any:
    """Returns the positions of the smallest integers of a long line."""
    bound = np.partition(line, count - 1)[count - 1]
    candidates = np.flatnonzero(line <= bound)
    return candidates[order_of([line[candidates]])[:count]]


def _first_of_distinct(lines: Any, count: int) -> Any:
    """Returns the positions of the smallest integers; None if the bound of a line is not unique."""
    bounds = np.partition(lines, count - 1, axis=-1)[..., count - 1 : count]
    candidates = np.nonzero((lines <= bounds).reshape(-1, lines.shape[-1]))[1]
    shape = (*lines.shape[:-1], count)
    if candidates.size != math.prod(shape):
        return None
    candidates = candidates.reshape(shape)
    order = order_of([np.take_along_axis(lines, candidates, -1)])
    return np.take_along_axis(candidates, order, -1)


def _first_of_packed(lines: Any, count: int) -> Any:
    """Returns the positions of the smallest integers, which are packed with their positions."""
    shift = (lines.shape[-1] - 1).bit_length()
    kind = np.dtype(np.uint32 if 8 * lines.dtype.itemsize + shift <= 32 else np.uint64)
    packed = lines.astype(kind)
    packed <<= kind.type(shift)
    packed |= np.arange(lines.shape[-1], dtype=kind)
    packed.partition(count - 1, axis=-1)
    first = np.sort(packed[..., :count], axis=-1)
    return first & kind.type((1 << shift) - 1)
