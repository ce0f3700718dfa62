# SPDX-License-Identifier: Apache-2.0
"""Outer products whose dimensions are merged, as in Kronecker products.

The Kronecker product of matrices is a product of four dimensions, of which a reshape merges two
pairs. XLA fuses both, and computes the place in each factor by divisions, for every element of the
result: 0.74 ns an element. `merged_product` first repeats both factors along the last dimension of
the result, by calls that XLA does not fuse. The factors then have as many rows as before, so they
are small. The product reads whole rows of them, in 0.15 ns an element.

The elements are the same products, so the bits of the result do not change. The operation "kron" of
the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import ShapedArray

from ... import mlir
from ...context import LoweringContext
from ..choice import is_for_this_cpu, is_static
from ..separate_calls import separate_call

# With fewer elements in the result, two more calls take longer than the divisions.
SMALLEST = 1 << 15

# Shorter rows of the result take as long in both ways.
SHORTEST_ROW = 64

# The repeated factors together may have this fraction of the result's elements. Larger ones take as
# long to write and read as the divisions.
_LARGEST_FACTORS = 0.75

_PRODUCTS: dict[str, Callable[..., Any]] = {
    "stablehlo.multiply": lax.mul,
    "stablehlo.and": lax.bitwise_and,
}


def merged_outer_product(context: LoweringContext, product: Any) -> Any:
    """Lowers a reshape of an outer product by `merged_product`; None for any other reshape."""
    (aval,), result = context.avals_in, context.aval_out
    first = _first_merged(aval.shape, result.shape)
    if (
        first is None
        or not is_static(aval.shape)
        or math.prod(aval.shape) < SMALLEST
        or not is_for_this_cpu(context)
    ):
        return None
    multiply = _PRODUCTS.get(getattr(product.owner, "name", ""))
    if multiply is None:
        return None
    factors = _factors(product.owner, aval.shape)
    if factors is None or not _are_worth_repeating(factors, aval.shape, first):
        return None
    avals = tuple(ShapedArray(shape, aval.dtype) for _, shape in factors)
    merge = functools.partial(
        merged_product, multiply=multiply, shape=aval.shape, first=first, new_shape=result.shape
    )
    closed = trace_to_closed(lambda *args: [merge(*args)], avals)
    return context.lower(closed, [value for value, _ in factors])[0]


def merged_product(
    left: Any,
    right: Any,
    *,
    multiply: Callable[..., Any],
    shape: Sequence[int],
    first: int,
    new_shape: Sequence[int],
) -> Any:
    """Multiplies two factors of equal rank, and merges dimensions of the product.

    Args:
      left: the first factor.
      right: the second factor.
      multiply: the elementwise product.
      shape: the shape to which both factors are broadcast.
      first: the first of the dimensions that the last dimension of the result merges.
      new_shape: the result's shape.
    """
    rows = (*shape[:first], math.prod(shape[first:]))
    left, right = (
        lax.broadcast_in_dim(_repeated(factor, shape, first), rows, tuple(range(first + 1)))
        for factor in (left, right)
    )
    return lax.reshape(multiply(left, right), new_shape)


def _repeated(factor: Any, shape: Sequence[int], first: int) -> Any:
    """Broadcasts the dimensions of a factor from ``first`` on, and merges them."""
    wide = (*factor.shape[:first], *shape[first:])
    # Dimensions of one element would be copied before the call.
    kept = tuple(position for position, size in enumerate(factor.shape) if size != 1)
    factor = lax.reshape(factor, tuple(factor.shape[position] for position in kept))
    spread = separate_call(lambda x: lax.broadcast_in_dim(x, wide, kept), factor)
    return lax.reshape(spread, (*wide[:first], math.prod(wide[first:])))


def _first_merged(shape: Sequence[Any], new_shape: Sequence[Any]) -> int | None:
    """Returns the first of the dimensions that the last one of a reshape merges, or None.

    Two or more of them must have several elements, and there must be other dimensions before them.
    """
    if not 0 < len(new_shape) < len(shape):
        return None
    merged, first = 1, len(shape)
    while first > 0 and merged != new_shape[-1]:
        first -= 1
        merged = merged * shape[first]
    is_merge = merged == new_shape[-1] and sum(size != 1 for size in shape[first:]) > 1
    return first if is_merge and first > 0 else None


def _factors(product: Any, shape: Sequence[int]) -> list[tuple[Any, tuple[int, ...]]] | None:
    """Returns the two factors that are broadcast to a product and their shapes, or None."""
    found = []
    for operand in product.operands:
        if getattr(operand.owner, "name", "") != "stablehlo.broadcast_in_dim":
            return None
        factor = operand.owner.operands[0]
        factor_shape = tuple(mlir.ir.RankedTensorType(factor.type).shape)
        if len(factor_shape) != len(shape):
            return None
        found.append((factor, factor_shape))
    return found


def _are_worth_repeating(
    factors: Sequence[tuple[Any, tuple[int, ...]]], shape: Sequence[int], first: int
) -> bool:
    row = math.prod(shape[first:])
    repeated = sum(math.prod(sizes[:first]) * row for _, sizes in factors)
    return row >= SHORTEST_ROW and repeated <= _LARGEST_FACTORS * math.prod(shape)
