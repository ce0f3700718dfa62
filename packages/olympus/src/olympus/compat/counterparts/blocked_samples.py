# SPDX-License-Identifier: Apache-2.0
"""Random numbers by blocks that do not depend on the size of blocks, as JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus import Array, random
from olympus_ir import lax

__all__ = ["blocked_fold_in", "sample_block"]

Shape = Sequence[int]


def blocked_fold_in(
    global_key: Any,
    total_size: Shape,
    block_size: Shape,
    tile_size: Shape,
    block_index: Sequence[Any],
) -> Any:
    """Returns the keys of the tiles of a block: the number of each tile, folded into a key.

    Args:
      global_key: the key of the whole array.
      total_size: the shape of the array, which is padded to whole tiles.
      block_size: the shape of a block, which consists of whole tiles.
      tile_size: the shape of a tile.
      block_index: the index of the block.

    Returns:
      The keys, in lists that are nested as deeply as the array has dimensions.
    """
    counts = [block // tile for block, tile in zip(block_size, tile_size, strict=True)]
    # The tiles of the array are numbered in row-major order.
    strides = [1] * len(counts)
    for dim in reversed(range(len(counts) - 1)):
        strides[dim] = strides[dim + 1] * -(-total_size[dim + 1] // tile_size[dim + 1])

    def keys(dim: int, number: Any) -> Any:
        if dim == len(counts):
            return random.fold_in(global_key, number)
        first = block_index[dim] * counts[dim]
        return [
            keys(dim + 1, number + (first + place) * strides[dim]) for place in range(counts[dim])
        ]

    return keys(0, 0)


def sample_block(
    sampler_fn: Callable[..., Array],
    keys: Any,
    block_size: Shape,
    tile_size: Shape,
    *args: Any,
    **kwargs: Any,
) -> Array:
    """Returns the random numbers of a block, each tile of them drawn with a key of its own.

    Args:
      sampler_fn: a function from a key and a shape to random numbers, such as `random.uniform`.
      keys: the keys of the tiles, from `blocked_fold_in`.
      block_size: the shape of the block.
      tile_size: the shape of a tile.
      *args: further arguments of the sampler.
      **kwargs: keyword arguments of the sampler.
    """

    def joined(part: Any, dim: int) -> Any:
        if dim == len(block_size):
            return sampler_fn(part, tuple(tile_size), *args, **kwargs)
        return lax.concatenate([joined(inner, dim + 1) for inner in part], dim)

    return joined(keys, 0)
