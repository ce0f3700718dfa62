# SPDX-License-Identifier: Apache-2.0
"""Entropies, logarithms with limits at zero, logistic and Box-Cox transforms, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.expansions.incomplete_gamma import deviance
from olympus_ir.settings import config_states
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import inlined, outlined
from olympus_numpy.core.promotion import broadcasted
from olympus_numpy.numerics.log_sums import logsumexp

from ..arguments import floats, reals, reals_as_first, strong_array, with_derivatives

__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "log_softmax",
    "logit",
    "logsumexp",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]


# ---- products with logarithms ----


def _product(x: Any, y: Any, logarithm: Any) -> Any:
    """Returns ``x * logarithm(y)``, or zero where ``x`` is zero and ``y`` is not NaN."""
    zero = (x == 0.0) & (y == y)
    return onp.where(zero, onp.zeros_like(x), x * logarithm(onp.where(zero, 1.0, y)))


def _ratio(x: Any, y: Any) -> Any:
    """Returns ``x / y``; under the flag `olympus_strong_zeros`, zero where ``x`` is zero."""
    if not config_states.strong_zeros.value:
        return x / y
    return onp.where(x == 0, 0, x / onp.where(x == 0, 1, y))


@with_derivatives(lambda result, x, y: lax.log(y), lambda result, x, y: _ratio(x, y))
def _xlogy(x: Any, y: Any) -> Any:
    return _product(x, y, lax.log)


@with_derivatives(lambda result, x, y: lax.log1p(y), lambda result, x, y: _ratio(x, 1.0 + y))
def _xlog1py(x: Any, y: Any) -> Any:
    return _product(x, y, lax.log1p)


@outlined()
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Evaluates ``x * log(y)``, or zero where ``x`` is zero.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> xlogy(0.0, 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return _xlogy(*broadcasted("xlogy", *floats("xlogy", x, y)))


@outlined()
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Evaluates ``x * log1p(y)``, or zero where ``x`` is zero.

    Args:
      x: an array or scalar of numbers.
      y: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> xlog1py(0.0, -1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return _xlog1py(*broadcasted("xlog1py", *floats("xlog1py", x, y)))


@with_derivatives(lambda y, x: -lax.log(x) - 1.0)
def _entr(x: Any) -> Any:
    return onp.where(x < 0.0, -np.inf, -_xlogy(x, x))


@outlined()
def entr(x: ArrayLike) -> Array:
    """Evaluates the entropy ``-x * log(x)``; negative infinity for negative numbers.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> entr(1.0)
      Array(-0., dtype=float32, weak_type=True)
    """
    (x,) = reals("entr", x)
    return _entr(x)


def _log_ratio(p: Any, q: Any) -> Any:
    """Returns ``log(p / q)``, computed from ``p - q`` where p and q are close."""
    near = onp.abs(p - q) < 0.5 * q
    excess = onp.where(near, (p - q) / q, 0.0)
    ratio = onp.where(near, 1.0, p / q)
    limits = onp.finfo(ratio.dtype)
    normal = (ratio >= limits.tiny) & (ratio <= limits.max)
    # The difference of logarithms is finite where the quotient overflows or underflows.
    logarithm = onp.where(normal, lax.log(onp.where(normal, ratio, 1.0)), lax.log(p) - lax.log(q))
    return onp.where(near, lax.log1p(excess), logarithm)


@outlined()
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Evaluates the relative entropy ``p * log(p / q)``; infinite outside its domain.

    Args:
      p: an array or scalar of real numbers.
      q: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> rel_entr(1.0, 1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    p, q = reals_as_first("rel_entr", p, q)
    both = (p > 0.0) & (q > 0.0)
    first, second = onp.where(both, p, 1.0), onp.where(both, q, 1.0)
    outside = onp.where((p == 0.0) & (q >= 0.0), 0.0, np.inf)
    value = first * _log_ratio(first, second)
    result = onp.where(both, value, outside)
    return strong_array(onp.where((p != p) | (q != q), np.nan, result))


@outlined()
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Evaluates the Kullback-Leibler divergence ``p * log(p / q) - p + q``.

    Args:
      p: an array or scalar of real numbers.
      q: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> kl_div(1.0, 1.0)
      Array(0., dtype=float32, weak_type=True)
    """
    p, q = reals_as_first("kl_div", p, q)
    near = onp.abs(p - q) < 0.25 * q
    difference = onp.where(near, p - q, 0.0)
    excess = difference / onp.where(near, q, 1.0)
    # The divergence is q ((1 + e) log1p(e) - e) with e = (p - q) / q. The function log1p(e) is e
    # minus e^2 times a smooth function.
    close = difference * excess * (1.0 - (1.0 + excess) * deviance(excess))
    return strong_array(onp.where(near, close, rel_entr(p, q) - p + q))


# ---- logistic functions ----


@inlined()
def expit(x: ArrayLike) -> Array:
    """Evaluates the logistic function ``1 / (1 + exp(-x))``.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the shape of the operand.

    Example:
      >>> expit(0.0)
      Array(0.5, dtype=float32, weak_type=True)
    """
    (x,) = floats("expit", x)
    return lax.logistic(x)


@with_derivatives(lambda y, x: 1.0 / (x * (1.0 - x)))
def log_odds(x: Any) -> Any:
    """Returns `logit` of floats, of their weak type."""
    # Near one half, the distance from one half is exact and gives an accurate logarithm.
    central = onp.abs(x - 0.5) < 0.25
    near = onp.where(central, x, 0.5)
    middle = lax.log1p((2.0 * near - 1.0) / (1.0 - near))
    far = onp.where(central, 0.125, x)
    return onp.where(central, middle, lax.log(far / (1.0 - far)))


@outlined()
def logit(x: ArrayLike) -> Array:
    """Evaluates the inverse of `expit`, ``log(x / (1 - x))``.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the shape of the operand.

    Example:
      >>> logit(0.5)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = floats("logit", x)
    return strong_array(log_odds(x))


@outlined("axis")
def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Evaluates exponentials divided by their sum.

    Args:
      x: an array of numbers.
      axis: the axis or axes of the sum; all if None.

    Returns:
      An array of the shape of ``x``, of inexact dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> softmax(jnp.zeros(2))
      Array([0.5, 0.5], dtype=float32)
    """
    (x,) = floats("softmax", x)
    shifted = x - lax.stop_gradient(onp.max(x, axis=axis, keepdims=True, initial=-np.inf))
    exponentials = lax.exp(shifted)
    return exponentials / onp.sum(exponentials, axis=axis, keepdims=True)


@outlined("axis")
def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Evaluates the logarithm of `softmax`.

    Args:
      x: an array of numbers.
      axis: the axis or axes of the sum; all if None.

    Returns:
      An array of the shape of ``x``, of inexact dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> log_softmax(jnp.zeros(1))
      Array([0.], dtype=float32)
    """
    (x,) = floats("log_softmax", x)
    shifted = x - lax.stop_gradient(onp.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return shifted - lax.log(onp.sum(lax.exp(shifted), axis=axis, keepdims=True))


# ---- power transformations ----


@outlined()
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Evaluates the Box-Cox transform ``(x**lmbda - 1) / lmbda``; its limit at zero is ``log(x)``.

    Args:
      x: an array or scalar of positive numbers.
      lmbda: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> boxcox(1.0, 2.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, lmbda = broadcasted("boxcox", *floats("boxcox", x, lmbda))
    return _power_transform(lax.log(x), lmbda)


@outlined()
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Evaluates `boxcox` of ``1 + x``, accurate for small ``x``.

    Args:
      x: an array or scalar of numbers above -1.
      lmbda: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the broadcast shape of the operands.

    Example:
      >>> boxcox1p(0.0, 2.0)
      Array(0., dtype=float32, weak_type=True)
    """
    x, lmbda = broadcasted("boxcox1p", *floats("boxcox1p", x, lmbda))
    return _power_transform(lax.log1p(x), lmbda)


def _power_transform(logarithm: Any, lmbda: Any) -> Any:
    # Where the product is tiny, a series is used: its derivatives are right at zero too.
    product = lmbda * logarithm
    tiny = onp.abs(product) < 1e-5
    divisor = onp.where(lmbda == 0.0, 1.0, lmbda)
    power = lax.expm1(onp.where(tiny, 1.0, product)) / onp.where(tiny, 1.0, divisor)
    series = logarithm * (1.0 + product * (0.5 + product * (1.0 / 6.0)))
    limit = (lmbda == 0.0) & ~lax.is_finite(onp.real(logarithm))
    return onp.where(limit, logarithm, onp.where(tiny, series, power))
