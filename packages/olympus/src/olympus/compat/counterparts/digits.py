# SPDX-License-Identifier: Apache-2.0
"""Numbers of source maps in base 64 VLQ, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olympus_xla.profiling.source_maps.maps import _DIGITS, _decoded, _encoded

__all__ = [
    "VLQ_ALPHABET",
    "decode_segment",
    "decode_vlq",
    "deserialize_mappings",
    "encode_segment",
    "encode_vlq",
    "serialize_mappings",
]

VLQ_ALPHABET = _DIGITS.encode()

_CONTINUES = 32


def encode_vlq(value: int) -> bytes:
    """Returns the digits of an integer.

    Example:
      >>> encode_vlq(-17)
      b'jB'
    """
    return _encoded(value).encode()


def _digits_of_one(enc: Iterator[int]) -> str:
    digits = ""
    for letter in enc:
        digits += chr(letter)
        if not VLQ_ALPHABET.index(letter) & _CONTINUES:
            return digits
    raise StopIteration


def decode_vlq(enc: Iterable[int]) -> int:
    """Returns the integer of the first digits; an iterator stays behind them.

    Raises:
      StopIteration: the digits end before the number does.

    Example:
      >>> decode_vlq(b"jB")
      -17
    """
    (number,) = _decoded(_digits_of_one(iter(enc)))
    return number


def encode_segment(seg: Iterable[int]) -> bytes:
    """Returns the digits of the numbers of a segment.

    Example:
      >>> encode_segment((5, 0, 3, 2))
      b'KAGE'
    """
    return b"".join(map(encode_vlq, seg))


def decode_segment(enc: Iterable[int]) -> tuple[int, ...]:
    """Returns the numbers of a segment.

    Example:
      >>> decode_segment(b"KAGE")
      (5, 0, 3, 2)
    """
    return tuple(_decoded(bytes(enc).decode()))


def serialize_mappings(mappings: Sequence[Sequence[Any]]) -> str:
    """Returns the text of mappings, which has a semicolon between lines.

    Example:
      >>> serialize_mappings([[(5, 0, 3, 2)], [], [(1,)]])
      'KAGE;;C'
    """
    return ";".join(
        ",".join(encode_segment(segment).decode() for segment in line) for line in mappings
    )


def deserialize_mappings(mappings_str: str) -> list[list[tuple[int, ...]]]:
    """Returns the mappings with a given text.

    Example:
      >>> deserialize_mappings("KAGE;;C")
      [[(5, 0, 3, 2)], [], [(1,)]]
    """
    return [
        [decode_segment(segment.encode()) for segment in line.split(",")] if line else []
        for line in mappings_str.split(";")
    ]
