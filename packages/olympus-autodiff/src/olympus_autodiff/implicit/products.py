# SPDX-License-Identifier: Apache-2.0
"""Products with Hessians, Gauss-Newton and Fisher matrices; Taylor coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree

from ..forward.jvp import jvp
from ..jet.transformation import jet
from ..reverse.grad import grad
from ..reverse.vjp import vjp
from ..zeros import aval_of

__all__ = [
    "fisher_product",
    "gauss_newton_product",
    "hessian_product",
    "taylor",
]


def hessian_product(f: Callable[[Any], Any], x: PyTree, v: PyTree) -> PyTree:
    """Returns the product of the Hessian of a scalar function with a vector.

    Args:
      f: a function with a scalar result.
      x: the argument, an array or a pytree of arrays.
      v: the vector, of the structure of ``x``.

    Returns:
      The product, of the structure of ``x``.

    Example:
      >>> float(hessian_product(lambda x: x**3, 2.0, 1.0))
      12.0
    """
    return jvp(grad(f), (x,), (v,))[1]


def gauss_newton_product(
    model: Callable[[Any], Any], loss: Callable[[Any], Any], x: PyTree, v: PyTree
) -> PyTree:
    """Returns the product of the Gauss-Newton matrix of ``loss(model(x))`` with a vector.

    The matrix is J^T H J with the Jacobian J of the model and the Hessian H of the loss
    (Schraudolph 2002). It is positive semidefinite if the loss is convex.

    Args:
      model: a function of ``x``.
      loss: a function of the model's result, with a scalar result.
      x: an array or a pytree of arrays.
      v: the vector, of the structure of ``x``.

    Returns:
      The product, of the structure of ``x``.

    Example:
      >>> float(gauss_newton_product(lambda x: 3.0 * x, lambda y: y**2, 1.0, 1.0))
      18.0
    """
    out, pushed = jvp(model, (x,), (v,))
    curved = hessian_product(loss, out, pushed)
    _, pull = vjp(model, x)
    return pull(curved)[0]


def fisher_product(
    model: Callable[[Any], Any], log_likelihood: Callable[[Any], Any], x: PyTree, v: PyTree
) -> PyTree:
    """Returns the product of the Fisher information of a model with a vector.

    For an exponential family in its natural parameters, the Fisher information is the Gauss-Newton
    matrix of the negative log-likelihood (Martens 2014). It does not depend on the observation.

    Args:
      model: maps ``x`` to natural parameters.
      log_likelihood: maps natural parameters to the log-likelihood of an observation.
      x: an array or a pytree of arrays.
      v: the vector, of the structure of ``x``.

    Returns:
      The product, of the structure of ``x``.

    Example:
      >>> float(fisher_product(lambda x: 2.0 * x, lambda y: -(y**2) / 2, 1.0, 1.0))
      4.0
    """
    return gauss_newton_product(model, lambda out: lax.neg(log_likelihood(out)), x, v)


def taylor(
    f: Callable[[Any], Any], x: PyTree, order: int, direction: PyTree = None
) -> list[PyTree]:
    """Returns the Taylor coefficients of a function along a line.

    Args:
      f: a function of an array or of a pytree of arrays.
      x: the point of expansion.
      order: the highest order.
      direction: the direction of the line, of the structure of ``x``; by default all ones.

    Returns:
      The coefficients c of ``f(x + t * direction) = c[0] + c[1] * t + c[2] * t**2 + ...``, each of
      the structure of the function's result.

    Raises:
      ValueError: the order is negative.

    Example:
      >>> from olympus_ir import lax
      >>> [round(float(each), 4) for each in taylor(lax.exp, 0.0, 3)]
      [1.0, 1.0, 0.5, 0.1667]
    """
    if order < 0:
        raise ValueError(f"`order` must not be negative, got {order}")
    if order == 0:
        return [f(x)]
    if direction is None:
        direction = pytrees.tree_map(lambda leaf: lax.full_like(leaf, 1), x)
    direction = pytrees.tree_map(_as_array, direction)

    def along(t: Any) -> Any:
        def moved(leaf: Any, step: Any) -> Any:
            aval = aval_of(step)
            factor = lax.convert_element_type(t, aval.dtype)
            factor = lax.broadcast_in_dim(factor, aval.shape, ())
            return lax.add(lax.convert_element_type(leaf, aval.dtype), lax.mul(step, factor))

        return f(pytrees.tree_map(moved, x, direction))

    out, derivatives = jet(along, (0.0,), ((1.0, *[0.0] * (order - 1)),))
    coefficients = [out]
    for number in range(1, order + 1):
        scale = 1.0 / math.factorial(number)
        nth = pytrees.tree_map(lambda _, terms, n=number: terms[n - 1], out, derivatives)
        coefficients.append(
            pytrees.tree_map(lambda leaf, s=scale: lax.mul(leaf, lax.full_like(leaf, s)), nth)
        )
    return coefficients


def _as_array(leaf: Any) -> Any:
    return lax.convert_element_type(leaf, aval_of(leaf).dtype)
