# SPDX-License-Identifier: Apache-2.0
"""Divided differences of functions, at nodes, some of which may be equal or close."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..forward.jvp import jvp
from ..zeros import aval_of, scalar

__all__ = ["divided_difference"]

# Nodes count as close if their distance, relative to their size, is below this number. Differences
# of values at larger distances are accurate to 14 digits in double precision.
_CLOSE = 1e-2
# The number of points of the Gauss rule in each direction.
_POINTS = 6


def divided_difference(g: Callable[[Any], Any], nodes: Sequence[Any]) -> Any:
    """Returns divided differences of an elementwise function.

    For nodes that are far apart, a divided difference is the difference of two divided differences
    of lower order, divided by the distance of the outermost nodes. For close nodes, it is the mean
    of a derivative over the simplex that the nodes span (Hermite and Genocchi), by a Gauss rule.

    Args:
      g: the function, smooth at the nodes and between close nodes.
      nodes: arrays of equal shapes and dtypes; each position has the nodes of one difference.
    """
    order = len(nodes) - 1
    if order == 0:
        return g(nodes[0])
    nodes = _sorted(nodes)
    low, high = nodes[0], nodes[-1]
    distance = lax.sub(high, low)
    size = lax.max(lax.abs(low), lax.abs(high))
    size = lax.min(size, _number(1, size))
    is_close = lax.le(lax.abs(distance), lax.mul(_number(_CLOSE, size), size))
    apart = lax.select(is_close, lax.full_like(distance, 1), distance)
    after, before = divided_difference(g, nodes[1:]), divided_difference(g, nodes[:-1])
    far = lax.div(lax.sub(after, before), lax.convert_element_type(apart, aval_of(after).dtype))
    return lax.select(is_close, _mean_derivative(g, nodes), far)


def _sorted(nodes: Sequence[Any]) -> list[Any]:
    stacked = lax.concatenate([lax.expand_dims(node, (0,)) for node in nodes], 0)
    ordered = lax.sort(stacked, dimension=0)
    return [
        lax.index_in_dim(ordered, position, 0, keepdims=False) for position in range(len(nodes))
    ]


def _mean_derivative(g: Callable[[Any], Any], nodes: Sequence[Any]) -> Any:
    """Returns the integral of the derivative of g over the simplex of the nodes."""
    order = len(nodes) - 1
    derivative = g
    for _ in range(order):
        derivative = _slope(derivative)
    fractions, weights = _simplex_rule(order)
    shape = (len(weights), *aval_of(nodes[0]).shape)
    dims = tuple(range(1, len(shape)))
    points = lax.broadcast_in_dim(nodes[0], shape, dims)
    for level in range(order):
        step = lax.sub(nodes[level + 1], nodes[level])
        fraction = np.asarray(fractions[:, level], aval_of(step).dtype)
        change = lax.mul(
            lax.broadcast_in_dim(fraction, shape, (0,)), lax.broadcast_in_dim(step, shape, dims)
        )
        points = lax.add(points, change)
    values = derivative(points)
    weights = np.asarray(weights, aval_of(values).dtype)
    return lax.reduce_sum(lax.mul(lax.broadcast_in_dim(weights, shape, (0,)), values), (0,))


def _simplex_rule(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the points and weights of a product of Gauss rules on a simplex.

    A point has nested coordinates, 1 >= t1 >= t2 >= ...: each is a fraction of its predecessor.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    nodes, weights = (nodes + 1) / 2, weights / 2
    chosen = np.array(list(itertools.product(range(_POINTS), repeat=order)))
    points = np.cumprod(nodes[chosen], axis=1)
    before = np.concatenate([np.ones((len(chosen), 1)), points[:, :-1]], axis=1)
    return points, np.prod(weights[chosen] * before, axis=1)


def _slope(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(g, (x,), (lax.full_like(x, 1),))[1]


def _number(value: float, like: Any) -> Any:
    """Returns a number as a scalar with the dtype of ``like``."""
    return scalar(value, aval_of(like).dtype)
