# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions that are not smooth, estimated from values at random points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike

from ..keys.functions import split
from ..samplers.continuous import normal
from ..samplers.uniform import uniform
from .relaxations import straight_through
from .scores import check_samples, mean, score_mean

__all__ = ["smoothed"]

_METHODS = ("gaussian", "clarke")


@api_boundary
def smoothed(
    f: Callable[[Any], Any],
    key: ArrayLike,
    *,
    scale: float = 0.1,
    samples: int = 100,
    method: str = "gaussian",
) -> Callable[[Any], Any]:
    """Returns a function with estimated derivatives, for functions that are not smooth.

    ``"gaussian"`` estimates ``E f(x + scale * u)`` for standard normal ``u``, and the derivatives
    of this expectation, from values of ``f`` at pairs of opposite points. The first derivative is
    the mean of ``(f(x + scale * u) - f(x - scale * u)) * u / (2 * scale)``. This formula uses no
    derivative of ``f``, so ``f`` may have jumps and compute with integers. The expectation is
    smooth, and the estimate of its derivatives of any order is unbiased (Nesterov and Spokoiny
    2017).

    ``"clarke"`` is a heuristic. It returns ``f(x)`` with the mean of the derivatives of ``f`` at
    random points of a box of half width ``scale`` around ``x``. ``f`` must be differentiable almost
    everywhere. The mean lies in the convex hull of gradients near ``x``, which for small ``scale``
    approaches Clarke's subdifferential (Burke, Lewis and Overton 2005: gradient sampling). Jumps of
    ``f`` do not show in these derivatives.

    The returned function uses the same random directions in every call, so it is deterministic.

    Args:
      f: a function of one argument, which is an array or a pytree of arrays of a float dtype. Its
        result is an array or a pytree of arrays. Derivatives with respect to values that ``f``
        closes over are the usual derivatives.
      key: a key, for the random directions.
      scale: the standard deviation of the normal distribution or half the width of the box.
      samples: the number of pairs of points (``"gaussian"``) or of points (``"clarke"``).
      method: ``"gaussian"`` or ``"clarke"``.

    Returns:
      A function of ``x``, differentiable in both modes.

    Raises:
      ValueError: the method is unknown, or ``samples`` or ``scale`` is not positive.
      TypeError: in a call, ``x`` has elements that are not floats.

    Example:
      >>> from olympus_autodiff import grad
      >>> from olympus_ir import lax
      >>> from olympus_random import key
      >>> steps = smoothed(lax.floor, key(0), scale=1.0, samples=10_000)
      >>> round(float(grad(steps)(0.5)), 1)
      1.0
    """
    if method not in _METHODS:
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, _METHODS))}; got {method!r}"
        )
    check_samples(samples)
    if isinstance(scale, (int, float)) and scale <= 0:
        raise ValueError(f"`scale` must be positive, got {scale}")
    estimate = _gaussian if method == "gaussian" else _clarke

    def smooth(x: Any) -> Any:
        return estimate(f, key, pytrees.tree_map(_checked_float, x), scale, samples)

    return smooth


def _gaussian(f: Callable[[Any], Any], key: Any, x: Any, scale: Any, samples: int) -> Any:
    steps = _draws(normal, key, x, scale, samples)
    pairs = pytrees.tree_map(lambda step: lax.concatenate([step, lax.neg(step)], 0), steps)
    points = pytrees.tree_map(lax.stop_gradient, _moved(x, pairs))
    return score_mean(vmap(f)(points), _log_densities(points, x, scale), group=2)


def _clarke(f: Callable[[Any], Any], key: Any, x: Any, scale: Any, samples: int) -> Any:
    def from_box(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return uniform(key, shape, dtype, -1.0, 1.0)

    points = _moved(x, _draws(from_box, key, x, scale, samples))
    return straight_through(f(x), mean(vmap(f)(points)))


def _draws(sampler: Callable[..., Any], key: Any, x: Any, scale: Any, samples: int) -> Any:
    """Returns scaled draws of the structure of ``x``, along a leading dimension of each array."""
    leaves, structure = pytrees.tree_flatten(x)
    keys = split(key, len(leaves))
    draws = []
    for index, leaf in enumerate(leaves):
        draw = sampler(keys[index], (samples, *leaf.shape), leaf.dtype)
        draws.append(lax.mul(draw, lax.full_like(draw, scale)))
    return pytrees.tree_unflatten(structure, draws)


def _moved(x: Any, steps: Any) -> Any:
    def moved(leaf: Any, step: Any) -> Any:
        return lax.add(lax.broadcast(leaf, step.shape[:1]), step)

    return pytrees.tree_map(moved, x, steps)


def _log_densities(points: Any, x: Any, scale: Any) -> Any:
    """Returns the logarithms of normal densities around ``x``, up to a constant."""
    total = None
    for point, center in zip(pytrees.tree_leaves(points), pytrees.tree_leaves(x), strict=True):
        distance = lax.sub(point, lax.broadcast(center, point.shape[:1]))
        units = lax.div(distance, lax.full_like(distance, scale))
        squares = lax.reduce_sum(lax.integer_pow(units, 2), tuple(range(1, units.ndim)))
        half = lax.mul(squares, lax.full_like(squares, -0.5))
        total = (
            half if total is None else lax.add(total, lax.convert_element_type(half, total.dtype))
        )
    return total


def _checked_float(leaf: Any) -> Any:
    dtype = dtypes.dtype(leaf, canonicalize=True)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"smoothed functions take arrays of floats, got {dtypes.name_of(dtype)}")
    return lax.convert_element_type(leaf, dtype)
