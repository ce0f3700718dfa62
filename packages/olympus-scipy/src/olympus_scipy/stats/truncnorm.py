# SPDX-License-Identifier: Apache-2.0
"""The truncated normal distribution, between two bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import floats, reals, strong

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_difference(larger: Any, smaller: Any) -> Any:
    """Returns ``log(exp(larger) - exp(smaller))``."""
    return larger + lax.log(-lax.expm1(onp.minimum(smaller - larger, 0.0)))


def _log_mass(a: Any, b: Any) -> Any:
    """Returns the logarithm of the standard normal probability of the interval from a to b.

    An interval right of zero is mirrored, because differences of left tails are accurate.
    """
    right = a > 0.0
    low, high = onp.where(right, -b, a), onp.where(right, -a, b)
    # If both bounds are at most zero, the probability is a difference of tails. Otherwise it is one
    # minus the two outer tails.
    left = high <= 0.0
    tails = _log_difference(
        special.log_ndtr(onp.where(left, high, 0.0)), special.log_ndtr(onp.where(left, low, -1.0))
    )
    rest = lax.log1p(-special.ndtr(low) - special.ndtr(-onp.where(left, 0.0, high)))
    return onp.where(left, tails, rest)


@outlined()
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the density of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, -1.0, 1.0)), 4)
      -0.6622
    """
    x, a, b, loc, scale = reals("truncnorm.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    value = -0.5 * y * y - 0.5 * math.log(2.0 * math.pi) - lax.log(scale) - _log_mass(a, b)
    value = onp.where((y < a) | (y > b), -np.inf, value)
    return strong(onp.where(a >= b, np.nan, value))


@outlined()
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the density of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, -1.0, 1.0)), 4)
      0.5157
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


@outlined()
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the distribution function of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logcdf(0.5, -1.0, 1.0)), 4)
      -0.2479
    """
    x, a, b, loc, scale = reals("truncnorm.logcdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    inside = (y > a) & (y < b)
    point = onp.where(inside, y, b)
    value = onp.minimum(_log_mass(a, point) - _log_mass(a, b), 0.0)
    value = onp.where(y >= b, 0.0, onp.where(y <= a, -np.inf, value))
    return onp.where((a >= b) | (y != y), np.nan, value).astype(x.dtype)


@outlined()
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the distribution function of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(0.5, -1.0, 1.0)), 4)
      0.7805
    """
    return lax.exp(logcdf(x, a, b, loc, scale))


@outlined()
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Returns the logarithm of the survival function of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logsf(0.5, -1.0, 1.0)), 4)
      -1.5162
    """
    x, a, b, loc, scale = floats("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@outlined()
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the truncated normal distribution.

    Args:
      x: an array or scalar of real numbers.
      a: the lower bound, in units of ``scale`` from ``loc``.
      b: the upper bound, in units of ``scale`` from ``loc``.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(sf(0.5, -1.0, 1.0)), 4)
      0.2195
    """
    return lax.exp(logsf(x, a, b, loc, scale))
