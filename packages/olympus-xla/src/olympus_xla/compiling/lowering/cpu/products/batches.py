# SPDX-License-Identifier: Apache-2.0
"""Products of many small matrices, as sums of elementwise products.

XLA's CPU backend calls a function for each product of a batch. For some sizes, such as 4x4, the
function takes 600 ns, and for others 5 to 40 ns. One loop over the elements of all results takes 3
to 5 ns for a product of 4x4, because LLVM vectorizes it.

`product_in_one_loop` is a separate call, so that the operands are computed once, as for XLA's own
product, and not once for each element of the result that reads them.

The elements are sums of the same products. The group "small matrices" of the benchmarks covers this
module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..separate_calls import separate_call

# With fewer matrices, the calls of a batch take no more time than the additional function.
FEWEST = 8

# The largest numbers of rows and of columns of a result, and of products in each sum, up to which
# one loop is faster for all sizes.
MOST_ROWS = 32
MOST_COLUMNS = 8
MOST_TERMS = 16

_DTYPES = frozenset(map(np.dtype, "f d".split()))


def is_product_in_one_loop(context: LoweringContext, dimension_numbers: Any) -> bool:
    """Returns whether `product_in_one_loop` replaces XLA's product."""
    left, right = context.avals_in
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    if (
        not left_batch
        or left.dtype not in _DTYPES
        or not left.dtype == right.dtype == context.aval_out.dtype
        or not is_static(left.shape)
        or not is_static(right.shape)
    ):
        return False
    count = math.prod(left.shape[axis] for axis in left_batch)
    terms = math.prod(left.shape[axis] for axis in left_contracting)
    rows, columns = (
        math.prod(size for axis, size in enumerate(shape) if axis not in kept)
        for shape, kept in (
            (left.shape, (*left_batch, *left_contracting)),
            (right.shape, (*right_batch, *right_contracting)),
        )
    )
    return (
        count >= FEWEST
        and 0 < rows <= MOST_ROWS
        and 0 < columns <= MOST_COLUMNS
        and 0 < terms <= MOST_TERMS
        and is_for_this_cpu(context)
    )


def product_in_one_loop(left: Any, right: Any, *, dimension_numbers: Any) -> Any:
    """Multiplies batches of small matrices."""
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    batch, terms = len(left_batch), len(left_contracting)
    rows = _others(left.ndim, (*left_batch, *left_contracting))
    columns = _others(right.ndim, (*right_batch, *right_contracting))
    first = batch + len(rows)  # of the dimensions of the sums

    def multiply(left: Any, right: Any) -> Any:
        left = lax.transpose(left, (*left_batch, *rows, *left_contracting))
        right = lax.transpose(right, (*right_batch, *right_contracting, *columns))
        shape = (*left.shape, *right.shape[batch + terms :])
        of_right = (*range(batch), *range(first, len(shape)))
        products = lax.mul(
            lax.broadcast_in_dim(left, shape, tuple(range(left.ndim))),
            lax.broadcast_in_dim(right, shape, of_right),
        )
        return lax.reduce_sum(products, tuple(range(first, first + terms)))

    return separate_call(multiply, left, right)


def _others(rank: int, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in range(rank) if axis not in axes)
