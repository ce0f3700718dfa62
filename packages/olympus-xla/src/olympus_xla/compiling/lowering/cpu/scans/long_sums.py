# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums of long rows of neighboring numbers, in one pass.

`blocks` cuts long rows into blocks, and adds the totals of the preceding blocks in a second pass.
For integers and for floats of single precision the loop of this module needs one pass: 0.7 to 1.2
instead of 1.5 to 2.4 ns an element. Its carry has double precision, so that a sum is rounded once.

A step sums 8 neighbors. Two groups of four are summed side by side, and only their totals wait for
the carry. With longer steps XLA repeats the sums for each element.

The operation "cumsum" in the group ``scans`` of the benchmarks covers this module.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_states

from ..keys import INTEGERS
from ..separate_calls import native_loop

_GROUPS, _GROUP = 2, 4
_STEP = _GROUPS * _GROUP

_FLOAT = np.dtype(np.float32)
DTYPES = frozenset((_FLOAT, *INTEGERS))


def sums_in_one_pass(rows: Any, *, reverse: bool) -> Any:
    """Returns the cumulative sums of ``rows[outer, length]`` along the last dimension.

    Args:
      rows: an array of one of `DTYPES`.
      reverse: whether the sums start at the end.
    """
    with config_states.enable_x64(True):
        return native_loop(lambda x: _of_all_rows(x, reverse), rows)


def _of_all_rows(rows: Any, reverse: bool) -> Any:
    count, length = rows.shape
    wide = np.dtype(np.float64) if rows.dtype == _FLOAT else rows.dtype
    zero = np.int32(0)

    def scan_row(state: Any) -> Any:
        row, out = state

        def step(size: int) -> Any:
            def scan_elements(state: Any) -> Any:
                index, carry, out = state
                place = lax.sub(np.int32(length - size), index) if reverse else index
                found = lax.reshape(lax.dynamic_slice(rows, (row, place), (1, size)), (size,))
                found = lax.convert_element_type(found, wide)
                sums, carry = _of_step(found, carry, reverse)
                sums = lax.reshape(lax.convert_element_type(sums, rows.dtype), (1, size))
                out = lax.dynamic_update_slice(out, sums, (row, place))
                return lax.add(index, np.int32(size)), carry, out

            return scan_elements

        state = (zero, lax.full((1,), 0, wide), out)
        for size, end in ((_STEP, length - length % _STEP), (1, length)):
            state = lax.while_loop(
                lambda state, end=end: lax.lt(state[0], np.int32(end)), step(size), state
            )
        return lax.add(row, np.int32(1)), state[2]

    start = zero, lax.full(rows.shape, 0, rows.dtype)
    return lax.while_loop(lambda state: lax.lt(state[0], np.int32(count)), scan_row, start)[1]


def _of_step(elements: Any, carry: Any, reverse: bool) -> tuple[Any, Any]:
    """Returns the sums of the elements of one step and the carry, and the next carry."""
    if elements.shape == (1,):
        total = lax.add(carry, elements)
        return total, total
    groups = lax.reshape(elements, (_GROUPS, _GROUP))
    sums = [lax.slice_in_dim(groups, k, k + 1, axis=1) for k in range(_GROUP)]
    order = range(_GROUP)[::-1] if reverse else range(_GROUP)
    for before, place in itertools.pairwise(order):
        sums[place] = lax.add(sums[before], sums[place])
    totals = sums[order[-1]]
    before_groups = [carry] * _GROUPS
    for group in range(_GROUPS)[::-1] if reverse else range(_GROUPS):
        before_groups[group] = carry
        total = lax.reshape(lax.slice_in_dim(totals, group, group + 1), (1,))
        carry = lax.add(carry, total)
    before = lax.broadcast_in_dim(lax.concatenate(before_groups, 0), groups.shape, (0,))
    return lax.reshape(lax.add(before, lax.concatenate(sums, 1)), (_STEP,)), carry
