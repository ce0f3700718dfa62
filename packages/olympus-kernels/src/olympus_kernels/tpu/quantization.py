# SPDX-License-Identifier: Apache-2.0
"""Quantization of arrays to int8, with a scale for each vector along the last dimension."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import olympus_numpy as jnp

__all__ = [
    "MAX_INT8",
    "QuantizedTensor",
    "from_int8",
    "get_quantization_scales",
    "quantize_to_int8",
    "to_int8",
    "unquantize_from_int8",
]

MAX_INT8 = 127.5


class QuantizedTensor(NamedTuple):
    """A quantized array: integers, and a scale for each vector along the last dimension.

    Attributes:
      weight: the integers, int8[..., size].
      scales: the largest absolute value of each vector, [..., 1].
    """

    weight: Any
    scales: Any


def to_int8(x: Any, h: Any) -> Any:
    """Quantizes numbers to int8: rounds ``x * 127.5 / h``.

    Args:
      x: the numbers.
      h: the largest absolute values; their shape broadcasts with that of ``x``.

    Returns:
      An array of the shape of ``x`` and of dtype int8.

    Example:
      >>> to_int8(np.float32([-1.0, 0.5]), np.float32(2.0))
      Array([-64,  32], dtype=int8)
    """
    return jnp.rint(x * (MAX_INT8 / h)).astype(np.int8)


def from_int8(x: Any, h: Any, dtype: Any = ml_dtypes.bfloat16) -> Any:
    """Converts integers of `to_int8` back to numbers.

    Args:
      x: the integers.
      h: the largest absolute values.
      dtype: the dtype to which the integers are converted before they are multiplied by ``h``.

    Returns:
      An array with the shape of ``x`` and the common dtype of ``dtype`` and ``h``.

    Example:
      >>> from_int8(np.int8([-51, 102]), jnp.float32(2.5), np.float32)
      Array([-1.,  2.], dtype=float32)
    """
    return jnp.asarray(x).astype(dtype) * h / MAX_INT8


def get_quantization_scales(x: Any) -> Any:
    """Returns the largest absolute value of each vector of the last dimension.

    Args:
      x: the numbers, [..., size].

    Returns:
      An array of shape [..., 1].
    """
    return jnp.max(jnp.abs(x), axis=-1, keepdims=True)


def quantize_to_int8(x: Any) -> QuantizedTensor:
    """Quantizes an array to int8, with a scale for each vector along the last dimension.

    Args:
      x: the numbers, [..., size].

    Returns:
      The integers, and the scales of shape [..., 1]. A scale is the largest absolute value of its
      vector. The integers are the numbers divided by the scale and multiplied by 127.5, rounded.

    Example:
      >>> quantize_to_int8(np.float32([[1.0, -2.0]])).scales
      Array([[2.]], dtype=float32)
    """
    scales = get_quantization_scales(x)
    return QuantizedTensor(to_int8(x, scales), scales)


def unquantize_from_int8(x: QuantizedTensor, dtype: Any = ml_dtypes.bfloat16) -> Any:
    """Converts a quantized array back to numbers.

    Args:
      x: the quantized array.
      dtype: the dtype to which the integers are converted before they are multiplied by the scales.
    """
    return from_int8(x.weight, x.scales, dtype)
