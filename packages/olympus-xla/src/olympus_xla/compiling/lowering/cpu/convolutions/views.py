# SPDX-License-Identifier: Apache-2.0
"""Convolutions of groups with few features, as sums of views.

XLA's CPU backend computes depthwise convolutions, whose features are separate, by a scalar loop, in
15 to 20 ns per element of the result. Groups of two to four features take longer. A sum of shifted
views of the padded input, each times one weight, takes 0.5 ns for windows of 3x3 and one feature.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.dimension_numbers import permuted

from ...context import LoweringContext
from .limits import FEW_GROUPS, FLOATS, HALVES, LARGEST_WINDOW, is_large

# With more features of the result in each of a few groups, products of matrices are faster.
_MOST_OUTPUTS = 8


def is_sum_of_views(
    context: LoweringContext,
    *,
    dimension_numbers: Any,
    lhs_dilation: tuple,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `sum_of_views` replaces XLA's convolution."""
    if not is_large(context, FLOATS + HALVES):
        return False
    features, inputs, *window = permuted(context.avals_in[1].shape, dimension_numbers.rhs_spec)
    is_narrow = features <= _MOST_OUTPUTS * feature_group_count
    return (
        batch_group_count == 1
        and dimension_numbers.lhs_spec == dimension_numbers.out_spec
        and 0 < inputs * math.prod(window) <= LARGEST_WINDOW
        and (inputs == features == 1 or feature_group_count > 1)
        and (is_narrow or feature_group_count > FEW_GROUPS)
    )


def sum_of_views(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    feature_group_count: int,
    preferred_element_type: Any,
) -> Any:
    """Convolves each group of features with its own windows.

    A term is one feature of each group, seen through one element of the windows, times the weights
    of this element. It is added to all features of the group in the result.
    """
    spec = dimension_numbers.lhs_spec
    dtype = np.dtype(preferred_element_type or lhs.dtype)
    wide = np.dtype(np.float32) if dtype in HALVES else dtype
    pads = [(0, 0, 0)] * lhs.ndim
    for position, (low, high), dilation in zip(spec[2:], padding, lhs_dilation, strict=True):
        pads[position] = (low, high, dilation - 1)
    padded = lax.pad(lax.convert_element_type(lhs, wide), np.zeros((), wide), pads)
    # Without the barrier, XLA takes a view that has no padding from the operand, and computes the
    # operand twice.
    padded = lax.optimization_barrier(padded)
    weights = lax.transpose(lax.convert_element_type(rhs, wide), dimension_numbers.rhs_spec)
    features, inputs, *window = weights.shape
    outputs = features // feature_group_count
    count = math.prod(window)
    weights = lax.reshape(weights, (feature_group_count, outputs, inputs * count))
    reach = [dilation * (length - 1) for length, dilation in zip(window, rhs_dilation, strict=True)]
    total: Any = None
    for number, offsets in enumerate(itertools.product(*map(range, window))):
        start, limit, stride = [0] * lhs.ndim, list(padded.shape), [1] * lhs.ndim
        for axis, position in enumerate(spec[2:]):
            start[position] = offsets[axis] * rhs_dilation[axis]
            limit[position] -= reach[axis] - start[position]
            stride[position] = window_strides[axis]
        stride[spec[1]] = inputs
        for feature in range(inputs):
            start[spec[1]] = feature
            view = lax.slice(padded, start, limit, stride)
            weight = lax.index_in_dim(weights, feature * count + number, 2, keepdims=False)
            term = _product_in_groups(view, weight, spec[1])
            total = term if total is None else lax.add(total, term)
    shape = list(total.shape)
    shape[spec[1] : spec[1] + 2] = [features]
    return lax.convert_element_type(lax.reshape(total, shape), dtype)


def _product_in_groups(view: Any, weights: Any, dimension: int) -> Any:
    """Multiplies one feature of each group by the weights of all features of the result.

    Args:
      view: an array with one feature for each group.
      weights: the weights, by group and feature of the result.
      dimension: the dimension of features. The result has two in its place, as the weights do.
    """
    shape = list(view.shape)
    shape.insert(dimension + 1, weights.shape[1])
    kept = [axis for axis in range(len(shape)) if axis != dimension + 1]
    factor = lax.broadcast_in_dim(weights, shape, (dimension, dimension + 1))
    return lax.mul(lax.broadcast_in_dim(view, shape, kept), factor)
