# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of convolutions, without zeros of constant kernels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..elimination import term_rules
from ..patterns import Flow, Pattern, merged, relation, united_rows
from ..propagation import sparsity_rules
from ..terms import MOST_SUMMED, Linear, Term, Unsupported, added, filled, is_known, times
from .windows import window_axes, window_term


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
    axes = window_axes(
        out_ids.shape[2:], x_ids.shape[2:], window_strides, padding, lhs_dilation, rhs_dilation
    )
    outputs, inputs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for offset in itertools.product(*map(range, window)):
        is_nonzero = np.ones((out_channels, in_channels), bool)
        if known is not None:
            is_nonzero = known[(..., *offset)] != 0
        out_channel, in_channel = np.nonzero(is_nonzero)  # one entry for each pair of channels
        sources = [axis.sources(tap) for axis, tap in zip(axes, offset, strict=True)]
        windows = np.ix_(*(windows for windows, _ in sources))
        outputs.append(out_ids[:, out_channel].swapaxes(0, 1)[(..., *windows)].ravel())
        group = out_channel * feature_group_count // out_channels
        source_channel = group * in_channels + in_channel
        first_batch = (out_channel * batch_group_count // out_channels) * batches
        source_batch = first_batch[:, None] + np.arange(batches)  # [pair of channels, batch]
        indices = np.ix_(*(indices for _, indices in sources))
        inputs.append(x_ids[source_batch, source_channel[:, None]][(..., *indices)].ravel())
    return np.concatenate(outputs), np.concatenate(inputs)


# ---- terms ----


@term_rules.define(lax.conv_general_dilated_p)
def _convolution_terms(
    results: Sequence[Any],
    x: Any,
    kernel: Any,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> list[Term]:
    """Returns one term for each pair of a window position and an input channel."""
    if not isinstance(x, Linear) or isinstance(kernel, Linear):
        raise Unsupported("a kernel that depends on the argument")
    if feature_group_count * batch_group_count != 1 or any(factor != 1 for factor in lhs_dilation):
        raise Unsupported("a grouped or dilated convolution")
    numbers = dimension_numbers
    kernel = kernel.transpose(numbers.rhs_spec)
    in_channels, *window = kernel.shape[1:]
    out_shape = tuple(results[0].shape[axis] for axis in numbers.out_spec)
    if in_channels * math.prod(window) > MOST_SUMMED:
        raise Unsupported("a large window")
    back = tuple(np.argsort(numbers.out_spec))
    terms = []
    for term in x.terms:
        if term.rows is not None:
            raise Unsupported("a window over sums")
        columns, coefficient = term.columns.transpose(numbers.lhs_spec), term.coefficient
        if np.ndim(coefficient):
            coefficient = coefficient.transpose(numbers.lhs_spec)
        for channel, *offset in itertools.product(range(in_channels), *map(range, window)):
            moved = window_term(
                Term(columns, coefficient),
                (out_shape[0], 1, *out_shape[2:]),
                [0, channel, *(a * b for a, b in zip(offset, rhs_dilation, strict=True))],
                [1, 1, *window_strides],
                [(0, 0), (0, 0), *padding],
            )
            weights = kernel[(slice(None), channel, *offset)].reshape(-1, *[1] * len(window))
            chosen = np.broadcast_to(moved.columns, out_shape)
            if is_known(weights):
                chosen = np.where(weights != 0, chosen, -1)
            product = filled(times(moved.coefficient, weights), out_shape)
            terms.append(Term(chosen.transpose(back), product.transpose(back)))
    return added(terms)
