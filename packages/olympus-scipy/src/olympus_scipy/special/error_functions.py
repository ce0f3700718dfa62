# SPDX-License-Identifier: Apache-2.0
"""Error functions (DLMF chapter 7), Owen's function, and the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.expansions.elementwise import polynomial
from olympus_ir.expansions.error_function import scaled_erfc
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import inlined, outlined

from ..arguments import (
    elementwise,
    floats,
    is_complex,
    reals,
    strong,
    with_derivatives,
)
from .faddeeva import faddeeva

__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "fresnel",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "owens_t",
    "wofz",
]

_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
_SQRT_HALF = math.sqrt(0.5)


# ---- the error function ----


@inlined()
def erf(x: ArrayLike) -> Array:
    """Evaluates the error function; DLMF 7.2.1.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> erf(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = floats("erf", x)
    return lax.erf(x)


@inlined()
def erfc(x: ArrayLike) -> Array:
    """Evaluates the complementary error function ``1 - erf(x)``; DLMF 7.2.2.

    It is accurate for large ``x``.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> erfc(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    (x,) = floats("erfc", x)
    return lax.erfc(x)


@inlined()
def erfinv(x: ArrayLike) -> Array:
    """Evaluates the inverse of the error function; DLMF 7.17.

    Args:
      x: an array or scalar of numbers from -1 to 1.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> erfinv(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = floats("erfinv", x)
    return lax.erf_inv(x)


def _far_out(x: Any, sign: float) -> Any:
    """Returns the sum of ``(2k - 1)!! (sign / (2 x^2))^k`` over k >= 1, for x >= 12."""
    inverse = (0.5 * sign) / (x * x)
    total = onp.zeros_like(x)
    for k in range(10, 0, -1):
        total = (2.0 * k - 1.0) * inverse * (1.0 + total)
    return total


def _erfcx_derivative(y: Any, x: Any) -> Any:
    # For large x the two terms cancel, so a series is used.
    far = x > 12.0
    return onp.where(
        far,
        _TWO_OVER_SQRT_PI * _far_out(onp.where(far, x, 12.0), -1.0),
        2.0 * x * y - _TWO_OVER_SQRT_PI,
    )


@with_derivatives(_erfcx_derivative)
def _erfcx(x: Any) -> Any:
    right = scaled_erfc(lax.abs(x))
    return onp.where(x < 0.0, 2.0 * lax.exp(x * x) - right, right)


@with_derivatives(lambda w, z: lax.complex(*_rotated(2.0, -2.0 * z * w)))
def _wofz(z: Any) -> Any:
    return faddeeva(z)


def _rotated(factor: float, z: Any) -> tuple[Any, Any]:
    """Returns the real and imaginary parts of ``z + factor i / sqrt(pi)``."""
    return lax.real(z), lax.imag(z) + factor / math.sqrt(math.pi)


@outlined()
def erfcx(x: ArrayLike) -> Array:
    """Evaluates the scaled complementary error function ``exp(x**2) * erfc(x)``; DLMF 7.2.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of inexact dtype, of the shape of the operand.

    Example:
      >>> erfcx(0.0)
      Array(1., dtype=float32)
    """
    (x,) = floats("erfcx", x)
    if is_complex(x):
        return _wofz(lax.complex(-lax.imag(x), lax.real(x)))
    return strong(_in_wide_floats(_erfcx, x))


def _in_wide_floats(function: Any, x: Any) -> Any:
    """Applies a function; computes in 32 bits for floats of fewer bits."""
    if dtypes.finfo(x.dtype).bits < 32:
        return function(x.astype(np.float32)).astype(x.dtype)
    return function(x)


@outlined()
def wofz(z: ArrayLike) -> Array:
    """Evaluates the Faddeeva function ``exp(-z**2) * erfc(-i z)``; DLMF 7.2.3.

    Args:
      z: an array or scalar of numbers.

    Returns:
      A complex array of the shape of the operand.

    Example:
      >>> wofz(0.0)
      Array(1.+0.j, dtype=complex64)
    """
    (z,) = floats("wofz", z)
    if not is_complex(z):
        z = lax.convert_element_type(z, dtypes.to_complex_dtype(z.dtype))
    return _wofz(z)


def _dawsn_derivative(y: Any, x: Any) -> Any:
    far = lax.abs(x) > 12.0
    return onp.where(far, -_far_out(onp.where(far, x, 12.0), 1.0), 1.0 - 2.0 * x * y)


@with_derivatives(_dawsn_derivative)
def _dawsn(x: Any) -> Any:
    w = faddeeva(lax.complex(x, onp.zeros_like(x)))
    return (0.5 * math.sqrt(math.pi)) * lax.imag(w)


@outlined()
def dawsn(x: ArrayLike) -> Array:
    """Evaluates Dawson's integral; DLMF 7.2.5.

    It is ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to ``x``.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> dawsn(0.0)
      Array(0., dtype=float32)
    """
    (x,) = reals("dawsn", x)
    return _in_wide_floats(_dawsn, x)


# ---- Fresnel integrals ----


def _fresnel_series(x: Any, first: int) -> Any:
    """Sums the series of the integral of sin (first = 1) or cos (first = 0) of pi t^2 / 2."""
    square = (0.5 * math.pi) * x * x
    fourth = square * square
    coefficients = [
        (-1) ** n / (math.factorial(2 * n + first) * (4 * n + 2 * first + 1)) for n in range(18)
    ]
    return x * (square if first else 1.0) * polynomial(fourth, coefficients)


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    size = lax.abs(x)
    small = size < 1.25
    near = onp.where(small, size, 0.0)
    infinite = size == np.inf
    far = onp.where(small | infinite, 1.25, size)
    # C + i S = (1 + i) / 2 (1 - exp(i pi x^2 / 2) w(sqrt(pi) / 2 (1 + i) x)); DLMF 7.5.8.
    argument = (0.5 * math.sqrt(math.pi)) * far
    w = faddeeva(lax.complex(argument, argument))
    # The phase is computed from the remainder of x^2 modulo 4, which is exact for integers x.
    whole = lax.round(far, lax.RoundingMethod.TO_NEAREST_EVEN)
    rest = far - whole
    phase = (0.5 * math.pi) * (whole % 2.0 + (2.0 * whole * rest) % 4.0 + rest * rest)
    turned = lax.complex(lax.cos(phase), lax.sin(phase)) * w
    real, imag = 1.0 - lax.real(turned), -lax.imag(turned)
    sine = onp.where(infinite, 0.5, 0.5 * (real + imag))
    cosine = onp.where(infinite, 0.5, 0.5 * (real - imag))
    sine = onp.where(small, _fresnel_series(near, 1), sine)
    cosine = onp.where(small, _fresnel_series(near, 0), cosine)
    return lax.sign(x) * sine, lax.sign(x) * cosine


@_fresnel.defjvp
def _fresnel_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x,), (t,) = primals, tangents
    phase = (0.5 * math.pi) * x * x
    return _fresnel(x), (t * lax.sin(phase), t * lax.cos(phase))


@outlined()
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Evaluates the Fresnel integrals; DLMF 7.2.7 and 7.2.8.

    They are the integrals of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to ``x``.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      A pair of floating arrays of the shape of ``x``: the sine integral and the cosine integral.

    Raises:
      ValueError: the operand is complex.

    Example:
      >>> fresnel(0.0)[0]
      Array(0., dtype=float32)
    """
    (x,) = reals("fresnel", x)
    if dtypes.finfo(x.dtype).bits < 32:
        sine, cosine = _fresnel(x.astype(np.float32))
        return sine.astype(x.dtype), cosine.astype(x.dtype)
    return _fresnel(x)


# ---- the normal distribution ----


def _check_float(name: str, x: Any) -> Any:
    """Returns the operand as an array, after a check that its dtype is float32 or float64."""
    x = onp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"{name}: x.dtype={dtypes.name_of(x.dtype)} is not supported; convert it to float32 or "
            "float64."
        )
    return x


def _density(x: Any) -> Any:
    return lax.exp(-0.5 * x * x) * (1.0 / math.sqrt(2.0 * math.pi))


def ndtr(x: ArrayLike) -> Array:
    """Evaluates the distribution function of the standard normal distribution.

    Args:
      x: an array or scalar of float32 or float64.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: ``x`` has an unsupported dtype.

    Example:
      >>> ndtr(0.0)
      Array(0.5, dtype=float32)
    """
    return _ndtr(_check_float("ndtr", x))


@outlined()
def _ndtr(x: Any) -> Any:
    return strong(0.5 * lax.erfc(-_SQRT_HALF * x))


# Coefficients of the rational functions of Wichura, Algorithm AS 241, Applied Statistics 37, 1988.
_CENTER = (
    (
        3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
        1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
        2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)  # fmt: skip
_SHOULDER = (
    (
        1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
        3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)  # fmt: skip
_TAIL = (
    (
        6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)  # fmt: skip


def _quotient(x: Any, coefficients: tuple) -> Any:
    return polynomial(x, coefficients[0]) / polynomial(x, coefficients[1])


@with_derivatives(lambda y, p: math.sqrt(2.0 * math.pi) * lax.exp(0.5 * y * y))
def _ndtri(p: Any) -> Any:
    q = p - 0.5
    central = lax.abs(q) <= 0.425
    middle = onp.where(central, q, 0.0)
    inside = middle * _quotient(0.180625 - middle * middle, _CENTER)
    legal = (p > 0.0) & (p < 1.0)
    side = onp.where(q < 0.0, p, 1.0 - p)
    r = lax.sqrt(-lax.log(onp.where(central | ~legal, 0.05, side)))
    near = r <= 5.0
    shoulder = _quotient(onp.where(near, r, 5.0) - 1.6, _SHOULDER)
    tail = _quotient(onp.where(near, 5.0, r) - 5.0, _TAIL)
    outside = onp.where(near, shoulder, tail)
    result = onp.where(central, inside, onp.where(q < 0.0, -outside, outside))
    limit = onp.where(p == 0.0, -np.inf, onp.where(p == 1.0, np.inf, np.nan))
    return onp.where(legal, result, limit).astype(p.dtype)


def ndtri(p: ArrayLike) -> Array:
    """Evaluates the inverse of `ndtr`, the quantile function of the standard normal distribution.

    The method is from Wichura: Algorithm AS 241. Applied Statistics 37 (1988).

    Args:
      p: an array or scalar of float32 or float64, from 0 to 1.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: ``p`` has an unsupported dtype.

    Example:
      >>> ndtri(0.5)
      Array(0., dtype=float32)
    """
    return _ndtri_compiled(_check_float("ndtri", p))


_ndtri_compiled = outlined()(_ndtri)


@with_derivatives(
    lambda y, x: lax.exp(-0.5 * x * x - y) * (1.0 / math.sqrt(2.0 * math.pi)),
)
def _log_ndtr(x: Any) -> Any:
    left = x < -1.0
    far = onp.where(left, -x * _SQRT_HALF, 1.0)
    tail = lax.log(0.5 * scaled_erfc(far)) - far * far
    near = onp.where(left, 0.0, x)
    return onp.where(left, tail, lax.log1p(-0.5 * lax.erfc(near * _SQRT_HALF)))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Evaluates the logarithm of `ndtr`; it is also accurate for large negative ``x``.

    Args:
      x: an array or scalar of float32 or float64.
      series_order: an integer from 0 to 30, which is checked but has no effect.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: ``x`` has an unsupported dtype, or ``series_order`` is not an integer.
      ValueError: ``series_order`` is out of range.

    Example:
      >>> log_ndtr(-10.0) < -53.2
      Array(True, dtype=bool)
    """
    if not isinstance(series_order, int):
        raise TypeError(f"series_order must be a Python integer, got {type(series_order)}.")
    if series_order < 0:
        raise ValueError(f"series_order must be non-negative, got {series_order}.")
    if series_order > 30:
        raise ValueError(f"series_order must be <= 30, got {series_order}.")
    return strong(_log_ndtr_compiled(_check_float("log_ndtr", x)))


_log_ndtr_compiled = outlined()(_log_ndtr)


# ---- Owen's function ----

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


def _owen_integral(h: Any, a: Any) -> Any:
    """Computes T(h, a) for h >= 0 and 0 <= a <= 1, by quadrature up to negligible terms."""
    h = onp.minimum(h, 50.0)  # for larger h, T is zero
    reach = onp.minimum(a, 9.0 / onp.maximum(h, 1e-30))
    total = onp.zeros_like(h)
    for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
        t = reach * (0.5 * (node + 1.0))
        square = 1.0 + t * t
        total = total + weight * lax.exp(-0.5 * (h * h) * (t * t)) / square
    return total * reach * lax.exp(-0.5 * h * h) * (0.25 / math.pi)


@with_derivatives(
    lambda y, h, a: -_density(h) * 0.5 * lax.erf(a * h * _SQRT_HALF),
    lambda y, h, a: lax.exp(-0.5 * h * h * (1.0 + a * a)) / ((2.0 * math.pi) * (1.0 + a * a)),
)
def _owens_t(h: Any, a: Any) -> Any:
    size, slope = lax.abs(h), lax.abs(a)
    steep = slope > 1.0
    inverse = 1.0 / onp.where(steep, slope, 1.0)
    product = onp.where(steep & (slope < np.inf), size * slope, 0.0)
    direct = _owen_integral(onp.where(steep, product, size), onp.where(steep, inverse, slope))
    # T(h, a) + T(a h, 1/a) = (q(h) + q(a h)) / 2 - q(h) q(a h), with the tail probability q.
    q, r = 0.5 * lax.erfc(size * _SQRT_HALF), 0.5 * lax.erfc(product * _SQRT_HALF)
    value = onp.where(steep, 0.5 * (q + r) - q * r - direct, direct)
    value = onp.where(slope == np.inf, 0.5 * q, value)
    value = onp.where((size == np.inf) & (a == a), 0.0, value)
    return onp.where(a < 0.0, -value, value) + onp.where(size == np.inf, 0.0, 0.0 * h)


@elementwise()
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Evaluates Owen's T function.

    It is the probability that X > h and 0 < Y < a X, for independent standard normal X and Y.
    Source: Owen: Tables for computing bivariate normal probabilities. Ann. Math. Statist. 27
    (1956).

    Args:
      h: an array or scalar of real numbers.
      a: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the broadcast shape of the operands.

    Raises:
      ValueError: an operand is complex.

    Example:
      >>> owens_t(0.0, 0.0)
      Array(0., dtype=float32)
    """
    return strong(_owens_t(h, a))
