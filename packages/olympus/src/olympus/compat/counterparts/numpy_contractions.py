# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions and reductions of `olympus.lax` in NumPy, as in `numpy_functions`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from olympus import lax
from olympus_ir.lax.contractions.products import dot_general_p
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.ragged import ragged_dot_general_p
from olympus_ir.lax.windows.shapes import dilated_size, window_counts
from olympus_ir.reference.convolution import dilated_and_padded, window_slices

from .numpy_functions import apply_rule

__all__ = [
    "conv",
    "conv_general_dilated",
    "conv_with_general_padding",
    "dot_general",
    "ragged_dot",
    "reduce",
    "reduce_window",
]

Padding = str | Sequence[tuple[int, int]]


def dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any) -> np.ndarray:
    """Sums products over the contracting dimensions; see `olympus.lax.dot_general`."""
    return apply_rule(
        dot_general_p,
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=None,
        preferred_element_type=None,
        out_sharding=None,
    )


def ragged_dot(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike) -> np.ndarray:
    """Multiplies groups of the rows of ``lhs`` by the matrices in ``rhs``, one for each group."""
    dimension_numbers = lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(((1,), (1,)), ((), ())),
        lhs_ragged_dimensions=(0,),
        rhs_group_dimensions=(0,),
    )
    return apply_rule(
        ragged_dot_general_p,
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=dimension_numbers,
        group_offset=None,
        precision=None,
        preferred_element_type=None,
        out_sharding=None,
    )


# ---- windows ----


def conv(
    lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: Padding
) -> np.ndarray:
    """Convolves arrays whose first dimensions are the batch and the features."""
    ones = (1,) * len(window_strides)
    return conv_general_dilated(lhs, rhs, window_strides, padding, ones, ones, None)


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
) -> np.ndarray:
    """Convolves arrays as `conv` does, with gaps between elements."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, None)


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    dimension_numbers: Any,
) -> np.ndarray:
    """Convolves arrays, with gaps between elements; see `olympus.lax.conv_general_dilated`."""
    numbers = lax.conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    ones = (1,) * len(window_strides)
    lhs_dilation, rhs_dilation = tuple(lhs_dilation or ones), tuple(rhs_dilation or ones)
    if isinstance(padding, str):
        inputs = [np.shape(lhs)[dimension] for dimension in numbers.lhs_spec[2:]]
        kernels = [np.shape(rhs)[dimension] for dimension in numbers.rhs_spec[2:]]
        dilated = list(map(dilated_size, kernels, rhs_dilation))
        padding = lax.padtype_to_pads(inputs, dilated, window_strides, padding)
    return apply_rule(
        conv_general_dilated_p,
        lhs,
        rhs,
        window_strides=tuple(window_strides),
        padding=tuple(padding),
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=1,
        batch_group_count=1,
        precision=None,
        preferred_element_type=None,
        out_sharding=None,
    )


def reduce(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> np.ndarray:
    """Combines the elements along dimensions with a function of two arrays.

    Args:
      operand: the array.
      init_value: the first element to combine.
      computation: the function, such as `numpy.add`.
      dimensions: the dimensions to remove.
    """
    array = np.asarray(operand)
    front = np.moveaxis(array, tuple(dimensions), range(len(dimensions)))
    removed, kept = front.shape[: len(dimensions)], front.shape[len(dimensions) :]
    return _fold(front.reshape((math.prod(removed), *kept)), init_value, computation)


def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int],
) -> np.ndarray:
    """Combines the elements of each window with a function of two arrays.

    Gaps between elements and padding hold ``init_value``.
    """
    array = np.asarray(operand)
    if isinstance(padding, str):
        sizes = list(map(dilated_size, array.shape, base_dilation))
        padding = lax.padtype_to_pads(sizes, window_dimensions, window_strides, padding)
    ones = (1,) * array.ndim
    counts = window_counts(
        array.shape, window_dimensions, window_strides, padding, base_dilation, ones
    )
    padded = dilated_and_padded(array, np.asarray(init_value), padding, base_dilation)
    elements = [
        padded[window_slices(offset, counts, window_strides, ones)]
        for offset in np.ndindex(*window_dimensions)
    ]
    stacked = np.reshape(elements, (len(elements), *counts))
    return _fold(stacked, init_value, computation)


def _fold(
    elements: np.ndarray, init_value: ArrayLike, computation: Callable[[Any, Any], Any]
) -> np.ndarray:
    """Combines arrays along the first dimension, beginning with the initial value."""
    result: Any = np.full(elements.shape[1:], init_value, elements.dtype)
    for element in elements:
        result = computation(result, element)
    return np.asarray(result).astype(elements.dtype)
