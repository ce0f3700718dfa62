# SPDX-License-Identifier: Apache-2.0
"""Steps of Dormand and Prince's method: stages, error estimates, step sizes, interpolation.

The method is from Dormand, Prince: A family of embedded Runge-Kutta formulae. J. Comput. Appl.
Math. 6 (1980). The interpolant is from Shampine: Some practical Runge-Kutta formulas. Math. Comp.
46 (1986). The first step size is from Hairer, Norsett, Wanner: Solving ordinary differential
equations I, II.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir.adapters.wrapped_functions import transformation2, wrap_init
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_numpy.arrays.flatten_util import ravel_pytree

__all__ = [
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "optimal_step_size",
    "ravel_first_arg",
    "ravel_first_arg_",
    "runge_kutta_step",
]

# The nodes of the stages, and the weights by which a step combines their derivatives.
_TIMES = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_COMBINATIONS = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_RESULT = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0])
_FOURTH_ORDER = np.array(
    [1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60]
)
_MIDDLE = np.array(
    [
        6025192743 / 30085553152 / 2,
        0,
        51252292925 / 65400821598 / 2,
        -2691868925 / 45128329728 / 2,
        187940372067 / 1594534317056 / 2,
        -1776094331 / 19743644256 / 2,
        11237099 / 235043384 / 2,
    ]
)

Derivative = Callable[[Any, Any], Any]


def ravel_first_arg(f: Callable[..., Any], unravel: Any, debug_info: DebugInfo) -> Callable:
    """Returns a function that takes and returns vectors in place of pytrees.

    Args:
      f: a function whose first argument and result are pytrees of arrays.
      unravel: the function that makes the pytree from a vector.
      debug_info: the names of the function and its arguments, for error messages.

    Returns:
      A function of a vector and the other arguments of ``f``, with a vector as its result.
    """
    return ravel_first_arg_(wrap_init(f, debug_info=debug_info), unravel).call_wrapped


@transformation2
def ravel_first_arg_(f: Callable[..., Any], unravel: Any, y_flat: Any, *args: Any) -> Any:
    """Calls ``f`` with the pytree of ``y_flat``, and returns the result as a vector."""
    return ravel_pytree(f(unravel(y_flat), *args))[0]


def abs2(x: Any) -> Any:
    """Returns the squared modulus, a real array of the same shape."""
    if onp.iscomplexobj(x):
        return onp.square(x.real) + onp.square(x.imag)
    return onp.square(x)


def _norm(x: Any) -> Any:
    return onp.sqrt(onp.sum(abs2(x)))


def initial_step_size(
    fun: Derivative, t0: Any, y0: Any, order: int, rtol: Any, atol: Any, f0: Any
) -> Any:
    """Returns Hairer's heuristic first step size, from an explicit Euler step.

    Args:
      fun: the right-hand side, ``fun(y, t)``.
      t0: the initial time.
      y0: the initial state, a vector.
      order: the order of the method, less one.
      rtol: the relative error tolerance.
      atol: the absolute error tolerance.
      f0: the value of ``fun`` at ``t0``.

    Returns:
      A floating scalar.
    """
    scale = atol + onp.abs(y0) * rtol
    size_of_y, size_of_slope = _norm(y0 / scale), _norm(f0 / scale)
    small = onp.logical_or(size_of_y < 1e-5, size_of_slope < 1e-5)
    trial = onp.where(small, 1e-6, 0.01 * size_of_y / size_of_slope)
    change = _norm((fun(y0 + trial * f0, t0 + trial) - f0) / scale) / trial
    largest = onp.maximum(size_of_slope, change)
    tiny = onp.logical_and(size_of_slope <= 1e-15, change <= 1e-15)
    size = onp.where(tiny, onp.maximum(1e-6, trial * 1e-3), (0.01 / largest) ** (1 / (order + 1)))
    return onp.minimum(100 * trial, size)


def runge_kutta_step(func: Derivative, y0: Any, f0: Any, t0: Any, dt: Any) -> Any:
    """Makes one step of Dormand and Prince's method.

    Args:
      func: the right-hand side, ``func(y, t)``.
      y0: the state, a vector of length n.
      f0: the value of ``func`` at the state.
      t0: the time.
      dt: the step size.

    Returns:
      The state after the step, its derivative, the error estimate (each of shape (n,)), and the
      derivatives at the seven stages, of shape (7, n).
    """
    dtype, dt, t0 = f0.dtype, onp.asarray(dt), onp.asarray(t0)
    step = dt.astype(dtype)
    slopes = [f0]
    for at, row in zip(_TIMES, _COMBINATIONS, strict=True):
        moved = sum(
            np.asarray(weight, dtype) * slope
            for weight, slope in zip(row, slopes, strict=False)
            if weight
        )
        slopes.append(func(y0 + step * moved, t0 + dt * np.asarray(at, dt.dtype)))
    stages = onp.stack(slopes)
    after = y0 + step * _combined(_RESULT, stages)
    error = step * _combined(_RESULT - _FOURTH_ORDER, stages)
    return after, slopes[-1], error, stages


def _combined(weights: np.ndarray, stages: Any) -> Any:
    return onp.tensordot(np.asarray(weights, stages.dtype), stages, 1)


def fit_4th_order_polynomial(
    y0: Any, y1: Any, y_mid: Any, dy0: Any, dy1: Any, dt: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Returns the quartic through the ends and the midpoint of a step, with the slopes at the ends.

    Args:
      y0: the state at the start.
      y1: the state at the end.
      y_mid: the state at the midpoint.
      dy0: the derivative at the start.
      dy1: the derivative at the end.
      dt: the step size.

    Returns:
      The five coefficients of the quartic, highest power first. Its variable is the fraction of the
      step.
    """
    start, end = dt * dy0, dt * dy1
    a = -2 * start + 2 * end - 8 * y0 - 8 * y1 + 16 * y_mid
    b = 5 * start - 3 * end + 18 * y0 + 14 * y1 - 32 * y_mid
    c = -4 * start + end - 11 * y0 - 5 * y1 + 16 * y_mid
    return a, b, c, start, y0


def interp_fit_dopri(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """Returns the interpolating quartic of a step, from the derivatives at its stages.

    Args:
      y0: the state at the start.
      y1: the state at the end.
      k: the derivatives at the seven stages, of shape (7, n).
      dt: the step size.

    Returns:
      The coefficients as in `fit_4th_order_polynomial`, stacked to shape (5, n).
    """
    step = onp.asarray(dt).astype(y0.dtype)
    middle = y0 + step * _combined(_MIDDLE, k)
    return onp.stack(fit_4th_order_polynomial(y0, y1, middle, k[0], k[-1], step))


def mean_error_ratio(error_estimate: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """Returns the error of a step in units of the tolerance.

    Args:
      error_estimate: the error estimate.
      rtol: the relative error tolerance.
      atol: the absolute error tolerance.
      y0: the state before the step.
      y1: the state after the step.

    Returns:
      A floating scalar. The step is accepted if the ratio is at most one.
    """
    scale = atol + rtol * onp.maximum(onp.abs(y0), onp.abs(y1))
    return onp.sqrt(onp.mean(abs2(error_estimate / scale)))


def optimal_step_size(
    last_step: Any,
    mean_error_ratio: Any,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Any:
    """Returns the next step size.

    Args:
      last_step: the previous step size.
      mean_error_ratio: the error of the previous step in units of the tolerance.
      safety: the safety factor.
      ifactor: the greatest growth factor.
      dfactor: the smallest shrink factor.
      order: the order of the method.

    Returns:
      A floating scalar.
    """
    shrink = onp.where(mean_error_ratio < 1, 1.0, dfactor)
    ratio = onp.asarray(mean_error_ratio)
    factor = onp.minimum(ifactor, onp.maximum(ratio ** (-1.0 / order) * safety, shrink))
    return onp.where(ratio == 0, last_step * ifactor, last_step * factor)
