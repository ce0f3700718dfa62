# SPDX-License-Identifier: Apache-2.0
"""Random bit generators: the built-in ones, and the definition of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_random.generators.implementations import PRNGImpl, register_prng
from olympus_random.generators.rbg import rbg_implementation as rbg_prng_impl
from olympus_random.generators.rbg import unsafe_rbg_implementation as unsafe_rbg_prng_impl
from olympus_random.generators.threefry import _hash_flat as _threefry_of_vector
from olympus_random.generators.threefry import threefry2x32_p as threefry2x32_p
from olympus_random.generators.threefry import threefry_implementation as threefry_prng_impl
from olympus_random.keys.functions import key as _key

from .. import _lazy

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def define_prng_impl(
    *,
    key_shape: Sequence[int],
    seed: Callable[[Any], Any],
    split: Callable[[Any, Any], Any],
    random_bits: Callable[[Any, int, Any], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """Defines a bit generator by functions of the data of a single key.

    Args:
      key_shape: the shape of the uint32 array that holds one key.
      seed: makes a key from an integer scalar.
      split: makes keys of shape ``(*shape, *key_shape)`` from a key and a shape.
      random_bits: makes unsigned integers from a key, a bit width and a shape.
      fold_in: makes a key from a key and an integer scalar.
      name: the name that selects the generator. With the default, the generator is not registered.
      tag: the short name of the generator in printed key types.

    Returns:
      The bit generator.
    """
    implementation = PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)
    return implementation if name == "<unnamed>" else register_prng(implementation)


def random_seed(seeds: Any, impl: Any) -> Any:
    """Makes a typed key from a seed.

    Args:
      seeds: an integer scalar.
      impl: the bit generator, or its name.

    Returns:
      A typed key, a scalar array.
    """
    return _key(seeds, impl=impl)


def seed_with_impl(impl: Any, seed: Any) -> Any:
    """Makes a typed key from a seed; see `random_seed`.

    Args:
      impl: the bit generator, or its name.
      seed: an integer scalar.

    Returns:
      A typed key, a scalar array.
    """
    return _key(seed, impl=impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Encrypts counters by a key.

    Args:
      keypair: two words of uint32.
      count: counters of uint32, of any shape.

    Returns:
      Words of uint32, one for each counter.

    Example:
      >>> import olympus.numpy as jnp
      >>> threefry_2x32(jnp.array([1, 2], "uint32"), jnp.arange(2, dtype="uint32")).shape
      (2,)
    """
    counts = lax.reshape(count, (count.size,))
    return lax.reshape(_threefry_of_vector(keypair, counts), count.shape)
