# SPDX-License-Identifier: Apache-2.0
"""Source maps of program texts, made from the locations in the texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .maps import MappingsGenerator, SourceMap

__all__ = ["canonicalize_filename", "create_hlo_sourcemap", "create_mlir_sourcemap", "map_of_lines"]

# File, line and column. Lines and columns count from one.
Place = tuple[str, int, int]

_LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_REFERENCE = re.compile(r"#loc\d*")
_OF_LINE = re.compile(r"loc\((#loc\d*)\)\s*\{?\s*$")
_HLO_FRAME = re.compile(r"stack_frame_id=(\d+)")
_HLO_ENTRY = re.compile(r"^(\d+) (.*)$")


def canonicalize_filename(file_name: str) -> str:
    """Returns the file name to use in maps: the name that Python reports."""
    return file_name


def map_of_lines(places: Sequence[Sequence[tuple[int, Place]]]) -> SourceMap:
    """Returns the source map of a text, given columns and source positions for each line."""
    sources: list[str] = []
    generator = MappingsGenerator()
    for line in places:
        generator.new_group()
        for column, (file_name, source_line, source_column) in line:
            name = canonicalize_filename(file_name)
            if name not in sources:
                sources.append(name)
            generator.new_segment(column, sources.index(name), source_line - 1, source_column)
    return SourceMap(3, sources, [], [], generator.mappings())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _mapped(text: str, place_of: Callable[[str], Place | None]) -> SourceMap:
    places = []
    for line in text.split("\n"):
        place = place_of(line)
        places.append([] if place is None else [(_indentation(line), place)])
    return map_of_lines(places)


def create_mlir_sourcemap(mlir_dump: str) -> SourceMap:
    """Returns the source map of an MLIR module, which must be printed with locations.

    Args:
      mlir_dump: the text of the module.
    """
    known: dict[str, str] = {
        found[1]: found[2] for line in mlir_dump.split("\n") if (found := _LOCATION.match(line))
    }

    def resolved(location: str) -> Place | None:
        """Returns a location's innermost source position (for calls, in the callee), or None."""
        found = _FILE.search(location)
        if found:
            return found[1], int(found[2]), int(found[3])
        for reference in _REFERENCE.findall(location):
            place = resolved(known.get(reference, ""))
            if place is not None:
                return place
        return None

    def of_line(line: str) -> Place | None:
        found = None if line.startswith("#loc") else _OF_LINE.search(line)
        return resolved(known.get(found[1], "")) if found else None

    return _mapped(mlir_dump, of_line)


def create_hlo_sourcemap(hlo_dump: str) -> SourceMap:
    """Returns the source map of an HLO module, which must be printed with stack frame tables.

    Args:
      hlo_dump: the text of the module.
    """
    tables: dict[str, dict[int, str]] = {}
    table: dict[int, str] = {}
    for line in hlo_dump.split("\n"):
        found = _HLO_ENTRY.match(line)
        if found:
            table[int(found[1])] = found[2]
        elif line in ("FileNames", "FileLocations", "StackFrames"):
            table = tables[line] = {}
        elif line:
            table = {}

    def number(text: str, name: str) -> int:
        found = re.search(rf"\b{name}=(\d+)", text)
        return int(found[1]) if found else 0

    def of_line(line: str) -> Place | None:
        found = _HLO_FRAME.search(line)
        if found is None:
            return None
        frame = tables.get("StackFrames", {}).get(int(found[1]), "")
        location = tables.get("FileLocations", {}).get(number(frame, "file_location_id"), "")
        name = tables.get("FileNames", {}).get(number(location, "file_name_id"))
        if name is None:
            return None
        return name.strip('"'), number(location, "line"), number(location, "column")

    return _mapped(hlo_dump, of_line)
