# SPDX-License-Identifier: Apache-2.0
"""Solves ordinary differential equations by Dormand and Prince's method with adaptive steps.

The derivative is computed by solving the adjoint equation backwards in time, by the same method.
This method needs no more memory than the solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import closure_convert, custom_vjp, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import typeof
from olympus_ir.trees import pytrees
from olympus_numpy.arrays.flatten_util import ravel_pytree

from .steps import (
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    runge_kutta_step,
)

__all__ = ["odeint"]


class _Step(NamedTuple):
    """State after a step, with the polynomial that interpolates the step."""

    y: Any
    slope: Any
    time: Any
    size: Any
    last_time: Any
    polynomial: Any


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Solves an initial value problem ``dy/dt = func(y, t, *args)``.

    Args:
      func: the right-hand side, with results of the structure and types of ``y0``. It may close
        over traced values, and is differentiated with respect to them too.
      y0: the state at the first time, an array or a pytree of arrays.
      t: the increasing times at which to return the solution, of shape (n,).
      *args: further arguments of ``func``, arrays or pytrees of arrays.
      rtol: the relative error tolerance of a step.
      atol: the absolute error tolerance of a step.
      mxstep: the greatest number of steps between two times. After these steps the state no longer
        changes.
      hmax: the greatest step size.

    Returns:
      The states at all times. They have the structure of ``y0``, with a leading dimension of length
      n.

    Raises:
      TypeError: the state or an argument is not an array of inexact dtype, or the times are not
        floating.
      ShapeError: the times are not a vector of at least one element.

    Example:
      >>> times = np.array([0.0, 1.0], np.float32)
      >>> odeint(lambda y, t: -y, np.float32(1), times, rtol=1e-5).round(2)
      Array([1.  , 0.37], dtype=float32)
    """
    _check_operands(func, y0, t, args)
    converted, constants = closure_convert(func, y0, t[0], *args)
    flat_y0, unravel = ravel_pytree(y0)

    def flat_func(y: Any, time: Any, *rest: Any) -> Any:
        return ravel_pytree(converted(unravel(y), time, *rest))[0]

    options = (rtol, atol, _step_limit(mxstep), hmax)
    states = _solve(flat_func, options, flat_y0, onp.asarray(t), (*args, *constants))
    return vmap(unravel)(states)


def _check_operands(func: Any, y0: Any, t: Any, args: tuple[Any, ...]) -> None:
    """Raises if an argument of `odeint` has the wrong type."""
    if not callable(func):
        raise TypeError(f"odeint: the first argument must be callable, got {func!r}")
    for leaf in pytrees.tree_leaves(args):
        try:
            typeof(leaf)
        except TypeError:
            raise TypeError(
                f"The contents of odeint *args must be arrays or scalars, but got {leaf!r}; a "
                "function of other values closes over them."
            ) from None
    for leaf in pytrees.tree_leaves(y0):
        if not onp.issubdtype(typeof(leaf).dtype, np.inexact):  # type: ignore[attr-defined]
            raise TypeError(
                f"odeint needs states of floating or complex numbers, got {typeof(leaf)}; write "
                "1.0 instead of 1."
            )
    if not onp.issubdtype(getattr(t, "dtype", object), np.floating):
        raise TypeError(f"t must be an array of floats, but got {t!r}.")
    if t.ndim != 1 or t.shape[0] == 0:
        raise ShapeError(
            "odeint: t must be a vector of at least one time, the first of which is that of y0; "
            f"got the shape {t.shape}."
        )


def _step_limit(mxstep: float) -> np.int32:
    return np.int32(math.ceil(min(mxstep, np.iinfo(np.int32).max)))


def _derivative(func: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda y, time: func(y, time, *args)


def _value_at(polynomial: Any, part: Any) -> Any:
    value = polynomial[0]
    for position in range(1, 5):
        value = value * part + polynomial[position]
    return value


def _advanced(func: Callable[..., Any], state: _Step, options: Any) -> _Step:
    """Makes one trial step, accepts it if its error is small enough, and sets the next size."""
    rtol, atol, _, hmax = options
    y, slope, time, size, last_time, polynomial = state
    after, end_slope, error, slopes = runge_kutta_step(func, y, slope, time, size)
    ratio = mean_error_ratio(error, rtol, atol, y, after)
    is_accepted = ratio <= 1
    fitted = interp_fit_dopri(y, after, slopes, size)
    proposed = optimal_step_size(size, ratio.astype(size.dtype)).astype(size.dtype)
    reached = _Step(after, end_slope, time + size, proposed, time, fitted)
    kept = _Step(y, slope, time, proposed, last_time, polynomial)
    chosen = pytrees.tree_map(lambda a, b: onp.where(is_accepted, a, b), reached, kept)
    return chosen._replace(size=onp.clip(chosen.size, 0.0, hmax).astype(size.dtype))


def _solve_forward(
    func: Callable[..., Any], options: Any, y0: Any, times: Any, args: tuple[Any, ...]
) -> Any:
    bound = _derivative(func, args)

    def to_time(state: _Step, target: Any) -> Any:
        def unfinished(carry: Any) -> Any:
            count, step = carry
            going = onp.logical_and(step.time < target, step.size > 0)
            return onp.logical_and(going, count < mxstep)

        def advance(carry: Any) -> Any:
            count, step = carry
            return count + 1, _advanced(bound, step, options)

        _, reached = lax.while_loop(unfinished, advance, (np.int32(0), state))
        part = (target - reached.last_time) / (reached.time - reached.last_time)
        return reached, _value_at(reached.polynomial, part.astype(y0.dtype))

    slope = bound(y0, times[0])
    rtol, atol, mxstep, hmax = options
    size = initial_step_size(bound, times[0], y0, 4, rtol, atol, slope).astype(times.dtype)
    size = onp.clip(size, 0.0, hmax)
    flat = onp.stack([onp.zeros_like(y0)] * 4 + [y0])
    start = _Step(y0, slope, times[0], size.astype(times.dtype), times[0], flat)
    _, states = lax.scan(to_time, start, times[1:])
    return onp.concatenate([y0[None], states])


def _solve(
    func: Callable[..., Any], options: Any, y0: Any, times: Any, args: tuple[Any, ...]
) -> Any:
    @custom_vjp
    def solution(y0: Any, times: Any, args: tuple[Any, ...]) -> Any:
        return _solve_forward(func, options, y0, times, args)

    def forward(y0: Any, times: Any, args: tuple[Any, ...]) -> Any:
        states = solution(y0, times, args)
        return states, (states, times, args)

    def backward(residuals: Any, cotangent: Any) -> Any:
        states, times, args = residuals
        return _adjoint(func, options, states, times, args, cotangent)

    solution.defvjp(forward, backward)
    return jit(solution)(y0, times, args)


def _adjoint(
    func: Callable[..., Any],
    options: Any,
    states: Any,
    times: Any,
    args: tuple[Any, ...],
    cotangent: Any,
) -> Any:
    """Solves the adjoint equation from each time back to the previous time."""

    def backwards(augmented: Any, negative_time: Any, *args: Any) -> Any:
        y, y_bar, _, _ = augmented
        slope, pull_back = vjp(func, y, -negative_time, *args)
        by_y, by_time, *by_args = pull_back(y_bar)
        return -slope, by_y, by_time, tuple(by_args)

    def to_earlier(carry: Any, position: Any) -> Any:
        y_bar, start_bar, args_bar = carry
        # The derivative of a state with respect to its time is the value of `func`. So the
        # cotangent of the time is the product of this value with the cotangent of the state.
        moved = onp.dot(func(states[position], times[position], *args), cotangent[position])
        time_bar = onp.real(moved).astype(times.dtype)
        augmented = (states[position], y_bar, start_bar - time_bar, args_bar)
        ends = onp.stack([-times[position], -times[position - 1]])
        rtol, atol, mxstep, hmax = options
        solved = odeint(
            backwards, augmented, ends, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax
        )
        _, y_bar, start_bar, args_bar = pytrees.tree_map(lambda values: values[1], solved)
        return (y_bar + cotangent[position - 1], start_bar, args_bar), time_bar

    zeros = pytrees.tree_map(onp.zeros_like, args)
    start = (cotangent[-1], onp.zeros((), times.dtype), zeros)
    positions = onp.arange(len(times) - 1, 0, -1)
    (y_bar, start_bar, args_bar), time_bars = lax.scan(to_earlier, start, positions)
    times_bar = onp.concatenate([start_bar[None], time_bars[::-1]])
    return y_bar, times_bar, args_bar
