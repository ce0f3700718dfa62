# SPDX-License-Identifier: Apache-2.0
"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("cauchy.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return -lax.log1p(y * y) - lax.log(scale) - math.log(math.pi)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The distribution function of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("cauchy.cdf", x, loc, scale)
    # As an angle it keeps its digits far left.
    y = (x - loc) / scale
    return lax.atan2(onp.ones_like(y), -y) / math.pi


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the distribution function of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.log(cdf(x, loc, scale))


@outlined()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The survival function of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("cauchy.sf", x, loc, scale)
    y = (x - loc) / scale
    return lax.atan2(onp.ones_like(y), y) / math.pi


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the survival function of the Cauchy distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.log(sf(x, loc, scale))


@outlined()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The quantile function of the Cauchy distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    q, loc, scale = reals("cauchy.ppf", q, loc, scale)
    return (loc - scale * _cotangent(q)).astype(q.dtype)


@outlined()
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of the survival function of the Cauchy distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    q, loc, scale = reals("cauchy.isf", q, loc, scale)
    return (loc + scale * _cotangent(q)).astype(q.dtype)


def _cotangent(q: Any) -> Any:
    """The cotangent of pi q, with the limits at 0 and 1; NaN outside."""
    side = onp.minimum(q, 1.0 - q)
    size = lax.cos(math.pi * side) / lax.sin(math.pi * onp.where(side > 0.0, side, 0.5))
    size = onp.where(side > 0.0, size, onp.where(side == 0.0, np.inf, np.nan))
    return onp.where(q > 0.5, -size, size)
