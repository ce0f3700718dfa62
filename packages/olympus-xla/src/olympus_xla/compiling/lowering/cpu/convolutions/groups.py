# SPDX-License-Identifier: Apache-2.0
"""Convolutions in a few groups, as one convolution for each group.

They take half the time of XLA's convolution if the groups are groups of features, and a ninth if
they are groups of examples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.convolution import conv_general_dilated_p

from ...context import LoweringContext
from .limits import FEW_GROUPS, FLOATS, is_large

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
