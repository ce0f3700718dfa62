# SPDX-License-Identifier: Apache-2.0
"""The Threefry-2x32 bit generator.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax.core.declarations import broadcast_operands, common_placement
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import instruction
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray, get_aval

from .implementations import PRNGImpl, register_prng

__all__ = ["threefry2x32", "threefry2x32_p", "threefry_implementation"]

# Encrypts a pair of counters by a pair of key words, elementwise:
#   out1, out2 = threefry2x32 key1 key2 count1 count2
threefry2x32_p = instruction("threefry2x32", multiple_results=True, family="random")


@threefry2x32_p.def_abstract_eval
def _threefry2x32_types(*avals: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    if len(avals) != 4 or any(aval.dtype != np.uint32 for aval in avals):
        types = ", ".join(aval.str_short(short_dtypes=True) for aval in avals)
        raise TypeError(f"threefry2x32 takes two key words and two counters of uint32, got {types}")
    out = ShapedArray(
        broadcast_operands("threefry2x32", avals), np.uint32, **common_placement(avals)
    )
    return out, out


# Rotations, as pairs of the distances of a left shift and of the complementary right shift.
_ROTATIONS = tuple(
    tuple((np.uint32(distance), np.uint32(32 - distance)) for distance in distances)
    for distances in ((13, 15, 26, 6), (17, 29, 16, 24))
)
_PARITY = np.uint32(0x1BD11BDA)
# The rounds are a loop if the number of pairs of words is in this range.
_FEWEST_IN_A_LOOP, _MOST_IN_A_LOOP = 8, 64


def _rotated(x: Any, left: Any, right: Any) -> Any:
    return lax.bitwise_or(lax.shift_left(x, left), lax.shift_right_logical(x, right))


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    old_shape = get_aval(x).shape
    return x if old_shape == shape else lax.broadcast_in_dim(x, shape, tuple(range(len(old_shape))))


@expansion_rules.define(threefry2x32_p)
def threefry2x32(key1: Any, key2: Any, count1: Any, count2: Any) -> tuple[Any, Any]:
    """Encrypts pairs of words by twenty rounds of Threefry.

    The rounds are unrolled. One elementwise expression compiles and runs faster than a loop, in
    which XLA would go over memory five times. For a few words the rounds are a loop. Unrolled, the
    rounds would be just enough work for XLA to start another thread, which takes longer than the
    work (10 us; benchmarks "random.normal" and "random.randint").

    Args:
      key1: the first word of the key, uint32.
      key2: the second word of the key, uint32.
      count1: the first words to encrypt: a uint32 array, or a scalar that is broadcast.
      count2: the second words to encrypt: a uint32 array, or a scalar that is broadcast.

    Returns:
      Two uint32 arrays, the encrypted words.
    """
    keys = (key1, key2, lax.bitwise_xor(lax.bitwise_xor(key1, key2), _PARITY))
    first, second = lax.add(count1, keys[0]), lax.add(count2, keys[1])
    shape = lax.broadcast_shapes(get_aval(first).shape, get_aval(second).shape)
    size = math.prod(shape)
    if is_constant_dim(size) and _FEWEST_IN_A_LOOP <= size <= _MOST_IN_A_LOOP:
        return _rounds_in_a_loop(keys, _spread(first, shape), _spread(second, shape))
    for injection in range(5):
        key1, key2 = keys[(injection + 1) % 3], keys[(injection + 2) % 3]
        rotations, number = _ROTATIONS[injection % 2], np.uint32(injection + 1)
        first, second = _four_rounds(first, second, rotations, key1, key2, number)
    return first, second


def _four_rounds(
    first: Any, second: Any, rotations: Iterable[Any], key1: Any, key2: Any, number: Any
) -> tuple[Any, Any]:
    for left, right in rotations:
        first = lax.add(first, second)
        second = lax.bitwise_xor(_rotated(second, left, right), first)
    return lax.add(first, key1), lax.add(second, lax.add(key2, number))


def _rounds_in_a_loop(keys: Sequence[Any], first: Any, second: Any) -> tuple[Any, Any]:
    def body(index: Any, state: Any) -> Any:
        first, second, (key0, key1, key2), (now, then) = state
        number = lax.add(lax.convert_element_type(index, np.uint32), np.uint32(1))
        first, second = _four_rounds(first, second, now, key1, key2, number)
        return first, second, (key1, key2, key0), (then, now)

    return lax.fori_loop(0, 5, body, (first, second, tuple(keys), _ROTATIONS))[:2]


def _hash(key: Any, count1: Any, count2: Any) -> tuple[Any, Any]:
    """Encrypts pairs of counters by a key's data."""
    words = [lax.squeeze(lax.slice(key, (word,), (word + 1,)), (0,)) for word in range(2)]
    return tuple(threefry2x32_p.bind(*words, count1, count2))


def _hash_flat(key: Any, counts: Any) -> Any:
    """Encrypts a vector of words in pairs. A pair has one word from each half of the vector."""
    size = counts.shape[0]
    if size % 2:
        counts = lax.pad(counts, np.uint32(0), ((0, 1, 0),))
    half = counts.shape[0] // 2
    first, second = _hash(
        key, lax.slice(counts, (0,), (half,)), lax.slice(counts, (half,), (2 * half,))
    )
    joined = lax.concatenate([first, second], 0)
    return lax.slice(joined, (0,), (size,)) if size % 2 else joined


# ---- counters ----


def _index_pair(shape: Sequence[int]) -> tuple[Any, Any]:
    """Returns the position of each element in row-major order, as high and low words of 64 bits.

    The position is computed from the indices along the dimensions. So each device can compute the
    positions for its part of a sharded array.
    """
    size = math.prod(shape)
    if not shape:
        return np.uint32(0), np.uint32(0)
    high: Any = np.uint32(0)
    low: Any = None
    stride = size
    for dimension, length in enumerate(shape):
        stride = stride // length if length != 0 else 0
        position = lax.broadcasted_iota(np.uint32, shape, dimension)
        if is_constant_dim(size) and size > 1 << 32:
            product = _wide_product(position, stride)
            high, low = product if low is None else _wide_sum(high, low, *product)
            continue
        offset = position if stride == 1 else lax.mul(position, lax.size_array(stride, np.uint32))
        low = offset if low is None else lax.add(low, offset)
    return high, low


def _wide_product(x: Any, factor: int) -> tuple[Any, Any]:
    """Returns the product of 32-bit ``x`` and 64-bit ``factor``, as high and low words."""
    factor_high, factor_low = factor >> 32, factor & 0xFFFFFFFF
    mask, half = np.uint32(0xFFFF), np.uint32(16)
    x0, x1 = lax.bitwise_and(x, mask), lax.shift_right_logical(x, half)
    y0, y1 = np.uint32(factor_low & 0xFFFF), np.uint32(factor_low >> 16)
    # Schoolbook multiplication of two digits of 16 bits each.
    cross = lax.add(lax.mul(x1, y0), lax.shift_right_logical(lax.mul(x0, y0), half))
    other = lax.add(lax.mul(x0, y1), lax.bitwise_and(cross, mask))
    high = lax.add(
        lax.add(lax.mul(x1, y1), lax.shift_right_logical(cross, half)),
        lax.shift_right_logical(other, half),
    )
    high = lax.add(high, lax.mul(x, np.uint32(factor_high)))
    return high, lax.mul(x, np.uint32(factor_low))


def _wide_sum(high: Any, low: Any, other_high: Any, other_low: Any) -> tuple[Any, Any]:
    total = lax.add(low, other_low)
    carry = lax.convert_element_type(lax.lt(total, low), np.uint32)
    return lax.add(lax.add(high, other_high), carry), total


# ---- the generator ----


def _seed(seed: Any) -> Any:
    aval = get_aval(seed)
    if aval.shape:
        raise TypeError(f"PRNG key seed must be a scalar; got {seed!r}.")
    if not np.issubdtype(aval.dtype, np.integer) and aval.dtype != np.bool_:
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if aval.dtype.itemsize == 8:
        high = lax.convert_element_type(
            lax.shift_right_logical(seed, np.asarray(32, aval.dtype)), np.uint32
        )
        low = lax.convert_element_type(
            lax.bitwise_and(seed, np.asarray(0xFFFFFFFF, aval.dtype)), np.uint32
        )
    else:
        high, low = np.uint32(0), lax.convert_element_type(seed, np.uint32)
    return lax.concatenate([lax.expand_dims(word, (0,)) for word in (high, low)], 0)


def _split(key: Any, shape: tuple[int, ...]) -> Any:
    if config.threefry_partitionable.value:
        words = _hash(key, *_index_pair(shape))
        words = [lax.expand_dims(word, (len(shape),)) for word in words]
        return lax.concatenate(words, len(shape))
    counts = lax.iota(np.uint32, 2 * math.prod(shape))
    return lax.reshape(_hash_flat(key, counts), (*shape, 2))


def _fold_in(key: Any, data: Any) -> Any:
    return _hash_flat(key, _seed(data))


def _random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    if get_aval(key).shape != (2,):
        raise ShapeError(f"_random_bits takes the data of one key, uint32[2]; got {key!r}")
    if bit_width not in (8, 16, 32, 64):
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    if config.threefry_partitionable.value:
        return _bits_by_position(key, bit_width, shape)
    return _bits_in_sequence(key, bit_width, shape)


def _bits_by_position(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Returns bits, each of which depends only on the position of its element."""
    first, second = _hash(key, *_index_pair(shape))
    if bit_width == 64:
        return _joined_words(first, second)
    bits = lax.bitwise_xor(first, second)
    return lax.convert_element_type(bits, np.dtype(f"uint{bit_width}"))


def _joined_words(high: Any, low: Any) -> Any:
    high, low = (lax.convert_element_type(word, np.uint64) for word in (high, low))
    return lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)


def _bits_in_sequence(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Returns bits: an encrypted sequence of counters; see `_hash_flat`."""
    size = math.prod(shape)
    words = -(-bit_width * size // 32)
    if words > 0xFFFFFFFF:
        raise ValueError(
            f"A key generates at most 2**32 - 1 words of 32 bits, too few for {size} elements of "
            f"{bit_width} bits; set olympus_threefry_partitionable, or split the key."
        )
    bits = _hash_flat(key, lax.iota(np.uint32, words))
    if bit_width == 64:
        bits = _joined_words(lax.slice(bits, (0,), (size,)), lax.slice(bits, (size,), (2 * size,)))
    elif bit_width < 32:
        pieces = 32 // bit_width
        shifts = lax.mul(lax.broadcasted_iota(np.uint32, (words, pieces), 1), np.uint32(bit_width))
        spread = lax.broadcast_in_dim(bits, (words, pieces), (0,))
        spread = lax.reshape(lax.shift_right_logical(spread, shifts), (words * pieces,))
        bits = lax.convert_element_type(spread, np.dtype(f"uint{bit_width}"))
        bits = lax.slice(bits, (0,), (size,))
    return lax.reshape(bits, shape)


threefry_implementation = register_prng(
    PRNGImpl(
        key_shape=(2,),
        seed=_seed,
        split=_split,
        random_bits=_random_bits,
        fold_in=_fold_in,
        name="threefry2x32",
        tag="fry",
    )
)
