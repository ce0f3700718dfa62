# SPDX-License-Identifier: Apache-2.0
"""The geometric distribution."""

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
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the logarithm of the probability that the ``k``-th trial is the first success.

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
    k, p, loc = reals_as_first("geom.logpmf", k, p, loc)
    y = k - loc
    result = special.xlog1py(y - 1.0, -p) + lax.log(p)
    return onp.where(y <= 0.0, -np.inf, result)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Returns the probability that the ``k``-th trial is the first success.

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
