# SPDX-License-Identifier: Apache-2.0
"""Blocks of masks, and their kinds: blocks that a kernel skips, masks, or computes in full."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp

from .masks import MultiHeadMask

__all__ = ["FULL", "NONE", "PARTIAL", "MaskBlocks", "mask_blocks"]

# Kinds of blocks: a mask admits none, some or all of a block's pairs of a query and a key.
NONE, PARTIAL, FULL = 0, 1, 2


class MaskBlocks(NamedTuple):
    """A mask in the form that kernels read: one entry for each program.

    Kernels loop over the blocks of one dimension, the outer one (such as queries). For each outer
    block they loop over the blocks of the other dimension. `kinds`, `inner` and `places` have shape
    [heads, outer blocks, inner blocks]. Consecutive heads that share their mask count as one head.

    Attributes:
      kinds: whether the mask admits nothing (`NONE`), a part (`PARTIAL`) or all (`FULL`) of a
        program's block.
      inner: the index of the inner block that a program loads. A skipped program has the index of
        the next one that is not skipped, so that nothing is loaded for it. If the mask is traced,
        each program has its own index.
      places: the index into `blocks`. A program that needs no mask has the index of the next one
        that does. If the mask is traced, each program has its own index.
      blocks: the distinct partial blocks, of elements 0 and 1 and shape [blocks, queries, keys].
    """

    kinds: Any
    inner: Any
    places: Any
    blocks: Any


def mask_blocks(
    mask: MultiHeadMask | Any, block_q: int, block_kv: int, shards: int, by_keys: bool = False
) -> MaskBlocks:
    """Cuts a mask into blocks.

    Args:
      mask: the mask of all heads, or an array of booleans of shape [heads, queries, keys]. All
        blocks of a traced array are kept.
      block_q: the number of queries in a block.
      block_kv: the number of keys in a block.
      shards: the number of devices over which the heads are split.
      by_keys: whether the outer blocks are blocks of keys.

    Returns:
      The `MaskBlocks` of the mask.

    Raises:
      ValueError: the shape of the mask is not a multiple of the block sizes.
    """
    heads, queries, keys = mask.shape
    for name, size, block in (("queries", queries, block_q), ("keys", keys, block_kv)):
        if size % block:
            raise ValueError(f"{size} {name} do not fall into blocks of {block}")
    if isinstance(mask, MultiHeadMask):
        found = _found(mask, block_q, block_kv, shards)
    else:
        found = _cut(mask, heads, block_q, block_kv)
    kinds, positions, blocks = found
    if by_keys:
        kinds, positions = kinds.swapaxes(1, 2), positions.swapaxes(1, 2)
    if not isinstance(kinds, np.ndarray):  # the values of traced masks are unknown
        inner = jnp.broadcast_to(jnp.arange(kinds.shape[2], dtype=jnp.int32), kinds.shape)
        return MaskBlocks(kinds, inner, positions, blocks)
    inner = np.broadcast_to(np.arange(kinds.shape[2], dtype=np.int32), kinds.shape)
    return MaskBlocks(
        kinds, _of_next(inner, kinds != NONE), _of_next(positions, kinds == PARTIAL), blocks
    )


def _found(mask: MultiHeadMask, block_q: int, block_kv: int, shards: int) -> tuple:
    """Returns the fields ``kinds``, ``places`` and ``blocks`` of a known mask.

    Equal blocks are stored once.
    """
    heads, queries, keys = mask.shape
    alike = heads // shards if all(head_mask == mask.masks[0] for head_mask in mask.masks) else 1
    known: dict[bytes, int] = {}
    blocks: list[np.ndarray] = []
    shape = (heads // alike, queries // block_q, keys // block_kv)
    kinds, positions = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    rows: dict[Any, tuple[np.ndarray, np.ndarray]] = {}
    for head in range(shape[0]):
        of_head = mask.masks[head * alike]
        if of_head not in rows:
            rows[of_head] = kinds[head], positions[head]
            for i, j in np.ndindex(shape[1:]):
                block = of_head[i * block_q : (i + 1) * block_q, j * block_kv : (j + 1) * block_kv]
                if block.all():
                    kinds[head, i, j] = FULL
                elif block.any():
                    content = block.tobytes()
                    if content not in known:
                        known[content] = len(blocks)
                        blocks.append(block.astype(np.int8))
                    kinds[head, i, j] = PARTIAL
                    positions[head, i, j] = known[content]
        else:
            kinds[head], positions[head] = rows[of_head]
    return kinds, positions, np.stack(blocks or [np.zeros((block_q, block_kv), np.int8)])


def _cut(mask: Any, heads: int, block_q: int, block_kv: int) -> tuple:
    """Returns the fields ``kinds``, ``places`` and ``blocks`` of a mask that is an array.

    Equal blocks are not merged.
    """
    xp: Any = np if isinstance(mask, np.ndarray) else jnp
    _, queries, keys = mask.shape
    shape = (heads, queries // block_q, keys // block_kv)
    cut = mask.reshape(heads, shape[1], block_q, shape[2], block_kv).swapaxes(2, 3)
    some, every = cut.any((3, 4)), cut.all((3, 4))
    kinds = xp.where(every, FULL, xp.where(some, PARTIAL, NONE)).astype(np.int32)
    positions = xp.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return kinds, positions, cut.reshape(-1, block_q, block_kv).astype(np.int8)


def _of_next(values: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Returns for each program the value of the first wanted program at or after it."""
    flat, positions = values.reshape(-1), np.arange(values.size)
    wants = np.where(needed.reshape(-1), positions, values.size)
    following = np.minimum.accumulate(wants[::-1])[::-1]
    last = positions[needed.reshape(-1)][-1:] if needed.any() else np.zeros(1, int)
    return flat[np.where(following < values.size, following, last)].reshape(values.shape)
