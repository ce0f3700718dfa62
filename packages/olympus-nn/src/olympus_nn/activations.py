# SPDX-License-Identifier: Apache-2.0
"""Activation functions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.diagnostics.errors import OddSizeError
from olympus_ir.programs.jit import jit
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import canonical_axis
from olympus_numpy.core.compilation import inlined
from olympus_numpy.core.promotion import check_arraylike, ensure_array, promote_dtypes_inexact

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

# The constants for which mean zero and variance one are a fixed point: Klambauer et al.,
# Self-Normalizing Neural Networks, 2017.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

tanh = onp.tanh


@jit
def identity(x: ArrayLike) -> Array:
    """Returns its argument as an array.

    Example:
      >>> identity(2.0).shape
      ()
    """
    check_arraylike("identity", x)
    return onp.asarray(x)


# ---- rectifiers ----


@custom_jvp
@jit
def relu(x: ArrayLike) -> Array:
    """Rectified linear unit: ``max(x, 0)``, with derivative 0 at 0.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> relu(np.array([-1.0, 2.0], np.float32)).tolist()
      [0.0, 2.0]
    """
    return onp.maximum(x, 0)


relu.defjvps(lambda t, ans, x: lax.select(onp.greater(x, 0), t, lax.full_like(t, 0)))


@custom_jvp
@jit
def relu6(x: ArrayLike) -> Array:
    """Rectified linear unit with values up to 6: ``min(max(x, 0), 6)``.

    The derivative is 0 at 0 and at 6.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> relu6(np.array([-1.0, 2.0, 9.0], np.float32)).tolist()
      [0.0, 2.0, 6.0]
    """
    return onp.minimum(onp.maximum(x, 0), 6.0)


@relu6.defjvps
def _relu6_tangent(t: Any, ans: Any, x: Any) -> Any:
    inside = onp.bitwise_and(onp.greater(x, 0), onp.less(x, 6))
    return lax.select(inside, t, lax.full_like(t, 0))


@jit
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """Leaky rectifier: ``x`` where it is at least 0, ``negative_slope * x`` elsewhere.

    Args:
      x: an array.
      negative_slope: an array or a scalar.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> leaky_relu(np.array([-1.0, 2.0], np.float32), 0.5).tolist()
      [-0.5, 2.0]
    """
    check_arraylike("leaky_relu", x)
    return onp.where(onp.greater_equal(x, 0), x, onp.multiply(negative_slope, x))


@jit
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Exponential linear unit: ``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
      x: an array.
      alpha: an array or a scalar; the limit at minus infinity is ``-alpha``.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> elu(np.array([-np.inf, 2.0], np.float32)).tolist()
      [-1.0, 2.0]
    """
    check_arraylike("elu", x)
    # Overflow of the exponential at positive numbers would make the derivative NaN, so positive
    # numbers are replaced first.
    positive = onp.greater(x, 0)
    negative_part = onp.where(onp.greater(x, 0), 0.0, x)
    return onp.where(positive, x, onp.multiply(alpha, onp.expm1(negative_part)))


@jit
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Continuously differentiable exponential linear unit.

    The value is ``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Args:
      x: an array.
      alpha: an array or a scalar.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> celu(np.array([-np.inf, 2.0], np.float32), 3.0).tolist()
      [-3.0, 2.0]
    """
    linear = onp.maximum(x, 0.0)
    exponential = onp.expm1(onp.divide(onp.minimum(x, 0.0), alpha))
    return onp.add(linear, onp.multiply(alpha, exponential))


@jit
def selu(x: ArrayLike) -> Array:
    """Scaled exponential linear unit: `elu` with constants that preserve mean 0 and variance 1.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> round(float(selu(1.0)), 4)
      1.0507
    """
    return onp.multiply(SELU_SCALE, elu(x, SELU_ALPHA))


# ---- sigmoids ----


@inlined()
def sigmoid(x: ArrayLike) -> Array:
    """Logistic function: ``1 / (1 + exp(-x))``.

    Args:
      x: an array of a floating or complex dtype.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(sigmoid(0.0))
      0.5
    """
    check_arraylike("sigmoid", x)
    return lax.logistic(x)


@jit
def log_sigmoid(x: ArrayLike) -> Array:
    """Logarithm of the logistic function. The result is precise for large negative ``x`` too.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(log_sigmoid(-100.0))
      -100.0
    """
    check_arraylike("log_sigmoid", x)
    return onp.negative(softplus(onp.negative(x)))


@jit
def softplus(x: ArrayLike) -> Array:
    """Smooth rectifier: ``log(1 + exp(x))``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(softplus(100.0))
      100.0
    """
    return onp.logaddexp(x, 0)


@jit
def soft_sign(x: ArrayLike) -> Array:
    """Soft sign: ``x / (abs(x) + 1)``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(soft_sign(-3.0))
      -0.75
    """
    check_arraylike("soft_sign", x)
    return onp.divide(x, onp.add(onp.abs(x), 1))


@jit
def silu(x: ArrayLike) -> Array:
    """Sigmoid-weighted linear unit, also called swish: ``x * sigmoid(x)``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(silu(0.0))
      0.0
    """
    check_arraylike("silu", x)
    return onp.multiply(x, sigmoid(x))


swish = silu


@jit
def mish(x: ArrayLike) -> Array:
    """Mish function: ``x * tanh(softplus(x))``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(mish(0.0))
      0.0
    """
    check_arraylike("mish", x)
    return onp.multiply(x, onp.tanh(softplus(x)))


# ---- piecewise linear and quadratic functions ----


@jit
def hard_tanh(x: ArrayLike) -> Array:
    """Hard hyperbolic tangent: ``x`` clipped to the range from -1 to 1.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> hard_tanh(np.array([-3.0, 0.5], np.float32)).tolist()
      [-1.0, 0.5]
    """
    check_arraylike("hard_tanh", x)
    above = onp.greater(x, 1)
    return onp.where(above, 1, onp.where(onp.less(x, -1), -1, x))


@jit
def hard_sigmoid(x: ArrayLike) -> Array:
    """Hard logistic function: ``relu6(x + 3) / 6``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(hard_sigmoid(0.0))
      0.5
    """
    return onp.divide(relu6(onp.add(x, 3.0)), 6.0)


@jit
def hard_silu(x: ArrayLike) -> Array:
    """Hard silu, also called hard swish: ``x * hard_sigmoid(x)``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(hard_silu(3.0))
      3.0
    """
    check_arraylike("hard_silu", x)
    return onp.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


@jit
def sparse_plus(x: ArrayLike) -> Array:
    """Sparse rectifier: 0 up to -1, ``x`` from 1 on, and a quadratic function between.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> sparse_plus(np.array([-1.0, 0.0, 2.0], np.float32)).tolist()
      [0.0, 0.25, 2.0]
    """
    check_arraylike("sparse_plus", x)
    below, above = onp.less_equal(x, -1.0), onp.greater_equal(x, 1.0)
    between = onp.divide(onp.power(onp.add(x, 1.0), 2), 4)
    return onp.where(below, 0.0, onp.where(above, x, between))


@jit
def sparse_sigmoid(x: ArrayLike) -> Array:
    """The derivative of `sparse_plus`: 0 up to -1, 1 from 1 on, and linear between.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> sparse_sigmoid(np.array([-2.0, 0.0, 2.0], np.float32)).tolist()
      [0.0, 0.5, 1.0]
    """
    return onp.multiply(0.5, onp.clip(onp.add(x, 1.0), 0.0, 2.0))


# ---- others ----


@jit
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """A rectifier without exponentials: ``(x + sqrt(x**2 + b)) / 2``.

    Args:
      x: an array.
      b: the smoothness, an array or a scalar.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(squareplus(0.0))
      1.0
    """
    check_arraylike("squareplus", x)
    return onp.divide(onp.add(x, onp.sqrt(onp.add(onp.square(x), b))), 2)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Gaussian error linear unit: ``x`` times the standard normal CDF of ``x``.

    Args:
      x: an array; integers become floats.
      approximate: whether the CDF is approximated by a hyperbolic tangent.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> float(gelu(0.0))
      0.0
    """
    check_arraylike("gelu", x)
    (x,) = promote_dtypes_inexact(ensure_array(x))
    if approximate:
        return _gelu_by_tanh(x)
    return _gelu_by_erfc(x)


@inlined()
def _gelu_by_tanh(x: Any) -> Any:
    slope = np.asarray(math.sqrt(2 / math.pi), x.dtype)
    cubic = onp.add(x, onp.multiply(0.044715, onp.power(x, 3)))
    return onp.multiply(x, onp.multiply(0.5, onp.add(1.0, onp.tanh(onp.multiply(slope, cubic)))))


@inlined()
def _gelu_by_erfc(x: Any) -> Any:
    root = np.asarray(math.sqrt(0.5), x.dtype)
    half = onp.multiply(0.5, x)
    tail = lax.erfc(onp.multiply(onp.negative(x), root))
    return onp.array(onp.multiply(half, tail), dtype=x.dtype)


@functools.partial(jit, static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Gated linear unit: the first half of ``x`` times the sigmoid of the second.

    Args:
      x: an array.
      axis: the axis that is halved.

    Returns:
      An array like ``x``, with half the size along the axis.

    Raises:
      OddSizeError: the size along ``axis`` is odd. The error is a ValueError and an AssertionError.

    Example:
      >>> glu(np.array([3.0, 0.0], np.float32)).tolist()
      [1.5]
    """
    check_arraylike("glu", x)
    axis = canonical_axis(axis, np.ndim(x))
    size = np.shape(x)[axis]
    if size % 2:
        raise OddSizeError(
            f"glu halves an axis, whose size must be even: axis size must be divisible by 2, got "
            f"{size} along axis {axis}."
        )
    values, gates = onp.split(x, 2, axis)
    return onp.multiply(values, sigmoid(gates))


@custom_jvp
@jit
def log1mexp(x: ArrayLike) -> Array:
    """Computes ``log(1 - exp(-x))`` precisely, for small and for large positive ``x``.

    Args:
      x: an array.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> round(float(log1mexp(1e-3)), 4)
      -6.9083
    """
    check_arraylike("log1mexp", x)
    # Mächler, Accurately Computing log(1 - exp(-|a|)), 2012.
    small = onp.less(x, onp.log(2.0))
    by_expm1 = onp.log(onp.negative(onp.expm1(onp.negative(x))))
    by_log1p = onp.log1p(onp.negative(onp.exp(onp.negative(x))))
    return onp.where(small, by_expm1, by_log1p)


log1mexp.defjvps(lambda t, ans, x: onp.divide(t, onp.expm1(x)))


def default_float(dtype: Any, name: str = "initializer") -> np.dtype:
    """Returns the canonical form of a dtype, or the default floating dtype for None."""
    if dtype is None:
        return dtypes.default_float_dtype()
    return dtypes.check_and_canonicalize_user_dtype(dtype, name)
