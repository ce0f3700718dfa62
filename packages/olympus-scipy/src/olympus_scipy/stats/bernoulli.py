# SPDX-License-Identifier: Apache-2.0
"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


@outlined()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``, for the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: where it is shifted to.
    """
    k, p, loc = reals("bernoulli.logpmf", k, p, loc)
    y = k - loc
    result = special.xlogy(y, p) + special.xlog1py(1.0 - y, -p)
    return onp.where((y == 0.0) | (y == 1.0), result, -np.inf)


def pmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``, for the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: where it is shifted to.
    """
    return lax.exp(logpmf(k, p, loc))


@outlined()
def cdf(k: Any, p: Any) -> Array:
    """The distribution function of the Bernoulli distribution.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
    """
    k, p = reals("bernoulli.cdf", k, p)
    legal = (p >= 0.0) & (p <= 1.0)
    value = onp.where(k < 0.0, 0.0, onp.where(k < 1.0, 1.0 - p, 1.0))
    return onp.where(legal & (k == k), value, np.nan).astype(p.dtype)


@outlined()
def ppf(q: Any, p: Any) -> Array:
    """The quantile function of the Bernoulli distribution.

    Args:
      q: an array or scalar of probabilities.
      p: the probability of success.
    """
    q, p = reals("bernoulli.ppf", q, p)
    legal = (q >= 0.0) & (q <= 1.0) & (p >= 0.0) & (p <= 1.0)
    return onp.where(
        legal, onp.where(q == 0.0, -1.0, onp.where(q <= 1.0 - p, 0.0, 1.0)), np.nan
    ).astype(p.dtype)
