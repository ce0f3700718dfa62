# SPDX-License-Identifier: Apache-2.0
"""Patterns of convolutions; zeros of a constant kernel are left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..patterns import Flow, Pattern, merged, relation, united_rows
from ..propagation import sparsity_rules

__all__ = ["taps"]


def taps(
    out: int, size: int, tap: int, stride: int, low: int, dilation: int, window_dilation: int
) -> np.ndarray:
    """Returns for each position of a result the input that one tap of the window multiplies.

    The input is -1 in the padding and between dilated elements.
    """
    place = np.arange(out) * stride + tap * window_dilation - low
    inside = (place >= 0) & (place % dilation == 0) & (place // dilation < size)
    return np.where(inside, place // dilation, -1)


@sparsity_rules.define(lax.conv_general_dilated_p)
def _convolution(results: Sequence[Any], x: Flow, kernel: Flow, **params: Any) -> Pattern:
    numbers = params["dimension_numbers"]
    out_shape = results[0].shape
    out_ids = np.arange(math.prod(out_shape)).reshape(out_shape).transpose(numbers.out_spec)
    parts = []
    if x.pattern is not None:
        outputs, inputs = _pairs(x, kernel, out_ids, **params)
        parts.append(relation(outputs, inputs, (out_ids.size, x.size)) @ x.pattern)
    if kernel.pattern is not None:
        # Each channel of the result depends on its whole kernel.
        kernel_ids = kernel.ids.transpose(numbers.rhs_spec)
        channels = kernel_ids.shape[0]
        groups = np.empty(kernel.size, np.int64)
        groups[kernel_ids] = np.arange(channels).reshape(-1, *[1] * (kernel_ids.ndim - 1))
        united = united_rows(kernel.pattern, groups, channels)
        sources = np.empty(out_ids.size, np.int64)
        sources[out_ids] = np.arange(channels).reshape(1, -1, *[1] * (out_ids.ndim - 2))
        parts.append(united[sources])
    return merged(parts)


def _pairs(
    x: Flow,
    kernel: Flow,
    out_ids: np.ndarray,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs of an element of the result and an element of ``x`` on which it depends."""
    x_ids = x.ids.transpose(dimension_numbers.lhs_spec)  # [batch, channel, ...]
    known = None if kernel.known is None else kernel.known.transpose(dimension_numbers.rhs_spec)
    shape = [kernel.shape[axis] for axis in dimension_numbers.rhs_spec]
    out_channels, in_channels, *window = shape
    batches = out_ids.shape[0]
    outputs, inputs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for place in itertools.product(*map(range, window)):
        weights = np.ones((out_channels, in_channels), bool)
        if known is not None:
            weights = known[(..., *place)] != 0
        out_channel, in_channel = np.nonzero(weights)
        group = out_channel * feature_group_count // out_channels
        source_channel = group * in_channels + in_channel
        source_batch = (out_channel * batch_group_count // out_channels)[:, None] * batches
        source_batch = source_batch + np.arange(batches)  # [pair of channels, batch]
        sources = [
            taps(out, size, tap, stride, low, dilation, window_dilation)
            for out, size, tap, stride, (low, _), dilation, window_dilation in zip(
                out_ids.shape[2:],
                x_ids.shape[2:],
                place,
                window_strides,
                padding,
                lhs_dilation,
                rhs_dilation,
                strict=True,
            )
        ]
        inside = [np.nonzero(source >= 0)[0] for source in sources]
        target = out_ids[:, out_channel].swapaxes(0, 1)[
            (slice(None), slice(None), *np.ix_(*inside))
        ]
        taken = [source[kept] for source, kept in zip(sources, inside, strict=True)]
        source = x_ids[source_batch, source_channel[:, None]]
        source = source[(slice(None), slice(None), *np.ix_(*taken))]
        outputs.append(target.ravel())
        inputs.append(source.ravel())
    return np.concatenate(outputs), np.concatenate(inputs)
