# SPDX-License-Identifier: Apache-2.0
"""Bit generators of the Random123 family: Threefry-4x32, Philox-2x32 and Philox-4x32.

Each generator encrypts counters by a key. The counter of an element is its position, so each key or
random word depends only on its own position.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.avals import get_aval

from .implementations import PRNGImpl, register_prng
from .threefry import _PARITY, _index_pair, _joined_words, _rotated, threefry_implementation

__all__ = ["philox2x32", "philox4x32", "threefry4x32"]

_ZERO = np.uint32(0)


# ---- the ciphers ----

# Constants of Philox: factors of the words, and steps that are added to the key before each round
# but the first.
_FACTOR_OF_TWO = np.uint32(0xD256D193)
_FACTORS_OF_FOUR = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_STEPS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_PHILOX_ROUNDS = 10

_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _xor(*words: Any) -> Any:
    return reduce(lax.bitwise_xor, words)


def _wide_product(factor: np.uint32, word: Any) -> tuple[Any, Any]:
    """Returns the high and the low word of a product."""
    return lax.mulhi(lax.full_like(word, factor), word), lax.mul(word, factor)


def philox2x32(key: Sequence[Any], counter: Sequence[Any]) -> tuple[Any, Any]:
    """Encrypts pairs of words by ten rounds of Philox.

    Args:
      key: one uint32 scalar.
      counter: two uint32 arrays of the same shape.

    Returns:
      Two uint32 arrays of that shape.
    """
    (word,), (first, second) = key, counter
    for index in range(_PHILOX_ROUNDS):
        word = lax.add(word, _STEPS[0]) if index else word
        high, low = _wide_product(_FACTOR_OF_TWO, first)
        first, second = _xor(high, second, word), low
    return first, second


def philox4x32(key: Sequence[Any], counter: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Encrypts quadruples of words by ten rounds of Philox.

    Args:
      key: two uint32 scalars.
      counter: four uint32 arrays of the same shape.

    Returns:
      Four uint32 arrays of that shape.
    """
    (even, odd), (first, second, third, fourth) = key, counter
    for index in range(_PHILOX_ROUNDS):
        if index:
            even, odd = lax.add(even, _STEPS[0]), lax.add(odd, _STEPS[1])
        high, low = _wide_product(_FACTORS_OF_FOUR[0], first)
        other_high, other_low = _wide_product(_FACTORS_OF_FOUR[1], third)
        first, second = _xor(other_high, second, even), other_low
        third, fourth = _xor(high, fourth, odd), low
    return first, second, third, fourth


def threefry4x32(key: Sequence[Any], counter: Sequence[Any]) -> tuple[Any, ...]:
    """Encrypts quadruples of words by twenty rounds of Threefry.

    Args:
      key: four uint32 scalars.
      counter: four uint32 arrays of the same shape.

    Returns:
      Four uint32 arrays of that shape.
    """
    keys = (*key, _xor(*key, _PARITY))
    words = [lax.add(word, own) for word, own in zip(counter, key, strict=True)]
    for index in range(20):
        # From round to round, the second words of the two pairs are exchanged.
        pairs = ((0, 3), (2, 1)) if index % 2 else ((0, 1), (2, 3))
        for (left, right), distance in zip(pairs, _ROTATIONS[index % 8], strict=True):
            words[left] = lax.add(words[left], words[right])
            turned = _rotated(words[right], np.uint32(distance), np.uint32(32 - distance))
            words[right] = lax.bitwise_xor(words[left], turned)
        if index % 4 == 3:
            injection = index // 4 + 1
            words = [lax.add(word, keys[(injection + i) % 5]) for i, word in enumerate(words)]
            words[3] = lax.add(words[3], np.uint32(injection))
    return tuple(words)


# ---- the generators ----


def _words_of(data: Any) -> list[Any]:
    return [lax.index_in_dim(data, word, keepdims=False) for word in range(get_aval(data).shape[0])]


def _data_of(words: Sequence[Any], ndim: int = 0) -> Any:
    return lax.concatenate([lax.expand_dims(word, (ndim,)) for word in words], ndim)


def _zeros(word: Any) -> Any:
    return lax.full(get_aval(word).shape, 0, np.uint32)


def _bits_of(high: Any, low: Any, others: Sequence[Any], bit_width: int) -> Any:
    if bit_width not in (8, 16, 32, 64):
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    if bit_width == 64:
        return _joined_words(high, low)
    return lax.convert_element_type(_xor(high, low, *others), np.dtype(f"uint{bit_width}"))


def _four_word_generator(
    cipher: Callable[..., Any], key_size: int, seed: Callable[[Any], Any], name: str, tag: str
) -> PRNGImpl:
    """Returns the generator for a cipher of four words.

    Its keys consist of ``key_size`` words.
    """
    folded = name.startswith("threefry")
    # The position of bits is in the first two words of a counter, the position of keys in the last
    # two. So only position zero has the same counter for both.

    def split(key: Any, shape: tuple[int, ...]) -> Any:
        high, low = _index_pair(shape)
        words = cipher(_words_of(key), (_zeros(high), _zeros(low), high, low))
        return _data_of(words[:key_size], len(shape))

    def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
        high, low = _index_pair(shape)
        words = cipher(_words_of(key), (high, low, _zeros(high), _zeros(low)))
        if bit_width == 64 and folded:
            words = (_xor(words[0], words[2]), _xor(words[1], words[3]))
        return _bits_of(words[0], words[1], words[2:], bit_width)

    def fold_in(key: Any, data: Any) -> Any:
        return _data_of(cipher(_words_of(key), (_ZERO, _ZERO, _ZERO, data))[:key_size])

    return PRNGImpl((key_size,), seed, split, random_bits, fold_in, name, tag)


def _seed_words(seed: Any) -> list[Any]:
    return _words_of(threefry_implementation.seed(seed))


def _threefry4x32_seed(seed: Any) -> Any:
    return _data_of(threefry4x32((*_seed_words(seed), _ZERO, _ZERO), (_ZERO,) * 4))


def _philox4x32_seed(seed: Any) -> Any:
    return _data_of(philox4x32((_ZERO, _ZERO), (*_seed_words(seed), _ZERO, _ZERO))[:2])


def _philox2x32_seed(seed: Any) -> Any:
    return _data_of(philox2x32((_ZERO,), _seed_words(seed))[:1])


def _philox2x32_split(key: Any, shape: tuple[int, ...]) -> Any:
    return _data_of(philox2x32(_words_of(key), _index_pair(shape))[:1], len(shape))


def _philox2x32_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    return _bits_of(*philox2x32(_words_of(key), _index_pair(shape)), (), bit_width)


def _philox2x32_fold_in(key: Any, data: Any) -> Any:
    return _data_of(philox2x32(_words_of(key), (_ZERO, data))[:1])


threefry4x32_implementation = register_prng(
    _four_word_generator(threefry4x32, 4, _threefry4x32_seed, "threefry4x32", "fry4")
)
philox4x32_implementation = register_prng(
    _four_word_generator(philox4x32, 2, _philox4x32_seed, "philox4x32", "phx4")
)
philox2x32_implementation = register_prng(
    PRNGImpl(
        key_shape=(1,),
        seed=_philox2x32_seed,
        split=_philox2x32_split,
        random_bits=_philox2x32_bits,
        fold_in=_philox2x32_fold_in,
        name="philox2x32",
        tag="phx2",
    )
)
