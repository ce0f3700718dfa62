# SPDX-License-Identifier: Apache-2.0
"""Softmax over keys that are split among programs: the sums of each part, and their combination.

Each program keeps the maximum of its scores, the sum of exponentials and the weighted sum of
values. `join` combines the sums of all programs (T. Dao et al., "Flash-Decoding for long-context
inference", 2023).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_pallas import BlockSpec

__all__ = ["LEAST", "Sums", "join"]

# A number that is below all scores, and far from infinity.
LEAST = -0.7 * float(np.finfo(np.float32).max)


class Sums(NamedTuple):
    """Sums of the softmax over some of the keys, for each query.

    Attributes:
      values: the weighted sum of the values, [..., queries, value_dim].
      total: the sum of ``exp(score - maximum)``, [..., queries].
      maximum: the largest score, [..., queries].
    """

    values: Any
    total: Any
    maximum: Any

    @classmethod
    def zeros(cls, queries: int, size: int) -> Sums:
        """Returns the sums for an empty set of keys."""
        return cls(
            jnp.zeros((queries, size), np.float32),
            jnp.zeros(queries, np.float32),
            jnp.full(queries, LEAST, np.float32),
        )

    @staticmethod
    def outputs(grid: tuple[int, ...], queries: int, size: int) -> tuple[Any, Any]:
        """Returns shapes and blocks of the sums of all programs, for `pallas_call`.

        Args:
          grid: the numbers of programs along each dimension.
          queries: the number of queries of a program.
          size: the size of a value.
        """
        blocks = ((queries, size), (queries,), (queries,))
        lead = (None,) * len(grid)
        return (
            tuple(ShapeDtypeStruct((*grid, *block), np.dtype(np.float32)) for block in blocks),
            tuple(BlockSpec((*lead, *block), _own_block(len(block))) for block in blocks),
        )

    def add(self, scores: Any, shown: Any, v: Any) -> Sums:
        """Returns the sums that also include a further block of keys.

        Args:
          scores: products of queries and keys, [queries, keys].
          shown: whether queries attend to a key, of the shape of the scores.
          v: values, [keys, value_dim].
        """
        maximum = jnp.maximum(self.maximum, jnp.max(jnp.where(shown, scores, LEAST), axis=1))
        weights = jnp.where(shown, jnp.exp(scores - maximum[:, None]), 0.0)
        shrink = jnp.exp(self.maximum - maximum)
        product = lax.dot_general(
            *(weights.astype(v.dtype), v, (((1,), (0,)), ((), ()))),
            preferred_element_type=np.float32,
        )
        return Sums(
            self.values * shrink[:, None] + product,
            self.total * shrink + jnp.sum(weights, axis=1),
            maximum,
        )


def _own_block(dimensions: int) -> Any:
    return lambda *program: (*program, *(0,) * dimensions)


def join(sums: Sums, axis: int) -> Sums:
    """Returns the sums over the keys of all programs.

    Args:
      sums: the sums of the programs.
      axis: the axis along which the programs lie.
    """
    maximum = jnp.max(sums.maximum, axis=axis, keepdims=True)
    shrink = jnp.exp(sums.maximum - maximum)
    return Sums(
        jnp.sum(sums.values * shrink[..., None], axis=axis),
        jnp.sum(sums.total * shrink, axis=axis),
        jnp.squeeze(maximum, axis),
    )
