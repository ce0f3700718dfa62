# SPDX-License-Identifier: Apache-2.0
"""Window functions of signal processing."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_ir import dtypes, lax
from olympus_ir.arrays import Array
from olympus_ir.tracing import concrete_or_error

from .compilation import compiled
from .selection import where

__all__ = ["bartlett", "blackman", "hamming", "hanning"]


def _length(name: str, M: Any) -> int:
    M = concrete_or_error(operator.index, M, f"M argument of olympus.numpy.{name}")
    return max(M, 0)


def _of_cosines(M: int, coefficients: tuple[float, ...], dtype: Any) -> Any:
    """A sum of cosines of multiples of the angle that goes once around the window."""
    if M <= 1:
        return lax.full((M,), np.ones((), dtype))
    position = lax.div(lax.iota(dtype, M), np.array(M - 1, dtype))
    window = lax.full((M,), np.array(coefficients[0], dtype))
    for multiple, coefficient in enumerate(coefficients[1:], start=1):
        angle = lax.mul(np.array(2 * np.pi * multiple, dtype), position)
        term = lax.mul(np.array(coefficient, dtype), lax.cos(angle))
        window = lax.add(window, term)
    return window


_cosines = compiled(_of_cosines, ("M", "coefficients", "dtype"), inline=True, name="window")


def hamming(M: int) -> Array:
    """Returns a Hamming window of length ``M``.

    Example:
      >>> [round(value, 4) for value in hamming(3).tolist()]
      [0.08, 1.0, 0.08]
    """
    return _cosines(_length("hamming", M), (0.54, -0.46), dtypes.default_float_dtype())


def hanning(M: int) -> Array:
    """Returns a Hann window of length ``M``.

    Example:
      >>> hanning(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _cosines(_length("hanning", M), (0.5, -0.5), dtypes.default_float_dtype())


def blackman(M: int) -> Array:
    """Returns a Blackman window of length ``M``.

    Example:
      >>> round(float(blackman(3)[1]), 4)
      1.0
    """
    return _cosines(_length("blackman", M), (0.42, -0.5, 0.08), dtypes.default_float_dtype())


def _triangle(M: int, dtype: Any) -> Any:
    if M <= 1:
        return lax.full((M,), np.ones((), dtype))
    n = lax.iota(dtype, M)
    slope = lax.mul(np.array(2 / (M - 1), dtype), n)
    return where(lax.lt(n, np.array((M - 1) / 2, dtype)), slope, lax.sub(np.array(2, dtype), slope))


_triangle_compiled = compiled(_triangle, ("M", "dtype"), inline=True, name="bartlett")


def bartlett(M: int) -> Array:
    """Returns a triangular window of length ``M``.

    Example:
      >>> bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _triangle_compiled(_length("bartlett", M), dtypes.default_float_dtype())
