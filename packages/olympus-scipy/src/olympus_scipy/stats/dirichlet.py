# SPDX-License-Identifier: Apache-2.0
"""The Dirichlet distribution."""

from __future__ import annotations

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import promote_dtypes_inexact

from .. import special

__all__ = ["logpdf", "pdf"]


@outlined()
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Returns the logarithm of the density of the Dirichlet distribution.

    Args:
      x: points of the simplex; the first axis holds the coordinates. The last coordinate may be
        left out.
      alpha: the concentrations, of shape (n,).

    Returns:
      A floating array of the shape of ``x`` without its first axis.

    Raises:
      ValueError: the shapes of ``x`` and ``alpha`` do not match, or an operand is complex.

    Example:
      >>> import olympus_numpy as jnp
      >>> round(float(logpdf(jnp.array([0.5, 0.5]), jnp.array([2.0, 2.0]))), 4)
      0.4055
    """
    x, alpha = promote_dtypes_inexact(onp.asarray(x), onp.asarray(alpha))
    if alpha.ndim != 1:
        raise ValueError(
            "`alpha` of dirichlet.logpdf must have one axis, got the shape "
            f"{alpha.shape}; use vmap for several distributions."
        )
    if x.shape[:1] not in ((alpha.shape[0],), (alpha.shape[0] - 1,)):
        raise ValueError(
            "`x` of dirichlet.logpdf must have either the same number of entries as `alpha` or one "
            f"less; got x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    total = onp.sum(x, axis=0, keepdims=True)
    if x.shape[0] != alpha.shape[0]:
        x = onp.concatenate([x, 1.0 - total])
        inside = onp.all(x >= 0.0, axis=0)
    else:
        inside = onp.all(x >= 0.0, axis=0) & (lax.abs(total[0] - 1.0) < 1e-6)
    exponents = onp.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1))
    powers = onp.sum(special.xlogy(exponents, x), axis=0)
    normalization = onp.sum(lax.lgamma(alpha)) - lax.lgamma(onp.sum(alpha))
    return onp.where(inside, powers - normalization, -np.inf)


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Returns the density of the Dirichlet distribution.

    Args:
      x: points of the simplex; the first axis holds the coordinates. The last coordinate may be
        left out.
      alpha: the concentrations, of shape (n,).

    Returns:
      A floating array of the shape of ``x`` without its first axis.

    Raises:
      ValueError: the shapes of ``x`` and ``alpha`` do not match, or an operand is complex.

    Example:
      >>> import olympus_numpy as jnp
      >>> round(float(pdf(jnp.array([0.5, 0.5]), jnp.array([2.0, 2.0]))), 4)
      1.5
    """
    return lax.exp(logpdf(x, alpha))
