# SPDX-License-Identifier: Apache-2.0
"""Finds the executable cells of a Markdown document and compares outputs with expected outputs.

A cell is a MyST ``{code-cell}`` block, or a plain ``python`` block in a document that has none (a
README). A block with the info string ``output`` that follows a cell, with only blank lines between
them, is the expected output of the cell. Runs of blanks count as one, and ``...`` stands for any
text. Tags, on the first lines of a cell (``:tags: [raises-exception, raises-TypeError]``):

- ``raises-exception``: the cell must fail; cells without the tag must not fail;
- ``raises-<Class>``: the cell must fail with an exception of that class; required if the cell
  fails;
- ``skip-execution``: the cell is shown but not run, for example an installation command.
"""

from __future__ import annotations

import dataclasses
import doctest
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`]*)$")
_TAGS = re.compile(r"^:tags: *\[(?P<tags>.*)\] *$")
_PYTHON_INFO = {"python", "py"}
_OUTPUT_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class DocumentError(Exception):
    """Error for a document whose cells do not have the outcome that the document shows."""


@dataclasses.dataclass(frozen=True)
class Fence:
    """A fenced block: its info string, its text, and the lines where it begins and ends."""

    info: str
    text: str
    first_line: int
    last_line: int


@dataclasses.dataclass(frozen=True)
class Cell:
    """Code of a document, with its expected outcome."""

    source: str
    tags: frozenset[str]
    expected_output: str | None
    location: str

    @property
    def expected_error(self) -> str | None:
        """The name of the exception class that the cell is expected to raise, if any."""
        names = [tag.removeprefix("raises-") for tag in self.tags if tag.startswith("raises-")]
        return next((name for name in names if name != "exception"), None)

    def check_output(self, printed: str) -> None:
        """Raises ``DocumentError`` unless ``printed`` is the output that the document shows."""
        if self.expected_output is None:
            return
        want, got = self.expected_output.strip() + "\n", printed.strip() + "\n"
        if not doctest.OutputChecker().check_output(want, got, _OUTPUT_OPTIONS):
            raise DocumentError(f"{self.location}: expected output\n{want}\nprinted\n{got}")


def fences(text: str) -> Iterator[Fence]:
    """Yields the fenced blocks of a Markdown document."""
    opening, first_line, body = None, 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        if opening is None:
            if match:
                opening, first_line, body = match, number, []
        elif match and match["marks"].startswith(opening["marks"]) and not match["info"].strip():
            yield Fence(opening["info"].strip(), "\n".join(body), first_line, number)
            opening = None
        else:
            body.append(line.removeprefix(opening["indent"]))
    if opening is not None:
        raise DocumentError(f"line {first_line}: this block is never closed")


def read_cells(path: Path) -> list[Cell]:
    """Returns the executable cells of the document at ``path``."""
    text = path.read_text(encoding="utf-8")
    lines, blocks = text.splitlines(), list(fences(text))
    is_myst = any(block.info.startswith("{code-cell}") for block in blocks)
    cells = []
    for block, following in zip_longest(blocks, blocks[1:]):
        executable = block.info.startswith("{code-cell}") if is_myst else block.info in _PYTHON_INFO
        if not executable:
            continue
        location = f"{path}:{block.first_line}"
        source, tags = _split_options(block.text, location)
        expected = None
        if following is not None and following.info == "output":
            between = lines[block.last_line : following.first_line - 1]
            expected = following.text if not any(map(str.strip, between)) else None
        cell = Cell(source, tags, expected, location)
        if "raises-exception" in tags and cell.expected_error is None:
            raise DocumentError(f"{location}: name the class of the error by a tag raises-<Class>")
        if cell.expected_error is not None and "raises-exception" not in tags:
            raise DocumentError(f"{location}: a cell that fails needs the tag raises-exception")
        cells.append(cell)
    return cells


def read_shown(path: Path) -> list[Fence]:
    """Returns the Python blocks, in a document with cells, that are shown but not run.

    Such blocks need resources that the machine may lack: another library, several machines, files.
    """
    blocks = list(fences(path.read_text(encoding="utf-8")))
    if not any(block.info.startswith("{code-cell}") for block in blocks):
        return []
    return [block for block in blocks if block.info in _PYTHON_INFO]


def _split_options(text: str, location: str) -> tuple[str, frozenset[str]]:
    """Separates the option lines (``---`` YAML or ``:key: value``) from a cell's source."""
    lines = text.splitlines()
    if lines and lines[0].strip() == "---":
        raise DocumentError(f"{location}: write options as `:tags: [...]`, not as a YAML block")
    tags: set[str] = set()
    while lines and lines[0].startswith(":"):
        option = lines.pop(0)
        match = _TAGS.match(option)
        if match is None and not re.match(r"^:(id|outputId|colab): ", option):
            raise DocumentError(f"{location}: unknown option {option!r}; only :tags: is supported")
        if match:
            tags.update(tag.strip() for tag in match["tags"].split(","))
    return "\n".join(lines).strip("\n"), frozenset(tags)
