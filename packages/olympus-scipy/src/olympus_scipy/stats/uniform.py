# SPDX-License-Identifier: Apache-2.0
"""The uniform distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals, strong

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


@outlined()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of the uniform distribution.

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
      -0.0
    """
    x, loc, scale = reals("uniform.logpdf", x, loc, scale)
    inside = (x >= loc) & (x <= loc + scale)
    return onp.where(inside, -lax.log(scale), -np.inf)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of the uniform distribution.

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
      1.0
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the distribution function of the uniform distribution.

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
      0.5
    """
    x, loc, scale = reals("uniform.cdf", x, loc, scale)
    y = (x - loc) / scale
    return strong(onp.clip(y, 0.0, 1.0))


@outlined()
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the quantile function of the uniform distribution.

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
      0.5
    """
    q, loc, scale = reals("uniform.ppf", q, loc, scale)
    y = onp.where((q >= 0.0) & (q <= 1.0), q, np.nan)
    return y * scale + loc
