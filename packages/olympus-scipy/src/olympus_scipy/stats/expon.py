# SPDX-License-Identifier: Apache-2.0
"""The exponential distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the exponential distribution.

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
      -0.5
    """
    x, loc, scale = reals("expon.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return onp.where(y < 0.0, -np.inf, -y - lax.log(scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the exponential distribution.

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
      0.6065
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the exponential distribution.

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
      0.3935
    """
    x, loc, scale = reals("expon.cdf", x, loc, scale)
    y = (x - loc) / scale
    return -lax.expm1(-onp.maximum(y, 0.0))


@outlined()
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5)), 4)
      -0.9328
    """
    x, loc, scale = reals("expon.logcdf", x, loc, scale)
    y = (x - loc) / scale
    return lax.log(-lax.expm1(-onp.maximum(y, 0.0)))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(0.5)), 4)
      0.6065
    """
    return lax.exp(logsf(x, loc, scale))


@outlined()
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5)), 4)
      -0.5
    """
    x, loc, scale = reals("expon.logsf", x, loc, scale)
    y = (x - loc) / scale
    return -onp.maximum(y, 0.0)


@outlined()
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the exponential distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(ppf(0.5)), 4)
      0.6931
    """
    q, loc, scale = reals("expon.ppf", q, loc, scale)
    legal = (q >= 0.0) & (q <= 1.0)
    return loc - scale * lax.log1p(-onp.where(legal, q, np.nan))
