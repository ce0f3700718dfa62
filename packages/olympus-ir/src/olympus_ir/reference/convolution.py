# SPDX-License-Identifier: Apache-2.0
"""Reference rules of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lax.convolution import convolutions
from ..lax.windows.shapes import dilated_size, window_counts
from .numerics import wide_integer, widen
from .tables import reference_rules


@reference_rules.define(convolutions.conv_general_dilated_p)
def _conv_general_dilated(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> np.ndarray:
    """Sums products over features, for one position in the kernel's window at a time.

    Floats are multiplied and summed in double precision, and only the sums are rounded.
    """
    dtype = np.dtype(lhs.dtype if preferred_element_type is None else preferred_element_type)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    inputs, kernels = (
        wide_integer(widen(x if dtype.kind == "b" else x.astype(dtype)))
        for x in (np.transpose(lhs, lhs_spec), np.transpose(rhs, rhs_spec))
    )
    counts = window_counts(
        inputs.shape[2:], kernels.shape[2:], window_strides, padding, lhs_dilation, rhs_dilation
    )
    zero = np.zeros((), inputs.dtype)
    inputs = dilated_and_padded(inputs, zero, ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation))
    groups = max(feature_group_count, batch_group_count)
    # Split features or batch into groups: inputs become [group, batch, feature, *spatial], and
    # kernels [group, out, in, *spatial].
    axis = 1 if feature_group_count > 1 else 0
    inputs = np.stack(np.split(inputs, groups, axis))
    kernels = np.stack(np.split(kernels, groups, 0))
    result = np.zeros((groups, inputs.shape[1], kernels.shape[1], *counts), inputs.dtype)
    for offset in np.ndindex(*kernels.shape[3:]):
        elements = inputs[(..., *window_slices(offset, counts, window_strides, rhs_dilation))]
        kernel = kernels[(..., *offset)]
        products = np.einsum("gni...,goi->gno...", elements, kernel)
        result = result + products if dtype.kind != "b" else result | products
    result = np.concatenate(list(result), axis=1).astype(dtype)
    return np.transpose(result, np.argsort(out_spec))


def dilated_and_padded(
    x: np.ndarray,
    fill: np.ndarray,
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> np.ndarray:
    """Inserts gaps between elements, and padding around them.

    Negative padding removes elements.
    """
    sizes = [dilated_size(size, step) for size, step in zip(x.shape, dilation, strict=True)]
    lows = [max(low, 0) for low, _ in padding]
    shape = [
        low + size + max(high, 0) for low, size, (_, high) in zip(lows, sizes, padding, strict=True)
    ]
    full = np.full(shape, fill, x.dtype)
    positions = [
        slice(low, low + size, step) for low, size, step in zip(lows, sizes, dilation, strict=True)
    ]
    full[tuple(positions)] = x
    kept = [
        slice(max(-low, 0), max(size - max(-high, 0), 0))
        for size, (low, high) in zip(shape, padding, strict=True)
    ]
    return full[tuple(kept)]


def window_slices(
    offset: Sequence[int], counts: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> tuple[slice, ...]:
    """Returns the slices that select the elements at one position of all windows."""
    return tuple(
        slice(start * step, start * step + (count - 1) * stride + 1 if count else 0, stride)
        for start, step, count, stride in zip(offset, dilation, counts, strides, strict=True)
    )
