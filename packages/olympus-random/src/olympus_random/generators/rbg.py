# SPDX-License-Identifier: Apache-2.0
"""Bit generators that use the algorithm of the compiler, which is fast on accelerators.

``rbg`` splits keys and folds in numbers by Threefry. Only its bits come from the compiler's
algorithm. The keys of ``unsafe_rbg`` come from this algorithm too. These keys are not known to be
independent, so ``unsafe_rbg`` is only for demonstration. The bits of both generators may differ
between platforms. Under `vmap` the bits differ from those of a loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax

from .implementations import PRNGImpl, register_prng
from .threefry import threefry_implementation

# The number of blocks of bits that are generated for each key. One block is used, so split keys
# come from blocks that are not adjacent in the stream.
_BLOCKS_A_KEY = 10


def _halves(key: Any) -> Any:
    """Returns the two Threefry keys that make up one key."""
    return lax.reshape(key, (2, 2))


def _seed(seed: Any) -> Any:
    half = threefry_implementation.seed(seed)
    return lax.concatenate([half, half], 0)


def _split(key: Any, shape: tuple[int, ...]) -> Any:
    split_half = lambda half: threefry_implementation.split(half, shape)  # noqa: E731
    halves = vmap(split_half)(_halves(key))  # [half, *shape, 2]
    ndim = len(shape)
    joined = lax.transpose(halves, (*range(1, ndim + 1), 0, ndim + 1))
    return lax.reshape(joined, (*shape, 4))


def _fold_in(key: Any, data: Any) -> Any:
    fold = vmap(threefry_implementation.fold_in, in_axes=(0, None))
    return lax.reshape(fold(_halves(key), data), (4,))


def _random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    if bit_width not in (8, 16, 32, 64):
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    _, bits = lax.rng_bit_generator(key, shape, dtype=np.dtype(f"uint{bit_width}"))
    return bits


def _unsafe_split(key: Any, shape: tuple[int, ...]) -> Any:
    count = math.prod(shape)
    _, blocks = lax.rng_bit_generator(key, (_BLOCKS_A_KEY * count, 4))
    chosen = lax.slice(blocks, (0, 0), blocks.shape, (_BLOCKS_A_KEY, 1)) if count else blocks
    return lax.reshape(chosen, (*shape, 4))


def _unsafe_fold_in(key: Any, data: Any) -> Any:
    _, blocks = lax.rng_bit_generator(_seed(data), (_BLOCKS_A_KEY, 4))
    return lax.bitwise_xor(key, lax.index_in_dim(blocks, _BLOCKS_A_KEY - 1, keepdims=False))


rbg_implementation = register_prng(
    PRNGImpl(
        key_shape=(4,),
        seed=_seed,
        split=_split,
        random_bits=_random_bits,
        fold_in=_fold_in,
        name="rbg",
        tag="rbg",
    )
)
unsafe_rbg_implementation = register_prng(
    PRNGImpl(
        key_shape=(4,),
        seed=_seed,
        split=_unsafe_split,
        random_bits=_random_bits,
        fold_in=_unsafe_fold_in,
        name="unsafe_rbg",
        tag="urbg",
    )
)
