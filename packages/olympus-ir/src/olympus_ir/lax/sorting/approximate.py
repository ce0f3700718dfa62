# SPDX-License-Identifier: Apache-2.0
"""Approximate selection of the largest and smallest elements, which is fast on accelerators.

The algorithm is by F. Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s" (2022).
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...programs.expansion import expansion_rules
from ...programs.primitives import instruction
from ...programs.tracing import is_constant_dim
from ...types import dtypes
from ...types.avals import ShapedArray
from ..core.sizes import as_size
from ..core.values import Array, ArrayLike
from ..elementwise.arithmetic import neg
from ..indexing.slicing import slice_in_dim
from ..shaping.creation import broadcasted_iota
from .ordering import sort

__all__ = ["approx_max_k", "approx_min_k", "approx_top_k_p"]

approx_top_k_p = instruction("approx_top_k", multiple_results=True, family="sorting")


def _reduced_size(size: int, rank: int, k: int, recall_target: float, size_override: int) -> int:
    """Returns the number of candidates that the partial reduction keeps of ``size`` elements."""
    tile = 1024 if rank == 1 else 128
    if size <= tile:
        return size
    if k == 1:
        return tile
    if recall_target == 1.0:
        return size
    whole = size if size_override < 0 else size_override
    reduced_size = min(max(int((1 - k) / math.log(recall_target)), tile), size)
    halvings = min(int(math.log2(whole / reduced_size)), math.ceil(math.log2(size // tile)))
    if halvings <= 0 and whole == size:
        return size
    tiles = -(-size // tile)
    return -(-tiles // 2**halvings) * tile


@approx_top_k_p.def_abstract_eval
def _approx_top_k_types(
    operand: ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[ShapedArray]:
    if not operand.shape:
        raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {operand.shape}")
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if not dtypes.issubdtype(operand.dtype, np.floating):
        raise ValueError(f"operand must be a floating type, got {dtypes.name_of(operand.dtype)}")
    if not -operand.ndim <= reduction_dimension < operand.ndim:
        raise IndexError(
            f"reduction_dimension={reduction_dimension} is out of bounds for an operand of shape "
            f"{operand.shape}"
        )
    axis = reduction_dimension % operand.ndim
    size = operand.shape[axis]
    if size < k:
        raise ValueError(f"k must be smaller than the size of reduction_dim {size}, got {k}")
    if not 0.0 < recall_target <= 1.0:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    if 0 <= reduction_input_size_override < size:
        raise ValueError(
            "reduction_input_size_override must be -1, or at least the size of the reduction "
            f"dimension, {size}; got {reduction_input_size_override}"
        )
    count = k
    if not aggregate_to_topk:
        if not (is_constant_dim(size) and is_constant_dim(k)):
            raise NotImplementedError(
                "approx_top_k with aggregate_to_topk=False is not implemented where k or the size "
                f"of the reduction dimension is symbolic, got k={k} and a size of {size}"
            )
        count = _reduced_size(size, operand.ndim, k, recall_target, reduction_input_size_override)
    shape = (*operand.shape[:axis], count, *operand.shape[axis + 1 :])
    return [
        ShapedArray.varying(shape, dtype, operand.weak_type, vma=operand.vma)
        for dtype in (operand.dtype, np.dtype(np.int32))
    ]


@expansion_rules.define(approx_top_k_p)
def _exact_top_k(operand: Any, *, reduction_dimension: int, is_max_k: bool, **params: Any) -> Any:
    """Selects the largest or smallest elements exactly, by sorting.

    Platforms without an approximate algorithm use this function.
    """
    axis = reduction_dimension % operand.ndim
    ((values, _), _) = approx_top_k_p.infer(
        (operand.aval,),
        {"reduction_dimension": reduction_dimension, "is_max_k": is_max_k, **params},
    )
    count = values.shape[axis]  # type: ignore[attr-defined]
    positions = broadcasted_iota(np.int32, operand.shape, axis)
    keys = neg(operand) if is_max_k else operand
    keys, positions = sort((keys, positions), dimension=axis, num_keys=1)
    keys, positions = (slice_in_dim(array, 0, count, axis=axis) for array in (keys, positions))
    return [neg(keys) if is_max_k else keys, positions]


def _approx_top_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
    *,
    is_max_k: bool,
) -> list[Array]:
    return approx_top_k_p.bind(
        operand,
        k=as_size(k),
        reduction_dimension=operator.index(reduction_dimension),
        recall_target=float(recall_target),
        is_max_k=is_max_k,
        reduction_input_size_override=operator.index(reduction_input_size_override),
        aggregate_to_topk=bool(aggregate_to_topk),
    )


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Selects the ``k`` largest elements along a dimension; approximately on TPU, else exactly.

    Args:
      operand: an array of floats.
      k: the number of elements.
      reduction_dimension: the dimension; negative values count from the end.
      recall_target: the fraction of the true elements that is expected among the results, in (0,
        1].
      reduction_input_size_override: the size of the dimension over all devices, if the
        dimension is split over several devices; -1 otherwise.
      aggregate_to_topk: whether to reduce the candidates to exactly ``k`` elements; otherwise all
        candidates are returned.

    Returns:
      A list: the elements in decreasing order, and their indices as int32.

    Raises:
      ValueError: if ``k``, ``recall_target``, ``reduction_input_size_override`` or the dtype is not
        accepted.
      IndexError: if ``reduction_dimension`` is out of range.
      TypeError: if the operand is a scalar.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.approx_max_k(np.array([3.0, 1.0, 2.0]), 2)[0]
      Array([3., 2.], dtype=float32)
    """
    return _approx_top_k(
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate_to_topk,
        is_max_k=True,
    )


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Selects the ``k`` smallest elements along a dimension; approximately on TPU, else exactly.

    Args:
      operand: an array of floats.
      k: the number of elements.
      reduction_dimension: the dimension; negative values count from the end.
      recall_target: the fraction of the true elements that is expected among the results, in (0,
        1].
      reduction_input_size_override: the size of the dimension over all devices, if the
        dimension is split over several devices; -1 otherwise.
      aggregate_to_topk: whether to reduce the candidates to exactly ``k`` elements; otherwise all
        candidates are returned.

    Returns:
      A list: the elements in increasing order, and their indices as int32.

    Raises:
      ValueError: if ``k``, ``recall_target``, ``reduction_input_size_override`` or the dtype is not
        accepted.
      IndexError: if ``reduction_dimension`` is out of range.
      TypeError: if the operand is a scalar.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.approx_min_k(np.array([3.0, 1.0, 2.0]), 2)[1]
      Array([1, 2], dtype=int32)
    """
    return _approx_top_k(
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate_to_topk,
        is_max_k=False,
    )
