# SPDX-License-Identifier: Apache-2.0
"""The binomial distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals

__all__ = ["logpmf", "pmf"]


@outlined()
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability of ``k`` successes in ``n`` independent trials.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of trials.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpmf(1, 4, 0.4)), 4)
      -1.0625
    """
    k, n, p, loc = reals("binom.logpmf", k, n, p, loc)
    y = k - loc
    inside = (y >= 0.0) & (y <= n)
    hits = onp.where(inside, y, 0.0)
    count = -lax.log1p(n) - special.betaln(n - hits + 1.0, hits + 1.0)
    result = count + special.xlogy(hits, p) + special.xlog1py(n - hits, -p)
    return onp.where(inside, result, -np.inf)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability of ``k`` successes in ``n`` independent trials.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of trials.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pmf(1, 4, 0.4)), 4)
      0.3456
    """
    return lax.exp(logpmf(k, n, p, loc))
