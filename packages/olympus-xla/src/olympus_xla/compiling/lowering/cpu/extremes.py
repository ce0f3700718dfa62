# SPDX-License-Identifier: Apache-2.0
"""Positions of extremes (argmax and argmin), found by NumPy or in two passes.

XLA's CPU backend reduces pairs of values and positions sequentially, in 2 to 8 ns per element. This
module uses one pass for the extreme and another for its first position. Both passes are vectorized
and take 0.2 to 1 ns per element. Along the last dimension, the second pass reads only the block
that contains the extreme.

Along the last dimension of large arrays NumPy finds positions in one pass, in 0.05 to 0.1 ns per
element. The compiled program calls it with views of its buffers.

The group ``extremes`` of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.types.avals import ShapedArray

from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static
from .keys import FLOATS, INTEGERS

if TYPE_CHECKING:
    from ....foreign import buffer_callbacks
else:
    buffer_callbacks = deferred("....foreign.buffer_callbacks", milliseconds=1.5)

# With at least this many elements, and an axis of at least this length, two passes are faster than
# XLA's reduction of pairs.
SMALLEST_SIZE = 1024
SMALLEST_LENGTH = 64
_SMALLEST_BLOCK = 16

# With at least this many elements, calling NumPy is faster than two passes.
SMALLEST_CALL = 1 << 16
_SMALLEST_ROW = 256

_DTYPES = frozenset(FLOATS + INTEGERS)
# Dtypes for which NumPy has vector instructions.
_NUMPYS = frozenset((np.dtype(np.float32), np.dtype(np.float64), *INTEGERS))


def is_found_in_passes(context: LoweringContext, aval: Any, axis: int) -> bool:
    """Returns whether `position_in_passes` replaces XLA's reduction of pairs."""
    return (
        is_for_this_cpu(context)
        and is_static(aval.shape)
        and math.prod(aval.shape) >= SMALLEST_SIZE
        and aval.shape[axis] >= SMALLEST_LENGTH
        and aval.dtype in _DTYPES
    )


def position_in_passes(operand: Any, *, axis: int, dtype: Any, largest: bool) -> Any:
    """Returns the first position of the extreme along an axis. NaN counts as the extreme."""
    shape = operand.shape
    length = shape[axis]
    is_last = axis == len(shape) - 1
    is_for_numpy = is_last and operand.dtype in _NUMPYS and length >= _SMALLEST_ROW
    if is_for_numpy and operand.size >= SMALLEST_CALL:
        return _position_by_numpy(operand, dtype, largest)
    block = _block_length(length) if is_last else None
    if block is None:
        extreme = _extreme(operand, axis, largest)
        return lax.convert_element_type(_first_position(operand, extreme, axis), dtype)
    blocks = lax.reshape(operand, (math.prod(shape) // length, length // block, block))
    extremes = _extreme(blocks, 2, largest)
    extreme = _extreme(extremes, 1, largest)
    found = _first_position(extremes, extreme, 1)
    index = _first_position(_rows_at(blocks, found), extreme, 1)
    position = lax.add(lax.mul(found, lax.full_like(found, block)), index)
    return lax.reshape(lax.convert_element_type(position, dtype), shape[:-1])


def _position_by_numpy(operand: Any, dtype: Any, largest: bool) -> Any:
    kind = ShapedArray(operand.shape[:-1], dtype)
    write = _write_largest if largest else _write_least
    return buffer_callbacks.buffer_callback(write, kind)(operand)


def _write_largest(context: Any, result: Any, operand: Any) -> None:
    np.asarray(result)[...] = np.asarray(operand).argmax(-1)


def _write_least(context: Any, result: Any, operand: Any) -> None:
    np.asarray(result)[...] = np.asarray(operand).argmin(-1)


def _block_length(length: int) -> int | None:
    """Returns the divisor of ``length`` that is nearest to the square root of ``length``.

    Returns None if the divisor is too small.
    """
    root = math.isqrt(length)
    for block in range(root, max(root // 4, _SMALLEST_BLOCK) - 1, -1):
        if length % block == 0:
            return block
    return None


def _extreme(operand: Any, axis: int, largest: bool) -> Any:
    """Returns the extremes along an axis; NaN where the axis has a NaN."""
    extreme = (lax.reduce_max if largest else lax.reduce_min)(operand, (axis,))
    if operand.dtype not in FLOATS:
        return extreme
    # XLA's vectorized extremes ignore NaNs, so a second reduction finds NaNs.
    is_nan = lax.convert_element_type(lax.ne(operand, operand), operand.dtype)
    has_nan = lax.gt(lax.reduce_max(is_nan, (axis,)), lax.full_like(extreme, 0))
    return lax.select(has_nan, lax.full_like(extreme, np.nan), extreme)


def _first_position(operand: Any, extreme: Any, axis: int) -> Any:
    """Returns the first position of the extreme or of NaN along an axis, as int32."""
    others = [d for d in range(operand.ndim) if d != axis]
    hits = lax.eq(operand, lax.broadcast_in_dim(extreme, operand.shape, others))
    if operand.dtype in FLOATS:
        hits = lax.bitwise_or(hits, lax.ne(operand, operand))
    positions = lax.broadcasted_iota(np.int32, operand.shape, axis)
    never = lax.full_like(positions, operand.shape[axis])
    return lax.reduce_min(lax.select(hits, positions, never), (axis,))


def _rows_at(blocks: Any, found: Any) -> Any:
    """Returns ``blocks[i, found[i], :]`` for each ``i``."""
    count, _, length = blocks.shape
    numbers = lax.GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
    return lax.gather(
        blocks,
        lax.reshape(found, (count, 1)),
        numbers,
        (1, 1, length),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )
