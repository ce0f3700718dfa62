# SPDX-License-Identifier: Apache-2.0
"""Window functions of signal processing."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.selection import where
from ..core.compilation import compiled, outlined
from ..core.promotion import convert, promote_args_inexact

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def _length(name: str, M: Any) -> int:
    M = concrete_or_error(int, M, f"M argument of jnp.{name}")
    return max(M, 0)


def _of_cosines(M: int, coefficients: tuple[float, ...], dtype: Any) -> Any:
    """Returns a sum of cosines of multiples of an angle, which runs from 0 to 2 pi."""
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

    Args:
      M: the number of points.

    Returns:
      An array of shape ``(M,)`` and of the default float dtype.

    Example:
      >>> [round(value, 4) for value in hamming(3).tolist()]
      [0.08, 1.0, 0.08]
    """
    return _cosines(_length("hamming", M), (0.54, -0.46), dtypes.default_float_dtype())


def hanning(M: int) -> Array:
    """Returns a Hann window of length ``M``.

    Args:
      M: the number of points.

    Returns:
      An array of shape ``(M,)`` and of the default float dtype.

    Example:
      >>> hanning(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _cosines(_length("hanning", M), (0.5, -0.5), dtypes.default_float_dtype())


def blackman(M: int) -> Array:
    """Returns a Blackman window of length ``M``.

    Args:
      M: the number of points.

    Returns:
      An array of shape ``(M,)`` and of the default float dtype.

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

    Args:
      M: the number of points.

    Returns:
      An array of shape ``(M,)`` and of the default float dtype.

    Example:
      >>> bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _triangle_compiled(_length("bartlett", M), dtypes.default_float_dtype())


@custom_jvp
def _i0(x: Any) -> Any:
    x = lax.abs(x)
    return lax.mul(lax.exp(x), lax.bessel_i0e(x))


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    # `abs` has no derivative at zero, but the Bessel function has one there.
    (x,), (t,) = primals, tangents
    return _i0(x), lax.mul(t, lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x)))


@outlined()
def i0(x: ArrayLike) -> Array:
    """Returns the modified Bessel function of the first kind of order zero, elementwise.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of the shape of ``x`` and of a floating dtype.

    Raises:
      ValueError: if ``x`` is complex.

    Example:
      >>> round(float(i0(1.0)), 5)
      1.26607
    """
    x, _ = promote_args_inexact.single("i0", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(
            f"Unsupported input type to i0: {dtypes.name_of(x.dtype)}. Take the real part."
        )
    return _i0(x)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Returns a Kaiser window of length ``M``.

    Args:
      M: the length.
      beta: the shape parameter; larger values produce narrower windows.

    Returns:
      An array of shape ``(M,)`` and of the default float dtype.

    Example:
      >>> kaiser(3, 0.0)
      Array([1., 1., 1.], dtype=float32)
    """
    dtype = dtypes.default_float_dtype()
    M = _length("kaiser", M)
    if M <= 1:
        return lax.full((M,), np.ones((), dtype))
    beta = convert(beta, dtype)
    middle = np.asarray(0.5 * (M - 1), dtype)
    position = lax.div(lax.sub(lax.iota(dtype, M), middle), middle)
    inside = lax.sqrt(lax.sub(np.ones((), dtype), lax.integer_pow(position, 2)))
    return lax.div(i0(lax.mul(beta, inside)), i0(beta))
