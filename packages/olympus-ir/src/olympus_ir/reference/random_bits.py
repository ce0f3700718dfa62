# SPDX-License-Identifier: Apache-2.0
"""Reference rules of random bits, equal to those of XLA's generators.

Philox 4x32-10 and Threefry 2x32-20 follow Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
as easy as 1, 2, 3" (2011). The state consists of two 64-bit words, a key and a counter. The counter
increases by one for each block of bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lax.random_bits import RandomAlgorithm, rng_bit_generator_p, rng_uniform_p
from .tables import reference_rules
from .threefry import threefry2x32

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@reference_rules.define(rng_bit_generator_p)
def _rng_bit_generator(
    state: np.ndarray, *, shape: tuple, dtype: Any, algorithm: Any, out_sharding: Any
) -> list[np.ndarray]:
    key, counter = np.ascontiguousarray(state).view(np.uint64)
    wide = dtype.itemsize == 8
    if algorithm == RandomAlgorithm.RNG_THREE_FRY:
        bits, blocks = _threefry_bits(key, counter, shape, wide)
    else:
        bits, blocks = _philox_bits(key, counter, shape, wide)
    with np.errstate(over="ignore"):
        new_state = np.array([key, counter + np.uint64(blocks)], np.uint64)
    return [new_state.view(state.dtype).reshape(state.shape), bits.astype(dtype)]


def _counters(counter: np.uint64, count: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return counter + np.arange(count, dtype=np.uint64)


# ---- Philox ----

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))


def _philox_bits(
    key: np.uint64, counter: np.uint64, shape: Sequence[int], wide: bool
) -> tuple[np.ndarray, int]:
    """Returns the bits, and the number of blocks of four words used."""
    size = math.prod(shape)
    blocks = -(-size // (2 if wide else 4))
    words = _philox(_counters(counter, blocks), key)
    if wide:
        words = words[:, 0::2] | words[:, 1::2] << _HALF
    return words.reshape(-1)[:size].reshape(shape), blocks


def _philox(counters: np.ndarray, key: np.uint64) -> np.ndarray:
    """Returns four words for each 128-bit counter; ``key`` is the upper half of the counter."""
    first, second = key & _LOW, key >> _HALF
    with np.errstate(over="ignore"):
        upper = key + (counters < counters[:1]).astype(np.uint64)
    x = [
        counters & _LOW,
        counters >> _HALF,
        upper & _LOW,
        upper >> _HALF,
    ]
    for _ in range(10):
        left, right = _MULTIPLIERS[0] * x[0], _MULTIPLIERS[1] * x[2]
        x = [
            right >> _HALF ^ x[1] ^ first,
            right & _LOW,
            left >> _HALF ^ x[3] ^ second,
            left & _LOW,
        ]
        first, second = first + _WEYL[0] & _LOW, second + _WEYL[1] & _LOW
    return np.stack(x, axis=-1)


# ---- Threefry ----


def _threefry_bits(
    key: np.uint64, counter: np.uint64, shape: Sequence[int], wide: bool
) -> tuple[np.ndarray, int]:
    """Returns the bits, and the number of pairs of words used."""
    if wide:
        size = math.prod(shape)
        low, high = _threefry(_counters(counter, size), key)
        return (low.astype(np.uint64) | high.astype(np.uint64) << _HALF).reshape(shape), size
    # The words of a pair are neighbors along the first dimension of even size. If all sizes are
    # odd, the largest dimension is padded to an even size.
    sizes = list(shape) or [1]
    even = [axis for axis, size in enumerate(sizes) if size % 2 == 0]
    axis = even[0] if even else sizes.index(max(sizes))
    half = (*sizes[:axis], (sizes[axis] + 1) // 2, *sizes[axis + 1 :])
    blocks = math.prod(half)
    pairs = [words.reshape(half) for words in _threefry(_counters(counter, blocks), key)]
    joined = np.stack(pairs, axis=axis + 1).reshape(*half[:axis], -1, *half[axis + 1 :])
    kept = (slice(None),) * axis + (slice(sizes[axis]),)
    return joined[kept].reshape(shape), blocks


def _threefry(counters: np.ndarray, key: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Returns two words for each counter."""
    keys = (np.uint32(key & _LOW), np.uint32(key >> _HALF))
    words = (counters & _LOW).astype(np.uint32), (counters >> _HALF).astype(np.uint32)
    return threefry2x32(keys, words)


@functools.cache
def _generator() -> np.random.Generator:
    # NumPy imports its random numbers at their first use, which takes 10 ms.
    return np.random.default_rng()


@reference_rules.define(rng_uniform_p)
def _rng_uniform(a: np.ndarray, b: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    if a.dtype.kind in "iu":
        return _generator().integers(a, b, shape).astype(a.dtype)
    return _generator().uniform(a.astype(np.float64), b.astype(np.float64), shape).astype(a.dtype)
