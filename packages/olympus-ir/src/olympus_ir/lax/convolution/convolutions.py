# SPDX-License-Identifier: Apache-2.0
"""Convolutions: sums of products of a kernel with windows of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.annotations import DTypeLike, ShardingLike
from ...types.avals import ShapedArray
from ...types.resharding import asked_sharding
from ..contractions.dot_algorithms import PrecisionLike
from ..contractions.products import canonicalize_precision
from ..core.declarations import check_same_dtypes, result_weak_type
from ..core.values import Array, ArrayLike, shape_of
from ..windows.shapes import (
    check_positive,
    dilated_size,
    integer_pairs,
    integers,
    padtype_to_pads,
    window_counts,
)
from .dimension_numbers import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    permuted,
    unpermuted,
)

__all__ = ["conv", "conv_general_dilated", "conv_general_dilated_p", "conv_with_general_padding"]

conv_general_dilated_p = instruction("conv_general_dilated", family="convolution")
conv_general_dilated_p.linear_in = (
    0,
    1,
)  # bilinear: linear in each operand for a fixed other operand

_NAME = "conv_general_dilated"


@conv_general_dilated_p.def_abstract_eval
def _conv_shape(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    check_same_dtypes(_NAME, (lhs, rhs))
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise ShapeError(
            f"{_NAME} lhs and rhs must have the same number of dimensions, at least 2 (batch and "
            f"features of lhs, features of rhs), got {lhs.ndim} and {rhs.ndim} (lhs "
            f"{lhs.str_short(short_dtypes=True)}, rhs {rhs.str_short(short_dtypes=True)})."
        )
    _check_permutations(dimension_numbers, lhs.ndim)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    batch, features, *spatial = permuted(lhs.shape, lhs_spec)
    out_features, in_features, *window = permuted(rhs.shape, rhs_spec)
    _check_groups(
        batch, features, out_features, in_features, feature_group_count, batch_group_count
    )
    for parameter, values in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if len(values) != len(window):
            raise ValueError(
                f"{_NAME} window and {parameter} must have the same number of dimensions, but got "
                f"{len(window)} and {len(values)}"
            )
        check_positive(_NAME, parameter, values)
    _check_padding(padding, spatial, lhs_dilation, lhs.shape)
    counts = window_counts(spatial, window, window_strides, padding, lhs_dilation, rhs_dilation)
    shape = unpermuted((batch // batch_group_count, out_features, *counts), out_spec)
    dtype = lhs.dtype
    if preferred_element_type is not None:
        _check_element_type(dtype, preferred_element_type)
        dtype = preferred_element_type
    weak_type = result_weak_type((lhs, rhs))
    return ShapedArray.varying(shape, dtype, weak_type, vma=lhs.vma | rhs.vma)


def _check_permutations(dimension_numbers: ConvDimensionNumbers, ndim: int) -> None:
    for field, spec in zip(ConvDimensionNumbers._fields, dimension_numbers, strict=True):
        if sorted(spec) != list(range(ndim)):
            raise ValueError(
                f"{_NAME} dimension_numbers.{field} must be a permutation of the {ndim} "
                f"dimensions, got {tuple(spec)}"
            )


def _check_groups(
    batch: int,
    features: int,
    out_features: int,
    in_features: int,
    feature_group_count: int,
    batch_group_count: int,
) -> None:
    for parameter, count in (
        ("feature_group_count", feature_group_count),
        ("batch_group_count", batch_group_count),
    ):
        if count <= 0:
            raise ValueError(f"{_NAME} {parameter} must be a positive integer, got {count}.")
    if batch_group_count > 1 and feature_group_count > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batch_group_count} and feature_group_count={feature_group_count}"
        )
    if features % feature_group_count:
        raise ValueError(
            f"{_NAME} feature_group_count must divide lhs feature dimension size, but "
            f"{feature_group_count} does not divide {features}."
        )
    if features // feature_group_count != in_features:
        raise ValueError(
            f"{_NAME} lhs feature dimension size divided by feature_group_count must equal the rhs "
            f"input feature dimension size, but {features} // {feature_group_count} != "
            f"{in_features}."
        )
    if batch % batch_group_count:
        raise ValueError(
            f"{_NAME} batch_group_count must divide lhs batch dimension size, but "
            f"{batch_group_count} does not divide {batch}."
        )
    for parameter, count in (
        ("feature_group_count", feature_group_count),
        ("batch_group_count", batch_group_count),
    ):
        if out_features % count:
            raise ValueError(
                f"{_NAME} rhs output feature dimension size must be a multiple of {parameter}, but "
                f"{out_features} is not a multiple of {count}."
            )


def _check_padding(
    padding: tuple, spatial: Sequence[int], lhs_dilation: tuple, lhs_shape: tuple
) -> None:
    if len(padding) != len(spatial):
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(spatial)}, got "
            f"{len(padding)}."
        )
    for size, dilation, (low, high) in zip(spatial, lhs_dilation, padding, strict=True):
        if dilated_size(size, dilation) + low + high < 0:
            raise ValueError(
                "Negative padding is larger than the size of the corresponding dimension: got "
                f"padding={padding} for spatial sizes {tuple(spatial)}, dilated by {lhs_dilation}, "
                f"of lhs with shape {lhs_shape}"
            )


# Kinds of operand dtypes, each with the compatible kinds of ``preferred_element_type``.
_KINDS = (
    (np.bool_, np.generic),
    (np.integer, np.integer),
    (np.integer, np.floating),
    (np.floating, np.floating),
    (np.complexfloating, np.complexfloating),
)


def _check_element_type(dtype: Any, preferred: Any) -> None:
    if not any(
        dtypes.issubdtype(dtype, kind) and dtypes.issubdtype(preferred, result)
        for kind, result in _KINDS
    ):
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`. The compatible combinations "
            "of (input_type, preferred_element_type) are (integral, integral), (integral, "
            "floating), (floating, floating), (complex, complex); got "
            f"({dtypes.name_of(dtype)}, {dtypes.name_of(preferred)})."
        )
    if dtypes.issubdtype(dtype, np.signedinteger) and dtypes.issubdtype(
        preferred, np.unsignedinteger
    ):
        raise TypeError(
            "`preferred_element_type` must have the same signedness as the original type: got "
            f"{dtypes.name_of(preferred)} for operands of {dtypes.name_of(dtype)}."
        )
    if dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type: got "
            f"{dtypes.name_of(preferred)} for operands of {dtypes.name_of(dtype)}."
        )


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Convolves an array with a kernel, as in neural networks: the kernel is not flipped.

    Args:
      lhs: the input, with a batch dimension, a feature dimension and n spatial dimensions.
      rhs: the kernel, with output features, input features and n spatial dimensions.
      window_strides: the distance between windows in each of the n spatial dimensions.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or n pairs (before, after), the numbers of
        zeros to add; negative numbers remove elements.
      lhs_dilation: n integers, the distance between neighboring elements of the input after zeros
        are inserted. With values above 1, the operation is a transposed convolution.
      rhs_dilation: n integers, the distance between neighboring elements of the kernel.
      dimension_numbers: the roles of the dimensions; see `conv_dimension_numbers`. The default
        order of the input is batch, features, spatial dimensions. The default order of the kernel
        is output features, input features, spatial dimensions.
      feature_group_count: the number of groups of features; features of different groups are not
        combined.
      batch_group_count: the number of groups of the batch; each group yields a separate part of the
        output features.
      precision: the precision on accelerators: one value, or one for each operand.
      preferred_element_type: the dtype of sums and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array with a batch dimension, the output features and n spatial dimensions, in the order of
      ``dimension_numbers``.

    Raises:
      TypeError: if ranks, dimension numbers or dtypes are not accepted.
      ValueError: if strides, dilations, padding or group counts do not fit the shapes.
      RuntimeError: if ``padding`` is an unknown word.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x = np.arange(5.0).reshape(1, 1, 5)
      >>> lax.conv_general_dilated(x, np.ones((1, 1, 3)), (1,), "VALID")
      Array([[[3., 6., 9.]]], dtype=float32)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    count = max(len(numbers.lhs_spec) - 2, 0)
    strides = integers(_NAME, "window_strides", window_strides)
    base = integers(_NAME, "lhs_dilation", (1,) * count if lhs_dilation is None else lhs_dilation)
    window = integers(_NAME, "rhs_dilation", (1,) * count if rhs_dilation is None else rhs_dilation)
    if isinstance(padding, str):
        pads = _word_padding(lhs_shape, rhs_shape, numbers, strides, padding, base, window)
    else:
        pads = integer_pairs(_NAME, padding)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, _NAME
        )
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pads,
        lhs_dilation=base,
        rhs_dilation=window,
        dimension_numbers=ConvDimensionNumbers(*map(tuple, numbers)),
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=asked_sharding(out_sharding, "conv_general_dilated"),
    )


def _word_padding(
    lhs_shape: tuple,
    rhs_shape: tuple,
    numbers: ConvDimensionNumbers,
    strides: tuple,
    padding: str,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
) -> tuple:
    if any(dilation != 1 for dilation in lhs_dilation):
        raise ValueError(
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose. (Got padding="
            f"{padding!r} with lhs_dilation={lhs_dilation}.)"
        )
    window = [
        dilated_size(size, dilation)
        for size, dilation in zip(permuted(rhs_shape, numbers.rhs_spec)[2:], rhs_dilation)
    ]
    sizes = permuted(lhs_shape, numbers.lhs_spec)[2:]
    return tuple(padtype_to_pads(sizes, window, strides, padding))


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolves an array with a kernel, without dilation, with dimensions in standard order.

    Args:
      lhs: the input: batch, features, spatial dimensions.
      rhs: the kernel: output features, input features, spatial dimensions.
      window_strides: the distance between windows in each spatial dimension.
      padding: ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"``.
      precision: as in `conv_general_dilated`.
      preferred_element_type: as in `conv_general_dilated`.

    Returns:
      An array: batch, output features, spatial dimensions.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.conv(np.ones((1, 1, 4)), np.ones((1, 1, 2)), (2,), "VALID")
      Array([[[2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolves with any padding and dilation, with dimensions in standard order.

    Args:
      lhs: the input: batch, features, spatial dimensions.
      rhs: the kernel: output features, input features, spatial dimensions.
      window_strides: the distance between windows in each spatial dimension.
      padding: as in `conv_general_dilated`.
      lhs_dilation: as in `conv_general_dilated`.
      rhs_dilation: as in `conv_general_dilated`.
      precision: as in `conv_general_dilated`.
      preferred_element_type: as in `conv_general_dilated`.

    Returns:
      An array: batch, output features, spatial dimensions.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x, kernel = np.ones((1, 1, 3)), np.ones((1, 1, 2))
      >>> lax.conv_with_general_padding(x, kernel, (1,), [(1, 0)], None, (2,))
      Array([[[1., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
