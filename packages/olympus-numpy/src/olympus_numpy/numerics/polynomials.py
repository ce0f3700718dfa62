# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and calculus of polynomials, given by coefficients, highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.programs.wide_constants import allowed_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.joining import concatenate
from ..arrays.shaping import atleast_1d, broadcast_to
from ..core.compilation import compiled
from ..core.promotion import (
    check_arraylike,
    constant,
    convert,
    ensure_array,
    promote_dtypes,
    promote_dtypes_inexact,
    spread,
)
from ..elementwise.arithmetic import add, subtract
from ..products.convolutions import convolve

__all__ = ["polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]


def _horner(p: Any, x: Any, unroll: int) -> Any:
    p, x = promote_dtypes(ensure_array(p), ensure_array(x))
    p = atleast_1d(p)
    dtype = allowed_dtype(p.dtype)
    p, x = convert(p, dtype), convert(x, dtype)
    is_bool = p.dtype == np.bool_
    multiply, add = (lax.bitwise_and, lax.bitwise_or) if is_bool else (lax.mul, lax.add)
    shape = lax.broadcast_shapes(p.shape[1:], np.shape(x))
    x = spread(x, shape)
    start = lax.full_like(x, 0)

    def step(value: Any, coefficient: Any) -> Any:
        return add(multiply(value, x), spread(coefficient, shape)), None

    value, _ = lax.scan(step, start, p, unroll=unroll)
    return value


_polyval = compiled(_horner, ("unroll",), name="polyval")


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Returns the values of a polynomial.

    Args:
      p: the coefficients, highest power first; a scalar is a constant polynomial.
      x: the points at which to evaluate the polynomial.
      unroll: the number of loop steps that are written out together.

    Returns:
      An array of the shape of ``x`` and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> polyval(array([1, 0, 2]), 3)
      Array(11, dtype=int32)
    """
    check_arraylike("polyval", p, x)
    return _polyval(p, x, operator.index(unroll))


def _padded_front(p: Any, size: int) -> Any:
    missing = size - p.shape[0]
    padding = [(missing, 0, 0), *[(0, 0, 0)] * (p.ndim - 1)]
    return lax.pad(p, constant(0, p), padding) if missing else p


def _aligned(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    check_arraylike(name, a1, a2)
    a1, a2 = promote_dtypes(ensure_array(a1), ensure_array(a2))
    a1, a2 = atleast_1d(a1, a2)
    size = max(a1.shape[0], a2.shape[0])
    if a1.ndim > 1 or a2.ndim > 1:  # the shorter one is added to the last rows of the longer one
        if a1.shape[0] < size:
            a1 = broadcast_to(a1, (a1.shape[0], *a2.shape[1:]))
        else:
            a2 = broadcast_to(a2, (a2.shape[0], *a1.shape[1:]))
    return _padded_front(a1, size), _padded_front(a2, size)


def _sum(a1: Any, a2: Any) -> Any:
    return add(*_aligned("polyadd", a1, a2))


_polyadd = compiled(_sum, inline=True, name="polyadd")


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Returns the sum of two polynomials.

    Args:
      a1: the coefficients of the first polynomial.
      a2: the coefficients of the second polynomial.

    Returns:
      An array of one dimension, as long as the longer operand, of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> polyadd(array([1, 2]), array([1, 2, 3]))
      Array([1, 3, 5], dtype=int32)
    """
    check_arraylike("polyadd", a1, a2)
    return _polyadd(a1, a2)


def _difference(a1: Any, a2: Any) -> Any:
    return subtract(*_aligned("polysub", a1, a2))


_polysub = compiled(_difference, inline=True, name="polysub")


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Returns the difference of two polynomials.

    Args:
      a1: the coefficients of the first polynomial.
      a2: the coefficients of the second polynomial.

    Returns:
      An array of one dimension, as long as the longer operand, of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> polysub(array([1, 2]), array([1, 2, 3]))
      Array([-1, -1, -1], dtype=int32)
    """
    check_arraylike("polysub", a1, a2)
    return _polysub(a1, a2)


def _derivative(p: Any, m: int) -> Any:
    (p,) = promote_dtypes_inexact(p)
    if m == 0:
        return p
    count = p.shape[0]
    if m >= count:
        return lax.full((0,), np.zeros((), p.dtype))
    powers = np.arange(count - 1, m - 1, -1)
    factors = np.prod(powers[None, :] - np.arange(m)[:, None], axis=0)
    return lax.mul(lax.slice_in_dim(p, 0, count - m, axis=0), factors.astype(p.dtype))


_polyder = compiled(_derivative, ("m",), name="polyder")


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Returns the derivative of a polynomial.

    Args:
      p: the coefficients, highest power first.
      m: the order of the derivative.

    Returns:
      An array of one dimension, ``m`` elements shorter than ``p``.

    Raises:
      ValueError: if ``m`` is negative, or ``p`` has several dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> polyder(array([1, 2, 3]))
      Array([2., 2.], dtype=float32)
    """
    check_arraylike("polyder", p)
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyder")
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    p = atleast_1d(p)
    _at_most_vectors("polyder", p)
    return _polyder(p, m)


def _integral(p: Any, k: Any, m: int) -> Any:
    p, k = promote_dtypes_inexact(p, k)
    count = p.shape[0]
    if m == 0:
        return p
    # The i-th integration constant is itself integrated m - i - 1 times.
    coefficients = concatenate([p, spread(k, (m,))])
    powers = np.arange(count + m - 1, -1, -1)
    times = np.concatenate([np.full(count, m), np.arange(m - 1, -1, -1)])
    factors = [
        np.prod(np.arange(n - t + 1, n + 1, dtype=float))
        for n, t in zip(powers, times, strict=True)
    ]
    return lax.div(coefficients, np.array(factors).astype(p.dtype))


_polyint = compiled(_integral, ("m",), name="polyint")


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Returns the integral of a polynomial.

    Args:
      p: the coefficients, highest power first.
      m: the number of times to integrate.
      k: the constants of integration, one for all or one for each integration; zero by default.

    Returns:
      An array of one dimension, ``m`` elements longer than ``p``.

    Raises:
      ValueError: if ``m`` is negative, or ``k`` has neither one element nor ``m``.

    Example:
      >>> from olympus_numpy import array
      >>> polyint(array([2.0, 1.0]))
      Array([1., 1., 0.], dtype=float32)
    """
    check_arraylike("polyint", p, 0 if k is None else k)
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyint")
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = atleast_1d(ensure_array(0 if k is None else k))
    if constants.shape[0] not in (1, m):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    return _polyint(atleast_1d(p), constants, m)


# ---- products and quotients ----


def _without_leading_zeros(name: str, p: Any, tolerance: float = 0.0) -> Any:
    """Drops leading coefficients that are zero within a tolerance."""
    known = concrete_or_error(
        np.asarray, p, f"Error arose in the coefficients that {name} trims: trim_leading_zeros"
    )
    positions = np.flatnonzero(~(np.abs(known) <= tolerance))  # NaN is not zero
    return p[positions[0] :] if positions.size else p[:0]


def _or_zero(p: Any) -> Array:
    """Returns the coefficients, or the polynomial zero if there are none."""
    return p if p.shape[0] else lax.full((1,), np.zeros((), p.dtype))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Returns the product of two polynomials.

    Args:
      a1: the coefficients of the first polynomial.
      a2: the coefficients of the second polynomial.
      trim_leading_zeros: whether leading zeros are removed from the operands first, as NumPy does.
        This option needs concrete values, so it fails in compiled functions.

    Returns:
      An array of one dimension and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> polymul(array([1.0, 2.0]), array([1.0, 3.0]))
      Array([1., 5., 6.], dtype=float32)
    """
    check_arraylike("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact(ensure_array(a1), ensure_array(a2))
    _at_most_vectors("polymul", a1, a2)
    if trim_leading_zeros:
        a1, a2 = (_without_leading_zeros("polymul", p) for p in (a1, a2))
    a1, a2 = (_or_zero(p) for p in (a1, a2))
    return convolve(a1, a2, mode="full")


def _at_most_vectors(name: str, *polynomials: Any) -> None:
    for p in polynomials:
        if p.ndim != 1:
            raise (TypeError if p.ndim == 0 else ValueError)(
                f"{name} takes vectors of coefficients, got an array of shape {p.shape}"
            )


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Returns the quotient and the remainder of two polynomials.

    Args:
      u: the coefficients of the dividend.
      v: the coefficients of the divisor, the first of which is not zero.
      trim_leading_zeros: whether leading coefficients of the remainder that are nearly zero are
        removed, as NumPy does. This option needs concrete values, so it fails in compiled
        functions.

    Returns:
      The quotient, and the remainder with as many coefficients as the dividend has.

    Raises:
      IndexError: if ``v`` has no coefficients.

    Example:
      >>> from olympus_numpy import array
      >>> polydiv(array([1.0, 5.0, 6.0]), array([1.0, 2.0]))
      (Array([1., 3.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    check_arraylike("polydiv", u, v)
    u, v = promote_dtypes_inexact(ensure_array(u), ensure_array(v))
    _at_most_vectors("polydiv", u, v)
    if v.shape[0] == 0:
        raise IndexError("polydiv: the divisor has no coefficients: index is out of bounds")
    if u.shape[0] < v.shape[0]:
        return lax.full((1,), np.zeros((), u.dtype)), u
    quotient, remainder = _divided(u, v)
    if trim_leading_zeros:
        tolerance = float(np.sqrt(dtypes.finfo(remainder.dtype).eps))
        remainder = _without_leading_zeros("polydiv", remainder, tolerance)
    return quotient, remainder


def _long_division(u: Any, v: Any) -> Any:
    """Divides by long division; a window of the dividend advances one coefficient in each step."""
    count = v.shape[0]
    scale = lax.div(np.ones((), v.dtype), v[0])
    window, later = lax.slice_in_dim(u, 0, count), lax.slice_in_dim(u, count, u.shape[0])
    later = lax.pad(later, np.zeros((), u.dtype), [(0, 1, 0)])

    def step(window: Any, following: Any) -> Any:
        factor = lax.mul(scale, window[0])
        rest = lax.add(window, lax.mul(lax.neg(factor), v))
        moved = lax.concatenate([rest[1:], lax.expand_dims(following, (0,))], 0)
        return moved, (factor, rest[0])

    window, (quotient, consumed) = lax.scan(step, window, later)
    return quotient, lax.concatenate([consumed, lax.slice_in_dim(window, 0, count - 1)], 0)


_divided = compiled(_long_division, name="polydiv")
