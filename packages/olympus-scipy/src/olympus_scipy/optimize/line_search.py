# SPDX-License-Identifier: Apache-2.0
"""Line search for the strong Wolfe conditions.

The search follows algorithms 3.5 and 3.6 of Nocedal, Wright: Numerical Optimization, second
edition. One loop runs both algorithms: it doubles the step until an interval contains a step that
satisfies the conditions, and then narrows the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes

__all__ = ["LineSearch", "inner_product", "line_search"]

_SUFFICIENT_DECREASE = 1e-4
_CURVATURE = 0.9


class _Point(NamedTuple):
    """A step length, with the function's value, slope and gradient after the step."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class _State(NamedTuple):
    count: Any
    done: Any
    bracketed: Any
    trial: Any
    low: _Point  # the best point so far
    high: _Point  # the other end of the interval, if one is known


class LineSearch(NamedTuple):
    """Result of a line search.

    Attributes:
      step: the step length.
      value: the function's value after the step.
      gradient: the gradient after the step.
      done: whether the Wolfe conditions hold.
      bracketed: whether an interval was found that contains a step for which the conditions hold.
      count: the number of evaluations of the function.
    """

    step: Any
    value: Any
    gradient: Any
    done: Any
    bracketed: Any
    count: Any


def inner_product(x: Any, y: Any) -> Any:
    """Returns the real part of the inner product of two vectors."""
    return onp.real(onp.vdot(x, y))


def line_search(
    evaluate: Callable[[Any], Any],
    x: Any,
    direction: Any,
    value: Any,
    gradient: Any,
    max_iterations: int,
    first_step: Any,
) -> LineSearch:
    """Searches for a step from ``x`` along a descent direction.

    Args:
      evaluate: function of a vector that returns the value and the gradient.
      x: the start, a vector.
      direction: the descent direction, a vector.
      value: the function's value at ``x``.
      gradient: the gradient at ``x``.
      max_iterations: the greatest number of evaluations.
      first_step: the first trial step.

    Returns:
      A `LineSearch`.
    """
    slope = inner_product(gradient, direction)
    start = _Point(onp.zeros_like(value), value, slope, gradient)
    no = onp.zeros((), bool)
    state = _State(
        onp.zeros((), onp.int32), no, no, onp.asarray(first_step, value.dtype), start, start
    )

    def proceed(state: _State) -> Any:
        return ~state.done & (state.count < max_iterations)

    def advance(state: _State) -> _State:
        found, slopes = evaluate(x + state.trial * direction)
        point = _Point(state.trial, found, inner_product(slopes, direction), slopes)
        low, high = state.low, state.high
        bound = value + _SUFFICIENT_DECREASE * point.step * slope
        too_high = ~(found <= bound) | ((found >= low.value) & (state.count > 0))
        flat = onp.abs(point.slope) <= -_CURVATURE * slope
        done = ~too_high & flat
        # A better point becomes the low end. If the function rises from this point toward the high
        # end, the old low end becomes the high end.
        ahead = onp.where(state.bracketed, high.step - low.step, 1.0)
        turned = ~too_high & (point.slope * ahead >= 0.0)
        bracketed = state.bracketed | too_high | turned
        high = _chosen(too_high, point, _chosen(turned, low, high))
        low = _chosen(too_high, low, point)
        trial = onp.where(bracketed, _between(low, high), 2.0 * point.step)
        return _State(state.count + 1, done, bracketed, trial, low, high)

    state = lax.while_loop(proceed, advance, state)
    low = state.low
    return LineSearch(low.step, low.value, low.gradient, state.done, state.bracketed, state.count)


def _chosen(condition: Any, first: _Point, second: _Point) -> _Point:
    return _Point(*(onp.where(condition, x, y) for x, y in zip(first, second, strict=True)))


def _between(low: _Point, high: _Point) -> Any:
    """Returns the minimum of the parabola fitted to both ends, kept away from the ends."""
    width = high.step - low.step
    curvature = high.value - low.value - low.slope * width
    tiny = float(dtypes.finfo(low.value.dtype).tiny)
    share = -0.5 * low.slope * width / onp.where(onp.abs(curvature) > tiny, curvature, 1.0)
    sensible = (curvature > tiny) & lax.is_finite(share)
    return low.step + width * onp.where(sensible, onp.clip(share, 0.1, 0.9), 0.5)
