# SPDX-License-Identifier: Apache-2.0
"""Quasi-Newton minimization by the limited-memory BFGS method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax

from .line_search import inner_product, line_search

__all__ = ["minimize_lbfgs"]


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    steps: Any  # the last steps, the newest last
    changes: Any  # the changes of the gradient in these steps
    weights: Any  # reciprocal inner products of steps and changes; zero where no step is stored
    gamma: Any
    converged: Any
    status: Any
    evaluations: Any
    iterations: Any


def minimize_lbfgs(
    evaluate: Callable[[Any], Any],
    x0: Any,
    *,
    maxiter: int | None = None,
    norm: Any = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-05,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> dict[str, Any]:
    """Minimizes a function by the limited-memory BFGS method.

    The method is algorithms 7.4 and 7.5 of Nocedal, Wright: Numerical Optimization, second edition.

    Args:
      evaluate: function of a vector that returns the value and the gradient. For a complex vector,
        the gradient is the direction of steepest ascent, the conjugate of the result of `grad`.
      x0: the start, a vector of shape (n,).
      maxiter: the greatest number of iterations; 200 n if None.
      norm: the order of the gradient's norm, as in ``numpy.linalg.norm``.
      maxcor: the number of steps to remember.
      ftol: the relative decrease of the function at which to stop.
      gtol: the norm of the gradient at which to stop.
      maxfun: the greatest number of evaluations of the function.
      maxgrad: the greatest number of evaluations of the gradient. Each evaluation computes both
        the value and the gradient, so the smaller of ``maxfun`` and ``maxgrad`` is the limit.
      maxls: the greatest number of evaluations of a line search.

    Returns:
      The fields of `OptimizeResults`.
    """
    size = x0.shape[0]
    most_iterations = 200 * size if maxiter is None else maxiter
    most = min(np.inf if bound is None else bound for bound in (maxfun, maxgrad))
    value, gradient = evaluate(x0)

    def is_small(gradient: Any) -> Any:
        return onp.linalg.norm(gradient, ord=norm) < gtol

    def proceed(state: _State) -> Any:
        going = ~state.converged & (state.status == 0) & (state.iterations < most_iterations)
        return going if most == np.inf else going & (state.evaluations < most)

    def advance(state: _State) -> _State:
        direction = -_product(state, maxcor)
        # The first direction comes from the gradient, whose length is not a useful step size.
        length = onp.linalg.norm(state.gradient)
        first = onp.where(state.iterations == 0, onp.minimum(1.0, 1.0 / length), 1.0)
        search = line_search(
            evaluate, state.x, direction, state.value, state.gradient, maxls, first
        )
        step = search.step * direction
        change = search.gradient - state.gradient
        curvature = inner_product(change, step)
        squares = inner_product(change, change)
        useful = (curvature > 0.0) & (squares > 0.0)
        weight = onp.where(useful, 1.0 / onp.where(useful, curvature, 1.0), 0.0)
        converged = is_small(search.gradient)
        decrease = state.value - search.value
        scale = onp.maximum(onp.maximum(onp.abs(state.value), onp.abs(search.value)), 1.0)
        stalled = onp.where(decrease < ftol * scale, 4, 0)
        failed = onp.where(search.step > 0.0, stalled, 5)
        return _State(
            x=state.x + step,
            value=search.value,
            gradient=search.gradient,
            steps=onp.where(useful, _appended(state.steps, step), state.steps),
            changes=onp.where(useful, _appended(state.changes, change), state.changes),
            weights=onp.where(useful, _appended(state.weights, weight), state.weights),
            gamma=onp.where(useful, curvature / onp.where(useful, squares, 1.0), state.gamma),
            converged=converged,
            status=onp.where(converged, 0, failed).astype(onp.int32),
            evaluations=state.evaluations + search.count,
            iterations=state.iterations + 1,
        )

    state = _first_state(x0, value, gradient, is_small(gradient), maxcor)
    state = lax.while_loop(proceed, advance, state)
    return _result(state, most_iterations)


def _first_state(x0: Any, value: Any, gradient: Any, converged: Any, maxcor: int) -> _State:
    zero, one = onp.zeros((), onp.int32), onp.ones((), onp.int32)
    memory = onp.zeros((maxcor, x0.shape[0]), x0.dtype)
    return _State(
        x=x0,
        value=value,
        gradient=gradient,
        steps=memory,
        changes=memory,
        weights=onp.zeros(maxcor, value.dtype),
        gamma=onp.ones((), value.dtype),
        converged=converged,
        status=zero,
        evaluations=one,
        iterations=zero,
    )


def _result(state: _State, maxiter: int) -> dict[str, Any]:
    """Returns the fields of `OptimizeResults` from the last state."""
    exhausted = onp.where(state.iterations >= maxiter, 1, 2)
    status = onp.where(state.status != 0, state.status, exhausted)
    return {
        "x": state.x,
        "success": state.converged,
        "status": onp.where(state.converged, 0, status),
        "fun": state.value,
        "jac": state.gradient,
        "hess_inv": None,
        "nfev": state.evaluations,
        "njev": state.evaluations,
        "nit": state.iterations,
    }


def _appended(rows: Any, row: Any) -> Any:
    return onp.concatenate([rows[1:], row[None]])


def _product(state: _State, count: int) -> Any:
    """Applies the inverse Hessian estimate to the gradient, by two passes over the memory."""
    vector = state.gradient

    def forget(k: Any, carry: Any) -> Any:
        vector, factors = carry
        position = count - 1 - k
        factor = state.weights[position] * inner_product(state.steps[position], vector)
        return vector - factor * state.changes[position], factors.at[position].set(factor)

    vector, factors = lax.fori_loop(0, count, forget, (vector, onp.zeros_like(state.weights)))

    def remember(position: Any, vector: Any) -> Any:
        factor = state.weights[position] * inner_product(state.changes[position], vector)
        return vector + state.steps[position] * (factors[position] - factor)

    return lax.fori_loop(0, count, remember, state.gamma * vector)
