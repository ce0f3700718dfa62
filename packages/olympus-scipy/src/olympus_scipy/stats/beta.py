# SPDX-License-Identifier: Apache-2.0
"""The beta distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals_as_first

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@outlined()
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the density of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 2.0, 3.0)), 4)
      0.4055
    """
    x, a, b, loc, scale = reals_as_first("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    outside = (y < 0.0) | (y > 1.0)
    inner = onp.where(outside, 0.5, y)
    powers = special.xlogy(a - 1.0, inner) + special.xlog1py(b - 1.0, -inner)
    result = powers - special.betaln(a, b) - lax.log(scale)
    value = onp.where(outside, -np.inf, result)
    return onp.where((a > 0.0) & (b > 0.0), value, np.nan)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the density of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 2.0, 3.0)), 4)
      1.5
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


@outlined()
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the distribution function of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5, 2.0, 3.0)), 4)
      0.6875
    """
    x, a, b, loc, scale = reals_as_first("beta.cdf", x, a, b, loc, scale)
    y = onp.clip((x - loc) / scale, 0.0, 1.0)
    return lax.betainc(a, b, y)


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the distribution function of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5, 2.0, 3.0)), 4)
      -0.3747
    """
    return lax.log(cdf(x, a, b, loc, scale))


@outlined()
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(0.5, 2.0, 3.0)), 4)
      0.3125
    """
    x, a, b, loc, scale = reals_as_first("beta.sf", x, a, b, loc, scale)
    y = onp.clip((x - loc) / scale, 0.0, 1.0)
    return lax.betainc(b, a, 1.0 - y)


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the survival function of the beta distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5, 2.0, 3.0)), 4)
      -1.1632
    """
    return lax.log(sf(x, a, b, loc, scale))
