# SPDX-License-Identifier: Apache-2.0
"""The Bernoulli distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals_as_first

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


@outlined()
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability of ``k``, for the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpmf(1, 0.4)), 4)
      -0.9163
    """
    k, p, loc = reals_as_first("bernoulli.logpmf", k, p, loc)
    y = k - loc
    result = special.xlogy(y, p) + special.xlog1py(1.0 - y, -p)
    value = onp.where((y == 0.0) | (y == 1.0), result, -np.inf)
    return onp.where((p >= 0.0) & (p <= 1.0) & (y == y), value, np.nan)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability of ``k``, for the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pmf(1, 0.4)), 4)
      0.4
    """
    return lax.exp(logpmf(k, p, loc))


@outlined()
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Returns the distribution function of the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(cdf(1, 0.4)), 4)
      1.0
    """
    k, p = reals_as_first("bernoulli.cdf", k, p)
    legal = (p >= 0.0) & (p <= 1.0)
    value = onp.where(k < 0.0, 0.0, onp.where(k < 1.0, 1.0 - p, 1.0))
    return onp.where(legal & (k == k), value, onp.full_like(k, np.nan))


@outlined()
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Returns the quantile function of the Bernoulli distribution.

    Args:
      q: an array or scalar of probabilities.
      p: the probability of success.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(ppf(0.5, 0.4)), 4)
      0.0
    """
    q, p = reals_as_first("bernoulli.ppf", q, p)
    legal = (q >= 0.0) & (q <= 1.0) & (p >= 0.0) & (p <= 1.0)
    value = onp.where(q <= 1.0 - p, onp.zeros_like(p), 1.0)
    return onp.where(legal, onp.where(q == 0.0, -1.0, value), onp.full_like(q, np.nan))
