# SPDX-License-Identifier: Apache-2.0
"""Convolutions over three spatial dimensions, as convolutions over two.

XLA's CPU backend computes convolutions of volumes by a scalar loop. Here the slices of a volume
are images, and the elements of a window along the first spatial dimension are features: an image
has the features of all slices that its window sees. This convolution of images takes a seventh of
the time for windows of 3x3x3.

The operation "convolution of volumes" of the benchmarks covers this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.convolution.dimension_numbers import ConvDimensionNumbers

from ...context import LoweringContext
from .limits import FLOATS, is_large

# The images repeat each element of a volume at most this many times, on average.
_MOST_COPIES = 8


def is_of_slices(
    context: LoweringContext,
    *,
    dimension_numbers: Any,
    lhs_dilation: tuple,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `convolution_of_slices` replaces XLA's convolution."""
    if len(lhs_dilation) != 3 or not is_large(context, FLOATS):
        return False
    lhs, rhs = context.avals_in
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    seen = rhs.shape[rhs_spec[2]] * context.aval_out.shape[out_spec[2]]
    return (
        set(lhs_dilation) == {1}
        and feature_group_count == batch_group_count == 1
        and 0 < seen <= _MOST_COPIES * lhs.shape[lhs_spec[2]]
    )


def convolution_of_slices(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    padding: tuple,
    rhs_dilation: tuple,
    **params: Any,
) -> Any:
    """Convolves the slices of volumes, with features last."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    volumes = lax.transpose(lhs, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1]))
    windows = lax.transpose(rhs, (*rhs_spec[3:], rhs_spec[2], rhs_spec[1], rhs_spec[0]))
    height, width, depth, features, outputs = windows.shape
    zero = np.zeros((), lhs.dtype)
    volumes = lax.pad(volumes, zero, ((0, 0, 0), (*padding[0], 0), *((0, 0, 0),) * 3))
    stride, dilation = window_strides[0], rhs_dilation[0]
    count = (volumes.shape[1] - dilation * (depth - 1) - 1) // stride + 1
    slices = [
        lax.slice_in_dim(volumes, start, start + stride * (count - 1) + 1, stride, axis=1)
        for start in range(0, dilation * depth, dilation)
    ]
    images = slices[0] if depth == 1 else lax.concatenate(slices, 4)
    examples = images.shape[0]
    result = conv_general_dilated_p.bind(
        lax.reshape(images, (examples * count, *images.shape[2:])),
        lax.reshape(windows, (height, width, depth * features, outputs)),
        dimension_numbers=ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
        window_strides=window_strides[1:],
        padding=padding[1:],
        lhs_dilation=(1, 1),
        rhs_dilation=rhs_dilation[1:],
        feature_group_count=1,
        batch_group_count=1,
        **params,
    )
    result = lax.reshape(result, (examples, count, *result.shape[1:]))
    order = [0] * 5
    for source, position in zip((0, 4, 1, 2, 3), out_spec, strict=True):
        order[position] = source
    return lax.transpose(result, order)
