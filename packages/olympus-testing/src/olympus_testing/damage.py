# SPDX-License-Identifier: Apache-2.0
"""Damaged files: copies of bytes with random changes.

`damaged` makes one change or several, each of a kind in `CHANGES`.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

__all__ = ["CHANGES", "damaged"]

# Numbers that are written in place of lengths: small numbers, and limits of integers.
_NUMBERS = (0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
_DIGITS = tuple(range(ord("0"), ord("9") + 1))


def damaged(contents: bytes, generator: random.Random, donors: Sequence[bytes] = ()) -> bytes:
    """Returns a damaged copy of bytes, which differs from the original.

    Args:
      contents: the bytes, at least one.
      generator: the source of randomness.
      donors: bytes of other files, pieces of which may be inserted.

    Returns:
      The damaged bytes; they may have another length.

    Example:
      >>> damaged(b"header and data", random.Random(1)) == b"header and data"
      False
    """
    if not contents:
        raise ValueError("`contents` must have at least one byte to damage, got none")
    while True:
        data = bytearray(contents)
        for _ in range(generator.choice((1, 1, 1, 2, 4))):
            change = generator.choice(CHANGES)
            change(data, generator, donors or (contents,))
        if bytes(data) != contents:
            return bytes(data)


def _place(data: bytearray, generator: random.Random) -> int:
    """Returns a random position; half of the positions are in the first bytes, the header."""
    end = min(len(data), 256) if generator.random() < 0.5 else len(data)
    return generator.randrange(max(end, 1))


def _flip_bit(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    if data:
        data[_place(data, generator)] ^= 1 << generator.randrange(8)


def _overwrite(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    start = _place(data, generator)
    length = min(generator.choice((1, 1, 2, 4, 16, 256)), len(data) - start)
    data[start : start + length] = generator.randbytes(length)


def _truncate(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    del data[_place(data, generator) :]


def _remove(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    start = _place(data, generator)
    del data[start : start + generator.choice((1, 2, 8, 64, 1024))]


def _insert(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    start = _place(data, generator)
    data[start:start] = generator.randbytes(generator.choice((1, 2, 8, 64, 1024)))


def _repeat(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    start = _place(data, generator)
    piece = data[start : start + generator.choice((1, 8, 64, 1024))]
    data[start:start] = piece * generator.choice((1, 2, 16))


def _splice(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    donor = generator.choice(donors)
    start, source = _place(data, generator), _place(bytearray(donor), generator)
    length = generator.choice((4, 16, 64, 1024, len(donor)))
    data[start : start + length] = donor[source : source + length]


def _number(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    """Overwrites 4 or 8 bytes with a number, encoded like a length."""
    number, form = generator.choice(_NUMBERS), generator.choice(("<I", "<Q", ">I", ">Q"))
    field = struct.pack(form, number % 2 ** (8 * struct.calcsize(form)))
    start = _place(data, generator)
    data[start : start + len(field)] = field


def _digits(data: bytearray, generator: random.Random, donors: Sequence[bytes]) -> None:
    """Replaces a decimal number, because texts contain lengths in decimal."""
    starts = [position for position, byte in enumerate(data) if byte in _DIGITS]
    if not starts:
        return
    start = end = generator.choice(starts)
    while end < len(data) and data[end] in _DIGITS:
        end += 1
    data[start:end] = generator.choice((b"-1", *(str(number).encode() for number in _NUMBERS)))


#: The kinds of damage: functions that change a bytearray in place.
CHANGES: tuple[Callable[[bytearray, random.Random, Sequence[bytes]], None], ...] = (
    *(_flip_bit, _overwrite, _truncate, _remove, _insert, _repeat, _splice, _number, _digits),
)
