# SPDX-License-Identifier: Apache-2.0
"""The wrapped Cauchy distribution."""

from __future__ import annotations

import math

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals

__all__ = ["logpdf", "pdf"]


@outlined()
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Returns the logarithm of the density of the wrapped Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      c: the concentration, between 0 and 1.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands. It is NaN for any other
      concentration.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 0.5)), 4)
      -1.1378
    """
    x, c = reals("wrapcauchy.logpdf", x, c)
    density = (1.0 - c * c) / (2.0 * math.pi * (1.0 + c * c - 2.0 * c * lax.cos(x)))
    outside = (x < 0.0) | (x > 2.0 * math.pi)
    value = onp.where(outside, -np.inf, lax.log(density))
    return onp.where((c > 0.0) & (c < 1.0), value, np.nan)


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Returns the density of the wrapped Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      c: the concentration, between 0 and 1.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands. It is NaN for any other
      concentration.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 0.5)), 4)
      0.3205
    """
    return lax.exp(logpdf(x, c))
