# SPDX-License-Identifier: Apache-2.0
"""Minimization of smooth functions of a vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import value_and_grad
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import check_arraylike

from .bfgs import minimize_bfgs
from .lbfgs import minimize_lbfgs

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """Result of `minimize`.

    Attributes:
      x: the solution, of shape (n,).
      success: whether the gradient's norm is below the tolerance.
      status: 0 for success; 1 and 2 if the limits on iterations or evaluations were reached; 3 and
        5 if the line search failed; 4 if the function stopped decreasing.
      fun: the function's value at the solution.
      jac: the gradient at the solution, of shape (n,).
      hess_inv: the estimate of the inverse Hessian, of shape (n, n), or None.
      nfev: the number of evaluations of the function.
      njev: the number of evaluations of the gradient.
      nit: the number of iterations.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


_METHODS: dict[str, Callable[..., Any]] = {
    "bfgs": minimize_bfgs,
    "l-bfgs-experimental-do-not-rely-on-this": minimize_lbfgs,
}


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimizes a smooth function of a vector.

    The whole search is one program. It can be compiled, batched, and differentiated in forward
    mode. Unlike SciPy's function, it computes the gradient itself, and takes no constraints.

    Args:
      fun: the function, ``fun(x, *args)``, with a scalar result.
      x0: the start, a floating or complex vector of shape (n,).
      args: a tuple of further arguments of the function.
      method: ``"BFGS"``, or ``"l-bfgs-experimental-do-not-rely-on-this"``, the method with limited
        memory for large vectors.
      tol: the norm of the gradient at which to stop; the same as the option ``gtol``.
      options: the options of the method: for BFGS ``gtol``, ``norm``, ``maxiter``,
        ``line_search_maxiter``; for L-BFGS ``gtol``, ``ftol``, ``norm``, ``maxiter``, ``maxcor``,
        ``maxfun``, ``maxgrad``, ``maxls``.

    Returns:
      An `OptimizeResults`.

    Raises:
      TypeError: ``args`` is not a tuple, ``method`` is no string, an option is unknown, or ``x0``
        is neither floating nor complex.
      ValueError: the method is unknown, or ``x0`` is not a vector.

    Example:
      >>> import olympus_numpy as jnp
      >>> result = minimize(lambda x: jnp.sum((x - 1.0) ** 2), jnp.zeros(2), method="BFGS")
      >>> result.x.round(3)
      Array([1., 1.], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to optimize.minimize must be a tuple, got {args!r}")
    if not isinstance(method, str):
        raise TypeError(
            f"optimize.minimize requires the name of a method as `method`, got {method!r}"
        )
    search = _METHODS.get(method.lower())
    if search is None:
        names = ", ".join(_METHODS)
        raise ValueError(f"Method {method} not recognized; the methods are {names}.")
    check_arraylike("minimize", x0)
    x0 = onp.asarray(x0)
    if x0.ndim != 1:
        raise ValueError(
            f"optimize.minimize searches for vectors: x0 must have one axis, got the shape "
            f"{x0.shape}. Use olympus.flatten_util.ravel_pytree for other structures."
        )
    if not dtypes.issubdtype(x0.dtype, np.inexact):
        raise TypeError(
            "optimize.minimize differentiates by x0, which must have a float or complex dtype, got "
            f"{dtypes.name_of(x0.dtype)}; convert it to float32 or float64."
        )
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"optimize.minimize: options must be a mapping, got {options!r}")
    options = dict(options or {})
    if tol is not None:
        options.setdefault("gtol", tol)
    value_and_gradient = value_and_grad(lambda x: fun(x, *args))

    def evaluate(x: Any) -> Any:
        value, gradient = value_and_gradient(x)
        return value, onp.conj(gradient)

    result = OptimizeResults(**search(evaluate, x0, **options))
    counts = {name: _weak(getattr(result, name)) for name in ("status", "nfev", "njev", "nit")}
    return result._replace(jac=onp.conj(result.jac), **counts)


def _weak(count: Array) -> Array:
    """Returns a number that does not determine the dtype of what is computed from it."""
    return lax.convert_dtype(count, count.dtype, True)
