# SPDX-License-Identifier: Apache-2.0
"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.arrays import Array

from . import gamma

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return gamma.logpdf(x, 0.5 * onp.asarray(df), loc, 2.0 * onp.asarray(scale))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The distribution function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return gamma.cdf(x, 0.5 * onp.asarray(df), loc, 2.0 * onp.asarray(scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the distribution function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The survival function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return gamma.sf(x, 0.5 * onp.asarray(df), loc, 2.0 * onp.asarray(scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the survival function of the chi-squared distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: where it is shifted to.
      scale: what it is stretched by.
    """
    return lax.log(sf(x, df, loc, scale))
