# SPDX-License-Identifier: Apache-2.0
"""The gamma distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals, reals_as_first

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@outlined()
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 2.0)), 4)
      -1.1931
    """
    x, a, loc, scale = reals_as_first("gamma.logpdf", x, a, loc, scale)
    y = (x - loc) / scale
    outside = (y < 0.0) | (y == np.inf)
    inner = onp.where(outside, 1.0, y)
    result = special.xlogy(a - 1.0, inner) - inner - lax.lgamma(a) - lax.log(scale)
    return onp.where(outside, -np.inf, result)


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 2.0)), 4)
      0.3033
    """
    return lax.exp(logpdf(x, a, loc, scale))


@outlined()
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5, 2.0)), 4)
      0.0902
    """
    x, a, loc, scale = reals_as_first("gamma.cdf", x, a, loc, scale)
    y = (x - loc) / scale
    return lax.igamma(a, onp.maximum(y, 0.0))


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5, 2.0)), 4)
      -2.4057
    """
    return lax.log(cdf(x, a, loc, scale))


@outlined()
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(0.5, 2.0)), 4)
      0.9098
    """
    x, a, loc, scale = reals("gamma.sf", x, a, loc, scale)
    y = (x - loc) / scale
    return lax.igammac(a, onp.maximum(y, 0.0))


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the gamma distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5, 2.0)), 4)
      -0.0945
    """
    return lax.log(sf(x, a, loc, scale))
