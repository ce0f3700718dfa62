# SPDX-License-Identifier: Apache-2.0
"""The normal distribution."""

from __future__ import annotations

import math

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import floats, numbers, reals, strong, strong_array

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the normal distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(logpdf(0.5)), 4)
      -1.0439
    """
    first = x
    x, loc, scale = numbers("norm.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return strong_array(-0.5 * y * y - lax.log(scale) - 0.5 * math.log(2.0 * math.pi), first)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the normal distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(pdf(0.5)), 4)
      0.3521
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the normal distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> cdf(0.0)
      Array(0.5, dtype=float32)
    """
    x, loc, scale = reals("norm.cdf", x, loc, scale)
    return strong(0.5 * lax.erfc((loc - x) / (scale * math.sqrt(2.0))))


@outlined()
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the normal distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5)), 4)
      -0.3689
    """
    x, loc, scale = reals("norm.logcdf", x, loc, scale)
    y = (x - loc) / scale
    return special.log_ndtr(y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the normal distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(sf(0.5)), 4)
      0.3085
    """
    x, loc, scale = floats("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the normal distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5)), 4)
      -1.1759
    """
    x, loc, scale = floats("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


@outlined()
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the normal distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(ppf(0.5)), 4)
      0.0
    """
    q, loc, scale = reals("norm.ppf", q, loc, scale)
    y = special.ndtri(q)
    return y * scale + loc


@outlined()
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the inverse of the survival function of the normal distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(isf(0.25)), 4)
      0.6745
    """
    q, loc, scale = reals("norm.isf", q, loc, scale)
    y = -special.ndtri(q)
    return y * scale + loc
