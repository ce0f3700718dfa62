# SPDX-License-Identifier: Apache-2.0
"""The beta-binomial distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals_as_first

__all__ = ["logpmf", "pmf"]


@outlined()
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability of ``k``, for the beta-binomial distribution.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of trials.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpmf(1, 4, 2.0, 3.0)), 4)
      -1.2528
    """
    k, n, a, b, loc = reals_as_first("betabinom.logpmf", k, n, a, b, loc)
    y = lax.floor(k - loc)
    inside = (y >= 0.0) & (y <= n)
    hits = onp.where(inside, y, 0.0)
    count = -lax.log1p(n) - special.betaln(n - hits + 1.0, hits + 1.0)
    result = count + special.betaln(hits + a, n - hits + b) - special.betaln(a, b)
    value = onp.where(inside, result, -np.inf)
    return onp.where((n >= 0.0) & (a > 0.0) & (b > 0.0) & (y == y), value, np.nan)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability of ``k``, for the beta-binomial distribution.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of trials.
      a: the first shape parameters, positive.
      b: the second shape parameters, positive.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pmf(1, 4, 2.0, 3.0)), 4)
      0.2857
    """
    return lax.exp(logpmf(k, n, a, b, loc))
