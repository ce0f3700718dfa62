# SPDX-License-Identifier: Apache-2.0
"""Convolutions in groups, as one convolution for each group.

They take half the time of XLA's convolution if the groups are groups of features, and a ninth if
they are groups of examples. A loop over many groups of features compiles one convolution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.convolution.dimension_numbers import ConvDimensionNumbers
from olympus_ir.programs.staging import trace_to_closed

from ...context import LoweringContext
from .limits import FEW_GROUPS, FLOATS, is_large

# A step of a loop over groups costs about as much as this many products.
_STEP = 2**16

# With fewer features in each group, a single convolution is faster.
_FEWEST_FEATURES = 4


def is_split(
    context: LoweringContext, *, feature_group_count: int, batch_group_count: int, **params: Any
) -> bool:
    """Returns whether `convolutions_of_groups` replaces XLA's convolution."""
    features = params["dimension_numbers"].lhs_spec[1]
    return (
        batch_group_count == 1
        and 1 < feature_group_count <= FEW_GROUPS
        and is_large(context, FLOATS)
        and context.avals_in[0].shape[features] >= _FEWEST_FEATURES * feature_group_count
    )


def is_looped(
    context: LoweringContext, *, feature_group_count: int, batch_group_count: int, **params: Any
) -> bool:
    """Returns whether `loop_over_groups` replaces XLA's convolution."""
    numbers = params["dimension_numbers"]
    lhs, rhs = context.avals_in
    return (
        batch_group_count == 1
        and feature_group_count > FEW_GROUPS
        and is_large(context, FLOATS)
        and lhs.shape[numbers.lhs_spec[1]] >= _FEWEST_FEATURES * feature_group_count
        and rhs.shape[numbers.rhs_spec[0]] >= _FEWEST_FEATURES * feature_group_count
        and _products(context.aval_out, rhs, numbers) >= _STEP * feature_group_count
    )


def _products(out: Any, rhs: Any, dimension_numbers: Any) -> int:
    """Returns the number of products of elements."""
    outputs = rhs.shape[dimension_numbers.rhs_spec[0]]
    return math.prod(out.shape) * math.prod(rhs.shape) // outputs


def is_split_by_batch(
    context: LoweringContext, *, feature_group_count: int, batch_group_count: int, **params: Any
) -> bool:
    """Returns whether `convolutions_of_batch_groups` replaces XLA's convolution."""
    batch = params["dimension_numbers"].lhs_spec[0]
    return (
        feature_group_count == 1
        and 1 < batch_group_count <= FEW_GROUPS
        and is_large(context, FLOATS)
        and context.avals_in[0].shape[batch] >= _FEWEST_FEATURES * batch_group_count
    )


def convolutions_of_groups(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, feature_group_count: int, **params: Any
) -> Any:
    """Convolves each group of features separately."""
    convolve = functools.partial(
        conv_general_dilated_p.bind,
        dimension_numbers=dimension_numbers,
        feature_group_count=1,
        **params,
    )
    split = (dimension_numbers.lhs_spec[1], dimension_numbers.rhs_spec[0])
    return _of_groups(convolve, lhs, rhs, split, feature_group_count, dimension_numbers.out_spec[1])


def loop_over_groups(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    feature_group_count: int,
    **params: Any,
) -> Any:
    """Convolves one group of features after the other, with features last.

    If features came first, each step would copy its group.
    """
    rank = lhs.ndim
    features_last, space = rank - 1, tuple(range(1, rank - 1))
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    lhs = lax.transpose(lhs, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1]))
    rhs = lax.transpose(rhs, (*rhs_spec[2:], rhs_spec[1], rhs_spec[0]))
    spec = (0, features_last, *space)
    convolve = functools.partial(
        conv_general_dilated_p.bind,
        dimension_numbers=ConvDimensionNumbers(spec, (rank - 1, rank - 2, *range(rank - 2)), spec),
        feature_group_count=1,
        **params,
    )
    inputs, outputs = (operand.shape[-1] // feature_group_count for operand in (lhs, rhs))

    def group(index: Any) -> Any:
        return convolve(
            lax.dynamic_slice_in_dim(lhs, lax.mul(index, np.int32(inputs)), inputs, features_last),
            lax.dynamic_slice_in_dim(rhs, lax.mul(index, np.int32(outputs)), outputs, rank - 1),
        )

    def step(state: Any) -> Any:
        index, result = state
        start = lax.mul(index, np.int32(outputs))
        result = lax.dynamic_update_slice_in_dim(result, group(index), start, features_last)
        return lax.add(index, np.int32(1)), result

    first = trace_to_closed(lambda: [group(np.int32(0))], ()).out_avals[0]
    empty = lax.full((*first.shape[:-1], rhs.shape[-1]), 0, first.dtype)
    end = np.int32(feature_group_count)
    result = lax.while_loop(lambda state: lax.lt(state[0], end), step, (np.int32(0), empty))[1]
    order = [0] * rank
    for source, position in zip(spec, out_spec, strict=True):
        order[position] = source
    return lax.transpose(result, order)


def convolutions_of_batch_groups(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, batch_group_count: int, **params: Any
) -> Any:
    """Convolves each group of examples with its own windows.

    This is the derivative of a convolution with groups of features with respect to the windows.
    """
    convolve = functools.partial(
        conv_general_dilated_p.bind,
        dimension_numbers=dimension_numbers,
        batch_group_count=1,
        **params,
    )
    split = (dimension_numbers.lhs_spec[0], dimension_numbers.rhs_spec[0])
    return _of_groups(convolve, lhs, rhs, split, batch_group_count, dimension_numbers.out_spec[1])


def _of_groups(
    convolve: Callable[[Any, Any], Any],
    lhs: Any,
    rhs: Any,
    split: tuple[int, int],
    count: int,
    joined: int,
) -> Any:
    """Convolves parts of the operands, and joins the results along a dimension."""
    parts = []
    for group in range(count):
        operands = []
        for operand, dimension in zip((lhs, rhs), split, strict=True):
            size = operand.shape[dimension] // count
            start = group * size
            operands.append(lax.slice_in_dim(operand, start, start + size, axis=dimension))
        parts.append(convolve(*operands))
    return lax.concatenate(parts, joined)
