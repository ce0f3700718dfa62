# SPDX-License-Identifier: Apache-2.0
"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.lax.linalg import cholesky, triangular_solve
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import promote_dtypes_inexact

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Returns the logarithm of the density of the multivariate normal distribution.

    Args:
      x: points, of shape (..., n).
      mean: the mean, of shape (n,).
      cov: the covariance: a matrix of shape (n, n), or a scalar multiple of the identity.
      allow_singular: must be None. Unlike in SciPy, covariances must be invertible.

    Returns:
      A floating array of the shape of the points without the last axis.

    Raises:
      ValueError: the shapes of ``mean`` and ``cov`` do not match.
      NotImplementedError: ``allow_singular`` is given.

    Example:
      >>> import olympus_numpy as jnp
      >>> logpdf(0.0, 0.0, 1.0) < -0.91
      Array(True, dtype=bool, weak_type=True)
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "allow_singular argument of multivariate_normal.logpdf: covariances must be "
            "invertible; leave it out."
        )
    return _logpdf(x, mean, cov)


@outlined()
def _logpdf(x: Any, mean: Any, cov: Any) -> Any:
    x, mean, cov = promote_dtypes_inexact(*(onp.asarray(operand) for operand in (x, mean, cov)))
    if not mean.shape:
        return -0.5 * onp.square(x - mean) / cov - 0.5 * (math.log(2 * math.pi) + lax.log(cov))
    dimension = mean.shape[-1]
    constant = 0.5 * dimension * math.log(2 * math.pi)
    if not cov.shape:
        distance = onp.sum(onp.square(x - mean) / cov, axis=-1)
        return -0.5 * distance - constant - 0.5 * dimension * lax.log(cov)
    if cov.ndim < 2 or cov.shape[-2:] != (dimension, dimension):
        raise ValueError(
            "multivariate_normal.logpdf got incompatible shapes: the covariance of a mean of shape "
            f"{mean.shape} must be a matrix of size {dimension}, got the shape {cov.shape}"
        )
    factor = cholesky(cov)
    difference = x - mean
    batch = onp.broadcast_shapes(difference.shape[:-1], factor.shape[:-2])
    factor = onp.broadcast_to(factor, (*batch, dimension, dimension))
    difference = onp.broadcast_to(difference, (*batch, dimension))
    whitened = triangular_solve(factor, difference[..., None], lower=True, left_side=True)[..., 0]
    scale = onp.sum(lax.log(onp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * onp.sum(onp.square(whitened), axis=-1) - constant - scale


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Returns the density of the multivariate normal distribution.

    Args:
      x: points, of shape (..., n).
      mean: the mean, of shape (n,).
      cov: the covariance: a matrix of shape (n, n), or a scalar multiple of the identity.

    Returns:
      A floating array of the shape of the points without the last axis.

    Raises:
      ValueError: the shapes of ``mean`` and ``cov`` do not match.

    Example:
      >>> round(float(pdf(0.0, 0.0, 1.0)), 4)
      0.3989
    """
    return lax.exp(logpdf(x, mean, cov))
