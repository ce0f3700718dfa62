# SPDX-License-Identifier: Apache-2.0
"""Dimension numbers of convolutions, and the shapes of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ...diagnostics.errors import ShapeError
from ..windows.shapes import dilated_size, padtype_to_pads, window_count

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
]


class ConvDimensionNumbers(NamedTuple):
    """The roles of the dimensions of a convolution's operands and result.

    Attributes:
      lhs_spec: the positions of the input's batch, feature and spatial dimensions.
      rhs_spec: the positions of the kernel's output feature, input feature and spatial dimensions.
      out_spec: the positions of the result's batch, feature and spatial dimensions.

    Example:
      >>> from olympus_ir import lax
      >>> lax.ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)).lhs_spec
      (0, 2, 1)
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers: TypeAlias = tuple[str, str, str] | ConvDimensionNumbers | None

# The letters of the non-spatial dimensions of input, kernel and result, in the order in which
# `ConvDimensionNumbers` lists these dimensions.
_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Converts dimension numbers of any accepted form to positions.

    Args:
      lhs_shape: the input's shape.
      rhs_shape: the kernel's shape.
      dimension_numbers: a `ConvDimensionNumbers`, which is returned as it is; three strings for
        input, kernel and result, such as ``("NHWC", "HWIO", "NHWC")``; or None for the order
        batch, feature, spatial dimensions, and for kernels output feature, input feature, spatial
        dimensions.

    Returns:
      A `ConvDimensionNumbers`.

    Raises:
      TypeError: if ``dimension_numbers`` have an unknown form or do not fit the shapes.

    Example:
      >>> from olympus_ir import lax
      >>> lax.conv_dimension_numbers((1, 8, 3), (5, 3, 4), ("NHC", "HIO", "NHC"))
      ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise ShapeError(
            "convolution requires lhs and rhs ndim to be equal, got "
            f"{ndim} and {len(rhs_shape)} (shapes {tuple(lhs_shape)} and {tuple(rhs_shape)})."
        )
    if dimension_numbers is None:
        positions = tuple(range(ndim))
        return ConvDimensionNumbers(positions, positions, positions)
    if not isinstance(dimension_numbers, list | tuple):
        raise TypeError(
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "convolution dimension_numbers list/tuple must be length 3, got "
            f"{len(dimension_numbers)}."
        )
    if not all(isinstance(letters, str) for letters in dimension_numbers):
        raise TypeError(
            "convolution dimension_numbers elements must be strings, got "
            f"{tuple(map(type, dimension_numbers))}."
        )
    for position, letters in enumerate(dimension_numbers):
        if len(letters) != ndim:
            raise TypeError(
                f"convolution dimension_numbers[{position}] must have len equal to the ndim of "
                f"lhs and rhs, got {len(letters)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Returns the positions of batch, feature and spatial dimensions, given three strings.

    Raises:
      TypeError: if a letter is missing or repeated.

    Example:
      >>> from olympus_ir import lax
      >>> lax.conv_general_permutations(("NHWC", "HWIO", "NCHW"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    """
    for position, (letters, (first, second)) in enumerate(
        zip(dimension_numbers, _LETTERS, strict=True)
    ):
        if letters.count(first) != 1 or letters.count(second) != 1:
            raise TypeError(
                f"convolution dimension_numbers[{position}] must contain the characters "
                f"'{first}' and '{second}' exactly once, got {letters}."
            )
        if len(set(letters)) != len(letters):
            raise TypeError(
                f"convolution dimension_numbers[{position}] cannot have duplicate characters, got "
                f"{letters}."
            )
    spatial = [
        [letter for letter in letters if letter not in others]
        for letters, others in zip(dimension_numbers, _LETTERS, strict=True)
    ]
    # The kernel's letters define the order of spatial dimensions.
    order = spatial[1]
    if not all(set(letters) == set(order) for letters in spatial):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {tuple(dimension_numbers)}."
        )
    return tuple(
        tuple(letters.index(letter) for letter in (*others, *order))
        for letters, others in zip(dimension_numbers, _LETTERS, strict=True)
    )


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Returns the shape of a convolution's result, for dimensions in standard order.

    Args:
      lhs_shape: the input's shape: batch, features, spatial sizes.
      rhs_shape: the kernel's shape: output features, input features, spatial sizes.
      strides: the distance between windows in each spatial dimension.
      pads: a word as in `padtype_to_pads`, or a pair (before, after) for each dimension.
      batch_group_count: the number of groups into which the batch is divided.

    Returns:
      A tuple: batch size, number of output features, spatial sizes.

    Raises:
      TypeError: if ``pads`` has the wrong length.
      ValueError: if padding is too negative or ``batch_group_count`` does not divide the batch.

    Example:
      >>> from olympus_ir import lax
      >>> lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (2,), "VALID")
      (2, 4, 3)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            "Wrong number of explicit pads for convolution: expected "
            f"{len(lhs_shape) - 2}, got {len(pads)}."
        )
    padded = [size + low + high for size, (low, high) in zip(lhs_shape[2:], pads, strict=True)]
    if any(size < 0 for size in padded):
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: got "
            f"padding={tuple(map(tuple, pads))} for lhs_shape[2:]={tuple(lhs_shape[2:])}"
        )
    counts = [
        window_count(size, window, stride)
        for size, window, stride in zip(padded, rhs_shape[2:], strides, strict=True)
    ]
    if batch_group_count > 1 and lhs_shape[0] % batch_group_count:
        raise ValueError(
            f"batch_group_count={batch_group_count} does not divide the batch {lhs_shape[0]}"
        )
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *counts)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """Returns the shape of a convolution's result, for dimensions ordered by three strings.

    Args:
      lhs_shape: the shape of the input.
      rhs_shape: the shape of the kernel.
      window_strides: the distance between windows in each spatial dimension.
      padding: as in `conv_shape_tuple`.
      dimension_numbers: the letters of the dimensions of input, kernel and result.

    Returns:
      A tuple of integers.

    Example:
      >>> from olympus_ir import lax
      >>> numbers = ("NHC", "HIO", "NHC")
      >>> lax.conv_general_shape_tuple((2, 8, 3), (3, 3, 4), (1,), "SAME", numbers)
      (2, 8, 4)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        permuted(lhs_shape, lhs_spec), permuted(rhs_shape, rhs_spec), window_strides, padding
    )
    return unpermuted(shape, out_spec)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """Returns the shape of the result of `conv_transpose`.

    Args:
      lhs_shape: the shape of the input.
      rhs_shape: the shape of the kernel.
      window_strides: the strides of the convolution that is transposed.
      padding: ``"SAME"``, ``"VALID"`` or a pair (before, after) for each spatial dimension.
      dimension_numbers: the letters of the dimensions of input, kernel and result.

    Returns:
      A tuple of integers.

    Example:
      >>> from olympus_ir import lax
      >>> numbers = ("NHC", "HIO", "NHC")
      >>> lax.conv_transpose_shape_tuple((2, 8, 3), (3, 3, 4), (2,), "SAME", numbers)
      (2, 16, 4)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    lhs, rhs = permuted(lhs_shape, lhs_spec), permuted(rhs_shape, rhs_spec)
    if isinstance(padding, str):
        padding = [
            transposed_padding(size, stride, padding)
            for size, stride in zip(rhs[2:], window_strides, strict=True)
        ]
    spatial = [
        dilated_size(size, stride) for size, stride in zip(lhs[2:], window_strides, strict=True)
    ]
    ones = (1,) * len(spatial)
    return unpermuted(conv_shape_tuple((*lhs[:2], *spatial), rhs, ones, padding), out_spec)


def transposed_padding(window: int, stride: int, padding: str) -> tuple[int, int]:
    """Returns the padding of the dilated input in the transpose of a convolution.

    The convolution to transpose has the given window, stride and padding.

    Raises:
      ValueError: if ``padding`` is neither ``"SAME"`` nor ``"VALID"``.
    """
    if padding == "SAME":
        total = window + stride - 2
        before = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        before = window - 1
    else:
        raise ValueError(
            f"Invalid padding mode: {padding}. Transposed convolutions take 'SAME', 'VALID' or a "
            "pair (before, after) a dimension."
        )
    return before, total - before


def permuted(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """Returns the sizes of batch, feature and spatial dimensions, in this order."""
    return tuple([shape[position] for position in spec])


def unpermuted(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """Inverts `permuted`."""
    result = [0] * len(shape)
    for position, size in zip(spec, shape, strict=True):
        result[position] = size
    return tuple(result)
