# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one sequence with one long window, as products of matrices.

XLA's CPU backend takes 0.15 ns for each product of an element and a weight, on a processor that
multiplies and adds 64 pairs in a nanosecond. Here the window is cut into rows of 32 weights. The
matrix of these rows times the matrix of all 32 neighbors of a block of the sequence gives the sums
of each row at each place. The rows are then shifted and added. This takes a sixth of the time for
1000 weights. No element is multiplied by a weight that does not see it, so that infinities and NaNs
reach the same results.

The operation "convolve with 1000 weights" of the benchmarks covers this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p

from ...context import LoweringContext
from .limits import FLOATS, LARGEST_WINDOW, is_large

# The weights in a row, and the results in a block, whose sums stay in the cache.
_ROW = 32
_BLOCK = 8192


def is_of_long_windows(
    context: LoweringContext,
    *,
    window_strides: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    **params: Any,
) -> bool:
    """Returns whether `convolution_by_rows` replaces XLA's convolution."""
    lhs, rhs = context.avals_in
    out = context.aval_out
    return (
        window_strides == lhs_dilation == rhs_dilation == (1,)
        and is_large(context, FLOATS)
        and len({lhs.dtype, rhs.dtype, out.dtype}) == 1
        and max(lhs.shape) == math.prod(lhs.shape)
        and max(rhs.shape) == math.prod(rhs.shape)
        and LARGEST_WINDOW < math.prod(rhs.shape) <= math.prod(out.shape)
    )


def convolution_by_rows(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, padding: tuple, precision: Any
) -> Any:
    """Convolves the sequence with whole rows of weights, and with the rest of the weights."""
    (low, high), size, window = padding[0], lhs.size, rhs.size
    count = size + low + high - window + 1
    inside = window - window % _ROW
    weights = lax.reshape(rhs, (window,))
    rows = lax.reshape(lax.slice(weights, (0,), (inside,)), (inside // _ROW, _ROW))
    # precision may also be an algorithm for dot products
    precision = precision if type(precision) is tuple else None
    result = _sums_of_rows(lax.reshape(lhs, (size,)), rows, low, count, precision)
    shape = [1] * 3
    shape[dimension_numbers.out_spec[2]] = count
    result = lax.reshape(result, shape)
    if inside == window:
        return result
    rest = lax.slice_in_dim(rhs, inside, window, axis=dimension_numbers.rhs_spec[2])
    low -= inside
    high = count - 1 + window - inside - size - low
    of_rest = conv_general_dilated_p.bind(
        lhs,
        rest,
        dimension_numbers=dimension_numbers,
        window_strides=(1,),
        padding=((low, high),),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
        feature_group_count=1,
        batch_group_count=1,
        precision=precision,
        preferred_element_type=None,
        out_sharding=None,
    )
    return lax.add(result, of_rest)


def _sums_of_rows(sequence: Any, rows: Any, low: int, count: int, precision: Any) -> Any:
    """Returns the convolution of a sequence with a window of rows, block by block.

    Args:
      sequence: the elements, a vector.
      rows: the weights, in rows.
      low: the number of zeros before the sequence.
      count: the number of results.
      precision: the precision of the products.
    """
    block = min(_BLOCK, count)
    blocks = -(-count // block)
    reach = rows.size
    width = block + reach - _ROW
    high = blocks * block + reach - 1 - low - sequence.shape[0]
    padded = lax.pad(sequence, np.zeros((), sequence.dtype), ((low, high, 0),))

    def step(state: Any) -> Any:
        index, result = state
        start = lax.mul(index, np.int32(block))
        neighbors = lax.concatenate(
            [
                lax.reshape(
                    lax.dynamic_slice(padded, (lax.add(start, np.int32(place)),), (width,)),
                    (1, width),
                )
                for place in range(_ROW)
            ],
            0,
        )
        sums = lax.dot_general(rows, neighbors, (((1,), (0,)), ((), ())), precision=precision)
        # Rows that are longer by _ROW shift each row by _ROW against the one before.
        flat = lax.reshape(sums, (sums.size,))
        flat = lax.pad(flat, np.zeros((), flat.dtype), ((0, reach, 0),))
        shifted = lax.reshape(flat, (rows.shape[0], width + _ROW))
        total = lax.reduce_sum(lax.slice_in_dim(shifted, 0, block, axis=1), (0,))
        return lax.add(index, np.int32(1)), lax.dynamic_update_slice(result, total, (start,))

    empty = lax.full((blocks * block,), 0, sequence.dtype)
    result = lax.while_loop(
        lambda state: lax.lt(state[0], np.int32(blocks)), step, (np.int32(0), empty)
    )[1]
    return lax.slice(result, (0,), (count,))
