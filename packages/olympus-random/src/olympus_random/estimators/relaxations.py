# SPDX-License-Identifier: Apache-2.0
"""Differentiable stand-ins for discrete draws: Gumbel-softmax and straight-through."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, PyTree
from olympus_ir.types.arrays import Array

from ..keys.arguments import float_dtype
from ..samplers.continuous import gumbel

__all__ = ["gumbel_softmax", "straight_through"]


def gumbel_softmax(
    key: ArrayLike,
    logits: ArrayLike,
    temperature: ArrayLike = 1.0,
    hard: bool = False,
    axis: int = -1,
) -> Array:
    """Samples relaxed one-hot vectors of categories, differentiable with respect to the logits.

    The sample is the softmax of ``(logits + noise) / temperature`` with Gumbel noise. As the
    temperature falls, the sample approaches a one-hot vector of a `categorical` draw, and its
    gradient gets larger and more variable (Jang, Gu and Poole 2017; Maddison, Mnih and Teh 2017).
    Derivatives are those of the relaxation, so they are biased for expectations of discrete draws.

    Args:
      key: a key.
      logits: the logarithms of probabilities, which need not be normalized.
      temperature: a positive number; it broadcasts to ``logits``.
      hard: whether to return exact one-hot vectors with the derivatives of the relaxed vectors (the
        straight-through estimator; a heuristic).
      axis: the axis of the categories.

    Returns:
      An array of the shape of ``logits`` and of a float dtype, with the sum 1 along ``axis``.

    Raises:
      ValueError: ``axis`` is out of bounds, or ``temperature`` does not broadcast to ``logits``.

    Example:
      >>> import numpy as np
      >>> from olympus_random import key
      >>> logits = np.array([0.0, 9.0, 0.0], np.float32)
      >>> gumbel_softmax(key(0), logits, 0.5, hard=True)
      Array([0., 1., 0.], dtype=float32)
    """
    shape = np.shape(logits)
    axis = canonical_axis(axis, len(shape))
    dtype = dtypes.dtype(logits, canonicalize=True)
    dtype = float_dtype("gumbel", dtype if dtypes.issubdtype(dtype, np.floating) else None)
    logits = lax.convert_element_type(logits, dtype)
    cold = lax.broadcast_to_rank(lax.convert_element_type(temperature, dtype), len(shape))
    scores = lax.add(logits, gumbel(key, shape, dtype))
    soft = _softmax(
        lax.div(scores, lax.broadcast_in_dim(cold, shape, tuple(range(len(shape))))), axis
    )
    if not hard:
        return soft
    winner = lax.expand_dims(lax.argmax(soft, axis, np.int32), (axis,))
    positions = lax.broadcasted_iota(np.int32, shape, axis)
    chosen = lax.eq(positions, lax.broadcast_in_dim(winner, shape, tuple(range(len(shape)))))
    return straight_through(chosen, soft)


def straight_through(value: PyTree, surrogate: PyTree) -> PyTree:
    """Returns a value with the derivatives of a surrogate: a heuristic.

    This is the straight-through estimator (Bengio, Léonard and Courville 2013). It gives discrete
    values, such as rounded or sampled values, the gradients of a smooth surrogate.

    Args:
      value: an array or a pytree of arrays, such as booleans drawn with probabilities.
      surrogate: finite floats of the same structure and shapes, such as these probabilities.

    Returns:
      ``value``, converted to the dtypes of ``surrogate``.

    Raises:
      ValueError: the structures differ.
      TypeError: the shapes differ.

    Example:
      >>> from olympus_autodiff import grad
      >>> from olympus_ir import lax
      >>> grad(lambda x: straight_through(lax.round(x), x) ** 2)(2.6)
      Array(6., dtype=float32)
    """

    def passed(exact: Any, smooth: Any) -> Any:
        exact = lax.convert_element_type(exact, dtypes.dtype(smooth, canonicalize=True))
        # The difference is zero, so the sum is the value itself.
        difference = lax.sub(smooth, lax.stop_gradient(smooth))
        return lax.add(lax.stop_gradient(exact), difference)

    return pytrees.tree_map(passed, value, surrogate)


def _softmax(x: Any, axis: int) -> Any:
    def spread(reduced: Any) -> Any:
        other_axes = tuple(dim for dim in range(x.ndim) if dim != axis)
        return lax.broadcast_in_dim(reduced, x.shape, other_axes)

    largest = lax.stop_gradient(lax.reduce_max(x, (axis,)))
    powers = lax.exp(lax.sub(x, spread(largest)))
    return lax.div(powers, spread(lax.reduce_sum(powers, (axis,))))
