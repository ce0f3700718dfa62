# SPDX-License-Identifier: Apache-2.0
"""Documents: text with possible line breaks, laid out in a given width.

The algebra follows P. Wadler, A prettier printer (2003), without its search for alternatives. A
document is built of texts, breaks, nesting and groups. If a group without newlines would reach
beyond the width, all of its breaks become newlines. Otherwise each break becomes its flat text,
usually a space. Text that follows a group does not affect the group's layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..settings.config_flags import pprint_use_color

RESET_COLOR, BLUE, MAGENTA = 39, 34, 35
NORMAL, BOLD, DIM = 22, 1, 2
_PLAIN = (RESET_COLOR, NORMAL)


class Document:
    """Base class of the parts of a document.

    Attributes:
      width: the number of columns that the part occupies without newlines.
    """

    __slots__ = ("width",)

    width: int


class Text(Document):
    """Text that is printed unchanged.

    Args:
      text: the text, without newlines.
      style: color and intensity, as terminal codes.
      annotations: remarks that are printed at the right of the line.
    """

    __slots__ = ("annotations", "style", "text")

    def __init__(
        self, text: str, style: tuple[int, int] = _PLAIN, annotations: Sequence[str] = ()
    ) -> None:
        self.text = text
        self.style = style
        self.annotations = annotations
        self.width = len(text)


class Break(Document):
    """A newline, or a flat text if the group fits in the width."""

    __slots__ = ("flat",)

    def __init__(self, flat: str = " ") -> None:
        self.flat = flat
        self.width = len(flat)


class Concatenation(Document):
    """Parts printed one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Document]) -> None:
        self.parts = parts
        self.width = sum([part.width for part in parts])


class Nest(Document):
    """A part whose newlines are indented further."""

    __slots__ = ("indentation", "part")

    def __init__(self, indentation: int, part: Document) -> None:
        self.indentation = indentation
        self.part = part
        self.width = part.width


class Group(Document):
    """A part whose breaks are all newlines or all flat."""

    __slots__ = ("part",)

    def __init__(self, part: Document) -> None:
        self.part = part
        self.width = part.width


def joined(separator: Document, parts: Sequence[Document]) -> Document:
    """Returns the parts with a separator between neighbors."""
    if not parts:
        return Text("")
    result = [parts[0]]
    for part in parts[1:]:
        result.append(separator)
        result.append(part)
    return Concatenation(result)


def layout(
    document: Document,
    width: int = 80,
    use_color: bool | None = None,
    annotation_prefix: str = " # ",
) -> str:
    """Returns the document as text.

    Args:
      document: the document.
      width: the number of columns that groups without newlines may use.
      use_color: whether to print colors as terminal codes; None for colors where the standard
        output is a terminal and the flag ``olympus_pprint_use_color`` is set.
      annotation_prefix: the text before each annotation.
    """
    colored = _is_colored() if use_color is None else use_color
    layout = _Layout(width, colored)
    layout.add(document)
    return "\n".join(_with_annotations(layout.finished_lines(), colored, annotation_prefix))


def _is_colored() -> bool:
    return bool(pprint_use_color.value) and sys.stdout is not None and sys.stdout.isatty()


class _Layout:
    """The layout of a document, built part by part.

    Args:
      width: the number of columns that groups without newlines may use.
      use_color: whether to print colors as terminal codes.
    """

    __slots__ = (
        "annotations",
        "column",
        "lines",
        "pending",
        "pieces",
        "style",
        "use_color",
        "width",
    )

    def __init__(self, width: int, use_color: bool) -> None:
        self.width = width
        self.use_color = use_color
        self.lines: list[tuple[list[str], int, list[str]]] = []
        self.pieces: list[str] = []
        self.annotations: list[str] = []
        self.column, self.style = 0, _PLAIN
        # The parts that remain to be added: part, indentation, whether breaks are flat.
        self.pending: list[tuple[Any, int, bool]] = []

    def add(self, document: Document) -> None:
        """Adds a document, without recursion because documents can be deep."""
        pending, adders = self.pending, _ADDERS
        pop, push = pending.pop, pending.append
        push((document, 0, False))
        while pending:
            part, indentation, flat = pop()
            if part.__class__ is Concatenation:  # test for the most frequent class first
                for inner in part.parts[::-1]:
                    push((inner, indentation, flat))
            else:
                adders[part.__class__](self, part, indentation, flat)

    def _add_text(self, text: Text, _indentation: int, _flat: bool) -> None:
        if self.use_color:
            self._add_words(text.text, text.style)
        else:
            self.pieces.append(text.text)
            self.column += text.width
        if text.annotations:
            self.annotations.extend(text.annotations)

    def _add_break(self, line_break: Break, indentation: int, flat: bool) -> None:
        if not flat:
            self.lines.append((self.pieces, self.column, self.annotations))
            self.pieces, self.annotations = [" " * indentation], []
            self.column = indentation
        else:
            self._add_words(line_break.flat, _PLAIN)

    def _add_group(self, group: Group, indentation: int, flat: bool) -> None:
        fits = flat or self.column + group.width <= self.width
        self.pending.append((group.part, indentation, fits))

    def _add_nest(self, nest: Nest, indentation: int, flat: bool) -> None:
        self.pending.append((nest.part, indentation + nest.indentation, flat))

    def _add_words(self, words: str, style: tuple[int, int]) -> None:
        if words and self.use_color and style != self.style:
            self.pieces.append(_style_change(self.style, style))
            self.style = style
        self.pieces.append(words)
        self.column += len(words)

    def finished_lines(self) -> list[tuple[list[str], int, list[str]]]:
        """Returns the pieces, the width and the annotations of each line."""
        if self.style != _PLAIN:
            self.pieces.append(_style_change(self.style, _PLAIN))
        return [*self.lines, (self.pieces, self.column, self.annotations)]


_ADDERS: dict[type[Document], Callable[[_Layout, Any, int, bool], None]] = {
    Text: _Layout._add_text,
    Break: _Layout._add_break,
    Group: _Layout._add_group,
    Nest: _Layout._add_nest,
}


def _style_change(old: tuple[int, int], new: tuple[int, int]) -> str:
    codes = [str(code) for before, code in zip(old, new, strict=True) if before != code]
    return f"\x1b[{';'.join(codes)}m"


def _with_annotations(
    lines: Sequence[tuple[list[str], int, list[str]]], use_color: bool, prefix: str
) -> list[str]:
    margin = max(length for _, length, _ in lines)
    result = []
    for pieces, length, remarks in lines:
        text = "".join(pieces)
        if remarks:
            for annotation in remarks:
                remark = f"{' ' * (margin - length)}{prefix}{annotation}"
                result.append(f"{text}\x1b[2m{remark}\x1b[22m" if use_color else text + remark)
                text, length = "", 0
        else:
            result.append(text)
    return result
