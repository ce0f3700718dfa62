# SPDX-License-Identifier: Apache-2.0
"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from ..arguments import reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@outlined()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("expon.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return onp.where(y < 0.0, -np.inf, -y - lax.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.exp(logpdf(x, loc, scale))


@outlined()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The distribution function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("expon.cdf", x, loc, scale)
    y = (x - loc) / scale
    return -lax.expm1(-onp.maximum(y, 0.0))


@outlined()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the distribution function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("expon.logcdf", x, loc, scale)
    y = (x - loc) / scale
    return lax.log(-lax.expm1(-onp.maximum(y, 0.0)))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The survival function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.exp(logsf(x, loc, scale))


@outlined()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the survival function of the exponential distribution.

    Args:
      x: an array or scalar of real numbers.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    x, loc, scale = reals("expon.logsf", x, loc, scale)
    y = (x - loc) / scale
    return -onp.maximum(y, 0.0)


@outlined()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The quantile function of the exponential distribution.

    Args:
      q: an array or scalar of probabilities.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    q, loc, scale = reals("expon.ppf", q, loc, scale)
    legal = (q >= 0.0) & (q <= 1.0)
    return loc - scale * lax.log1p(-onp.where(legal, q, np.nan))
