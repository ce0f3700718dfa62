# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums, products, extremes and log-sum-exps, by loops over blocks.

XLA's CPU backend computes cumulative operations by `reduce_window`, in 5 to 10 ns per
element, and in 500 ns for log-sum-exp. The loops of this module take 0.3 to 1.2 ns, and 5 ns for
log-sum-exp.

Each step of a loop combines two vectors. In scans along the last dimension, a vector holds elements
of several rows. In other scans, it holds neighboring elements. Long rows are cut into blocks,
which are scanned in parallel. Afterwards each block is combined with the total of the preceding
blocks.

For integers, the results equal XLA's. Floats are combined in another order. The error of a sum is
at most the error of adding n elements sequentially. Here n is `_LONGEST`, or twice the square root
of the length if rows are longer. Floats of 16 bits are combined in float32. Sums of long rows of
neighbors are those of `long_sums`.

The group ``scans`` of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..keys import FLOATS, INTEGERS
from ..separate_calls import native_loop
from . import long_sums

# With fewer elements, XLA's operation is as fast and compiles as fast.
SMALLEST = 1024

# One step combines at most this many elements, from different rows, and at most this many bytes: a
# vector of 512 bits. With 16 elements of 64 bits, the vectors of a step do not stay in registers.
_LANES = 16
_LANE_BYTES = 64

# Longer rows are cut into blocks, which limits the accumulation of rounding errors.
_LONGEST = 2048

_DTYPES = frozenset((*FLOATS, *INTEGERS))


class Scan(NamedTuple):
    """Cumulative operation.

    Attributes:
      combine: the operation on a result and the next elements.
      identity: the neutral element of the operation.
      reverse: whether the scan starts at the end.
    """

    combine: Callable[[Any, Any], Any]
    identity: Any
    reverse: bool


def is_scanned_in_loops(context: LoweringContext, aval: Any, axis: int) -> bool:
    """Returns whether a cumulative operation is lowered to `scan_in_loops`."""
    return (
        is_for_this_cpu(context)
        and is_static(aval.shape)
        and SMALLEST <= math.prod(aval.shape) < 2**31
        and aval.shape[axis] > 1
        and aval.dtype in _DTYPES
    )


def scan_in_loops(
    operand: Any, *, axis: int, reverse: bool, combine: Callable[[Any, Any], Any], identity: Any
) -> Any:
    """Combines each element along an axis with all preceding elements."""
    shape, dtype = operand.shape, operand.dtype
    is_narrow = dtype in FLOATS and dtype.itemsize < 4
    rows = lax.reshape(
        lax.convert_element_type(operand, np.float32) if is_narrow else operand,
        (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])),
    )
    result = lax.reshape(_scanned(Scan(combine, identity, reverse), rows), shape)
    return lax.convert_element_type(result, dtype)


def _scanned(scan: Scan, rows: Any) -> Any:
    """Scans the middle dimension of ``rows[outer, length, inner]``."""
    outer, length, inner = rows.shape
    is_sum = scan.combine is lax.add and rows.dtype in long_sums.DTYPES
    if is_sum and inner == 1 and length > _LONGEST:
        sums = long_sums.sums_in_one_pass(lax.reshape(rows, (outer, length)), reverse=scan.reverse)
        return lax.reshape(sums, rows.shape)
    if length <= _LONGEST and (outer * inner >= _LANES or length < _LANES):
        return native_loop(functools.partial(_scanned_in_steps, scan), rows)
    block = _block_length(length)
    count = -(-length // block)
    padding = count * block - length
    first = padding if scan.reverse else 0
    if padding:
        zero = np.zeros((), rows.dtype)
        rows = lax.pad(rows, zero, ((0, 0, 0), (first, padding - first, 0), (0, 0, 0)))
    blocks = lax.reshape(rows, (outer * count, block, inner))
    within = lax.reshape(
        native_loop(functools.partial(_scanned_in_steps, scan), blocks),
        (outer, count, block, inner),
    )
    end = 0 if scan.reverse else block - 1
    totals = lax.reshape(lax.slice_in_dim(within, end, end + 1, axis=2), (outer, count, inner))
    totals = native_loop(functools.partial(_scanned_in_steps, scan), totals)
    before = lax.broadcast_in_dim(_shifted(scan, totals), within.shape, (0, 1, 3))
    result = lax.reshape(scan.combine(before, within), rows.shape)
    return lax.slice_in_dim(result, first, first + length, axis=1) if padding else result


def _block_length(length: int) -> int:
    """Returns a divisor of a length near its square root, or else the square root."""
    root = math.isqrt(length)
    near = (block for block in range(root, 2 * root) if length % block == 0)
    return next(near, root)


def _shifted(scan: Scan, totals: Any) -> Any:
    """Returns for each block the total of the preceding blocks."""
    at_ends = (-1, 1, 0) if scan.reverse else (1, -1, 0)
    identity = np.asarray(scan.identity, totals.dtype)
    return lax.pad(totals, identity, ((0, 0, 0), at_ends, (0, 0, 0)))


def _scanned_in_steps(scan: Scan, rows: Any) -> Any:
    """Scans the middle dimension step by step, for several rows at a time."""
    outer, length, inner = rows.shape
    lanes = min(_LANES, _LANE_BYTES // rows.dtype.itemsize)
    height = min(outer, max(1, lanes // inner))
    step_shape = (height, 1, inner)
    zero, one = np.int32(0), np.int32(1)

    def scan_group(state: Any) -> Any:
        group, out = state
        # The last group may overlap the previous group, because slices are moved until they fit.
        row = lax.mul(group, np.int32(height))

        def step(state: Any) -> Any:
            index, combined, out = state
            position = lax.sub(np.int32(length - 1), index) if scan.reverse else index
            elements = lax.dynamic_slice(rows, (row, position, zero), step_shape)
            combined = scan.combine(combined, elements)
            out = lax.dynamic_update_slice(out, combined, (row, position, zero))
            return lax.add(index, one), combined, out

        start = lax.full(step_shape, scan.identity, rows.dtype)
        *_, out = lax.while_loop(
            lambda state: lax.lt(state[0], np.int32(length)), step, (zero, start, out)
        )
        return lax.add(group, one), out

    groups = -(-outer // height)
    empty = lax.full(rows.shape, 0, rows.dtype)
    return lax.while_loop(
        lambda state: lax.lt(state[0], np.int32(groups)), scan_group, (zero, empty)
    )[1]
