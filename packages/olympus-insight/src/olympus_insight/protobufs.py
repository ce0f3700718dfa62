# SPDX-License-Identifier: Apache-2.0
"""A reader of protocol buffers, the format in which XLA describes programs and memory.

The reader follows the specification of the wire format
(https://protobuf.dev/programming-guides/encoding). Few fields are read, so no schema compiler and
no library is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Message", "integers", "varint"]


def varint(data: bytes, place: int) -> tuple[int, int]:
    """Reads an integer of variable length; returns the integer and the position after it.

    Example:
      >>> varint(bytes([0xAC, 0x02]), 0)
      (300, 2)
    """
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def integers(data: bytes) -> list[int]:
    """Reads a packed list of integers.

    Example:
      >>> integers(bytes([1, 0xAC, 0x02]))
      [1, 300]
    """
    found, position = [], 0
    while position < len(data):
        value, position = varint(data, position)
        found.append(value)
    return found


class Message:
    """The fields of a message, by number.

    Example:
      >>> message = Message(bytes([0x08, 0x05, 0x12, 0x02, 0x68, 0x69]))
      >>> message.integer(1), message.text(2), message.integer(3)
      (5, 'hi', 0)
    """

    __slots__ = ("_fields",)

    def __init__(self, data: bytes) -> None:
        fields: dict[int, list[int | bytes]] = {}
        position, end = 0, len(data)
        while position < end:
            # Most integers have one byte, and are read here.
            key = data[position]
            position += 1
            if key >= 0x80:
                key, position = varint(data, position - 1)
            kind = key & 7
            value: int | bytes
            if kind in (0, 2):
                value = data[position]
                position += 1
                if value >= 0x80:
                    value, position = varint(data, position - 1)
                if kind == 2:
                    start, position = position, position + value
                    value = data[start:position]
            elif kind in (1, 5):
                start, position = position, position + (8 if kind == 1 else 4)
                value = data[start:position]
            else:
                raise ValueError(f"the message has a field of the unknown wire type {kind}")
            number = key >> 3
            if number in fields:
                fields[number].append(value)
            else:
                fields[number] = [value]
        self._fields = fields

    def integer(self, number: int) -> int:
        """Returns an integer field; 0 if the field is absent."""
        value = self._fields.get(number, (0,))[-1]
        assert isinstance(value, int)
        return value

    def integers(self, number: int) -> list[int]:
        """Returns a repeated field of integers, packed or not."""
        found: list[int] = []
        for value in self._fields.get(number, ()):
            found += [value] if isinstance(value, int) else integers(value)
        return found

    def bytes(self, number: int) -> bytes:
        """Returns a field of bytes; empty if the field is absent."""
        value = self._fields.get(number, (b"",))[-1]
        assert isinstance(value, bytes)
        return value

    def text(self, number: int) -> str:
        return self.bytes(number).decode("utf-8", "replace")

    def texts(self, number: int) -> list[str]:
        return [value.decode("utf-8", "replace") for value in self.all_bytes(number)]

    def message(self, number: int) -> Message:
        return Message(self.bytes(number))

    def messages(self, number: int) -> list[Message]:
        return [Message(value) for value in self.all_bytes(number)]

    def all_bytes(self, number: int) -> Iterator[bytes]:
        """Yields the values of a repeated field of bytes or messages."""
        for value in self._fields.get(number, ()):
            assert isinstance(value, bytes)
            yield value
