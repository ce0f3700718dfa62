# SPDX-License-Identifier: Apache-2.0
"""Replacements for XLA's convolution on CPUs, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...context import LoweringContext
from . import dilations, groups, long_windows, products, views, volumes


class _Replacement(NamedTuple):
    """A function that replaces XLA's convolution.

    Attributes:
      is_faster: from the context and the parameters of a convolution to whether it applies.
      function: the function of the two operands and of some parameters.
      parameters: the names of these parameters.
    """

    is_faster: Callable[..., bool]
    function: Callable[..., Any]
    parameters: tuple[str, ...]


_GEOMETRY = ("dimension_numbers", "window_strides", "padding", "rhs_dilation")
_OTHERS = ("lhs_dilation", "precision", "preferred_element_type", "out_sharding")

# The first that applies is chosen.
_REPLACEMENTS = (
    _Replacement(products.is_product, products.product, ("dimension_numbers", "precision")),
    _Replacement(
        views.is_sum_of_views,
        views.sum_of_views,
        (*_GEOMETRY, "lhs_dilation", "feature_group_count", "preferred_element_type"),
    ),
    _Replacement(
        long_windows.is_of_long_windows,
        long_windows.convolution_by_rows,
        ("dimension_numbers", "padding", "precision"),
    ),
    _Replacement(
        products.is_products_of_views,
        products.products_of_views,
        (*_GEOMETRY, "batch_group_count", "precision"),
    ),
    _Replacement(
        dilations.is_of_phases,
        dilations.convolutions_of_phases,
        ("dimension_numbers", "padding", *_OTHERS),
    ),
    _Replacement(
        volumes.is_of_slices,
        volumes.convolution_of_slices,
        (*_GEOMETRY, "precision", "preferred_element_type", "out_sharding"),
    ),
    _Replacement(
        groups.is_split,
        groups.convolutions_of_groups,
        (*_GEOMETRY, *_OTHERS, "feature_group_count", "batch_group_count"),
    ),
    _Replacement(
        groups.is_looped,
        groups.loop_over_groups,
        (*_GEOMETRY, *_OTHERS, "feature_group_count", "batch_group_count"),
    ),
    _Replacement(
        groups.is_split_by_batch,
        groups.convolutions_of_batch_groups,
        (*_GEOMETRY, *_OTHERS, "feature_group_count", "batch_group_count"),
    ),
)


def replacement(
    context: LoweringContext, params: dict[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]] | None:
    """Returns a function of both operands with its parameters, or None for XLA's convolution."""
    for replacement in _REPLACEMENTS:
        if replacement.is_faster(context, **params):
            return replacement.function, {name: params[name] for name in replacement.parameters}
    return None
