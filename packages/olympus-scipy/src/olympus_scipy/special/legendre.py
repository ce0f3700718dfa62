# SPDX-License-Identifier: Apache-2.0
"""Associated Legendre functions up to a degree and order; this module is private."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from .harmonics import _normalized_legendre

__all__ = ["lpmn", "lpmn_values"]


def lpmn(m: int, n: int, z: Any) -> tuple[Array, Array]:
    """Evaluates associated Legendre functions and derivatives, with the Condon-Shortley phase.

    See DLMF 14.3 and 14.10.

    Args:
      m: the largest order.
      n: the largest degree, equal to ``m``.
      z: a vector of numbers from -1 to 1, float32 or float64.

    Returns:
      Values and derivatives, each of shape ``(m + 1, n + 1, z.size)``.

    Raises:
      TypeError: ``z`` has an unsupported dtype.
      ValueError: ``z`` is not a vector, or ``n`` is negative.
      NotImplementedError: ``m`` and ``n`` differ.

    Example:
      >>> values, derivatives = lpmn(1, 1, np.array([0.5], np.float32))
      >>> derivatives[0, :, 0].tolist()
      [0.0, 1.0]
    """
    size = _checked("lpmn", m, n, z)
    z = onp.asarray(z)
    # (1 - z**2)**(m / 2) * (-1)**m times the m-th derivative of the Legendre polynomial.
    polynomials = _derivatives(size, z)
    orders = np.arange(size + 1)[:, None, None]
    signs = np.where(orders % 2, -1, 1).astype(z.dtype)
    square = 1 - z * z
    powers = signs * lax.sqrt(square) ** orders
    values = powers * polynomials[:-1]
    lowered = onp.where(orders == 0, 0.0, lax.sqrt(square) ** (orders - 2.0))
    inner = -orders * signs * z * lowered * polynomials[:-1]
    inner = onp.where(polynomials[:-1] == 0, 0.0, inner)
    return values, (inner + powers * polynomials[1:]).astype(z.dtype)


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Array:
    """Evaluates associated Legendre functions, with the Condon-Shortley phase; DLMF 14.3.

    Args:
      m: the largest order.
      n: the largest degree, equal to ``m``.
      z: a vector of numbers from -1 to 1, float32 or float64.
      is_normalized: whether to normalize the functions as factors of spherical harmonics.

    Returns:
      An array of shape ``(m + 1, n + 1, z.size)``.

    Raises:
      TypeError: ``z`` has an unsupported dtype.
      ValueError: ``z`` is not a vector, or ``n`` is negative.
      NotImplementedError: ``m`` and ``n`` differ.

    Example:
      >>> lpmn_values(1, 1, np.array([0.5], np.float32), False)[0, :, 0].tolist()
      [1.0, 0.5]
    """
    if not is_normalized:
        return lpmn(m, n, z)[0]
    size = _checked("lpmn_values", m, n, z)
    z = onp.asarray(z)
    shape = (size + 1, size + 1, z.shape[0])
    order, degree = (lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    cosine = onp.broadcast_to(z, shape)
    values = _normalized_legendre(degree, order, cosine, lax.sqrt(1 - cosine * cosine), size)
    return onp.where(order > degree, 0.0, values)


def _checked(name: str, m: Any, n: Any, z: Any) -> int:
    dtype = dtypes.dtype(z)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"z.dtype={dtype} is not supported by {name}: it is float32 or float64")
    if np.ndim(z) != 1:
        raise ValueError(f"z must be a 1D array, got shape {np.shape(z)}.")
    m = concrete_or_error(int, m, f"Argument m of {name}.")
    n = concrete_or_error(int, n, f"Argument n of {name}.")
    if m != n:
        raise NotImplementedError(f"Computations for m!=n are not yet supported, got {m} and {n}.")
    if n < 0:
        raise ValueError(f"{name}: the largest degree must not be negative, got {n}")
    return n


def _derivatives(size: int, z: Any) -> Any:
    """Returns the derivatives of Legendre polynomials, indexed by order, degree and point.

    The recurrence of Gegenbauer polynomials in the degree, DLMF 18.9.1, gives the derivatives.
    """
    orders = np.arange(size + 2)[:, None]
    previous = onp.zeros((size + 2, z.shape[0]), z.dtype)
    current = onp.where(orders == 0, onp.ones_like(z), 0.0)
    by_degree, diagonal = [current], 1.0
    for degree in range(1, size + 1):
        diagonal *= 2 * degree - 1
        gap = np.where(orders < degree, degree - orders, 1)
        first = ((2 * degree - 1) / gap).astype(z.dtype)
        second = ((degree + orders - 1) / gap).astype(z.dtype)
        following = first * z * current - second * previous
        beyond = onp.where(orders == degree, np.asarray(diagonal, z.dtype), 0.0)
        previous, current = current, onp.where(orders < degree, following, beyond)
        by_degree.append(current)
    return onp.stack(by_degree, axis=1)
