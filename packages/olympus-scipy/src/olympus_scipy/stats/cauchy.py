# SPDX-License-Identifier: Apache-2.0
"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import is_complex, numbers, reals, strong_array

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(logpdf(0.5)), 4)
      -1.3679
    """
    first = x
    x, loc, scale = numbers("cauchy.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return strong_array(-lax.log1p(y * y) - lax.log(scale) - math.log(math.pi), first)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(pdf(0.5)), 4)
      0.2546
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(cdf(0.5)), 4)
      0.6476
    """
    first = x
    x, loc, scale = numbers("cauchy.cdf", x, loc, scale)
    # The angle stays accurate far to the left, where the result is small.
    y = (x - loc) / scale
    return strong_array(_angle(-y) / math.pi, first)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the distribution function of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(logcdf(0.5)), 4)
      -0.4345
    """
    return lax.log(cdf(x, loc, scale))


@outlined()
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the survival function of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(sf(0.5)), 4)
      0.3524
    """
    first = x
    x, loc, scale = numbers("cauchy.sf", x, loc, scale)
    y = (x - loc) / scale
    return strong_array(_angle(y) / math.pi, first)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the survival function of the Cauchy distribution.

    Args:
      x: an array or scalar of numbers; for complex numbers, the result is the analytic
        continuation.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> round(float(logsf(0.5)), 4)
      -1.0429
    """
    return lax.log(sf(x, loc, scale))


@outlined()
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the Cauchy distribution.

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
    first = q
    q, loc, scale = reals("cauchy.ppf", q, loc, scale)
    return strong_array(loc - scale * _cotangent(q), first)


@outlined()
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the inverse of the survival function of the Cauchy distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ComplexOperandError: an operand is complex.

    Example:
      >>> round(float(isf(0.5)), 4)
      -0.0
    """
    first = q
    q, loc, scale = reals("cauchy.isf", q, loc, scale)
    return strong_array(loc + scale * _cotangent(q), first)


def _angle(y: Any) -> Any:
    """Returns the angle between zero and pi whose cotangent is ``y``."""
    if is_complex(y):
        return 0.5 * math.pi - lax.atan(y)
    return lax.atan2(onp.ones_like(y), y)


def _cotangent(q: Any) -> Any:
    """Returns the cotangent of ``pi * q``, with its limits at 0 and 1; it is NaN outside [0, 1]."""
    side = onp.minimum(q, 1.0 - q)
    size = lax.cos(math.pi * side) / lax.sin(math.pi * onp.where(side > 0.0, side, 0.5))
    size = onp.where(side > 0.0, size, onp.where(side == 0.0, np.inf, np.nan))
    return onp.where(q > 0.5, -size, size)
