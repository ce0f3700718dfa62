# SPDX-License-Identifier: Apache-2.0
"""Pictures of memory: the bytes of each kind of buffer at each instruction of a program."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from . import pages
from .compiled_modules import Instruction
from .stages import format_bytes

__all__ = ["timeline"]

# The color of each kind of buffer, and the name of the kind in the plural.
_KINDS = {
    "argument": ("#7c8da6", "arguments"),
    "result": ("#4c9f70", "results"),
    "residual": ("#d1495b", "residuals"),
    "temporary": ("#edae49", "temporaries"),
}
_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 240, 80, 22
_MOST_COLUMNS = 600


def timeline(totals: Sequence[dict[str, int]], order: Sequence[Instruction], peak: int) -> str:
    """Returns a picture of the bytes of each kind of buffer over the instructions of a program.

    Args:
      totals: for each instruction, the bytes of each kind of buffer.
      order: the instructions.
      peak: the position of the peak.
    """
    if not totals:
        return ""
    # In a long program, each column stands for several instructions, and shows the instruction at
    # which the most bytes are in use.
    step = -(-len(totals) // _MOST_COLUMNS)
    sums = [sum(total.values()) for total in totals]
    columns = [
        max(range(start, min(start + step, len(sums))), key=sums.__getitem__)
        for start in range(0, len(sums), step)
    ]
    highest = max(sums) or 1
    width = _WIDTH / len(columns)
    parts = [_axis(highest)]
    below = [0.0] * len(columns)
    for kind, (color, _) in _KINDS.items():
        above = [
            base + totals[position][kind] for base, position in zip(below, columns, strict=True)
        ]
        if above != below:
            parts.append(_area(below, above, highest, width, color, kind))
        below = above
    parts += [
        _column(position, index, width, totals[position], order[position])
        for index, position in enumerate(columns)
    ]
    parts.append(_peak(peak // step, width, highest))
    parts.append(_legend(totals))
    full = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + 46
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="memory" width="{full[0]}" '
        f'height="{full[1]}" viewBox="0 0 {full[0]} {full[1]}">{"".join(parts)}</svg>'
    )


def _height(size: float, highest: int) -> float:
    return _TOP + _HEIGHT * (1 - size / highest)


def _area(
    below: Sequence[float],
    above: Sequence[float],
    highest: int,
    width: float,
    color: str,
    kind: str,
) -> str:
    steps = [
        (_LEFT + (index + side) * width, _height(size, highest))
        for index, size in enumerate(above)
        for side in (0, 1)
    ]
    back = [
        (_LEFT + (index + side) * width, _height(below[index], highest))
        for index in reversed(range(len(below)))
        for side in (1, 0)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in itertools.chain(steps, back))
    return f'<polygon class="{kind}" points="{points}" fill="{color}"/>'


def _column(
    position: int, number: int, width: float, sizes: dict[str, int], instruction: Instruction
) -> str:
    """Returns an invisible column that shows a tooltip."""
    shown = ", ".join(f"{kind} {format_bytes(size)}" for kind, size in sizes.items() if size)
    text = (
        f"{position}: {instruction.origin or instruction.opcode} {instruction.line or ''}\n{shown}"
    )
    return (
        f'<rect x="{_LEFT + number * width:.1f}" y="{_TOP}" width="{width:.2f}" '
        f'height="{_HEIGHT}" fill="transparent"><title>{pages.escaped(text)}</title></rect>'
    )


def _peak(number: int, width: float, highest: int) -> str:
    x = _LEFT + (number + 0.5) * width
    anchor = "end" if number * width > _WIDTH / 2 else "start"
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _HEIGHT}" stroke="#1c2430" '
        f'stroke-dasharray="3 3"/><text x="{x:.1f}" y="{_TOP - 7}" text-anchor="{anchor}">'
        f"peak {format_bytes(highest)}</text>"
    )


def _axis(highest: int) -> str:
    parts = []
    for quarter in range(5):
        size = highest * quarter / 4
        y = _height(size, highest)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e7ec"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{format_bytes(size)}</text>'
        )
    return "".join(parts)


def _legend(totals: Sequence[dict[str, int]]) -> str:
    parts, x = [], float(_LEFT)
    y = _TOP + _HEIGHT + 26
    for kind, (color, plural) in _KINDS.items():
        if any(total[kind] for total in totals):
            parts.append(
                f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{color}"/>'
                f'<text x="{x + 17}" y="{y}">{plural}</text>'
            )
            x += 110
    parts.append(
        f'<text x="{_LEFT + _WIDTH}" y="{y}" text-anchor="end">'
        "instructions, in the order in which they run</text>"
    )
    return "".join(parts)
