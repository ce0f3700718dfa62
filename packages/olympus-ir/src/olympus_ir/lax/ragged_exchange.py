# SPDX-License-Identifier: Apache-2.0
"""Exchange of slices of different sizes across a named axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.primitives import instruction
from ..programs.tracing import current
from ..types import dtypes
from ..types.avals import ShapedArray, get_aval
from .collectives.named_axes import (
    AxisName,
    Groups,
    axis_names,
    checked_groups,
    group_size,
    named_effects,
    pvary,
)
from .collectives.operations import all_gather, all_to_all
from .core.values import Array, ArrayLike
from .elementwise.arithmetic import add, sub
from .elementwise.conversion import convert_element_type
from .elementwise.logic import bitwise_and, ge, lt, select
from .indexing.gathering import GatherDimensionNumbers, gather
from .reductions import reduce_max
from .shaping.broadcasting import broadcast_in_dim, expand_dims
from .shaping.creation import broadcasted_iota, full

__all__ = ["ragged_all_to_all", "ragged_all_to_all_p"]

# Inferred types are not cached, because the valid numbers of slices depend on the size of the named
# axis, which is not a parameter.
ragged_all_to_all_p = instruction(
    "ragged_all_to_all", family="ragged_exchange", cache_inference=False
)
ragged_all_to_all_p.linear_in = (0, 1)

_DESCRIPTIONS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


@ragged_all_to_all_p.def_effectful_abstract_eval
def _ragged_all_to_all_type(
    *operands: ShapedArray, axis_name: tuple, axis_index_groups: tuple | None
) -> tuple[ShapedArray, frozenset]:
    _check(*operands, axis_name=axis_name, size=group_size(axis_index_groups, axis_name))
    return operands[1], named_effects(axis_name)


def _check_descriptions(*descriptions: Any) -> None:
    for name, aval in zip(_DESCRIPTIONS, descriptions, strict=True):
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise ValueError(f"ragged_all_to_all {name} must be integer type.")
    for name, aval in zip(_DESCRIPTIONS, descriptions, strict=True):
        if aval.ndim != 1 or aval.shape[0] < 1:
            raise ValueError(
                f"ragged_all_to_all {name} must be rank 1 with positive dimension size, but got "
                f"shape {aval.shape}"
            )


def _check(
    operand: ShapedArray,
    output: ShapedArray,
    *descriptions: ShapedArray,
    axis_name: tuple,
    size: int,
) -> None:
    _check_descriptions(*descriptions)
    counts = [aval.shape[0] for aval in descriptions]
    if len(set(counts)) > 1 or counts[0] % size:
        raise ValueError(
            "ragged_all_to_all input_offsets, send_sizes, output_offsets and recv_sizes must have "
            f"one length that the size of the axis {axis_name} ({size}) divides, got the lengths "
            f"{counts}"
        )
    if operand.ndim < 1 or operand.ndim != output.ndim or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            "ragged_all_to_all operand and output must agree in all dimensions but the first, got "
            f"shapes {operand.shape} and {output.shape}"
        )
    if operand.dtype != output.dtype:
        raise TypeError(
            "ragged_all_to_all operand and output must have the same dtype, got "
            f"{dtypes.name_of(operand.dtype)} and {dtypes.name_of(output.dtype)}"
        )


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisName,
    axis_index_groups: Groups = None,
) -> Array:
    """Exchanges slices of different sizes between all instances along a named axis.

    The slices are along the first dimension. The number ``K`` of slices is a multiple of the axis
    size. The first ``K / size`` slices go to the first instance, the next slices to the second
    instance, and so on.

    Args:
      operand: an array of shape ``(N, ...)``, whose slices are sent.
      output: an array of shape ``(M, ...)``, into which received slices are written.
      input_offsets: K integers, the start indices of the slices in ``operand``.
      send_sizes: K integers, the sizes of the slices that this instance sends.
      output_offsets: K integers, the start indices of the slices in the *receivers'* ``output``.
      recv_sizes: K integers, the sizes of the slices that this instance receives, in the order of
        their senders. They equal ``all_to_all(send_sizes, axis_name, 0, 0, tiled=True)``.
      axis_name: a name or a tuple of names.
      axis_index_groups: groups of indices of equal size; if given, slices are exchanged within each
        group.

    Returns:
      ``output`` with the received slices. Derivatives are correct if no two slices overlap.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if shapes do not match.

    Example:
      >>> import numpy as np
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> rows, integers = np.ones((3, 2), np.float32), np.ones(4, np.int32)
      >>> exchange = lambda *args: ragged_all_to_all(*args, axis_name="i")
      >>> program = make_olympuspr(exchange, axis_env=[("i", 4)])
      >>> program(rows, rows, integers, integers, integers, integers).out_avals
      [ShapedArray(float32[3,2])]
    """
    _check_descriptions(*map(get_aval, (input_offsets, send_sizes, output_offsets, recv_sizes)))
    names = axis_names(axis_name)
    groups = checked_groups(axis_index_groups, names)
    for name in names:
        current.axes.size(name)
    args = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    if current.axes.varying:
        args = tuple(pvary(arg, names) for arg in args)
    return ragged_all_to_all_p.bind(*args, axis_name=names, axis_index_groups=groups)


def covered_rows(offsets: Any, sizes: Any, rows: int) -> Any:
    """Returns the rows that slices cover, as a mask with one row of booleans for each slice."""
    shape = (offsets.shape[0], rows)
    offsets, sizes = (convert_element_type(array, np.int32) for array in (offsets, sizes))
    row = broadcasted_iota(np.int32, shape, 1)
    start = broadcast_in_dim(offsets, shape, (0,))
    stop = broadcast_in_dim(add(offsets, sizes), shape, (0,))
    return bitwise_and(ge(row, start), lt(row, stop))


def exchange_by_gathering(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple,
    axis_index_groups: tuple | None,
) -> Any:
    """Computes `ragged_all_to_all` by gathering all rows and selecting, for any platform."""

    def exchanged(values: Any) -> Any:
        return all_to_all(values, axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True)

    operands = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    size = group_size(axis_index_groups, axis_name)
    _check(*map(get_aval, operands), axis_name=axis_name, size=size)
    rows, rows_sent = output.shape[0], operand.shape[0]
    if rows == 0 or rows_sent == 0:
        return output
    input_offsets, output_offsets = (
        exchanged(convert_element_type(array, np.int32))
        for array in (input_offsets, output_offsets)
    )
    gathered = all_gather(operand, axis_name, axis_index_groups=axis_index_groups, tiled=True)
    # If several slices cover a row, the last slice is used.
    covered = covered_rows(output_offsets, recv_sizes, rows)
    slices = broadcasted_iota(np.int32, covered.shape, 0)
    last = reduce_max(select(covered, slices, full(covered.shape, -1, np.int32)), (0,))
    is_written = ge(last, np.int32(0))
    none = full((rows,), 0, np.int32)
    # If slice k covers row m of the output, row m is a copy of a row of the slice's sender: the row
    # with the index m - output_offsets[k] + input_offsets[k].
    sender = np.repeat(np.arange(size, dtype=np.int32), covered.shape[0] // size)
    shift = sub(add(sender * np.int32(rows_sent), input_offsets), output_offsets)
    row = add(_take(shift, select(is_written, last, none)), broadcasted_iota(np.int32, (rows,), 0))
    received = _take(gathered, select(is_written, row, none))
    return select(broadcast_in_dim(is_written, output.shape, (0,)), received, output)


def _take(operand: Any, rows: Any) -> Any:
    """Returns the given rows of an array; clamps indices to the array's range."""
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, operand.ndim)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    indices = expand_dims(rows, (1,))
    return gather(operand, indices, numbers, (1, *operand.shape[1:]), mode="clip")
