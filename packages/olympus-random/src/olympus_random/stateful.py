# SPDX-License-Identifier: Apache-2.0
"""Stateful generator of random numbers, like NumPy's, with a counter in a mutable reference.

The state is a reference, so compiled and transformed functions advance it too.
"""

from __future__ import annotations

import dataclasses
import operator
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary, boundary_class
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.references.primitives import addupdate, new_ref
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from .keys.functions import fold_in, split
from .keys.functions import key as key_of_seed
from .samplers.continuous import normal
from .samplers.uniform import randint, uniform

__all__ = ["StatefulPRNG", "stateful_rng"]

Size = int | Sequence[int] | None


def _shape(size: Any) -> tuple[int, ...]:
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple(size)


def _shape_or_common(size: Any, *operands: Any) -> tuple[int, ...]:
    """Returns the given shape, or by default the broadcast shape of the operands."""
    return np.broadcast_shapes(*map(np.shape, operands)) if size is None else _shape(size)


@boundary_class
@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """Generator of random numbers that advances with each use; see `stateful_rng`.

    The generator is a pytree, and can be an argument of compiled and transformed functions. Such
    functions cannot return the generator, since it holds a reference.

    Attributes:
      _base_key: the key from which all random numbers derive.
      _counter: a reference to the number of uses.

    Example:
      >>> generator = stateful_rng(42)
      >>> generator.uniform()
      Array(0.5302608, dtype=float32)
      >>> generator.uniform()
      Array(0.72766423, dtype=float32)
    """

    _base_key: Any
    _counter: Any

    @api_boundary
    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """Returns a new key, or an array of new keys.

        Args:
          shape: the shape of the array.

        Returns:
          A typed array of shape ``shape``.

        Raises:
          ValueError: the object is a batch of generators, made by `split`.
        """
        if self._base_key.shape:
            raise ValueError(
                "cannot operate on split stateful generator: it is a batch of generators of shape "
                f"{self._base_key.shape}. Pass it to a function mapped with `vmap`, or use `spawn`."
            )
        key = fold_in(self._base_key, self._counter[...])
        addupdate(self._counter, ..., 1)
        return key if _shape(shape) == () else split(key, _shape(shape))

    def random(self, size: Size = None, dtype: Any = float) -> Array:
        """Returns uniform floats in [0, 1).

        Args:
          size: the shape of the result.
          dtype: a float dtype.

        Returns:
          An array of shape ``size`` and dtype ``dtype``.
        """
        return uniform(self.key(), _shape_or_common(size), dtype)

    def uniform(
        self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: Any = float
    ) -> Array:
        """Returns uniform floats in [low, high).

        Args:
          low: the lower bound.
          high: the upper bound.
          size: the shape of the result; the broadcast shape of the bounds by default.
          dtype: a float dtype.

        Returns:
          An array of shape ``size`` and dtype ``dtype``.
        """
        return uniform(self.key(), _shape_or_common(size, low, high), dtype, low, high)

    def normal(
        self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: Any = float
    ) -> Array:
        """Returns normal samples.

        Args:
          loc: the mean.
          scale: the standard deviation.
          size: the shape of the result; the broadcast shape of ``loc`` and ``scale`` by default.
          dtype: a float dtype.

        Returns:
          An array of shape ``size``.
        """
        return normal(self.key(), _shape_or_common(size, loc, scale), dtype) * scale + loc

    def integers(self, low: Any, high: Any = None, size: Size = None, *, dtype: Any = int) -> Array:
        """Returns uniform integers in [low, high).

        Args:
          low: the lower bound. If ``high`` is None, ``low`` is the upper bound, and the lower bound
            is zero.
          high: the upper bound.
          size: the shape of the result; the broadcast shape of the bounds by default.
          dtype: an integer dtype.

        Returns:
          An array of shape ``size`` and dtype ``dtype``.
        """
        if high is None:
            low, high = 0, low
        return randint(self.key(), _shape_or_common(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Returns a batch of independent generators, for functions under `vmap`.

        Args:
          num: the shape of the batch.

        Returns:
          A generator whose key and counter have the shape ``num``.
        """
        shape = _shape(num)
        return StatefulPRNG(self.key(shape), new_ref(lax.full(shape, 0, np.int32)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Returns a list of independent generators.

        Args:
          n_children: the number of generators.

        Raises:
          ValueError: ``n_children`` is negative.
        """
        if n_children < 0:
            raise ValueError(f"n_children of spawn must not be negative, got {n_children}")
        keys = self.key(n_children)
        return [StatefulPRNG(keys[position], new_ref(0)) for position in range(n_children)]


pytrees.register_dataclass(StatefulPRNG, ["_base_key", "_counter"], [])


def stateful_rng(seed: ArrayLike | None = None, *, impl: str | None = None) -> StatefulPRNG:
    """Makes a generator of random numbers that advances with each use.

    Args:
      seed: an integer scalar; random if None, which only an untraced function may use.
      impl: the name of the bit generator; the configured generator if None.

    Returns:
      A `StatefulPRNG`.

    Raises:
      TypeError: the seed is None in a traced function, or is not an integer scalar.
      ValueError: the bit generator is unknown.

    Example:
      >>> generator = stateful_rng(0)
      >>> generator.integers(0, 10, 3)
      Array([1, 1, 7], dtype=int32)
    """
    if seed is None:
        if current.trace is not evaluation_trace:
            raise TypeError(
                "stateful_rng needs a seed in a traced function: a random one would be the same in "
                "every run of the program. Pass `seed`, or make the generator outside."
            )
        seed = secrets.randbits(31)
    return StatefulPRNG(key_of_seed(seed, impl=impl), new_ref(0))
