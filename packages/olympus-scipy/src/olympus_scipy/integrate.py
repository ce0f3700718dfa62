# SPDX-License-Identifier: Apache-2.0
"""Integration of samples."""

from __future__ import annotations

from typing import Any

import olympus_numpy as onp
from olympus_ir.types.arrays import Array

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: the values of the function.
      x: where they are; at equal distances where it is None.
      dx: the distance, where ``x`` is None.
      axis: the dimension that is integrated over.

    Example:
      >>> import olympus_numpy as jnp
      >>> trapezoid(jnp.array([0.0, 1.0, 2.0]))
      Array(2., dtype=float32)
    """
    return onp.trapezoid(y, x, dx, axis)
