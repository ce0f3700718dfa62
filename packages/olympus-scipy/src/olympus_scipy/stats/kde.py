# SPDX-License-Identifier: Apache-2.0
"""Kernel density estimation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import olympus_numpy as onp
import olympus_random as random
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.lax.linalg import cholesky, triangular_solve
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import check_arraylike

from .. import special

__all__ = ["gaussian_kde"]


@boundary_class
@pytrees.register_pytree_node_class
class gaussian_kde:
    """Kernel density estimate: a Gaussian kernel at each sample, all with the same covariance.

    The method is from Silverman: Density estimation for statistics and data analysis. Chapman and
    Hall (1986). Unlike in SciPy, the bandwidth is fixed when the object is made, and
    `integrate_box` is not implemented.

    Args:
      dataset: the samples, of shape (d, n), or (n,) in one dimension.
      bw_method: the bandwidth factor: ``"scott"`` (the default), ``"silverman"``, a scalar, or a
        function from this object to a scalar.
      weights: the weights of the samples, of shape (n,); equal if None.

    Attributes:
      neff: the effective number of samples.
      dataset: the samples, of shape (d, n).
      weights: the weights, which sum to one.
      covariance: the covariance of the kernels, of shape (d, d).
      inv_cov: the inverse of ``covariance``.

    Raises:
      ValueError: there are fewer than two samples, shapes do not match, or ``bw_method`` is
        unknown.
      NotImplementedError: the samples are complex.

    Example:
      >>> import olympus_numpy as jnp
      >>> gaussian_kde(jnp.array([0.0, 1.0, 2.0])).n
      3
    """

    __slots__ = ("covariance", "dataset", "inv_cov", "neff", "weights")

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self,
        dataset: Any,
        bw_method: str | Array | Callable[[Any], Array] | None = None,
        weights: Any = None,
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        dataset = onp.atleast_2d(dataset)
        if dtypes.issubdtype(dataset.dtype, np.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data; take its parts.")
        if not dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        if dataset.ndim > 2:
            raise ValueError(
                f"`dataset` of gaussian_kde must have at most 2 axes, got shape {dataset.shape}."
            )
        dataset = dataset.astype(dtypes.to_inexact_dtype(dataset.dtype))
        dimension, count = dataset.shape
        if weights is None:
            weights = onp.full(count, 1.0 / count, dataset.dtype)
        else:
            check_arraylike("gaussian_kde", weights)
            weights = onp.atleast_1d(weights).astype(dataset.dtype)
            weights = weights / onp.sum(weights)
            if weights.shape != (count,):
                raise ValueError(
                    f"gaussian_kde: `weights` input should be of length n={count}, one for each "
                    f"sample, got the shape {weights.shape}."
                )
        self.dataset, self.weights = dataset, weights
        self.neff = 1.0 / onp.sum(weights * weights)
        factor = self._factor(bw_method)
        covariance = onp.atleast_2d(onp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        lower = cholesky(covariance)
        identity = onp.eye(dimension, dtype=dataset.dtype)
        half = triangular_solve(lower, identity, lower=True, left_side=True)
        self.covariance = covariance * factor**2
        self.inv_cov = half.T @ half / factor**2

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or bw_method == "scott":
            return self.neff ** (-1.0 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        if callable(bw_method):
            return bw_method(self)
        if isinstance(bw_method, str) or onp.ndim(bw_method):
            raise ValueError(
                "`bw_method` should be 'scott', 'silverman', a scalar, or a callable, got "
                f"{bw_method!r}."
            )
        return bw_method

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in _FIELDS)
        return f"gaussian_kde({fields})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Returns the arrays as children of a pytree."""
        return tuple(getattr(self, name) for name in _FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> gaussian_kde:
        """Makes a density from the arrays that `tree_flatten` returned."""
        density = object.__new__(cls)
        for name, child in zip(_FIELDS, children, strict=True):
            setattr(density, name, child)
        return density

    @property
    def d(self) -> int:
        """The dimension of the samples."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def evaluate(self, points: Any) -> Array:
        """Returns the density at points of shape (d, m) as an array of shape (m,).

        Raises:
          ValueError: the dimension of the points differs from that of the samples.
        """
        return lax.exp(self.logpdf(points))

    def __call__(self, points: Any) -> Array:
        """Returns the density at points; see `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Array:
        """Returns the density at points; see `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Array:
        """Returns the log density at points of shape (d, m) as an array of shape (m,)."""
        check_arraylike("logpdf", x)
        points = self._points(x)
        return _log_density(
            self.dataset, self.weights, points, self.inv_cov, self._log_norm(self.covariance)
        )

    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """Integrates the product of the density and a normal density.

        Args:
          mean: the mean of the normal distribution, of shape (d,).
          cov: the covariance of the normal distribution, of shape (d, d).

        Returns:
          A floating scalar.

        Raises:
          ValueError: ``mean`` or ``cov`` has another dimension than the samples.
        """
        mean, cov = onp.atleast_1d(mean), onp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}, got the shape {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}, got {cov.shape}")
        total = self.covariance + cov
        return lax.exp(
            _log_density(
                self.dataset,
                self.weights,
                mean[:, None],
                _inverse(total),
                self._log_norm(total),
            )[0]
        )

    def integrate_box_1d(self, low: Any, high: Any) -> Array:
        """Returns the probability of an interval, for samples of dimension one.

        Args:
          low: the lower limit, a scalar.
          high: the upper limit, a scalar.

        Returns:
          A floating scalar.

        Raises:
          ValueError: the samples have another dimension, or a limit is not a scalar.
        """
        if self.d != 1:
            raise ValueError(f"integrate_box_1d() only handles 1D pdfs, got dimension {self.d}")
        if onp.ndim(low) or onp.ndim(high):
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = lax.sqrt(self.covariance[0, 0])
        above = special.ndtr((high - self.dataset[0]) / width)
        below = special.ndtr((low - self.dataset[0]) / width)
        return onp.sum(self.weights * (above - below))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Integrates the product of the density and another kernel density estimate.

        Args:
          other: the other estimate, of the same dimension.

        Returns:
          A floating scalar.

        Raises:
          ValueError: the dimensions differ.
        """
        if other.d != self.d:
            raise ValueError(f"KDEs are not the same dimensionality: {self.d} and {other.d}")
        total = self.covariance + other.covariance
        logarithms = _log_density(
            self.dataset, self.weights, other.dataset, _inverse(total), self._log_norm(total)
        )
        return onp.sum(other.weights * lax.exp(logarithms))

    def resample(self, key: Any, shape: Any = ()) -> Array:
        """Draws samples from the density.

        Args:
          key: a key of random numbers; SciPy takes a ``seed``.
          shape: the shape of the draws.

        Returns:
          A floating array of shape (d, *shape).
        """
        choice_key, noise_key = random.split(key)
        chosen = random.choice(choice_key, self.n, shape=shape, p=self.weights)
        noise = random.normal(noise_key, (*shape, self.d), self.dataset.dtype)
        shifted = noise @ cholesky(self.covariance).T
        return self.dataset[:, chosen] + onp.moveaxis(shifted, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> NoReturn:
        """Raises an error, since the density can be integrated over intervals only.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> NoReturn:
        """Raises an error, since the bandwidth is fixed.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "dynamically changing the bandwidth method is not supported; make another gaussian_kde"
        )

    def _points(self, points: Any) -> Any:
        points = onp.atleast_2d(points)
        points = points.astype(onp.result_type(points, self.dataset))
        if points.shape[0] != self.d:
            if points.shape[0] == 1 and points.shape[1] == self.d:
                return onp.reshape(points, (self.d, 1))
            raise ValueError(
                f"points have dimension {points.shape[0]}, dataset has dimension {self.d}"
            )
        return points

    def _log_norm(self, covariance: Any) -> Any:
        diagonal = onp.diagonal(cholesky(covariance))
        return onp.sum(lax.log(diagonal)) + 0.5 * self.d * math.log(2.0 * math.pi)


_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


def _inverse(matrix: Any) -> Any:
    identity = onp.eye(matrix.shape[0], dtype=matrix.dtype)
    half = triangular_solve(cholesky(matrix), identity, lower=True, left_side=True)
    return half.T @ half


@outlined()
def _log_density(samples: Any, weights: Any, points: Any, inverse: Any, log_norm: Any) -> Any:
    """Returns the logarithm of a mixture of normal densities at points, one per column."""
    difference = points[:, None, :] - samples[:, :, None]
    distance = onp.einsum("dnm,de,enm->nm", difference, inverse, difference)
    return special.logsumexp(-0.5 * distance - log_norm, axis=0, b=weights[:, None])
