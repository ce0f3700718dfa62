# SPDX-License-Identifier: Apache-2.0
"""Products of a large matrix and a vector, by several threads.

XLA's CPU backend computes the product of a matrix and a vector on one thread, in the time that it
takes to read the matrix: 60 us for 1000x1000 numbers in the cache. It computes products with batch
dimensions by several threads. So the rows of the matrix are divided among the threads, as a
batch. The elements of the result have the same bits, because each is computed as before.

The product of a matrix and a vector, and the application "Jacobi iterations" of the benchmarks
cover this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static, threads

# With at least this many elements in the matrix, several threads are faster than one.
SMALLEST = 1 << 18

_DTYPES = tuple(map(np.dtype, "f d".split()))


def parts_of_product(context: LoweringContext, dimension_numbers: Any) -> int:
    """Returns the number of parts into which to cut a matrix-vector product; 1 for no cut."""
    left, right = context.avals_in
    if (
        dimension_numbers != (((1,), (0,)), ((), ()))
        or right.ndim != 1
        or left.ndim != 2
        or not is_for_this_cpu(context)
        or not is_static(left.shape)
        or math.prod(left.shape) < SMALLEST
        or left.dtype not in _DTYPES
        or not left.dtype == right.dtype == context.aval_out.dtype
    ):
        return 1
    return next(parts for parts in range(threads(), 0, -1) if left.shape[0] % parts == 0)


def product_in_parts(matrix: Any, vector: Any, *, parts: int, precision: Any) -> Any:
    """Multiplies a matrix by a vector, as ``parts`` products with equally many rows."""
    rows, columns = matrix.shape
    product = lax.dot_general(
        lax.reshape(matrix, (parts, rows // parts, columns)),
        lax.broadcast_in_dim(vector, (parts, columns), (1,)),
        (((2,), (1,)), ((0,), (0,))),
        precision=precision,
    )
    return lax.reshape(product, (rows,))
