# SPDX-License-Identifier: Apache-2.0
"""Convolutions of integers on GPUs, for which cuDNN has no routine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.dimension_numbers import permuted

_LARGEST_ITEM = 4  # numbers of at most this many bytes are multiplied as 32-bit integers


def sum_of_products(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **params: Any,
) -> Any:
    """Convolves by adding up products of weights and shifted inputs, one for each window element.

    Sums wrap around at the bounds of the result's dtype, as on CPUs.
    """
    dtype = np.dtype(preferred_element_type or lhs.dtype)
    wide = np.dtype(np.int32) if dtype.itemsize <= _LARGEST_ITEM else np.dtype(np.int64)
    inputs = lax.transpose(lax.convert_element_type(lhs, wide), dimension_numbers.lhs_spec)
    weights = lax.transpose(lax.convert_element_type(rhs, wide), dimension_numbers.rhs_spec)
    inputs, weights = _in_groups(inputs, weights, feature_group_count, batch_group_count)
    inner = [dilation - 1 for dilation in lhs_dilation]
    pads = [(low, high, between) for (low, high), between in zip(padding, inner, strict=True)]
    inputs = lax.pad(inputs, np.zeros((), wide), [(0, 0, 0)] * 3 + pads)
    window = weights.shape[3:]
    geometry = list(zip(inputs.shape[3:], window, window_strides, rhs_dilation, strict=True))
    sizes = [max(0, (size - gap * (n - 1) - 1) // stride + 1) for size, n, stride, gap in geometry]
    # The dimensions: groups, output features, batch, and output positions.
    total = lax.full((*weights.shape[:2], inputs.shape[1], *sizes), 0, wide)
    for offsets in itertools.product(*map(range, window) if 0 not in sizes else [()]):
        starts = [offset * gap for offset, gap in zip(offsets, rhs_dilation, strict=True)]
        limits = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, sizes, window_strides, strict=True)
        ]
        whole = inputs.shape[:3]
        view = lax.slice(inputs, [0, 0, 0, *starts], [*whole, *limits], [1, 1, 1, *window_strides])
        weight = lax.reshape(
            lax.slice(
                weights,
                [0, 0, 0, *offsets],
                [*weights.shape[:3], *(offset + 1 for offset in offsets)],
            ),
            weights.shape[:3],
        )
        total = lax.add(total, lax.dot_general(weight, view, (((2,), (2,)), ((0,), (0,)))))
    count = total.shape[2]
    result = lax.transpose(total, (2, 0, 1, *range(3, total.ndim)))
    result = lax.reshape(result, (count, total.shape[0] * total.shape[1], *sizes))
    order = permuted(range(result.ndim), _inverse(dimension_numbers.out_spec))
    return lax.convert_element_type(lax.transpose(result, order), dtype)


def _in_groups(inputs: Any, weights: Any, features: int, examples: int) -> tuple[Any, Any]:
    """Returns inputs [group, batch, feature, ...] and weights [group, output, feature, ...].

    ``features`` is the number of feature groups, and ``examples`` is the number of batch groups.
    """
    batch, depth, *spatial = inputs.shape
    if examples > 1:
        inputs = lax.reshape(inputs, (examples, batch // examples, depth, *spatial))
    else:
        inputs = lax.reshape(inputs, (batch, features, depth // features, *spatial))
        inputs = lax.transpose(inputs, (1, 0, *range(2, inputs.ndim)))
    groups = max(features, examples)
    outputs, *rest = weights.shape
    return inputs, lax.reshape(weights, (groups, outputs // groups, *rest))


def _inverse(order: Any) -> tuple[int, ...]:
    return tuple(int(position) for position in np.argsort(order))
