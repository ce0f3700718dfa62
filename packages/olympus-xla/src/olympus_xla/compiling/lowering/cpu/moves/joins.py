# SPDX-License-Identifier: Apache-2.0
"""Stacks and concatenations with a narrow last dimension, joined along a first dimension.

A program joins arrays along the last dimension to make points, colors, quaternions or pairs, as in
rotary embeddings. XLA's CPU backend either copies each row of each part by itself, in up to 5 ns
for an element, or decides for each element from which part it is read, and computes the parts
without vectors. If the parts are transposed and joined along the first dimension, and the result is
transposed back, XLA computes each part in a loop of its own and writes with strides: 0.1 to 0.3 ns.
XLA fuses the three operations, so that nothing else is written to memory.

The operations "cross of 300,000" and "stack of 2 volumes, last axis" of the benchmarks cover this
module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax

from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..keys import FLOATS, INTEGERS

# With fewer elements, both take the same time.
SMALLEST = 1 << 14

# With a wider result or more parts, the strides exceed what a cache line or the caches hold.
WIDEST = 16
MOST_PARTS = 8

_DTYPES = frozenset((*map(np.dtype, "? F D".split()), *FLOATS, *INTEGERS))


def is_joined_in_front(context: LoweringContext, dimension: int) -> bool:
    """Returns whether arrays are joined along a dimension of the result as `joined_in_front`."""
    aval = context.aval_out
    return (
        0 < dimension == len(aval.shape) - 1
        and 1 < len(context.avals_in) <= MOST_PARTS
        and aval.dtype in _DTYPES
        and is_static(aval.shape)
        and aval.shape[-1] <= WIDEST
        and math.prod(aval.shape) >= SMALLEST
        and is_for_this_cpu(context)
    )


def joined_in_front(*operands: Any, is_stack: bool) -> Any:
    """Returns the concatenation, or the stack, of arrays along the last dimension."""
    return _first_to_last(lax.concatenate([_in_front(x, is_stack) for x in operands], 0))


def _in_front(operand: Any, is_stack: bool) -> Any:
    if is_stack:
        return lax.expand_dims(operand, (0,))
    return lax.transpose(operand, (operand.ndim - 1, *range(operand.ndim - 1)))


def _first_to_last(joined: Any) -> Any:
    return lax.transpose(joined, (*range(1, joined.ndim), 0))
