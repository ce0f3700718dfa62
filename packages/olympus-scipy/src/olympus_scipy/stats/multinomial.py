# SPDX-License-Identifier: Apache-2.0
"""The multinomial distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

from .. import special

__all__ = ["logpmf", "pmf"]


@outlined()
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Returns the logarithm of the probability of the counts of outcomes in ``n`` trials.

    Args:
      x: the counts, of shape (..., k) and integer dtype.
      n: the number of trials, of integer dtype.
      p: the probabilities of the outcomes, of shape (..., k).

    Returns:
      A floating array of the broadcast shape of the operands without the last axis.

    Raises:
      ValueError: ``x`` or ``n`` does not have an integer dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> round(float(logpmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5]))), 4)
      -0.6931
    """
    check_arraylike("multinomial.logpmf", x, n, p)
    x, n = onp.asarray(x), onp.asarray(n)
    if not (onp.issubdtype(x.dtype, np.integer) and onp.issubdtype(n.dtype, np.integer)):
        raise ValueError(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}"
        )
    (p,) = promote_dtypes_inexact(onp.asarray(p))
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    terms = special.xlogy(x, p) - lax.lgamma(x + 1.0)
    value = lax.lgamma(n + 1.0) + onp.sum(terms, axis=-1)
    return onp.where(onp.sum(x, axis=-1) == n, value, -np.inf)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Returns the probability of the counts of outcomes in ``n`` trials.

    Args:
      x: the counts, of shape (..., k) and integer dtype.
      n: the number of trials, of integer dtype.
      p: the probabilities of the outcomes, of shape (..., k).

    Returns:
      A floating array of the broadcast shape of the operands without the last axis.

    Raises:
      ValueError: ``x`` or ``n`` does not have an integer dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> round(float(pmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5]))), 4)
      0.5
    """
    return lax.exp(logpmf(x, n, p))
