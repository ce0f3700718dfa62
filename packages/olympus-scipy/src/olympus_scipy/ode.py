# SPDX-License-Identifier: Apache-2.0
"""Ordinary differential equations: Dormand and Prince's method with steps of adaptive size.

Dormand, Prince: A family of embedded Runge-Kutta formulae. J. Comput. Appl. Math. 6 (1980).
Shampine: Some practical Runge-Kutta formulas. Math. Comp. 46 (1986), for the interpolant.
Hairer, Norsett, Wanner: Solving ordinary differential equations I, II.4, for the first step.
The derivative is that of the adjoint equation, solved backwards in time by the same method; it
needs no more memory than the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import closure_convert, custom_vjp, vjp
from olympus_batching import vmap
from olympus_ir import lax, pytrees
from olympus_ir.jit import jit
from olympus_ir.tracing import typeof
from olympus_numpy.flatten_util import ravel_pytree

__all__ = ["odeint"]

# Where a step looks at the derivative, and how it combines what it has seen.
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


class _Step(NamedTuple):
    """The state after a step, and the polynomial of the way there."""

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
      func: the derivative, of the structure and types of ``y0``. It may close over traced values;
        there are derivatives by these, too.
      y0: the state at the first time, an array or a pytree of arrays.
      t: the times at which the solution is wanted, increasing.
      *args: further arguments of ``func``, arrays or pytrees of arrays.
      rtol: the relative error that a step may make.
      atol: the absolute error that a step may make.
      mxstep: how many steps there may be between two times; the state stays where it is then.
      hmax: the largest step.

    Returns:
      The states at all times, stacked along a new leading dimension.

    Raises:
      TypeError: an argument is not an array of floating numbers.

    Example:
      >>> times = np.array([0.0, 1.0], np.float32)
      >>> odeint(lambda y, t: -y, np.float32(1), times, rtol=1e-5).round(2)
      Array([1.  , 0.37], dtype=float32)
    """
    for leaf in pytrees.tree_leaves(args):
        typeof(leaf)  # arrays only
    for leaf in pytrees.tree_leaves((y0, t)):
        if not onp.issubdtype(typeof(leaf).dtype, np.floating):  # type: ignore[attr-defined]
            raise TypeError(
                f"odeint needs states and times of floating numbers, got {typeof(leaf)}"
            )
    first = pytrees.tree_leaves(t)[0][0]
    converted, constants = closure_convert(func, y0, first, *args)
    flat_y0, unravel = ravel_pytree(y0)

    def flat_func(y: Any, time: Any, *rest: Any) -> Any:
        return ravel_pytree(converted(unravel(y), time, *rest))[0]

    options = (rtol, atol, mxstep, hmax)
    states = _solve(flat_func, options, flat_y0, onp.asarray(t), (*args, *constants))
    return vmap(unravel)(states)


def _derivative(func: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda y, time: func(y, time, *args)


def _scaled_norm(error: Any, scale: Any) -> Any:
    return onp.sqrt(onp.mean(onp.square(onp.abs(error / scale))))


def _first_size(func: Callable[..., Any], y: Any, time: Any, slope: Any, options: Any) -> Any:
    """Hairer's guess: an explicit Euler step that changes the state little."""
    rtol, atol, _, _ = options
    scale = atol + onp.abs(y) * rtol
    size_of_y, size_of_slope = _norm(y / scale), _norm(slope / scale)
    small = onp.logical_or(size_of_y < 1e-5, size_of_slope < 1e-5)
    trial = onp.where(small, 1e-6, 0.01 * size_of_y / size_of_slope)
    change = _norm((func(y + trial * slope, time + trial) - slope) / scale) / trial
    largest = onp.maximum(size_of_slope, change)
    tiny = onp.logical_and(size_of_slope <= 1e-15, change <= 1e-15)
    size = onp.where(tiny, onp.maximum(1e-6, trial * 1e-3), (0.01 / largest) ** (1 / 5))
    return onp.minimum(100 * trial, size).astype(typeof(time).dtype)  # type: ignore[attr-defined]


def _norm(x: Any) -> Any:
    return onp.sqrt(onp.sum(onp.square(x)))


def _stages(func: Callable[..., Any], y: Any, slope: Any, time: Any, size: Any) -> Any:
    """The derivatives at the seven stages of a step, the first of which is known."""
    dtype = slope.dtype
    slopes = [slope]
    for at, row in zip(_TIMES, _COMBINATIONS, strict=True):
        moved = sum(
            np.asarray(weight, dtype) * each
            for weight, each in zip(row, slopes, strict=False)
            if weight
        )
        slopes.append(
            func(y + size.astype(dtype) * moved, time + size * np.asarray(at, size.dtype))
        )
    return onp.stack(slopes)


def _polynomial(before: Any, after: Any, middle: Any, slopes: Any, size: Any) -> Any:
    """The polynomial of degree four through both ends and the middle, with the slopes at the ends.

    Its coefficients, that of the highest power first, are for the part of the step made so far.
    """
    start, end = size * slopes[0], size * slopes[-1]
    a = -2 * start + 2 * end - 8 * before - 8 * after + 16 * middle
    b = 5 * start - 3 * end + 18 * before + 14 * after - 32 * middle
    c = -4 * start + end - 11 * before - 5 * after + 16 * middle
    return onp.stack([a, b, c, start, before])


def _value_at(polynomial: Any, part: Any) -> Any:
    value = polynomial[0]
    for place in range(1, 5):
        value = value * part + polynomial[place]
    return value


def _advanced(func: Callable[..., Any], state: _Step, options: Any) -> _Step:
    """One trial step: taken where its error is small enough, and the size of the next."""
    rtol, atol, _, hmax = options
    y, slope, time, size, last_time, polynomial = state
    slopes = _stages(func, y, slope, time, size)
    dtype = y.dtype
    step = size.astype(dtype)

    def combined(weights: np.ndarray) -> Any:
        return onp.tensordot(np.asarray(weights, dtype), slopes, 1)

    after = y + step * combined(_RESULT)
    error = step * combined(_RESULT - _FOURTH_ORDER)
    scale = atol + rtol * onp.maximum(onp.abs(y), onp.abs(after))
    ratio = _scaled_norm(error, scale)
    taken = ratio <= 1
    fitted = _polynomial(y, after, y + step * combined(_MIDDLE), slopes, step)
    proposed = _next_size(size, ratio.astype(size.dtype))
    reached = _Step(after, slopes[-1], time + size, proposed, time, fitted)
    kept = _Step(y, slope, time, proposed, last_time, polynomial)
    chosen = pytrees.tree_map(lambda a, b: onp.where(taken, a, b), reached, kept)
    return chosen._replace(size=onp.clip(chosen.size, 0.0, hmax).astype(size.dtype))


def _next_size(size: Any, ratio: Any) -> Any:
    shrink = onp.where(ratio < 1, 1.0, 0.2)
    factor = onp.minimum(10.0, onp.maximum(ratio ** (-1 / 5) * 0.9, shrink))
    return onp.where(ratio == 0, size * 10.0, size * factor).astype(size.dtype)


def _solve_forward(
    func: Callable[..., Any], options: Any, y0: Any, times: Any, args: tuple[Any, ...]
) -> Any:
    bound = _derivative(func, args)
    mxstep = options[2]

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
    size = onp.clip(_first_size(bound, y0, times[0], slope, options), 0.0, options[3])
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
    """Solves the adjoint equation from each time back to the one before."""

    def backwards(augmented: Any, negative_time: Any, *args: Any) -> Any:
        y, y_bar, _, _ = augmented
        slope, pull_back = vjp(func, y, -negative_time, *args)
        by_y, by_time, *by_args = pull_back(y_bar)
        return -slope, by_y, by_time, tuple(by_args)

    def to_earlier(carry: Any, place: Any) -> Any:
        y_bar, start_bar, args_bar = carry
        # Moving a time moves the state along its derivative.
        moved = onp.dot(func(states[place], times[place], *args), cotangent[place])
        time_bar = moved.astype(times.dtype)
        augmented = (states[place], y_bar, start_bar - time_bar, args_bar)
        ends = onp.stack([-times[place], -times[place - 1]])
        rtol, atol, mxstep, hmax = options
        solved = odeint(
            backwards, augmented, ends, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax
        )
        _, y_bar, start_bar, args_bar = pytrees.tree_map(lambda each: each[1], solved)
        return (y_bar + cotangent[place - 1], start_bar, args_bar), time_bar

    zeros = pytrees.tree_map(onp.zeros_like, args)
    start = (cotangent[-1], onp.zeros((), times.dtype), zeros)
    places = onp.arange(len(times) - 1, 0, -1)
    (y_bar, start_bar, args_bar), time_bars = lax.scan(to_earlier, start, places)
    times_bar = onp.concatenate([start_bar[None], time_bars[::-1]])
    return y_bar, times_bar, args_bar
