# SPDX-License-Identifier: Apache-2.0
"""Complex numbers at which functions are hard to compute."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["complex_plane_sample"]


def complex_plane_sample(dtype: Any, size_re: int = 10, size_im: int | None = None) -> np.ndarray:
    """Returns a grid of complex numbers with infinities and the largest and smallest numbers.

    Args:
      dtype: the complex dtype.
      size_re: the number of positive real parts, as of negative ones.
      size_im: the number of positive imaginary parts, by default ``size_re``.

    Returns:
      An array of shape ``(3 + 2 * size_im, 3 + 2 * size_re)``: real parts grow along rows.

    Example:
      >>> complex_plane_sample(np.complex64, 0, 0).real[0]
      array([-inf,   0.,  inf], dtype=float32)
    """
    real = _axis_points(np.finfo(dtype), size_re)
    imaginary = _axis_points(np.finfo(dtype), size_re if size_im is None else size_im)
    grid = np.empty((imaginary.size, real.size), dtype)
    grid.real, grid.imag = real, imaginary[:, None]
    return grid


def _axis_points(finfo: Any, size: int) -> np.ndarray:
    """Returns numbers evenly spaced in their logarithms, 0 and infinities."""
    with np.errstate(over="ignore"):
        exponents = np.linspace(finfo.minexp, finfo.maxexp, size)
        positive = np.exp2(exponents.astype(np.float64)).astype(finfo.dtype)
    if size > 1:
        positive[-1] = finfo.max
    if size > 0:
        positive[0] = finfo.tiny
    positive = np.append(positive, np.array(np.inf, finfo.dtype))
    return np.concatenate([-positive[::-1], np.zeros(1, finfo.dtype), positive])
