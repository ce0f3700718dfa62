# SPDX-License-Identifier: Apache-2.0
"""Sorting by NumPy.

XLA's CPU backend calls the comparison function for each pair, which takes 100 to 600 ns per
element. NumPy sorts numbers with vector instructions in 5 to 40 ns. The compiled program calls
NumPy with views of its buffers, so nothing is copied.

NumPy's vectorized sort uses instructions that store selected elements of a vector. On processors
where these instructions are slow, a radix sort of 16 bits at a time takes half of the time or less.

Equal elements keep their order. One array is sorted by its values. To sort several arrays, the keys
are converted to unsigned integers in the same order, with the position in the lower bits.

The group ``sorting`` of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from ....foreign.buffer_callbacks import buffer_callback
from ...cache_key import processor_identity
from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .keys import FLOATS, INTEGERS, ordered_integers
from .machine_code import has_slow_compressed_stores

# With at least this many elements, calling NumPy is faster than XLA's sort. The call itself takes
# about 30 us.
SMALLEST_SORT = 1024

# On processors with slow compressed stores, radix sorts of rows of this length are faster.
SMALLEST_RADIX = 4096

_COMPLEX = tuple(map(np.dtype, "F D".split()))
_PLAIN = frozenset((np.dtype(np.bool_), *FLOATS, *INTEGERS, *_COMPLEX))


def is_sorted_by_numpy(context: LoweringContext, avals: Sequence[Any], dimension: int) -> bool:
    """Returns whether `sort_by_numpy` replaces XLA's sort of arrays of these types."""
    shape = avals[0].shape
    return (
        is_for_this_cpu(context)
        and is_static(shape)
        and SMALLEST_SORT <= math.prod(shape) < 2**31
        and shape[dimension] > 1
        and all(aval.dtype in _PLAIN for aval in avals)
    )


def sort_by_numpy(*operands: Any, dimension: int, num_keys: int) -> list[Any]:
    """Sorts arrays along a dimension by the first ``num_keys`` arrays, in lexicographic order.

    Equal elements keep their order; zeros of both signs are equal, and NaNs are equal and last.
    """
    rank = len(operands[0].shape)
    last_is_sorted = [*(d for d in range(rank) if d != dimension), dimension]
    operands = tuple(lax.transpose(operand, last_is_sorted) for operand in operands)
    if len(operands) == 1 and operands[0].dtype not in _COMPLEX:
        kind = ShapedArray(operands[0].shape, operands[0].dtype)
        results = [buffer_callback(_write_sorted, kind)(operands[0])]
    else:
        keys = [part for key in operands[:num_keys] for part in _unsigned_keys(key)]
        kind = ShapedArray(keys[0].shape, np.dtype(np.int32))
        order = buffer_callback(_write_order, kind)(*keys)
        results = [elements_at(operand, order) for operand in operands]
    positions = np.argsort(last_is_sorted).tolist()
    return [lax.transpose(result, positions) for result in results]


# ---- computed in the program: keys and permutations ----


def _unsigned_keys(key: Any) -> list[Any]:
    """Returns unsigned integers in the order of a key's elements; two arrays for complex keys."""
    if key.dtype in _COMPLEX:
        return [*_unsigned_keys(lax.real(key)), *_unsigned_keys(lax.imag(key))]
    if key.dtype == np.bool_:
        return [lax.convert_element_type(key, np.uint8)]
    key = ordered_integers(key)
    if dtypes.issubdtype(key.dtype, np.unsignedinteger):
        return [key]
    lowest = lax.full_like(key, dtypes.iinfo(key.dtype).min)
    unsigned = np.dtype(f"uint{8 * key.dtype.itemsize}")
    return [lax.bitcast_convert_type(lax.bitwise_xor(key, lowest), unsigned)]


def elements_at(operand: Any, positions: Any) -> Any:
    """Returns the elements of each row at given positions of the row, each of them once."""
    size = operand.size
    length = operand.shape[-1]
    in_rows = lax.reshape(positions, (size // length, positions.shape[-1]))
    first_of_row = lax.broadcasted_iota(np.int32, in_rows.shape, 0)
    in_rows = lax.add(in_rows, lax.mul(first_of_row, lax.full_like(in_rows, length)))
    gathered = lax.gather(
        lax.reshape(operand, (size,)),
        lax.reshape(in_rows, (in_rows.size, 1)),
        lax.GatherDimensionNumbers((), (0,), (0,)),
        (1,),
        unique_indices=True,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )
    return lax.reshape(gathered, positions.shape)


# ---- computed by NumPy, which the program calls ----


def _write_sorted(context: Any, result: Any, operand: Any) -> None:
    write_sorted(np.asarray(operand), np.asarray(result))


def write_sorted(values: Any, out: Any) -> None:
    """Sorts the rows of an array into an array of the same shape and dtype."""
    dtype = values.dtype
    if dtype not in FLOATS:
        out[...] = values
        _sort_rows(out)
        return
    integer = np.dtype(f"i{dtype.itemsize}")
    bits, sorted_bits = values.view(integer), out.view(integer)
    if dtype.itemsize == 2:
        _sort_halves(bits, sorted_bits, np.array(np.inf, dtype).view(integer))
    else:
        out[...] = values
        out.sort(axis=-1)
    _keep_order_of_equals(bits, sorted_bits, dtype)


def _sort_halves(bits: Any, out: Any, infinity: Any) -> None:
    """Sorts the bits of 16-bit floats as integers with the same order."""
    np.right_shift(bits, 15, out=out)
    out &= 0x7FFF
    out ^= bits
    if out.min() < ~infinity:  # Negative NaNs come first.
        np.copyto(out, 0x7FFF, where=out < ~infinity)
    _sort_rows(out)
    out ^= (out >> 15) & 0x7FFF


def _keep_order_of_equals(bits: Any, out: Any, dtype: Any) -> None:
    """Restores the original order of floats that are equal but have different bits.

    These are NaNs and zeros. XLA flushes subnormal numbers to zero, except in float16, so they are
    equal to zero, too.

    Args:
      bits: the bits of the floats, as signed integers.
      out: the bits of the sorted floats.
      dtype: the dtype of the floats.
    """
    magnitude = np.iinfo(bits.dtype).max
    infinity = np.array(np.inf, dtype).view(bits.dtype)
    normal = 1 if dtype == np.float16 else np.array(_smallest_normal(dtype), dtype).view(bits.dtype)
    if out.size == out.shape[-1] and not _may_have_equals(out.ravel().view(dtype)):
        return
    magnitudes = bits & magnitude
    zeros, nans = magnitudes < normal, magnitudes > infinity
    if bits[zeros].any():
        out[(out & magnitude) < normal] = bits[zeros]
    if nans.any():
        out[(out & magnitude) > infinity] = bits[nans]


def _may_have_equals(line: Any) -> bool:
    """Returns whether a sorted line of floats has NaNs, zeros or subnormal numbers.

    NumPy's sort may flush subnormal numbers to zero, so a single zero counts. A binary search
    takes a few microseconds. A pass over the line would take a sixth of the sort's time.
    """
    if line.dtype.itemsize == 2:
        return True  # NumPy searches for halves slowly.
    smallest = _smallest_normal(line.dtype)
    first, last = np.searchsorted(line, -smallest, "right"), np.searchsorted(line, smallest, "left")
    return bool(first < last or line[-1] != line[-1])


def _smallest_normal(dtype: Any) -> Any:
    return dtypes.finfo(dtype).smallest_normal


def _write_order(context: Any, result: Any, *operands: Any) -> None:
    np.asarray(result)[...] = order_of([np.asarray(operand) for operand in operands])


def order_of(keys: Sequence[Any]) -> Any:
    """Returns the positions that sort the rows of unsigned keys stably.

    The first key is the most significant.
    """
    order = None
    for digit in _digits(keys):
        if order is None:
            order = _order_of(digit)
        else:
            following = _order_of(_taken(digit, order))
            order = _taken(order, following)
    return order


def _digits(keys: Sequence[Any]) -> list[Any]:
    """Returns the 32-bit digits of keys, least significant first.

    Skips digits that are all equal.
    """
    digits = []
    for key in reversed(keys):
        if key.dtype.itemsize == 8:
            digits += [key.astype(np.uint32), (key >> np.uint64(32)).astype(np.uint32)]
        else:
            digits.append(key)
    differing = [digit for digit in digits if len(digits) == 1 or digit.min() != digit.max()]
    return differing or digits[:1]


def _order_of(digit: Any) -> Any:
    """Returns the positions that sort each row stably.

    A vectorized sort takes integers that hold the digit in the upper bits and the position in the
    lower bits. If these integers need more than 32 bits, digits of at most 16 bits are sorted by a
    radix sort instead, and others by two of them if the vectorized sort is slow.
    """
    length = digit.shape[-1]
    shift = (length - 1).bit_length()
    bits = 8 * digit.dtype.itemsize + shift
    if bits > 32:
        if digit.dtype.itemsize <= 2:
            return np.argsort(digit, axis=-1, kind="stable")
        if (short := _shortened(digit)) is not None:
            return np.argsort(short[0], axis=-1, kind="stable")
        if _prefers_radix(length):
            return _order_of_halves(digit)
    packed = digit.astype(np.uint32 if bits <= 32 else np.uint64)
    packed <<= packed.dtype.type(shift)
    packed |= np.arange(length, dtype=packed.dtype)
    packed.sort(axis=-1)
    packed &= packed.dtype.type((1 << shift) - 1)
    return packed.astype(np.uint32, copy=False)


def _order_of_halves(digit: Any) -> Any:
    """Returns the positions that sort each row of 32-bit integers, by radix sorts of each half."""
    order = np.argsort(digit.astype(np.uint16), axis=-1, kind="stable")
    upper = _taken((digit >> np.uint32(16)).astype(np.uint16), order)
    return _taken(order, np.argsort(upper, axis=-1, kind="stable"))


def _prefers_radix(length: int) -> bool:
    """Returns whether radix sorts of rows are faster than NumPy's vectorized sort."""
    return length >= SMALLEST_RADIX and has_slow_compressed_stores(processor_identity() or "")


def _taken(values: Any, order: Any) -> Any:
    """Returns the elements of each row in the given order."""
    if values.size == values.shape[-1]:  # for a single row, this takes half the time
        return values.ravel().take(order.ravel()).reshape(values.shape)
    return np.take_along_axis(values, order, -1)


def _sort_rows(integers: Any) -> None:
    """Sorts the rows of integers in place.

    Integers of at most 16 bits, and integers of 64 bits in a range of 16 bits, use a radix sort.
    Others use a vectorized sort, which has twice as many lanes for 32 bits, so that it is faster
    than the radix sort on most processors.
    """
    size = integers.dtype.itemsize
    may_be_shortened = size == 8 or (size == 4 and _prefers_radix(integers.shape[-1]))
    if size <= 2:
        integers.sort(axis=-1, kind="stable")
    elif may_be_shortened and (short := _shortened(integers)) is not None:
        offsets, least = short
        offsets.sort(axis=-1, kind="stable")
        np.add(offsets, least, out=integers, casting="unsafe")
    else:
        integers.sort(axis=-1)


def _shortened(integers: Any) -> tuple[Any, Any] | None:
    """Returns the offsets from the smallest integer, in 16 bits, and that integer.

    Returns None if an offset needs more bits.
    """
    least = integers.min()
    if int(integers.max()) - int(least) >= 1 << 16:
        return None
    # The difference modulo 2^16 does not depend on whether the integers are signed.
    unsigned = np.dtype(f"u{integers.dtype.itemsize}")
    offsets = integers.view(unsigned) - least.view(unsigned)
    return offsets.astype(np.uint16), least
