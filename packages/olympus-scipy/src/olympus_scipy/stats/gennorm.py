# SPDX-License-Identifier: Apache-2.0
"""The generalized normal distribution."""

from __future__ import annotations

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals

__all__ = ["cdf", "logpdf", "pdf"]


@outlined()
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Returns the logarithm of the density of the generalized normal distribution.

    Args:
      x: an array or scalar of real numbers.
      beta: the exponent.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 2.0)), 4)
      -0.8224
    """
    x, beta = reals("gennorm.logpdf", x, beta)
    return lax.log(0.5 * beta) - lax.lgamma(1.0 / beta) - lax.pow(lax.abs(x), beta)


def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Returns the density of the generalized normal distribution.

    Args:
      x: an array or scalar of real numbers.
      beta: the exponent.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 2.0)), 4)
      0.4394
    """
    return lax.exp(logpdf(x, beta))


@outlined()
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Returns the distribution function of the generalized normal distribution.

    Args:
      x: an array or scalar of real numbers.
      beta: the exponent.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5, 2.0)), 4)
      0.7602
    """
    x, beta = reals("gennorm.cdf", x, beta)
    tail = 0.5 * lax.igammac(1.0 / beta, lax.pow(lax.abs(x), beta))
    return onp.where(x < 0.0, tail, 1.0 - tail)
