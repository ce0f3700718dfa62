# SPDX-License-Identifier: Apache-2.0
"""The Pareto distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals, reals_as_first

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(2.0, 3.0)), 4)
      -1.674
    """
    x, b, loc, scale = reals_as_first("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    inside = lax.log(b / scale) - (b + 1.0) * lax.log(onp.maximum(y, 1.0))
    return onp.where(y < 1.0, -np.inf, inside)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(2.0, 3.0)), 4)
      0.1875
    """
    return lax.exp(logpdf(x, b, loc, scale))


@outlined()
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(2.0, 3.0)), 4)
      0.875
    """
    return _cdf(*reals_as_first("pareto.cdf", x, b, loc, scale))


def _cdf(x: Array, b: Array, loc: Array, scale: Array) -> Array:
    """Returns the distribution function of operands of one dtype and shape."""
    y = onp.maximum((x - loc) / scale, 1.0)
    return -lax.expm1(-b * lax.log(y))


@outlined()
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(2.0, 3.0)), 4)
      -0.1335
    """
    return lax.log(_cdf(*reals("pareto.logcdf", x, b, loc, scale)))


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(2.0, 3.0)), 4)
      0.125
    """
    return lax.exp(logsf(x, b, loc, scale))


@outlined()
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the Pareto distribution.

    Args:
      x: an array or scalar of real numbers.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(2.0, 3.0)), 4)
      -2.0794
    """
    x, b, loc, scale = reals_as_first("pareto.logsf", x, b, loc, scale)
    y = onp.maximum((x - loc) / scale, 1.0)
    return -b * lax.log(y)


@outlined()
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the Pareto distribution.

    Args:
      q: an array or scalar of probabilities.
      b: the shape parameters, positive.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(ppf(0.5, 3.0)), 4)
      1.2599
    """
    q, b, loc, scale = reals_as_first("pareto.ppf", q, b, loc, scale)
    legal = onp.where((q >= 0.0) & (q <= 1.0), q, np.nan)
    return loc + scale * lax.exp(-lax.log1p(-legal) / b)
