# SPDX-License-Identifier: Apache-2.0
"""Bessel functions of integer order; DLMF chapter 10."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import inlined, outlined

from ..arguments import floats, reals, with_derivatives

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]


@inlined()
def i0e(x: ArrayLike) -> Array:
    """Evaluates the modified Bessel function I_0, scaled by ``exp(-abs(x))``; DLMF 10.25.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> round(float(i0e(1.0)), 4)
      0.4658
    """
    (x,) = floats("i0e", x)
    return lax.bessel_i0e(x)


@inlined()
def i1e(x: ArrayLike) -> Array:
    """Evaluates the modified Bessel function I_1, scaled by ``exp(-abs(x))``; DLMF 10.25.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> i1e(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = floats("i1e", x)
    return lax.bessel_i1e(x)


def _i0_derivative(y: Any, x: Any) -> Any:
    return _i1(x)


def _i1_derivative(y: Any, x: Any) -> Any:
    return _i0(x) - _divided_by_operand(y, x)


@with_derivatives(_i0_derivative)
def _i0(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i0e(x)


@with_derivatives(_i1_derivative)
def _i1(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


def _divided_by_operand(y: Any, x: Any) -> Any:
    small = lax.abs(x) < float(dtypes.finfo(x.dtype).eps)
    return onp.where(small, 0.5, y / onp.where(small, 1.0, x))


@outlined()
def i0(x: ArrayLike) -> Array:
    """Evaluates the modified Bessel function I_0; DLMF 10.25.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> round(float(i0(1.0)), 4)
      1.2661
    """
    (x,) = floats("i0", x)
    return _i0(x)


@outlined()
def i1(x: ArrayLike) -> Array:
    """Evaluates the modified Bessel function I_1; DLMF 10.25.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      An array of floating dtype, of the shape of the operand.

    Raises:
      TypeError: the operand is complex.

    Example:
      >>> i1(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = floats("i1", x)
    return _i1(x)


# ---- Bessel functions of the first kind ----


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Evaluates the Bessel functions of the first kind J_0 to J_v; DLMF 10.2.

    Miller's algorithm (DLMF 3.6) follows the recurrence downwards from an order far above ``v``, so
    that the starting values do not matter. Then it scales the results so that ``J_0 + 2 J_2 + 2 J_4
    + ...`` is 1. SciPy has no such function; ``scipy.special.jv`` takes one order.

    Args:
      z: an array or scalar of real numbers.
      v: the largest order, a known nonnegative integer.
      n_iter: the order to start from; it should lie well above ``v`` and ``z``.

    Returns:
      A floating array of shape (v + 1, *z.shape), with one row for each order.

    Raises:
      ValueError: ``v`` is not a nonnegative integer.

    Example:
      >>> bessel_jn(0.0, v=1)
      Array([1., 0.], dtype=float32)
    """
    v = concrete_or_error(operator.index, v, "Argument v of bessel_jn.")
    n_iter = concrete_or_error(operator.index, n_iter, "Argument n_iter of bessel_jn.")
    if v < 0:
        raise ValueError(f"Argument v of bessel_jn must be a non-negative integer, got {v}.")
    (z,) = reals("bessel_jn", z)
    return _bessel_jn_compiled(onp.asarray(z), v, max(n_iter, v + 16))


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _bessel_orders(z: Any, v: int, n_iter: int) -> Any:
    wide = z.astype(np.float32) if dtypes.finfo(z.dtype).bits < 32 else z
    zero = wide == 0.0
    x = onp.where(zero, 1.0, wide)
    largest = 1e10 if x.dtype == np.float32 else 1e100

    def step(count: Any, state: Any) -> Any:
        above, current, total, table = state
        order = n_iter - count  # the order of `current`
        below = (2.0 * order.astype(x.dtype)) / x * current - above
        total = total + onp.where(order % 2 == 1, 0.0, 2.0 * current)
        position = onp.minimum(order, v + 1)
        table = lax.dynamic_update_index_in_dim(table, current, position, 0)
        scale = onp.where(lax.abs(below) > largest, 1.0 / largest, 1.0)
        return current * scale, below * scale, total * scale, table * scale[None]

    start = onp.zeros_like(x)
    table = onp.zeros((v + 2, *x.shape), x.dtype)
    state = (start, onp.full_like(x, 1e-20), start, table)
    _, current, total, table = lax.fori_loop(0, n_iter, step, state)
    table = lax.dynamic_update_index_in_dim(table, current, 0, 0)[: v + 1]
    values = table / (total + current)[None]
    at_zero = onp.zeros_like(values).at[0].set(1.0)
    return onp.where(zero[None], at_zero, values).astype(z.dtype)


@_bessel_orders.defjvp
def _bessel_jvp(v: int, n_iter: int, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (z,), (t,) = primals, tangents
    values = _bessel_orders(z, v + 1, n_iter)
    # J_0' = -J_1, and J_n' = (J_{n-1} - J_{n+1}) / 2.
    first = -values[1:2]
    others = 0.5 * (values[:v] - values[2 : v + 2])
    return values[: v + 1], t[None] * onp.concatenate([first, others])


@outlined("v", "n_iter")
def _bessel_jn_compiled(z: Any, v: int, n_iter: int) -> Any:
    return _bessel_orders(z, v, n_iter)
