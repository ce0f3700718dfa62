# SPDX-License-Identifier: Apache-2.0
"""Integration of sampled functions."""

from __future__ import annotations

import olympus_numpy as onp
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

__all__ = ["trapezoid"]


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrates samples along an axis by the trapezoidal rule.

    Args:
      y: the values of the function, an array of real or complex numbers.
      x: the sample points, an array of the shape of ``y`` or a vector of its length along ``axis``;
        equidistant if None.
      dx: the distance of sample points, used if ``x`` is None.
      axis: the axis to integrate over.

    Returns:
      An array of the shape of ``y`` without ``axis``, of an inexact dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> trapezoid(jnp.array([0.0, 1.0, 2.0]))
      Array(2., dtype=float32)
    """
    return onp.trapezoid(y, x, dx, axis)
