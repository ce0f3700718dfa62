# SPDX-License-Identifier: Apache-2.0
"""The Laplace distribution."""

from __future__ import annotations

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals, strong_array

__all__ = ["cdf", "logpdf", "pdf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the Laplace distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5)), 4)
      -1.1931
    """
    first = x
    x, loc, scale = reals("laplace.logpdf", x, loc, scale)
    return strong_array(-(lax.abs(x - loc) / scale) - lax.log(2.0 * scale), first)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the Laplace distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5)), 4)
      0.3033
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the Laplace distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5)), 4)
      0.6967
    """
    first = x
    x, loc, scale = reals("laplace.cdf", x, loc, scale)
    y = (x - loc) / scale
    tail = 0.5 * lax.exp(-lax.abs(y))
    return strong_array(onp.where(y < 0.0, tail, 1.0 - tail), first)
