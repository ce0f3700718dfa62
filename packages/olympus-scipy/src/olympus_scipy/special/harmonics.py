# SPDX-License-Identifier: Apache-2.0
"""Spherical harmonics."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import broadcasted, check_arraylike

__all__ = ["sph_harm_y"]


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Evaluates spherical harmonics with the Condon-Shortley phase; DLMF 14.30.1.

    Args:
      n: the degrees, a vector of nonnegative integers.
      m: the orders, a vector of integers from ``-n`` to ``n``.
      theta: the polar angles; the result depends only on their cosines.
      phi: the azimuths.
      diff_n: must be None.
      n_max: the largest degree, a known integer; computed from ``n`` if None.

    Returns:
      A complex array of the shape of the operands, NaN for degrees above ``n_max``.

    Raises:
      ValueError: ``n_max`` is negative.
      TypeError: ``n`` or ``m`` does not have an integer dtype.
      NotImplementedError: ``diff_n`` is given.

    Example:
      >>> import olympus_numpy as jnp
      >>> sph_harm_y(jnp.array([0]), jnp.array([0]), jnp.zeros(1), jnp.zeros(1)).shape
      (1,)
    """
    if diff_n is not None:
        raise NotImplementedError(
            "The 'diff_n' argument to sph_harm_y is not supported; differentiate with olympus.jvp "
            "or olympus.grad."
        )
    check_arraylike("sph_harm_y", n, m, theta, phi)
    degrees = n  # The degrees are concrete during a trace if the caller's array is concrete.
    n, m, theta, phi = (onp.asarray(argument) for argument in (n, m, theta, phi))
    for name, value in (("n", n), ("m", m)):
        if not dtypes.issubdtype(value.dtype, np.integer):
            raise TypeError(
                f"Argument {name} of sph_harm_y must be of integers, got "
                f"{dtypes.name_of(value.dtype)}."
            )
    if n_max is None:
        n_max = concrete_or_error(
            lambda value: int(np.max(value, initial=0)),
            degrees,
            "The `n_max` argument of sph_harm_y must be statically specified to use it within "
            "transformations.",
        )
    largest: Any = concrete_or_error(operator.index, n_max, "The `n_max` argument of sph_harm_y.")
    if largest < 0:
        raise ValueError(f"The largest degree `n_max` of sph_harm_y must not be negative: {n_max}.")
    return _harmonics(n, m, theta, phi, largest)


@outlined("n_max")
def _harmonics(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    n, m, theta, phi = broadcasted("sph_harm_y", n, m, theta, phi)
    dtype = dtypes.to_inexact_dtype(onp.result_type(theta, phi))
    theta, phi = theta.astype(dtype), phi.astype(dtype)
    order = lax.abs(m)
    # The Legendre functions take cos(theta) and the absolute value of sin(theta).
    value = _normalized_legendre(n, order, lax.cos(theta), lax.abs(lax.sin(theta)), n_max)
    angle = order.astype(dtype) * phi
    harmonic = lax.complex(value * lax.cos(angle), value * lax.sin(angle))
    # A harmonic of negative order is the conjugate of the harmonic of positive order, with
    # alternating sign.
    sign = onp.where(order % 2 == 0, 1.0, -1.0).astype(dtype)
    harmonic = onp.where(m < 0, sign * lax.conj(harmonic), harmonic)
    harmonic = onp.where(order > n, 0.0, harmonic)
    return onp.where(n > n_max, np.nan, harmonic)


def _normalized_legendre(n: Any, m: Any, cosine: Any, sine: Any, n_max: int) -> Any:
    """Evaluates the factor that depends on theta; DLMF 14.10.3 and 14.30.1.

    A recurrence in the order comes first, then a recurrence in the degree. The recurrences include
    the normalization, so that numbers stay of moderate size.
    """
    dtype = cosine.dtype
    diagonal = onp.full_like(cosine, math.sqrt(0.25 / math.pi))
    start = diagonal
    for order in range(1, n_max + 1):
        diagonal = -math.sqrt((2 * order + 1) / (2 * order)) * sine * diagonal
        start = onp.where(m == order, diagonal, start)
    order = m.astype(dtype)
    square = order * order
    before, current = onp.zeros_like(cosine), start
    result = start
    for degree in range(1, n_max + 1):
        # Above the order, the value at a degree follows from the values at the two degrees before.
        above = order < degree
        gap = onp.where(above, degree * degree - square, 1.0)
        first = lax.sqrt((4.0 * degree * degree - 1.0) / gap)
        shrink = onp.where(above, (degree - 1.0) ** 2 - square, 0.0) / (
            4.0 * (degree - 1.0) ** 2 - 1.0
        )
        second = lax.sqrt(onp.maximum(shrink, 0.0))
        following = first * (cosine * current - second * before)
        before = onp.where(above, current, before)
        current = onp.where(above, following, current)
        result = onp.where(n == degree, current, result)
    return result
