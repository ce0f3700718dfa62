# SPDX-License-Identifier: Apache-2.0
"""Order statistics: the elements at given positions of an array sorted along its last dimension.

Medians and quantiles need only a few elements of the sorted array. Because the operation is a
primitive, a platform can select these elements without a sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.expansion import expansion_rules
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.avals import ShapedArray
from ..core.values import Array, ArrayLike
from ..indexing.gathering import GatherDimensionNumbers, GatherScatterMode, gather
from ..shaping.broadcasting import expand_dims
from .ordering import sort

__all__ = ["order_statistics", "order_statistics_p"]

# elements[*batch k] = order_statistics operand[*batch n] places[*batch k] or places[k]
order_statistics_p = instruction("order_statistics", family="sorting")


def order_statistics(operand: ArrayLike, places: ArrayLike) -> Array:
    """Returns the elements at given positions of the sorted lines of an array.

    A line is a vector along the last dimension. The order is the order of a stable `sort`.

    Args:
      operand: an array of any dtype that `sort` accepts, with at least one dimension.
      places: int32, each at least 0 and below the length of a line: a vector of positions that
        applies to all lines, or an array with positions for each line, whose leading dimensions are
        those of ``operand``.

    Returns:
      An array of the dtype of ``operand``, whose last dimension is the last dimension of
      ``places``.

    Raises:
      ShapeError: the shapes do not fit.
      TypeError: ``places`` is not int32.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.order_statistics(np.array([30, 10, 20]), np.array([0, 2], np.int32))
      Array([10, 30], dtype=int32)
    """
    return order_statistics_p.bind(operand, places)


@order_statistics_p.def_abstract_eval
def _shape(operand: ShapedArray, positions: ShapedArray) -> ShapedArray:
    lines = operand.shape[:-1]
    if not operand.ndim or not positions.ndim or positions.shape[:-1] not in ((), lines):
        raise ShapeError(
            "order_statistics needs an operand of shape [*lines, length], and places of shape "
            f"[count] or [*lines, count]; got {operand.str_short()} and {positions.str_short()}"
        )
    if positions.dtype != np.int32:
        raise TypeError(
            f"order_statistics needs places of dtype int32, got {dtypes.name_of(positions.dtype)}"
        )
    shape = (*lines, positions.shape[-1])
    return ShapedArray.varying(
        shape, operand.dtype, operand.weak_type, vma=operand.vma | positions.vma
    )


@expansion_rules.define(order_statistics_p)
def _by_sorting(operand: Any, positions: Any) -> Any:
    last = operand.ndim - 1
    lines = tuple(range(last))
    ordered = sort(operand, dimension=last)
    mode = GatherScatterMode.PROMISE_IN_BOUNDS
    indices = expand_dims(positions, (positions.ndim,))
    if positions.ndim == 1:
        numbers = GatherDimensionNumbers(lines, (last,), (last,))
        return gather(ordered, indices, numbers, (*operand.shape[:-1], 1), mode=mode)
    numbers = GatherDimensionNumbers((), (last,), (last,), lines, lines)
    return gather(ordered, indices, numbers, (1,) * operand.ndim, mode=mode)
