# SPDX-License-Identifier: Apache-2.0
"""Shapes of windows over padded, dilated arrays, for convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.axes import integer_or_dim
from ..core.sizes import max_dim

__all__ = ["padtype_to_pads"]

Padding = tuple[tuple[int, int], ...]


def dilated_size(size: int, dilation: int) -> int:
    """Returns the size of a dimension with ``dilation - 1`` gaps between neighboring elements."""
    return 0 if size == 0 else 1 + dilation * (size - 1)


def window_count(size: int, window: int, stride: int) -> int:
    """Returns the number of windows that fit into a dimension.

    Args:
      size: the size of the dimension.
      window: the size of a window.
      stride: the distance between the starts of windows.
    """
    return max_dim((size - window) // stride + 1, 0)


def window_counts(
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> tuple[int, ...]:
    """Returns the number of windows along each dimension of a dilated, padded array."""
    return tuple(
        window_count(dilated_size(size, base) + low + high, dilated_size(window, dilation), stride)
        for size, window, stride, (low, high), base, dilation in zip(
            shape,
            window_dimensions,
            window_strides,
            padding,
            base_dilation,
            window_dilation,
            strict=True,
        )
    )


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Returns the explicit padding that a padding word stands for.

    Args:
      in_shape: the sizes of the dimensions along which windows move.
      window_shape: the sizes of a window, including its dilation.
      window_strides: the distance between windows in each dimension.
      padding: ``"VALID"`` for no padding; ``"SAME"`` for one window at each multiple of the stride,
        with the odd element of padding at the end; ``"SAME_LOWER"`` for the same with the odd
        element at the beginning.

    Returns:
      For each dimension, the numbers of elements added before and after.

    Raises:
      RuntimeError: if ``padding`` is none of these words.
      TypeError: if ``padding`` is not a word.

    Example:
      >>> from olympus_ir import lax
      >>> lax.padtype_to_pads((8, 9), (3, 4), (1, 2), "SAME")
      [(1, 1), (1, 2)]
    """
    if not isinstance(padding, str):
        raise TypeError(
            f"Unknown padding type: {padding!r}. Expected 'VALID', 'SAME' or 'SAME_LOWER'."
        )
    word = padding.upper()
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    if word not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    sizes = [map(integer_or_dim, numbers) for numbers in (in_shape, window_shape, window_strides)]
    for size, window, stride in zip(*sizes):
        if stride < 1:
            raise ValueError(f"window strides must be positive, got {tuple(window_strides)}")
        count = -(-size // stride)
        missing = max_dim((count - 1) * stride + window - size, 0)
        smaller = missing // 2
        larger = missing - smaller
        pads.append((smaller, larger) if word == "SAME" else (larger, smaller))
    return pads


def integers(name: str, parameter: str, values: Any) -> tuple[int, ...]:
    """Converts a parameter that must be a sequence of integers.

    Raises:
      TypeError: if ``values`` is not a sequence of integers.
    """
    try:
        return tuple([integer_or_dim(value) for value in values])
    except TypeError:
        raise TypeError(
            f"{name} {parameter} must be a sequence of integers, one for each dimension, got "
            f"{values!r}"
        ) from None


def integer_pairs(name: str, values: Any) -> Padding:
    """Converts a padding that must be a sequence of pairs of integers.

    Raises:
      ValueError: if ``values`` is not a sequence of pairs of integers.
    """
    try:
        return tuple([(integer_or_dim(low), integer_or_dim(high)) for low, high in values])
    except (TypeError, ValueError):
        raise ValueError(
            f"padding argument to {name} should be 'SAME', 'SAME_LOWER', 'VALID' or a sequence of "
            f"(low, high) pairs of integers, one for each dimension, got {values!r}"
        ) from None


def check_positive(name: str, parameter: str, values: Sequence[int]) -> None:
    """Raises TypeError if one of the integers is not positive."""
    if any(value <= 0 for value in values):
        if "dilation" in parameter:
            raise TypeError(
                f"{name} {parameter}: All dilations must be positive, got {tuple(values)}."
            )
        raise TypeError(
            f"{name} {parameter} must have every element be strictly positive, got {tuple(values)}."
        )
