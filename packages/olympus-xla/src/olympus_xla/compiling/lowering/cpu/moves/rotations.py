# SPDX-License-Identifier: Apache-2.0
"""Rotations along the last dimension, as by `roll`, as two updates in place.

A rotation concatenates the end and the beginning of each row. XLA's loop over the result decides
for each element from which part it is read: 0.24 to 1 ns an element. Two updates of one array copy
the parts by loops without decisions: 0.11 to 0.2 ns.

LLVM uses masked vectors for rows of odd length. Where these are slow, updates take up to twice as
long for short rows and complex numbers, which keep the concatenation. Elements of fewer than 32
bits keep it, too. A concatenation runs on several threads and an update on one, so programs with
many threads keep it as well. The operation "roll" of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....cache_key import processor_identity
from ... import mlir
from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static, threads
from ..machine_code import has_fast_wide_vectors, has_slow_masked_stores

# With fewer elements, two more operations may take longer than the decisions.
SMALLEST = 1 << 17

# With more threads, XLA's concatenation takes less wall time.
MOST_THREADS = 4

# With slow masked stores, shorter rows take as long in both ways, or longer with updates.
SHORTEST_ROW = 64

_DTYPES = frozenset(map(np.dtype, "i4 u4 f4 i8 u8 f8 c8".split()))


def rotation(context: LoweringContext, parts: Sequence[Any], dimension: int) -> Any:
    """Lowers the concatenation of the ends and beginnings of rows; None for any other one."""
    if len(parts) != 2 or not _may_be_updated(context, dimension):
        return None
    aval = context.aval_out
    if not _are_ends_and_beginnings(parts, aval.shape):
        return None
    zero, last = (
        context.scalar(start, np.dtype(np.int32))
        for start in (0, context.avals_in[0].shape[dimension])
    )
    result = context.full(0, aval.shape, aval.dtype)
    for part, start in zip(parts, (zero, last), strict=True):
        starts = [*[zero] * dimension, start]
        result = context.create(
            "stablehlo.dynamic_update_slice", mlir.aval_type(aval), (result, part, *starts)
        )
    return result


def _may_be_updated(context: LoweringContext, dimension: int) -> bool:
    """Returns whether updates in place of this concatenation's result would be faster."""
    aval = context.aval_out
    return (
        0 < dimension == len(aval.shape) - 1
        and aval.dtype in _DTYPES
        and is_static(aval.shape)
        and math.prod(aval.shape) >= SMALLEST
        and is_for_this_cpu(context)
        and threads() <= MOST_THREADS
        and _is_faster_here(aval)
    )


def _is_faster_here(aval: Any) -> bool:
    """Returns whether updates of large rows are faster on this processor."""
    identity = processor_identity() or ""
    if has_slow_masked_stores(identity):
        return aval.shape[-1] >= SHORTEST_ROW and aval.dtype.kind != "c"
    return has_fast_wide_vectors(identity)


def _are_ends_and_beginnings(parts: Sequence[Any], shape: Sequence[int]) -> bool:
    """Returns whether two values are the ends and the beginnings of the rows of one array."""
    ends, beginnings = (part.owner for part in parts)
    if not getattr(ends, "name", "") == getattr(beginnings, "name", "") == "stablehlo.slice":
        return False
    array = ends.operands[0]
    if array != beginnings.operands[0]:
        return False
    place = list(ends.attributes["start_indices"])[-1]
    return (
        mlir.ir.RankedTensorType(array.type).shape == list(shape)
        and _columns(ends, shape) == (place, shape[-1])
        and _columns(beginnings, shape) == (0, place)
    )


def _columns(piece: Any, shape: Sequence[int]) -> tuple[int, int] | None:
    """Returns where a slice of whole columns begins and ends; None for any other slice."""
    *starts, first = piece.attributes["start_indices"]
    *limits, last = piece.attributes["limit_indices"]
    is_whole = not any(starts) and limits == list(shape[:-1])
    return (first, last) if is_whole and set(piece.attributes["strides"]) == {1} else None
