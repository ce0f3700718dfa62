# SPDX-License-Identifier: Apache-2.0
"""The Poisson distribution."""

from __future__ import annotations

import math

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals, reals_as_first

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


@outlined()
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability of ``k``, for the Poisson distribution.

    Args:
      k: an array or scalar of whole numbers.
      mu: the mean.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpmf(1, 2.0)), 4)
      -1.3069
    """
    k, mu, loc = reals("poisson.logpmf", k, mu, loc)
    y = k - loc
    result = special.xlogy(y, mu) - lax.lgamma(y + 1.0) - mu
    return onp.where((y < 0.0) | (y != lax.floor(y)), -np.inf, result)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability of ``k``, for the Poisson distribution.

    Args:
      k: an array or scalar of whole numbers.
      mu: the mean.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pmf(1, 2.0)), 4)
      0.2707
    """
    return lax.exp(logpmf(k, mu, loc))


@outlined()
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the distribution function of the Poisson distribution.

    Args:
      k: an array or scalar of whole numbers.
      mu: the mean.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(1, 2.0)), 4)
      0.406
    """
    k, mu, loc = reals_as_first("poisson.cdf", k, mu, loc)
    y = lax.floor(k - loc)
    inside = lax.igammac(onp.maximum(y, 0.0) + 1.0, mu)
    return onp.where(y < 0.0, 0.0, inside)


@outlined()
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the entropy of the Poisson distribution.

    Args:
      mu: the mean.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(entropy(2.0)), 4)
      1.7049
    """
    mu, loc = reals("poisson.entropy", mu, loc)
    # For a small mean, sum -p log(p) up to negligible terms. For a large mean, use a series in
    # powers of 1 / mu.
    small = mu <= 50.0
    mean = onp.where(small, mu, 1.0)
    term = onp.zeros_like(mu)
    for k in range(130):
        logarithm = special.xlogy(float(k), mean) - mean - math.lgamma(k + 1.0)
        term = term - lax.exp(logarithm) * logarithm
    inverse = 1.0 / onp.where(small, 50.0, mu)
    series = inverse * (1.0 / 12.0 + inverse * (1.0 / 24.0 + inverse * (19.0 / 360.0)))
    large = 0.5 * (math.log(2.0 * math.pi * math.e) - lax.log(inverse)) - series
    value = onp.where(small, term, large)
    return onp.where(mu == 0.0, 0.0, onp.where(mu > 0.0, value, np.nan)).astype(mu.dtype)
