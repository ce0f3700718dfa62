# SPDX-License-Identifier: Apache-2.0
"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals

__all__ = ["logpmf", "pmf"]


@outlined()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``, for the number of trials up to the first success.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: where it is shifted to.
    """
    k, p, loc = reals("geom.logpmf", k, p, loc)
    y = k - loc
    result = special.xlog1py(y - 1.0, -p) + lax.log(p)
    return onp.where(y <= 0.0, -np.inf, result)


def pmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``, for the number of trials up to the first success.

    Args:
      k: an array or scalar of whole numbers.
      p: the probability of success.
      loc: where it is shifted to.
    """
    return lax.exp(logpmf(k, p, loc))
