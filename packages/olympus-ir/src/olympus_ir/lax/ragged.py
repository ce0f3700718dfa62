# SPDX-License-Identifier: Apache-2.0
"""Ragged products, in which each group of rows is multiplied with a different matrix."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..diagnostics.traceback_filtering import api_boundary
from ..programs.expansion import expansion_rules
from ..programs.primitives import instruction
from ..types import dtypes
from ..types.annotations import DTypeLike, ShardingLike
from ..types.avals import ShapedArray
from ..types.records import Record
from ..types.resharding import asked_sharding
from .contractions.dot_algorithms import PrecisionLike
from .contractions.products import (
    DotDimensionNumbers,
    canonicalize_precision,
    dot_general_p,
)
from .core.values import Array, ArrayLike, shape_of
from .elementwise.arithmetic import sub
from .elementwise.conversion import convert_element_type
from .elementwise.logic import bitwise_and, ge, lt, select
from .reductions import cumsum
from .shaping.broadcasting import broadcast_in_dim
from .shaping.creation import broadcasted_iota, full
from .shaping.rearrangement import transpose

__all__ = [
    "RaggedDotDimensionNumbers",
    "ragged_dot",
    "ragged_dot_general",
    "ragged_dot_general_p",
]

ragged_dot_general_p = instruction("ragged_dot_general", family="ragged")
ragged_dot_general_p.linear_in = (
    0,
    1,
)  # bilinear: linear in each operand for a fixed other operand


class RaggedDotDimensionNumbers(Record):
    """The roles of dimensions in a ragged product: contracted, batched, and ragged.

    Attributes:
      dot_dimension_numbers: as in `dot_general`, without the group dimension of the right operand.
      lhs_ragged_dimensions: the dimension of the left operand that is divided into groups; a
        sequence with one element.
      rhs_group_dimensions: the group dimension of the right operand; a sequence with one element.
        The sequence is empty if the ragged dimension is contracted or a batch dimension.
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    @api_boundary
    def __init__(
        self,
        dot_dimension_numbers: DotDimensionNumbers,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dot_dimension_numbers
        super().__init__(
            dot_dimension_numbers=(
                (tuple(lhs_contracting), tuple(rhs_contracting)),
                (tuple(lhs_batch), tuple(rhs_batch)),
            ),
            lhs_ragged_dimensions=tuple(lhs_ragged_dimensions),
            rhs_group_dimensions=tuple(rhs_group_dimensions),
        )


class RaggedKind(enum.Enum):
    """The role of the ragged dimension in the product.

    A free dimension is neither contracted nor a batch dimension.
    """

    FREE = enum.auto()
    CONTRACTING = enum.auto()
    BATCH = enum.auto()


def ragged_kind(numbers: RaggedDotDimensionNumbers) -> RaggedKind:
    (lhs_contracting, _), (lhs_batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in lhs_contracting:
        return RaggedKind.CONTRACTING
    return RaggedKind.BATCH if ragged in lhs_batch else RaggedKind.FREE


@ragged_dot_general_p.def_abstract_eval
def _ragged_dot_general_shape(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: Any,
    out_sharding: Any,
) -> ShapedArray:
    numbers = ragged_dot_dimension_numbers
    _check_ragged(lhs, rhs, group_sizes, numbers)
    kind = ragged_kind(numbers)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    if kind is RaggedKind.FREE:
        # Without the group dimension, the result has the shape of one group's product.
        (group,) = numbers.rhs_group_dimensions
        rhs = rhs.update(shape=(*rhs.shape[:group], *rhs.shape[group + 1 :]))
        rhs_contracting = tuple(dim - (dim > group) for dim in rhs_contracting)
        rhs_batch = tuple(dim - (dim > group) for dim in rhs_batch)
    result: Any
    ((result,), _) = dot_general_p.infer(
        (lhs, rhs),
        {
            "dimension_numbers": ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)),
            "precision": precision,
            "preferred_element_type": preferred_element_type,
            "out_sharding": out_sharding,
        },
    )
    if kind is RaggedKind.CONTRACTING:
        return result.update(shape=(group_sizes.shape[-1], *result.shape))
    return result


def _check_ragged(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    numbers: RaggedDotDimensionNumbers,
) -> None:
    name = "ragged_dot_general"
    if not dtypes.issubdtype(group_sizes.dtype, np.integer):
        raise TypeError(
            f"{name} requires that group_sizes.dtype is subtype of np.integer, got "
            f"{dtypes.name_of(group_sizes.dtype)}."
        )
    if not group_sizes.shape:
        raise TypeError(f"{name}: expected rank of group_sizes to be >=1, got a scalar.")
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            f"{name} expects exactly one lhs ragged dimension, got {numbers.lhs_ragged_dimensions}."
        )
    (ragged,) = numbers.lhs_ragged_dimensions
    if not 0 <= ragged < lhs.ndim:
        raise TypeError(
            f"{name} requires lhs ragged dimension numbers to be nonnegative and less than the "
            f"number of axes of the lhs value, got {ragged} for lhs of rank {lhs.ndim}."
        )
    groups = numbers.rhs_group_dimensions
    if ragged_kind(numbers) is not RaggedKind.FREE:
        if groups:
            raise TypeError(
                f"{name} requires zero group dimensions in the rhs when lhs ragged dimension is "
                f"contracting or batch, got {groups}."
            )
    else:
        _check_group_dimension(name, rhs, group_sizes, numbers)
    prefix = tuple(lhs.shape[dim] for dim in prefix_dimensions(numbers))
    if group_sizes.ndim > 1 and group_sizes.shape[:-1] != prefix:
        expected = (*prefix, group_sizes.shape[-1])
        raise TypeError(
            f"{name}: expected group_sizes to have shape {expected}, got {group_sizes.shape}. "
            f"The last dimension of group_sizes is the number of groups, {expected[-1]}. Any other "
            f"dimensions must be those of lhs that precede its ragged dimension, {prefix}."
        )


def _check_group_dimension(
    name: str, rhs: ShapedArray, group_sizes: ShapedArray, numbers: RaggedDotDimensionNumbers
) -> None:
    groups = numbers.rhs_group_dimensions
    if len(groups) != 1:
        raise TypeError(
            f"{name} requires exactly one rhs group dimension when lhs ragged dimension is "
            f"noncontracting, got {groups}."
        )
    (_, rhs_contracting), (_, rhs_batch) = numbers.dot_dimension_numbers
    (group,) = groups
    if not 0 <= group < rhs.ndim or group in (*rhs_contracting, *rhs_batch):
        raise TypeError(
            f"{name} requires rhs group dimension numbers to be distinct from contracting and "
            f"batch dimensions, and dimensions of rhs; got {group} for rhs of rank {rhs.ndim}."
        )
    if rhs.shape[group] != group_sizes.shape[-1]:
        raise TypeError(
            f"{name}: expected rhs group dimension size to be {group_sizes.shape[-1]}, got "
            f"{rhs.shape[group]}."
        )


def prefix_dimensions(numbers: RaggedDotDimensionNumbers) -> list[int]:
    """Returns the dimensions of the left operand along which group sizes may differ."""
    (lhs_contracting, _), (lhs_batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    kind = ragged_kind(numbers)
    if kind is RaggedKind.BATCH:
        return list(lhs_batch[: lhs_batch.index(ragged)])
    if kind is RaggedKind.CONTRACTING:
        return [*lhs_batch, *lhs_contracting[: lhs_contracting.index(ragged)]]
    used = {*lhs_batch, *lhs_contracting}
    return [*lhs_batch, *(dim for dim in range(ragged) if dim not in used)]


@expansion_rules.define(ragged_dot_general_p)
def _expanded(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: Any,
    out_sharding: Any,
) -> Any:
    """Returns the product as one `dot_general` over masked copies of the left operand.

    There is one copy for each group, with zeros outside of the group.
    """
    numbers = ragged_dot_dimension_numbers
    kind = ragged_kind(numbers)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    options: dict[str, Any] = {
        "precision": precision,
        "preferred_element_type": preferred_element_type,
        "out_sharding": None,  # the sharding applies to the final result only
    }
    if kind is RaggedKind.BATCH:
        return dot_general_p.bind(
            lhs, rhs, dimension_numbers=numbers.dot_dimension_numbers, **options
        )
    masked = _only_own_rows(lhs, group_sizes, numbers)  # [group, *lhs]
    lhs_contracting = tuple(dim + 1 for dim in lhs_contracting)
    lhs_batch = tuple(dim + 1 for dim in lhs_batch)
    if kind is RaggedKind.FREE:
        lhs_contracting = (*lhs_contracting, 0)
        rhs_contracting = (*rhs_contracting, *numbers.rhs_group_dimensions)
    result = dot_general_p.bind(
        masked,
        rhs,
        dimension_numbers=((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)),
        **options,
    )
    if kind is RaggedKind.FREE:
        return result
    count = len(lhs_batch)
    order = (count, *(dim for dim in range(result.ndim) if dim != count))
    return transpose(result, order)


def _only_own_rows(lhs: Any, group_sizes: Any, numbers: RaggedDotDimensionNumbers) -> Any:
    (ragged,) = numbers.lhs_ragged_dimensions
    lhs_shape, sizes_shape = shape_of(lhs), shape_of(group_sizes)
    shape = (sizes_shape[-1], *lhs_shape)
    group_sizes = convert_element_type(group_sizes, np.int32)
    ends = cumsum(group_sizes, len(sizes_shape) - 1)
    starts = sub(ends, group_sizes)
    prefix = prefix_dimensions(numbers) if len(sizes_shape) > 1 else []
    positions = (*(dim + 1 for dim in prefix), 0)
    # Sort the dimensions, because broadcast_in_dim requires increasing order.
    order = sorted(range(len(positions)), key=positions.__getitem__)
    rows = broadcasted_iota(np.int32, shape, ragged + 1)
    inside = bitwise_and(
        *(
            compare(
                rows,
                broadcast_in_dim(transpose(bounds, order), shape, sorted(positions)),
            )
            for compare, bounds in ((ge, starts), (lt, ends))
        )
    )
    repeated = broadcast_in_dim(lhs, shape, tuple(range(1, len(shape))))
    return select(inside, repeated, full(shape, 0, repeated.dtype))


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiplies two arrays, with one dimension divided into groups of given sizes.

    If the ragged dimension is contracted, the result has a new first dimension with one product for
    each group. If the ragged dimension is a batch dimension, the groups have no effect. Otherwise
    each group is multiplied with a different part of ``rhs``.

    Args:
      lhs: an array.
      rhs: an array.
      group_sizes: integers, the number of rows of ``lhs`` in each group. Rows that belong to no
        group count as zero. Sizes may differ along the dimensions of ``lhs`` before the ragged
        dimension.
      ragged_dot_dimension_numbers: the roles of the dimensions.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      group_offset: must be None.
      out_sharding: as in `dot_general`.

    Returns:
      An array.

    Raises:
      TypeError: if dimensions or dtypes do not fit.
      NotImplementedError: if ``group_offset`` is given.
    """
    if group_offset is not None:
        raise NotImplementedError(
            "ragged_dot_general: group_offset is not supported; slice the groups of rhs and the "
            "rows of lhs instead."
        )
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, "ragged_dot_general"
        )
    return ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        group_offset=None,
        out_sharding=asked_sharding(out_sharding, "ragged_dot_general"),
    )


_ROWS_OF_A_MATRIX = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiplies consecutive groups of rows of a matrix, each by a different matrix.

    Args:
      lhs: a matrix of shape ``(m, k)``.
      rhs: a matrix for each group, of shape ``(groups, k, n)``.
      group_sizes: integers, the number of rows in each group. Rows that belong to no group become
        zero.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      group_offset: must be None.
      out_sharding: as in `dot_general`.

    Returns:
      A matrix of shape ``(m, n)``.

    Raises:
      TypeError: if dimensions or dtypes do not fit.
      NotImplementedError: if ``group_offset`` is given.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> matrices = np.array([[[1.0]], [[10.0]]])
      >>> lax.ragged_dot(np.ones((4, 1)), matrices, np.array([1, 2]))
      Array([[ 1.],
             [10.],
             [10.],
             [ 0.]], dtype=float32)
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _ROWS_OF_A_MATRIX,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )
