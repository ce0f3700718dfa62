# SPDX-License-Identifier: Apache-2.0
"""The Gumbel distribution of largest values, skewed to the right."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals, strong_array

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the Gumbel distribution of largest values.

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
      -1.1065
    """
    x, loc, scale = reals("gumbel_r.logpdf", x, loc, scale)
    z = (loc - x) / scale
    growth = lax.exp(z)
    # If the exponential is infinite, z may be infinite, too. Their difference would be NaN.
    value = onp.where(growth == np.inf, -np.inf, z - growth)
    return value - lax.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the Gumbel distribution of largest values.

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
      0.3307
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the Gumbel distribution of largest values.

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
      0.5452
    """
    x, loc, scale = reals("gumbel_r.cdf", x, loc, scale)
    z = (loc - x) / scale
    return lax.exp(-lax.exp(z))


@outlined()
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the log of the distribution function of the Gumbel distribution of largest values.

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
      -0.6065
    """
    x, loc, scale = reals("gumbel_r.logcdf", x, loc, scale)
    z = (loc - x) / scale
    return -lax.exp(z)


@outlined()
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the Gumbel distribution of largest values.

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
      0.4548
    """
    x, loc, scale = reals("gumbel_r.sf", x, loc, scale)
    z = (loc - x) / scale
    return strong_array(-lax.expm1(-lax.exp(z)))


@outlined()
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the log of the survival function of the Gumbel distribution of largest values.

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
      -0.788
    """
    x, loc, scale = reals("gumbel_r.logsf", x, loc, scale)
    z = (loc - x) / scale
    return lax.log(-lax.expm1(-lax.exp(z)))


@outlined()
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the Gumbel distribution of largest values.

    Args:
      p: an array or scalar of probabilities.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(ppf(0.4)), 4)
      0.0874
    """
    p, loc, scale = reals("gumbel_r.ppf", p, loc, scale)
    y = -lax.log(-lax.log(p))
    return loc + scale * y
