# SPDX-License-Identifier: Apache-2.0
"""The logistic distribution."""

from __future__ import annotations

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import is_complex, numbers, strong_array
from ..special.information import log_odds

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(logpdf(0.5)), 4)
      -1.4482
    """
    x, loc, scale = numbers("logistic.logpdf", x, loc, scale)
    y = (x - loc) / scale
    if is_complex(y):
        y = lax.select(lax.real(y) < 0.0, -y, y)  # the density is even
    else:
        y = lax.abs(y)
    return strong_array(-y - 2.0 * lax.log1p(lax.exp(-y)) - lax.log(scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(pdf(0.5)), 4)
      0.235
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(cdf(0.5)), 4)
      0.6225
    """
    x, loc, scale = numbers("logistic.cdf", x, loc, scale)
    y = (x - loc) / scale
    return lax.logistic(y)


@outlined()
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(sf(0.5)), 4)
      0.3775
    """
    x, loc, scale = numbers("logistic.sf", x, loc, scale)
    y = (x - loc) / scale
    return lax.logistic(-y)


@outlined()
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(ppf(0.5)), 4)
      0.0
    """
    first = x
    x, loc, scale = numbers("logistic.ppf", x, loc, scale)
    y = log_odds(x)
    return strong_array(y * scale + loc, first)


@outlined()
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the inverse of the survival function of the logistic distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(isf(0.25)), 4)
      1.0986
    """
    first = x
    x, loc, scale = numbers("logistic.isf", x, loc, scale)
    y = -log_odds(x)
    return strong_array(y * scale + loc, first)
