# SPDX-License-Identifier: Apache-2.0
"""Documents: text with possible line breaks, laid out in a given width.

The algebra is that of P. Wadler, A prettier printer (2003), without its search for alternatives.
A document is built of texts, breaks, nesting and groups. The breaks of a group become newlines all
together, where the group without newlines would reach beyond the width; else they are their flat
text, a space usually. What follows a group is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

RESET_COLOR, BLUE, MAGENTA = 39, 34, 35
NORMAL, BOLD, DIM = 22, 1, 2
_PLAIN = (RESET_COLOR, NORMAL)


class Document:
    """Base of the parts of a document.

    Attributes:
      width: the number of columns without newlines.
    """

    __slots__ = ("width",)

    width: int


class Text(Document):
    """Words to be printed as they are.

    Args:
      text: the words, without newlines.
      style: color and intensity, as the codes of terminals.
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
    """A newline, or a flat text where the group fits."""

    __slots__ = ("flat",)

    def __init__(self, flat: str = " ") -> None:
        self.flat = flat
        self.width = len(flat)


class Concatenation(Document):
    """Parts one after the other."""

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
    """The parts with a separator between each two."""
    if not parts:
        return Text("")
    result = [parts[0]]
    for part in parts[1:]:
        result.append(separator)
        result.append(part)
    return Concatenation(result)


def layout(
    document: Document, width: int = 80, use_color: bool = False, annotation_prefix: str = " # "
) -> str:
    """The document as text.

    Args:
      document: what to print.
      width: how many columns groups without newlines may use.
      use_color: whether to mark colors by the codes that terminals understand.
      annotation_prefix: what stands before each annotation.
    """
    lines: list[tuple[list[str], int, list[str]]] = []
    pieces: list[str] = []
    annotations: list[str] = []
    column, style = 0, _PLAIN
    # The parts that remain to be printed: part, indentation, whether breaks are flat.
    pending: list[tuple[Document, int, bool]] = [(document, 0, False)]
    pop, push = pending.pop, pending.append
    while pending:
        part, indentation, flat = pop()
        kind = part.__class__
        if kind is Text:
            if part.width:
                if use_color and part.style != style:  # type: ignore[attr-defined]
                    pieces.append(_style_change(style, part.style))  # type: ignore[attr-defined]
                    style = part.style  # type: ignore[attr-defined]
                pieces.append(part.text)  # type: ignore[attr-defined]
                column += part.width
            if part.annotations:  # type: ignore[attr-defined]
                annotations.extend(part.annotations)  # type: ignore[attr-defined]
        elif kind is Concatenation:
            for inner in reversed(part.parts):  # type: ignore[attr-defined]
                push((inner, indentation, flat))
        elif kind is Group:
            push((part.part, indentation, flat or column + part.width <= width))  # type: ignore[attr-defined]
        elif kind is Nest:
            push((part.part, indentation + part.indentation, flat))  # type: ignore[attr-defined]
        elif not flat:
            lines.append((pieces, column, annotations))
            pieces, annotations = [" " * indentation], []
            column = indentation
        elif part.width:
            if use_color and style != _PLAIN:
                pieces.append(_style_change(style, _PLAIN))
                style = _PLAIN
            pieces.append(part.flat)  # type: ignore[attr-defined]
            column += part.width
    if style != _PLAIN:
        pieces.append(_style_change(style, _PLAIN))
    lines.append((pieces, column, annotations))
    return "\n".join(_with_annotations(lines, use_color, annotation_prefix))


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
