# SPDX-License-Identifier: Apache-2.0
"""Source maps, in the format of ECMA-426, which relate a text to places in source files.

A map has a group of segments for each line of the text. A segment has a column in the line and a
source position: the index of a file, a line, a column, and optionally the index of a name. All
numbers except the column in the line are relative to the previous segment, which may be in an
earlier line.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

__all__ = ["MappingsGenerator", "SourceMap"]

Segment = tuple[int, ...]
Mappings = Sequence[Sequence[Segment]]

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclasses.dataclass(frozen=True, slots=True)
class SourceMap:
    """A source map.

    Attributes:
      version: the version of the format, 3.
      sources: the source files.
      sources_content: the contents of the source files, if given.
      names: names to which segments refer.
      mappings: the segments of each line.

    Example:
      >>> SourceMap(3, ["a.py"], [], [], [[(4, 0, 10, 4)], []]).to_json()
      '{"version": 3, "sources": ["a.py"], "sourcesContent": [], "names": [], "mappings": "IAUI;"}'
    """

    version: int
    sources: Sequence[str]
    sources_content: Sequence[str]
    names: Sequence[str]
    mappings: Mappings

    def to_json(self) -> str:
        """Returns the map as the JSON text of a source map file."""
        return json.dumps(
            {
                "version": self.version,
                "sources": list(self.sources),
                "sourcesContent": list(self.sources_content),
                "names": list(self.names),
                "mappings": ";".join(
                    ",".join("".join(map(_encoded, segment)) for segment in group)
                    for group in self.mappings
                ),
            }
        )

    @classmethod
    def from_json(cls, json_data: str) -> SourceMap:
        """Returns the source map with the given JSON text."""
        data = json.loads(json_data)
        mappings = [
            [tuple(_decoded(segment)) for segment in group.split(",") if segment]
            for group in data["mappings"].split(";")
        ]
        return cls(
            data["version"],
            data["sources"],
            data.get("sourcesContent", []),
            data["names"],
            mappings,
        )


def _encoded(number: int) -> str:
    """Returns a number in base 64 VLQ: five bits per digit, with the sign in the lowest bit."""
    rest = abs(number) << 1 | (number < 0)
    digits = ""
    while True:
        digit, rest = rest & 31, rest >> 5
        digits += _DIGITS[digit | (32 if rest else 0)]
        if not rest:
            return digits


def _decoded(text: str) -> list[int]:
    numbers, value, shift = [], 0, 0
    for letter in text:
        digit = _DIGITS.index(letter)
        value |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return numbers


class MappingsGenerator:
    """Builder of mappings from segments with absolute positions.

    Example:
      >>> generator = MappingsGenerator()
      >>> generator.new_group()
      >>> generator.new_segment(5, 0, 3, 2)
      >>> generator.new_group()
      >>> generator.new_segment(1, 0, 10, 3)
      >>> generator.mappings()
      [[(5, 0, 3, 2)], [(1, 0, 7, 1)]]
    """

    def __init__(self) -> None:
        self._groups: list[list[Segment]] = []
        self._column = 0
        self._last = [0, 0, 0, 0]

    def new_group(self) -> None:
        """Starts the segments of a new line."""
        self._groups.append([])
        self._column = 0

    def new_segment(self, *seg: int) -> None:
        """Adds a segment to the line.

        Args:
          *seg: the column in the line; optionally the index of the source file, the line and the
            column there, and the index of a name.
        """
        column, *origin = seg
        relative = [number - last for number, last in zip(origin, self._last, strict=False)]
        self._groups[-1].append((column - self._column, *relative))
        self._column = column
        self._last[: len(origin)] = origin

    def mappings(self) -> list[list[Segment]]:
        """Returns the mappings in the form that `SourceMap` stores."""
        return self._groups
