# SPDX-License-Identifier: Apache-2.0
"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arguments import reals_as_first
from . import gamma

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _as_gamma(name: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    """Returns the arguments of the gamma distribution that equals a chi-squared distribution."""
    x, df, loc, scale = reals_as_first(name, x, df, loc, scale)
    # NumPy's bfloat16 scalars keep their dtype beside integers, not beside floats.
    return x, df / 2, loc, 2 * scale


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 3.0)), 4)
      -1.5155
    """
    return gamma.logpdf(*_as_gamma("chi2.logpdf", x, df, loc, scale))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 3.0)), 4)
      0.2197
    """
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5, 3.0)), 4)
      0.0811
    """
    return gamma.cdf(*_as_gamma("chi2.cdf", x, df, loc, scale))


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5, 3.0)), 4)
      -2.512
    """
    return lax.log(cdf(x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(0.5, 3.0)), 4)
      0.9189
    """
    return gamma.sf(*_as_gamma("chi2.sf", x, df, loc, scale))


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5, 3.0)), 4)
      -0.0846
    """
    return lax.log(sf(x, df, loc, scale))
