# SPDX-License-Identifier: Apache-2.0
"""Quasi-Newton minimization by the BFGS method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax

from .line_search import inner_product, line_search

__all__ = ["minimize_bfgs"]


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    inverse: Any  # the estimate of the inverse of the Hessian matrix
    converged: Any
    status: Any
    evaluations: Any
    iterations: Any


def minimize_bfgs(
    evaluate: Callable[[Any], Any],
    x0: Any,
    *,
    gtol: float = 1e-5,
    norm: Any = np.inf,
    maxiter: int | None = None,
    line_search_maxiter: int = 10,
) -> dict[str, Any]:
    """Minimizes a function by the method of Broyden, Fletcher, Goldfarb and Shanno.

    The method is algorithm 6.1 of Nocedal, Wright: Numerical Optimization, second edition.

    Args:
      evaluate: function of a vector that returns the value and the gradient. For a complex vector,
        the gradient is the direction of steepest ascent, the conjugate of the result of `grad`.
      x0: the start, a vector of shape (n,).
      gtol: the norm of the gradient at which to stop.
      norm: the order of the gradient's norm, as in ``numpy.linalg.norm``.
      maxiter: the greatest number of iterations; 200 n if None.
      line_search_maxiter: the greatest number of evaluations of a line search.

    Returns:
      The fields of `OptimizeResults`.
    """
    size = x0.shape[0]
    maxiter = 200 * size if maxiter is None else maxiter
    identity = onp.eye(size, dtype=x0.dtype)
    value, gradient = evaluate(x0)

    def is_small(gradient: Any) -> Any:
        return onp.linalg.norm(gradient, ord=norm) < gtol

    def proceed(state: _State) -> Any:
        return ~state.converged & (state.status == 0) & (state.iterations < maxiter)

    def advance(state: _State) -> _State:
        direction = -(state.inverse @ state.gradient)
        search = line_search(
            evaluate, state.x, direction, state.value, state.gradient, line_search_maxiter, 1.0
        )
        moved = search.step > 0.0
        step = search.step * direction
        change = search.gradient - state.gradient
        curvature = inner_product(change, step)
        positive = curvature > 0.0
        scale = 1.0 / onp.where(positive, curvature, 1.0)
        left = identity - scale * onp.outer(step, change.conj())
        updated = left @ state.inverse @ left.conj().T + scale * onp.outer(step, step.conj())
        inverse = onp.where(positive & lax.is_finite(scale), updated, state.inverse)
        x = state.x + step
        converged = is_small(search.gradient)
        failure = onp.where(search.bracketed, 3, 5)
        status = onp.where(search.done | converged | moved, 0, failure).astype(onp.int32)
        return _State(
            x,
            search.value,
            search.gradient,
            inverse,
            converged,
            status,
            state.evaluations + search.count,
            state.iterations + 1,
        )

    zero, one = onp.zeros((), onp.int32), onp.ones((), onp.int32)
    state = _State(x0, value, gradient, identity, is_small(gradient), zero, one, zero)
    state = lax.while_loop(proceed, advance, state)
    status = onp.where(state.converged, 0, onp.where(state.status != 0, state.status, 1))
    return {
        "x": state.x,
        "success": state.converged,
        "status": status,
        "fun": state.value,
        "jac": state.gradient,
        "hess_inv": state.inverse,
        "nfev": state.evaluations,
        "njev": state.evaluations,
        "nit": state.iterations,
    }
