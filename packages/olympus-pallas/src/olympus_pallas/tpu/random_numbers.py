# SPDX-License-Identifier: Apache-2.0
"""Random numbers in kernels: the core's generator, and samples independent of block sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_random
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_random.generators.implementations import PRNGImpl, register_prng

from ..grids.program_ids import program_id
from .vector_unit import prng_random_bits, prng_seed

__all__ = [
    "sample_block",
    "stateful_bernoulli",
    "stateful_bits",
    "stateful_normal",
    "stateful_uniform",
    "to_pallas_key",
]


def _own_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    bits = lax.bitcast_convert_type(prng_random_bits(shape), np.uint32)
    if bit_width == 32:
        return bits
    if bit_width > 32:
        raise ValueError(
            f"the generators of TPUs produce words of 32 bits, got bit_width={bit_width}"
        )
    return lax.convert_element_type(bits, np.dtype(f"uint{bit_width}"))


def _refused(*args: Any) -> Any:
    raise ValueError("the state of a core's generator cannot be split; each use advances it")


# Keys of a core's generator. They have no data, since the core holds the generator's state.
_stateful = register_prng(
    PRNGImpl(
        key_shape=(),
        seed=lambda seed: lax.convert_element_type(seed, np.uint32),
        split=_refused,
        random_bits=_own_bits,
        fold_in=_refused,
        name="_pallas_stateful",
        tag="_pl_stateful",
    )
)


# ---- keys of kernels ----


def _mixed(word: Any) -> Any:
    """Mixes the bits of words with the finalizer of MurmurHash3."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = lax.bitwise_xor(word, lax.shift_right_logical(word, np.uint32(shift)))
        word = lax.mul(word, np.uint32(factor))
    return lax.bitwise_xor(word, lax.shift_right_logical(word, np.uint32(16)))


def folded_words(first: Any, second: Any, data: Any) -> tuple[Any, Any]:
    """Returns the words of a key with a number folded in."""
    second = _mixed(lax.add(lax.bitwise_xor(second, data), np.uint32(0x9E3779B9)))
    return _mixed(lax.add(first, second)), second


def _key_of_words(first: Any, second: Any) -> Any:
    return lax.concatenate([lax.reshape(first, (1, 1)), lax.reshape(second, (1, 1))], 1)


def _words(data: Any) -> tuple[Any, Any]:
    return lax.reshape(data[:, :1], ()), lax.reshape(data[:, 1:], ())


def _bits_of_key(data: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    prng_seed(*[lax.bitcast_convert_type(word, np.int32) for word in _words(data)])
    return _own_bits(data, bit_width, shape)


def _not_split(*args: Any) -> Any:
    raise NotImplementedError(
        "Cannot split a Pallas key. Use fold_in instead to generate new keys."
    )


# Keys that seed a core's generator, which then makes the bits.
pallas_keys = register_prng(
    PRNGImpl(
        key_shape=(1, 2),
        seed=lambda seed: _key_of_words(np.uint32(0), lax.convert_element_type(seed, np.uint32)),
        split=_not_split,
        random_bits=_bits_of_key,
        fold_in=lambda data, number: _key_of_words(*folded_words(*_words(data), number)),
        name="pallas_tpu",
        tag="pl",
    )
)


def to_pallas_key(key: ArrayLike) -> Array:
    """Derives a key for kernels from an ordinary key.

    A kernel reads the key from scalar memory, by `BlockSpec(memory_space=tpu.SMEM)`, and gives it
    to samplers. The samplers then draw bits from the core's own generator.

    Args:
      key: a typed key, or key data.

    Example:
      >>> from olympus_random import key
      >>> to_pallas_key(key(0)).dtype
      key<pl>
    """
    data = olympus_random.bits(key, (1, 2), np.uint32)
    return olympus_random.wrap_key_data(data, impl=pallas_keys)


# ---- samplers ----


def _stateful_sampler(name: str) -> Callable[..., Any]:
    sampler = getattr(olympus_random, name)

    def sample(*args: Any, **kwargs: Any) -> Any:
        return sampler(olympus_random.key(np.int32(0), impl=_stateful), *args, **kwargs)

    sample.__name__ = sample.__qualname__ = f"stateful_{name}"
    sample.__doc__ = f"""Random numbers as those of ``olympus.random.{name}``, of the core itself.

    In a kernel, after `prng_seed`. There is no key: each call takes further bits of the core's
    generator.

    Args:
      *args: the sampler's arguments after the key.
      **kwargs: the sampler's keyword arguments.
    """
    return sample


stateful_bernoulli = _stateful_sampler("bernoulli")
stateful_bits = _stateful_sampler("bits")
stateful_normal = _stateful_sampler("normal")
stateful_uniform = _stateful_sampler("uniform")


def sample_block(
    sampler_fn: Callable[..., Any],
    global_key: Array,
    block_size: tuple[int, ...],
    tile_size: tuple[int, ...],
    total_size: tuple[int, ...],
    block_index: tuple[Any, ...] | None = None,
    **kwargs: Any,
) -> Array:
    """Samples a block of random numbers that do not depend on the size of blocks.

    Each tile of the array has a key of its own. So kernels draw the same numbers for all shapes and
    orders of blocks.

    Args:
      sampler_fn: function from a key to random numbers, such as ``random.uniform``.
      global_key: the key of the whole array.
      block_size: the shape of a block.
      tile_size: the shape of a tile; blocks of all kernels consist of whole tiles.
      total_size: the shape of the array.
      block_index: index of the block; by default, the grid index of the program.
      **kwargs: further arguments of the sampler.

    Returns:
      The numbers, of the shape ``block_size``.

    Raises:
      ValueError: blocks do not consist of whole tiles, or the ranks differ.

    Example:
      >>> from olympus_random import key, uniform
      >>> block = sample_block(uniform, key(0), (16, 128), (8, 128), (32, 128), (1, 0))
      >>> tile = sample_block(uniform, key(0), (8, 128), (8, 128), (32, 128), (2, 0))
      >>> bool((block[:8] == tile).all())
      True
    """
    ranks = {len(block_size), len(tile_size), len(total_size)}
    if len(ranks) > 1 or (block_index is not None and len(block_index) not in ranks):
        raise ValueError(
            "block, tile and array must have the same rank, got "
            f"{block_size=}, {tile_size=}, {total_size=}, "
            f"{block_index=}"
        )
    for whole, part in ((block_size, tile_size), (total_size, block_size)):
        if any(size % smaller for size, smaller in zip(whole, part, strict=True)):
            raise ValueError(
                f"the array consists of whole blocks, and these of whole tiles, got {block_size=}, "
                f"{tile_size=}, {total_size=}"
            )
    if block_index is None:
        block_index = tuple(program_id(axis) for axis in range(len(block_size)))
    counts = [size // tile for size, tile in zip(block_size, tile_size, strict=True)]
    # The tiles of the array are numbered in row-major order.
    strides = [1] * len(counts)
    for dim in reversed(range(len(counts) - 1)):
        strides[dim] = strides[dim + 1] * (total_size[dim + 1] // tile_size[dim + 1])
    tiles = {}
    for position in itertools.product(*map(range, counts)):
        number: Any = 0
        for index, count, inside, stride in zip(
            block_index, counts, position, strides, strict=True
        ):
            number = number + (index * count + inside) * stride
        key = olympus_random.fold_in(global_key, number)
        tiles[position] = sampler_fn(key, tile_size, **kwargs)

    def joined(position: tuple[int, ...]) -> Any:
        dim = len(position)
        if dim == len(counts):
            return tiles[position]
        parts = [joined((*position, index)) for index in range(counts[dim])]
        return parts[0] if len(parts) == 1 else lax.concatenate(parts, dim)

    return joined(())
