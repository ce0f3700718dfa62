# SPDX-License-Identifier: Apache-2.0
"""The von Mises distribution."""

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
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Returns the logarithm of the density of the von Mises distribution.

    Args:
      x: an array or scalar of real numbers.
      kappa: the concentration, not negative.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 1.0)), 4)
      -1.1962
    """
    x, kappa = reals("vonmises.logpdf", x, kappa)
    # The Bessel function is scaled by exp(-kappa), so the exponent is kappa (cos(x) - 1). The half
    # angle gives the exponent without cancellation.
    half = lax.sin(0.5 * x)
    value = -2.0 * kappa * half * half - lax.log(2.0 * math.pi * lax.bessel_i0e(kappa))
    return onp.where(kappa >= 0.0, value, np.nan)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Returns the density of the von Mises distribution.

    Args:
      x: an array or scalar of real numbers.
      kappa: the concentration.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 1.0)), 4)
      0.3023
    """
    return lax.exp(logpdf(x, kappa))
