# SPDX-License-Identifier: Apache-2.0
"""Batching of the compiler's generators of random bits."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import all_at, batching_rules, to_front


@batching_rules.define(lax.rng_bit_generator_p)
def _rng_bit_generator(
    axis_size: int, args: Any, batch_dims: Any, *, shape: Any, **params: Any
) -> Any:
    """Batching rule of `rng_bit_generator`: generates all bits from the first example's key.

    The generator has a single state. The bits therefore differ from the bits of a loop over the
    examples, and the keys of the other examples are returned unchanged.
    """
    keys = to_front(args[0], batch_dims[0])
    first = lax.index_in_dim(keys, 0, keepdims=False)
    new_key, bits = lax.rng_bit_generator_p.bind(first, shape=(axis_size, *shape), **params)
    new_keys = lax.dynamic_update_index_in_dim(keys, new_key, 0, 0)
    return [new_keys, bits], [0, 0]


@batching_rules.define(lax.rng_uniform_p)
def _rng_uniform(axis_size: int, args: Any, batch_dims: Any, *, shape: Any) -> Any:
    """Batching rule of uniform draws with bounds that differ between examples."""
    bounds = tuple(all_at(args, axis_size, batch_dims, 0))
    return lax.map(lambda pair: lax.rng_uniform_p.bind(*pair, shape=shape), bounds), 0
