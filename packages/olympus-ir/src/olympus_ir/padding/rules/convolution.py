# SPDX-License-Identifier: Apache-2.0
"""Padding rules of convolutions: padded elements of operands become zeros, which add nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import lax
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused
from .shaping import padded_along


@padding_rules.define(lax.conv_general_dilated_p)
def _conv_general_dilated(
    site: Site,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[Any, Any]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: Any,
    batch_group_count: Any,
    **params: Any,
) -> Any:
    lengths, (lhs_aval, rhs_aval), result = site.lengths, site.operands, site.results[0]
    _check_groups(site, dimension_numbers, feature_group_count, batch_group_count)
    lhs = lengths.filled(lhs, lhs_aval, 0)
    rhs = lengths.filled(rhs, rhs_aval, 0)
    pads, dilations = [], []
    for position, (low, high) in enumerate(padding):
        axis, kernel_axis, result_axis = (spec[position + 2] for spec in dimension_numbers)
        dilation, stride = lhs_dilation[position], window_strides[position]
        sizes = (lhs_aval.shape[axis], rhs_aval.shape[kernel_axis], low, high)
        if any(isinstance(size, SymbolicDim) for size in sizes):
            size = lengths.capacity(result.shape[result_axis])
            reach = (size - 1) * stride + rhs_dilation[position] * (rhs.shape[kernel_axis] - 1) + 1
            if isinstance(low, SymbolicDim):
                zero = lax.full_like(lhs, 0, shape=())
                lhs = padded_along(lengths, lhs, axis, low, dilation - 1, reach, zero)
                low, dilation = 0, 1
            spread = dilation * (lhs.shape[axis] - 1) + 1
            high = reach - low - spread
        pads.append((low, high))
        dilations.append(dilation)
    convolved = lax.conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=window_strides,
        padding=tuple(pads),
        lhs_dilation=tuple(dilations),
        rhs_dilation=rhs_dilation,
        dimension_numbers=dimension_numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        **params,
    )
    return lengths.guarded(convolved, result)


def _check_groups(site: Site, numbers: Any, feature_groups: Any, batch_groups: Any) -> None:
    """Raises an error if the number of features or examples in a group is symbolic."""
    lhs, rhs = site.operands
    varying = [isinstance(groups, SymbolicDim) for groups in (feature_groups, batch_groups)]
    if any(varying):
        raise refused(site, lax.conv_general_dilated_p, "the number of groups varies")
    features = (lhs.shape[numbers.lhs_spec[1]], *(rhs.shape[axis] for axis in numbers.rhs_spec[:2]))
    grouped = (*features, lhs.shape[numbers.lhs_spec[0]])
    if (feature_groups > 1 or batch_groups > 1) and any(
        isinstance(size, SymbolicDim) for size in grouped
    ):
        raise refused(
            site, lax.conv_general_dilated_p, "groups of a varying number of features or examples"
        )
