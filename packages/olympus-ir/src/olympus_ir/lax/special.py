# SPDX-License-Identifier: Apache-2.0
"""Special functions: incomplete gamma and beta functions, zeta functions, Bessel functions."""

from __future__ import annotations

from .core.declarations import Floating, binary, elementwise_primitive, unary
from .core.values import Array, ArrayLike

__all__ = [
    "bessel_i0e",
    "bessel_i0e_p",
    "bessel_i1e",
    "bessel_i1e_p",
    "betainc",
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
    "polygamma",
    "polygamma_p",
    "random_gamma_grad",
    "random_gamma_grad_p",
    "regularized_incomplete_beta_p",
    "zeta",
    "zeta_p",
]

igamma_p = binary("igamma", Floating, family="special")
igammac_p = binary("igammac", Floating, family="special")
igamma_grad_a_p = binary("igamma_grad_a", Floating, family="special")
random_gamma_grad_p = binary("random_gamma_grad", Floating, family="special")
zeta_p = binary("zeta", Floating, family="special")
polygamma_p = binary("polygamma", Floating, family="special")
bessel_i0e_p = unary("bessel_i0e", Floating, family="special")
bessel_i1e_p = unary("bessel_i1e", Floating, family="special")
regularized_incomplete_beta_p = elementwise_primitive(
    "regularized_incomplete_beta", Floating, Floating, Floating, family="special"
)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized lower incomplete gamma function ``P(a, x)``.

    The function is the integral of ``t**(a - 1) * exp(-t)`` from 0 to ``x``, divided by
    ``gamma(a)``.

    Args:
      a: an array or scalar of floats, not negative.
      x: an array or scalar of the same dtype and a compatible shape, not negative.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.igamma(1.0, 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return igamma_p.bind(a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized upper incomplete gamma function ``Q(a, x) = 1 - P(a, x)``.

    Args:
      a: an array or scalar of floats, not negative.
      x: an array or scalar of the same dtype and a compatible shape, not negative.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.igammac(1.0, 0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Computes the derivative of `igamma` with respect to ``a``.

    Args:
      a: an array or scalar of floats, positive.
      x: an array or scalar of the same dtype and a compatible shape, not negative.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.igamma_grad_a(1.0, 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(*args: ArrayLike) -> Array:
    """Computes the derivative of gamma samples ``x`` with respect to the shape parameter ``a``.

    The derivative keeps the probability ``P(a, x)`` fixed; the sample is the quantile of this
    probability.

    Args:
      *args: two operands: the shape parameters ``a``, an array or scalar of floats, and the samples
        ``x``, of the same dtype and of a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the number of operands is not two.

    Example:
      >>> from olympus_ir import lax
      >>> lax.random_gamma_grad(1.0, 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    if len(args) != 2:
        raise TypeError(
            f"random_gamma_grad takes two operands, parameters and samples, got {len(args)}"
        )
    return random_gamma_grad_p.bind(*args)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Computes the Hurwitz zeta function: the sum of ``(k + q)**-x`` over ``k`` from 0.

    Args:
      x: an array or scalar of floats; the sum converges above 1.
      q: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.zeta(1.0, 2.0)
      Array(inf, dtype=float32, weak_type=True)
    """
    return zeta_p.bind(x, q)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Computes the ``m``-th derivative of `digamma`.

    Args:
      m: the order, an array or scalar of floats that are whole numbers, not negative.
      x: an array or scalar of the same dtype and a compatible shape.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.polygamma(1.0, 1.0) > 1.64
      Array(True, dtype=bool, weak_type=True)
    """
    return polygamma_p.bind(m, x)


def bessel_i0e(x: ArrayLike) -> Array:
    """Computes the modified Bessel function of order 0, divided by ``exp(abs(x))``.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> round(float(lax.bessel_i0e(1.0)), 5)
      0.46576
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: ArrayLike) -> Array:
    """Computes the modified Bessel function of order 1, divided by ``exp(abs(x))``.

    Args:
      x: an array or scalar of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtype of ``x`` is not accepted.

    Example:
      >>> from olympus_ir import lax
      >>> lax.bessel_i1e(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return bessel_i1e_p.bind(x)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized incomplete beta function.

    The function is the integral of ``t**(a - 1) * (1 - t)**(b - 1)`` from 0 to ``x``, divided by
    the same integral from 0 to 1.

    Args:
      a: an array or scalar of floats, positive.
      b: an array or scalar of the same dtype and a compatible shape, positive.
      x: an array or scalar of the same dtype and a compatible shape, from 0 to 1.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if the operands differ in dtype or their dtype is not accepted.
      ShapeError: if the operands' shapes are not compatible.

    Example:
      >>> from olympus_ir import lax
      >>> lax.betainc(1.0, 1.0, 1.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return regularized_incomplete_beta_p.bind(a, b, x)
