# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions, patches, and convolutions whose kernels vary by position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...types.annotations import DTypeLike
from ..contractions.dot_algorithms import PrecisionLike
from ..contractions.products import Precision, canonicalize_precision, dot_general
from ..core.values import Array, ArrayLike, dtype_of, shape_of
from ..elementwise.conversion import convert_dtype
from ..elementwise.logic import eq
from ..shaping.broadcasting import broadcast_in_dim
from ..shaping.creation import broadcasted_iota
from ..shaping.rearrangement import reshape, rev, transpose
from ..windows.shapes import dilated_size
from .convolutions import conv_general_dilated
from .dimension_numbers import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    permuted,
    transposed_padding,
)

__all__ = ["conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose"]

# Default dimension numbers of `conv_transpose` by the number of spatial dimensions.
_CHANNELS_LAST = (
    ("NC", "IO", "NC"),
    ("NHC", "HIO", "NHC"),
    ("NHWC", "HWIO", "NHWC"),
    ("NDHWC", "DHWIO", "NDHWC"),
)


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Computes a transposed convolution, whose strides enlarge the result.

    A transposed convolution is a convolution of the input dilated by the strides. The derivative of
    a convolution has this form, too.

    Args:
      lhs: the input.
      rhs: the kernel.
      strides: the strides of the convolution that is transposed.
      padding: ``"SAME"`` or ``"VALID"``, the padding of the convolution that is transposed; or a
        pair (before, after) for each dimension.
      rhs_dilation: the distance between neighboring elements of the kernel.
      dimension_numbers: as in `conv_general_dilated`; by default features are the last dimension.
      transpose_kernel: whether to exchange the kernel's features and flip its spatial dimensions,
        so that ``rhs`` is the kernel of the convolution that is transposed.
      precision: as in `conv_general_dilated`.
      preferred_element_type: as in `conv_general_dilated`.
      use_consistent_padding: whether pairs in ``padding`` refer to the convolution that is
        transposed, as ``"SAME"`` and ``"VALID"`` do. Otherwise pairs are the padding of the dilated
        input.

    Returns:
      An array in the order of ``dimension_numbers``.

    Raises:
      ValueError: if there are more than three spatial dimensions and no ``dimension_numbers``, or
        the padding is an unknown word.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.conv_transpose(np.ones((1, 3, 2)), np.ones((2, 2, 4)), (2,), "SAME").shape
      (1, 6, 4)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    count = len(lhs_shape) - 2
    if dimension_numbers is None:
        if not 0 <= count < len(_CHANNELS_LAST):
            raise ValueError(
                "No 4+ dimensional dimension_number defaults: conv_transpose needs "
                f"dimension_numbers for operands of shapes {lhs_shape} and {rhs_shape}."
            )
        dimension_numbers = _CHANNELS_LAST[count]
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    dilations = (1,) * count if rhs_dilation is None else tuple(rhs_dilation)
    windows = [
        dilated_size(size, dilation)
        for size, dilation in zip(permuted(rhs_shape, numbers.rhs_spec)[2:], dilations, strict=True)
    ]
    pads: Any = padding
    if isinstance(padding, str):
        if padding in ("SAME", "VALID") or use_consistent_padding:
            pads = [
                transposed_padding(window, stride, padding)
                for window, stride in zip(windows, strides, strict=True)
            ]
    elif use_consistent_padding:
        pads = [
            (window - 1 - low, window - 1 - high)
            for window, (low, high) in zip(windows, padding, strict=True)
        ]
    if transpose_kernel:
        order = list(range(len(rhs_shape)))
        out_feature, in_feature, *spatial = numbers.rhs_spec
        order[out_feature], order[in_feature] = in_feature, out_feature
        rhs = transpose(rev(rhs, spatial), order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * count,
        pads,
        strides,
        dilations,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns the patches of a convolution: the elements of each window, as features.

    Args:
      lhs: the input.
      filter_shape: the sizes of the window.
      window_strides: the distance between windows in each dimension.
      padding: as in `conv_general_dilated`.
      lhs_dilation: as in `conv_general_dilated`.
      rhs_dilation: as in `conv_general_dilated`.
      dimension_numbers: as in `conv_general_dilated`.
      precision: the precision with which accelerators copy the elements.
      preferred_element_type: the dtype of the result.

    Returns:
      The patches: for each feature of the input, one feature for each element of a window.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x = np.arange(4.0).reshape(1, 1, 4)
      >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
      Array([[[0., 1., 2.],
              [1., 2., 3.]]], dtype=float32)
    """
    filter_shape = tuple(filter_shape)
    shape = shape_of(lhs)
    numbers = conv_dimension_numbers(shape, (1, 1, *filter_shape), dimension_numbers)
    features, size = shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    # The kernel of each output feature has a single 1, at the element that it copies.
    rows, columns = (broadcasted_iota(np.int32, (size, size), axis) for axis in (0, 1))
    unit = convert_dtype(eq(rows, columns), dtype_of(lhs))
    kernels = broadcast_in_dim(unit, (features, size, size), (1, 2))
    kernels = reshape(kernels, (features * size, 1, *filter_shape))
    positions = tuple(numbers.rhs_spec.index(position) for position in range(len(shape)))
    exactness: Any = canonicalize_precision(precision)
    if exactness.__class__ is tuple:
        # the kernel of zeros and ones is exact in any precision
        exactness = (exactness[0], Precision.DEFAULT)
    return conv_general_dilated(
        lhs,
        transpose(kernels, positions),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=exactness,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """Computes a convolution whose kernel depends on the position.

    Args:
      lhs: the input.
      rhs: the kernels. The first dimension is for the output features. The second dimension is for
        the pairs of an input feature and an element of the window, in the order of
        `conv_general_dilated_patches`. The other dimensions are the spatial dimensions of the
        result.
      window_strides: the distance between windows in each dimension.
      padding: as in `conv_general_dilated`.
      filter_shape: the sizes of the window.
      lhs_dilation: as in `conv_general_dilated`.
      rhs_dilation: as in `conv_general_dilated`.
      dimension_numbers: as in `conv_general_dilated`.
      precision: as in `conv_general_dilated`.

    Returns:
      An array of batch, output features and spatial dimensions, in the order of
      ``dimension_numbers``.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x, kernels = np.ones((1, 1, 4)), np.arange(6.0).reshape(1, 2, 3)
      >>> lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,))
      Array([[[3., 5., 7.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision=precision,
    )
    _, rhs_spec, out_spec = numbers
    product = dot_general(
        patches,
        rhs,
        (((out_spec[1],), (rhs_spec[1],)), (out_spec[2:], rhs_spec[2:])),
        precision=precision,
    )
    # The dimensions of the product have the order: spatial dimensions, batch, features.
    order = [0] * len(out_spec)
    for source, position in enumerate((*out_spec[2:], *out_spec[:2])):
        order[position] = source
    return transpose(product, order)
