# SPDX-License-Identifier: Apache-2.0
"""Functions of typed keys, under the names of JAX's private modules of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus.numpy as jnp
from olympus_ir.types.arrays import Array
from olympus_random.generators.implementations import (
    PRNGImpl,
    default_implementation,
    find_implementation,
)
from olympus_random.keys import primitives
from olympus_random.keys.arguments import check_key, check_keys

__all__ = [
    "UNSIGNED_DTYPES",
    "check_prng_key",
    "iota_2x32_shape",
    "random_bits",
    "random_fold_in",
    "random_split",
    "random_unwrap",
    "random_wrap",
    "resolve_prng_impl",
]

UNSIGNED_DTYPES = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


def check_prng_key(name: str, key: Any, *, allow_batched: bool = False) -> tuple[Any, bool]:
    """Returns typed keys, given typed keys or the data of keys.

    Args:
      name: the name of the function that takes the key, for messages.
      key: the key.
      allow_batched: whether an array of several keys is accepted.

    Returns:
      The typed keys, and whether ``key`` was data.
    """
    return check_keys(key) if allow_batched else check_key(name, key)


def random_split(keys: Any, shape: Sequence[int]) -> Any:
    """Returns new keys for each of some typed keys.

    Args:
      keys: an array of typed keys.
      shape: the shape of the new keys of one key.
    """
    return primitives.random_split_p.bind(keys, shape=tuple(shape))


def random_fold_in(keys: Any, msgs: Any) -> Any:
    """Returns the typed keys into which integers of the same shape are folded."""
    return primitives.random_fold_in_p.bind(keys, np.uint32(msgs) if _is_number(msgs) else msgs)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def random_bits(keys: Any, bit_width: int, shape: Sequence[int]) -> Array:
    """Returns random unsigned integers.

    Args:
      keys: an array of typed keys.
      bit_width: the number of bits of an integer: 8, 16, 32 or 64.
      shape: the shape of the integers of one key.
    """
    return primitives.random_bits_p.bind(keys, bit_width=bit_width, shape=tuple(shape))


def random_wrap(base_arr: Any, *, impl: PRNGImpl) -> Any:
    """Returns the typed keys with the given data."""
    return primitives.random_wrap_p.bind(base_arr, impl=impl)


def random_unwrap(keys: Any) -> Array:
    """Returns the data of typed keys."""
    return primitives.random_unwrap_p.bind(keys)


def iota_2x32_shape(shape: Sequence[int]) -> list[Array]:
    """Counts the elements of a shape from 0.

    Returns:
      The upper and the lower 32 bits of the counts, two arrays of this shape.

    Example:
      >>> iota_2x32_shape((2, 2))[1].tolist()
      [[0, 1], [2, 3]]
    """
    counts = np.arange(np.prod(shape, dtype=np.uint64), dtype=np.uint64).reshape(shape)
    words = (counts >> np.uint64(32), counts & np.uint64(0xFFFFFFFF))
    return [jnp.asarray(word.astype(np.uint32)) for word in words]


def resolve_prng_impl(impl_spec: Any) -> PRNGImpl:
    """Returns the bit generator that a name, a dtype of keys or None stands for."""
    return default_implementation() if impl_spec is None else find_implementation(impl_spec)
