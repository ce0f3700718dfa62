# SPDX-License-Identifier: Apache-2.0
"""Reductions over segments: rows of an array with the same segment id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.lax.core.sizes import as_size
from olympus_ir.lax.indexing.gathering import GatherScatterMode
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.resharding import asked_sharding, with_out_sharding

from ..core.promotion import check_arraylike, ensure_array
from ..elementwise.arithmetic import floor_divide
from ..reductions import extremes, sums
from .ranges import arange

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


class _Reduction(NamedTuple):
    """A kind of reduction over segments.

    Attributes:
      name: the name of the public function.
      update: the operation of ``x.at[...]`` that combines rows.
      neutral: function from a dtype to the value of a segment without rows.
      along_axis: the same reduction along an axis.
    """

    name: str
    update: str
    neutral: Callable[[Any], Any]
    along_axis: Callable[..., Any]


def _reduce_segments(
    reduction: _Reduction,
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
    out_sharding: Any,
) -> Array:
    check_arraylike(reduction.name, data, segment_ids)
    if bucket_size is not None:
        bucket_size = as_size(bucket_size)
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "mode": lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode,
        "wrap_negative_indices": False,
    }

    def reduced(data: Any, segment_ids: Any) -> Any:
        data, segment_ids = ensure_array(data), ensure_array(segment_ids)
        count = _number_of_segments(reduction.name, segment_ids, num_segments)
        return _scatter_rows(reduction, data, segment_ids, count, bucket_size, options)

    if out_sharding is None:
        return reduced(data, segment_ids)
    sharding = asked_sharding(out_sharding, reduction.name)
    if sharding is not None and sharding.spec.unreduced and reduction.update != "add":
        raise NotImplementedError(
            f"unreduced for {reduction.update} is not yet supported: the results of "
            f"{reduction.name} on several devices do not add up. Request a replicated result."
        )
    return with_out_sharding(reduced, (data, segment_ids), out_sharding, reduction.name)


def _scatter_rows(
    reduction: _Reduction,
    data: Any,
    segment_ids: Any,
    count: int,
    bucket_size: int | None,
    options: dict[str, Any],
) -> Any:
    start = reduction.neutral(data.dtype)

    def scattered(shape: tuple[int, ...], index: Any, values: Any) -> Any:
        update = getattr(lax.full(shape, start, data.dtype).at[index], reduction.update)
        return update(values, **options)

    rows = segment_ids.shape[0] if segment_ids.ndim else 1
    buckets = 1 if bucket_size is None else -(-rows // bucket_size)
    if bucket_size is None or buckets == 1:
        return scattered((count, *data.shape[1:]), segment_ids, data)
    # Each bucket is reduced separately, so that rounding errors of long sums stay small.
    bucket = floor_divide(arange(rows), bucket_size)
    partial = scattered(
        (buckets, count, *data.shape[1:]), (bucket, segment_ids[np.newaxis, :]), data[np.newaxis]
    )
    return reduction.along_axis(partial, axis=0).astype(data.dtype)


def _number_of_segments(name: str, segment_ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        highest = extremes.max(segment_ids) + 1
        if isinstance(highest, Tracer) and highest.concrete_or_none() is None:
            raise ConcretizationTypeError(
                highest,
                f"{name}() `num_segments` argument: the number of segments is not known while "
                "segment_ids are traced; pass num_segments.",
            )
        num_segments = int(highest)
    count = as_size(num_segments)
    if count < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {count}.")
    return count


def _lowest(dtype: Any) -> Any:
    """Returns a lower bound of a dtype: negative infinity, False or the lowest integer."""
    if dtypes.issubdtype(dtype, np.inexact):
        return -np.inf
    return False if dtype == np.bool_ else int(dtypes.iinfo(dtype).min)


def _highest(dtype: Any) -> Any:
    """Returns an upper bound of a dtype: infinity, True or the highest integer."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.inf
    return True if dtype == np.bool_ else int(dtypes.iinfo(dtype).max)


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Sums the rows of an array that belong to the same segment.

    Args:
      data: an array, whose first dimension counts the rows.
      segment_ids: integers, the segment of each row; integers that are negative or too large are
        ignored.
      num_segments: the number of segments; by default, one more than the largest of
        ``segment_ids``. It is required if ``segment_ids`` are traced.
      indices_are_sorted: a promise that ``segment_ids`` do not decrease.
      unique_indices: a promise that no segment has several rows.
      bucket_size: the number of rows that are reduced together, before the partial results are
        reduced; by default, all rows are reduced at once. With buckets, sums lose less precision,
        and are deterministic on accelerators.
      mode: the treatment of ids out of range, as in ``x.at[...]``.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(num_segments, *data.shape[1:])`` and of the dtype of ``data``. A segment
      without rows becomes 0.

    Raises:
      ConcretizationTypeError: if ``segment_ids`` are traced and ``num_segments`` is not given.
      ValueError: if ``num_segments`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> from olympus_numpy.numerics.segments import segment_sum
      >>> segment_sum(array([1.0, 2.0, 3.0]), array([0, 0, 2]))
      Array([3., 0., 3.], dtype=float32)
    """
    return _reduce_segments(
        _Reduction("segment_sum", "add", lambda dtype: 0, sums.sum),
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
        out_sharding,
    )


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiplies the rows of an array that belong to the same segment.

    Args:
      data: an array, whose first dimension counts the rows.
      segment_ids: integers, the segment of each row; integers that are negative or too large are
        ignored.
      num_segments: the number of segments; by default, one more than the largest of
        ``segment_ids``. It is required if ``segment_ids`` are traced.
      indices_are_sorted: a promise that ``segment_ids`` do not decrease.
      unique_indices: a promise that no segment has several rows.
      bucket_size: the number of rows that are reduced together, before the partial results are
        reduced; by default, all rows are reduced at once. With buckets, sums lose less precision,
        and are deterministic on accelerators.
      mode: the treatment of ids out of range, as in ``x.at[...]``.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(num_segments, *data.shape[1:])`` and of the dtype of ``data``. A segment
      without rows becomes 1.

    Raises:
      ConcretizationTypeError: if ``segment_ids`` are traced and ``num_segments`` is not given.
      ValueError: if ``num_segments`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> from olympus_numpy.numerics.segments import segment_prod
      >>> segment_prod(array([2.0, 3.0, 4.0]), array([0, 0, 2]))
      Array([6., 1., 4.], dtype=float32)
    """
    return _reduce_segments(
        _Reduction("segment_prod", "multiply", lambda dtype: 1, sums.prod),
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
        out_sharding,
    )


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the elementwise maximum of the rows of an array that belong to the same segment.

    Args:
      data: an array, whose first dimension counts the rows.
      segment_ids: integers, the segment of each row; integers that are negative or too large are
        ignored.
      num_segments: the number of segments; by default, one more than the largest of
        ``segment_ids``. It is required if ``segment_ids`` are traced.
      indices_are_sorted: a promise that ``segment_ids`` do not decrease.
      unique_indices: a promise that no segment has several rows.
      bucket_size: the number of rows that are reduced together, before the partial results are
        reduced; by default, all rows are reduced at once. With buckets, sums lose less precision,
        and are deterministic on accelerators.
      mode: the treatment of ids out of range, as in ``x.at[...]``.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(num_segments, *data.shape[1:])`` and of the dtype of ``data``. A segment
      without rows becomes negative infinity, or the lowest integer.

    Raises:
      ConcretizationTypeError: if ``segment_ids`` are traced and ``num_segments`` is not given.
      ValueError: if ``num_segments`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> from olympus_numpy.numerics.segments import segment_max
      >>> segment_max(array([1.0, 2.0, 3.0]), array([0, 0, 1]))
      Array([2., 3.], dtype=float32)
    """
    return _reduce_segments(
        _Reduction("segment_max", "max", _lowest, extremes.max),
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
        out_sharding,
    )


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the elementwise minimum of the rows of an array that belong to the same segment.

    Args:
      data: an array, whose first dimension counts the rows.
      segment_ids: integers, the segment of each row; integers that are negative or too large are
        ignored.
      num_segments: the number of segments; by default, one more than the largest of
        ``segment_ids``. It is required if ``segment_ids`` are traced.
      indices_are_sorted: a promise that ``segment_ids`` do not decrease.
      unique_indices: a promise that no segment has several rows.
      bucket_size: the number of rows that are reduced together, before the partial results are
        reduced; by default, all rows are reduced at once. With buckets, sums lose less precision,
        and are deterministic on accelerators.
      mode: the treatment of ids out of range, as in ``x.at[...]``.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(num_segments, *data.shape[1:])`` and of the dtype of ``data``. A segment
      without rows becomes infinity, or the highest integer.

    Raises:
      ConcretizationTypeError: if ``segment_ids`` are traced and ``num_segments`` is not given.
      ValueError: if ``num_segments`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> from olympus_numpy.numerics.segments import segment_min
      >>> segment_min(array([1.0, 2.0, 3.0]), array([0, 0, 1]))
      Array([1., 3.], dtype=float32)
    """
    return _reduce_segments(
        _Reduction("segment_min", "min", _highest, extremes.min),
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
        out_sharding,
    )
