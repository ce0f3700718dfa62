# SPDX-License-Identifier: Apache-2.0
"""The softmax of scores that come block by block: running maxima, sums and weighted values.

The accumulators are rescaled when a maximum grows (M. Milakov and N. Gimelshein, "Online normalizer
calculation for softmax", 2018).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_pallas.tpu import VMEM

__all__ = ["RunningSoftmax"]


class RunningSoftmax(NamedTuple):
    """References to the accumulators of a block of queries.

    Attributes:
      maximum: the largest score of each query so far, [queries, 1].
      total: the sum of ``exp(score - maximum)``, [queries, 1].
      values: the sum of the values, weighted with these exponentials, [queries, value_dim].
    """

    maximum: Any
    total: Any
    values: Any

    @classmethod
    def scratch(cls, queries: int, size: int) -> list[Any]:
        """Returns the buffers, as scratch shapes of `pallas_call`."""
        return [VMEM(shape, np.float32) for shape in ((queries, 1), (queries, 1), (queries, size))]

    def start(self, least: float) -> None:
        """Initializes the accumulators, before the first scores.

        Args:
          least: a number below all scores.
        """
        self.maximum[...] = jnp.full_like(self.maximum, least)
        self.total[...] = jnp.zeros_like(self.total)
        self.values[...] = jnp.zeros_like(self.values)

    def add(self, scores: Any, shown: Any, v: Any) -> None:
        """Adds the scores and the values of more keys.

        Args:
          scores: products of queries and keys, [queries, keys].
          shown: whether a query attends to a key, of the shape of the scores.
          v: values, [keys, value_dim].
        """
        before = self.maximum[...]
        least = jnp.full_like(scores, -np.inf)
        largest = jnp.max(jnp.where(shown, scores, least), axis=1, keepdims=True)
        after = jnp.maximum(before, largest)
        weights = jnp.where(shown, jnp.exp(scores - after), 0.0)
        shrink = jnp.exp(before - after)
        self.maximum[...] = after
        self.total[...] = shrink * self.total[...] + jnp.sum(weights, axis=1, keepdims=True)
        product = lax.dot_general(
            weights, v.astype(np.float32), (((1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST
        )
        self.values[...] = shrink * self.values[...] + product

    def result(self) -> Any:
        """Returns the weighted mean of the values; zeros for queries that attend to no key."""
        total = self.total[...]
        return self.values[...] / jnp.where(total == 0, 1.0, total)
