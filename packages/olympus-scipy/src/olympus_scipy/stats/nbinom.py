# SPDX-License-Identifier: Apache-2.0
"""The negative binomial distribution."""

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
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability of ``k`` failures before the ``n``-th success.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of successes.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpmf(1, 4, 0.4)), 4)
      -2.7897
    """
    k, n, p, loc = reals_as_first("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    misses = onp.maximum(y, 0.0)
    count = -lax.log(n + misses) - special.betaln(n, misses + 1.0)
    result = count + special.xlogy(n, p) + special.xlog1py(misses, -p)
    return onp.where(y < 0.0, -np.inf, result)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability of ``k`` failures before the ``n``-th success.

    Args:
      k: an array or scalar of whole numbers.
      n: the number of successes.
      p: the probability of success.
      loc: the location of the distribution.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pmf(1, 4, 0.4)), 4)
      0.0614
    """
    return lax.exp(logpmf(k, n, p, loc))
