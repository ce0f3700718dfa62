# SPDX-License-Identifier: Apache-2.0
"""Sorting, and selection of the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.avals import ShapedArray
from ..core.axes import canonical_axis, check_axis, integer_or_dim
from ..core.declarations import Number, check_dtype
from ..core.values import Array, ArrayLike, shape_of

__all__ = ["sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]

sort_p = instruction("sort", family="sorting", multiple_results=True)
top_k_p = instruction("top_k", family="sorting", multiple_results=True)


@sort_p.def_abstract_eval
def _sort_shape(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    if not operands or not 1 <= num_keys <= len(operands):
        raise ValueError(f"sort: num_keys={num_keys} must be between 1 and {len(operands)}")
    shapes = [operand.shape for operand in operands]
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(
            f"Arguments to sort must have equal shapes, got: {' '.join(map(str, shapes))}"
        )
    check_axis("sort", "dimension", dimension, operands[0])
    for key in operands[:num_keys]:
        check_dtype("sort", key, (*Number, np.bool_))
    return list(operands)


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...


def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    """Sorts the elements along one dimension in increasing order.

    NaNs come last, and -0 and 0 are equal. Complex numbers are in lexicographic order.

    Args:
      operand: an array, or a sequence of arrays of the same shape that are permuted together.
      dimension: the dimension; negative values count from the end.
      is_stable: whether equal elements keep their order.
      num_keys: the number of leading arrays that are compared, in lexicographic order.

    Returns:
      An array, or a tuple of arrays if a sequence was given.

    Raises:
      ShapeError: if the shapes differ.
      ValueError: if ``dimension`` or ``num_keys`` is out of range.
      TypeError: if the sequence is empty.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.sort((np.array([3, 1, 2]), np.array([0, 1, 2])))
      (Array([1, 2, 3], dtype=int32), Array([1, 2, 0], dtype=int32))
    """
    if isinstance(operand, Sequence):
        if len(operand) == 0:
            raise TypeError("Sort requires at least one operand, got an empty sequence")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(
                f"num_keys={num_keys} must be between 1 and len(operand)={len(operand)}"
            )
        dimension = canonical_axis(dimension, len(shape_of(operand[0])))
        return tuple(
            sort_p.bind(*operand, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys)
        )
    if num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    dimension = canonical_axis(dimension, len(shape_of(operand)))
    return sort_p.bind(operand, dimension=dimension, is_stable=bool(is_stable), num_keys=1)[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sorts keys along one dimension and permutes values in the same way.

    Args:
      keys: an array.
      values: an array of the same shape.
      dimension: the dimension; negative values count from the end.
      is_stable: whether equal keys keep their order.

    Returns:
      The sorted keys, and the values.

    Raises:
      ShapeError: if the shapes differ.
      ValueError: if ``dimension`` is out of range.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.sort_key_val(np.array([3, 1, 2]), np.array([0, 1, 2]))
      (Array([1, 2, 3], dtype=int32), Array([1, 2, 0], dtype=int32))
    """
    keys, values = sort((keys, values), dimension=dimension, is_stable=is_stable, num_keys=1)
    return keys, values


@top_k_p.def_abstract_eval
def _top_k_shape(operand: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if dtypes.issubdtype(operand.dtype, np.complexfloating):
        raise ValueError("top_k is not compatible with complex inputs.")
    check_axis("top_k", "axis", axis, operand)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if k > operand.shape[axis]:
        raise ValueError(
            "k argument to top_k must be no larger than size along axis; got "
            f"k={k} with shape={list(operand.shape)} and axis={axis}"
        )
    if isinstance(size := operand.shape[axis], int) and size > np.iinfo(np.int32).max:
        raise ValueError(
            f"top_k returns int32 indices, which will overflow for array dimensions of size {size}."
        )
    shape = (*operand.shape[:axis], k, *operand.shape[axis + 1 :])
    return [
        ShapedArray.varying(shape, dtype, operand.weak_type, vma=operand.vma)
        for dtype in (operand.dtype, np.dtype(np.int32))
    ]


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> list[Array]:
    """Returns the ``k`` largest elements along an axis, in decreasing order, and their indices.

    Equal elements are ordered by index; NaNs are the largest.

    Args:
      operand: an array of real numbers.
      k: the number of elements.
      axis: the axis; negative values count from the end.

    Returns:
      The elements and their indices as int32, each of size ``k`` along the axis.

    Raises:
      ValueError: if ``k`` is negative or larger than the axis, the elements are complex, or the
        axis is too long for int32.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.top_k(np.array([3, 1, 2]), 2)
      [Array([3, 2], dtype=int32), Array([0, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return top_k_p.bind(operand, k=integer_or_dim(k), axis=axis)
