# SPDX-License-Identifier: Apache-2.0
"""Student's t distribution."""

from __future__ import annotations

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined

from .. import special
from ..arguments import reals_as_first

__all__ = ["logpdf", "pdf"]


@outlined()
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the logarithm of the density of Student's t distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(logpdf(0.5, 3.0)), 4)
      -1.161
    """
    x, df, loc, scale = reals_as_first("t.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    # The logarithm of beta(df / 2, 1 / 2) stays accurate if the degrees of freedom are large.
    factor = special.betaln(0.5 * df, onp.full_like(df, 0.5)) + 0.5 * lax.log(df) + lax.log(scale)
    return -factor - 0.5 * (df + 1.0) * lax.log1p(y * y / df)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Returns the density of Student's t distribution.

    Args:
      x: an array or scalar of real numbers.
      df: the degrees of freedom.
      loc: the location of the distribution.
      scale: the scale of the distribution, positive.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> round(float(pdf(0.5, 3.0)), 4)
      0.3132
    """
    return lax.exp(logpdf(x, df, loc, scale))
