# SPDX-License-Identifier: Apache-2.0
"""Factorizations and triangular systems of many small matrices, side by side.

LAPACK takes 50 to 150 ns for a call, whatever it does, and is called for each matrix. Here the
batch is the last dimension, so that a step of the elimination works on the same element of 16
matrices at a time. Pivots are chosen as in LAPACK: the first element of the column with the
largest absolute value. The solutions of 5000 systems of 3x3 take 0.11 instead of 1.2 ms, and those
of 4x4 take 0.25 instead of 1.4 ms.

Each step is a separate call: otherwise XLA would repeat the computation of a step for each element
that the following step reads. Compilation takes 0.3 s longer for 3x3, 0.7 s for 4x4 and 3 s for
8x8, so that larger matrices and fewer than `FEWEST` stay LAPACK's.

The group "batches of matrices" of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from olympus_ir import lax

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..separate_calls import separate_call

# With fewer matrices, the time that a call saves, 0.3 ms or less, does not pay for the compilation.
FEWEST = 1024

# The largest matrices, and the most columns or rows of a right-hand side.
LARGEST = 4
MOST_COLUMNS = 8

_DTYPES = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def are_many_small(context: LoweringContext) -> bool:
    """Returns whether the operands are batches of small matrices, the first of them square."""
    first, *others = context.avals_in
    return (
        is_static(first.shape)
        and 1 < first.shape[-1] == first.shape[-2] <= LARGEST
        and math.prod(first.shape[:-2]) >= FEWEST
        and first.dtype in _DTYPES
        and all(max(aval.shape[-2:]) <= MOST_COLUMNS for aval in others)
        and is_for_this_cpu(context)
    )


def factored(x: Any) -> list[Any]:
    """Returns the packed factors, the pivots and the permutation of each matrix."""
    *batch, size, _ = x.shape
    matrices = _batch_last(x)
    # Two more columns hold the original row of each row, and the pivots that were chosen.
    numbers = lax.broadcasted_iota(x.dtype, (size, 2, matrices.shape[2]), 0)
    state = lax.concatenate([matrices, numbers], 1)
    for step in range(size - 1):
        state = separate_call(functools.partial(_eliminated, step=step), state)
    packed = _batch_first(lax.slice_in_dim(state, 0, size, axis=1), batch)
    order, pivots = (
        lax.convert_element_type(lax.index_in_dim(state, size + n, 1, keepdims=False), np.int32)
        for n in range(2)
    )
    last = lax.full((1, pivots.shape[1]), np.int32(size - 1))
    pivots = lax.concatenate([lax.slice_in_dim(pivots, 0, size - 1), last], 0)
    return [
        packed,
        *(lax.reshape(lax.transpose(x, (1, 0)), (*batch, size)) for x in (pivots, order)),
    ]


def _eliminated(state: Any, *, step: int) -> Any:
    """Returns the rows after one step, which exchanges rows and eliminates a column."""
    size, columns, _ = state.shape
    rows = [_row(state, row) for row in range(size)]
    largest = lax.abs(_row(rows[step], step))
    chosen = lax.full(largest.shape, np.int32(step))
    for row in range(step + 1, size):
        magnitude = lax.abs(_row(rows[row], step))
        is_larger = lax.gt(magnitude, largest)
        largest = lax.select(is_larger, magnitude, largest)
        chosen = lax.select(is_larger, lax.full_like(chosen, row), chosen)
    first, pivot_row = rows[step], rows[step]
    for row in range(step + 1, size):
        is_chosen = lax.eq(chosen, lax.full_like(chosen, row))
        pivot_row = lax.select(_in_columns(is_chosen, columns), rows[row], pivot_row)
        rows[row] = lax.select(_in_columns(is_chosen, columns), first, rows[row])
    pivot = _row(pivot_row, step)
    for row in range(step + 1, size):
        values = rows[row]
        is_zero = lax.eq(pivot, lax.full_like(pivot, 0))
        factor = lax.select(is_zero, _row(values, step), lax.div(_row(values, step), pivot))
        product = lax.mul(_in_columns(factor, size - step - 1), _rows(pivot_row, step + 1, size))
        rows[row] = lax.concatenate(
            [
                _rows(values, 0, step),
                lax.expand_dims(factor, (0,)),
                lax.sub(_rows(values, step + 1, size), product),
                _rows(values, size, columns),
            ],
            0,
        )
    chosen = lax.expand_dims(lax.convert_element_type(chosen, state.dtype), (0,))
    rows[step] = lax.concatenate([_rows(pivot_row, 0, size + 1), chosen], 0)
    return lax.concatenate([lax.expand_dims(x, (0,)) for x in rows], 0)


def solutions(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """Returns the solutions of triangular systems."""
    batch = b.shape[:-2]
    rows_of_b = _batch_last(b if left_side else lax.transpose(b, _swapped(b.ndim)))
    # A system with the unknowns on the left is one of transposed matrices.
    is_transposed = transpose_a == left_side
    solve = functools.partial(
        _substituted,
        is_lower=lower != is_transposed,
        is_transposed=is_transposed,
        unit_diagonal=unit_diagonal,
    )
    result = _batch_first(separate_call(solve, _batch_last(a), rows_of_b), batch)
    return result if left_side else lax.transpose(result, _swapped(b.ndim))


def _substituted(
    a: Any, b: Any, *, is_lower: bool, is_transposed: bool, unit_diagonal: bool
) -> Any:
    """Returns the solutions of ``a x = b``, where the batch is the last dimension."""
    size, columns, _ = b.shape
    solved: dict[int, Any] = {}
    for row in range(size) if is_lower else reversed(range(size)):
        value = _row(b, row)
        for other, known in solved.items():
            element = _row(_row(a, other), row) if is_transposed else _row(_row(a, row), other)
            value = lax.sub(value, lax.mul(_in_columns(element, columns), known))
        if not unit_diagonal:
            value = lax.div(value, _in_columns(_row(_row(a, row), row), columns))
        solved[row] = value
    return lax.concatenate([lax.expand_dims(solved[row], (0,)) for row in range(size)], 0)


def _row(x: Any, row: int) -> Any:
    return lax.index_in_dim(x, row, 0, keepdims=False)


def _rows(x: Any, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, start, stop)


def _in_columns(values: Any, columns: int) -> Any:
    """Repeats a vector for each of several columns."""
    return lax.broadcast_in_dim(values, (columns, *values.shape), (1,))


def _batch_last(x: Any) -> Any:
    """Returns ``[rows, columns, matrices]`` for ``[*batch, rows, columns]``."""
    count = math.prod(x.shape[:-2])
    return lax.transpose(lax.reshape(x, (count, *x.shape[-2:])), (1, 2, 0))


def _batch_first(x: Any, batch: Any) -> Any:
    return lax.reshape(lax.transpose(x, (2, 0, 1)), (*batch, *x.shape[:2]))


def _swapped(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)
