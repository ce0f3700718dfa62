# SPDX-License-Identifier: Apache-2.0
"""Flame graphs: time by the stack of the user's lines, as rectangles inside rectangles.

Source: Gregg: The flame graph. Communications of the ACM 59 (2016). Here the outermost line is at
the top.
"""

from __future__ import annotations

import colorsys
import dataclasses
import zlib
from collections.abc import Iterable, Sequence

from . import pages

__all__ = ["Flame", "flame_graph"]

_WIDTH, _ROW, _LETTER = 1100, 19, 6.3


@dataclasses.dataclass
class Flame:
    """A rectangle: a line of the program, or an operation.

    Attributes:
      name: the text of the rectangle.
      seconds: the time, including the rectangles inside.
      inside: the rectangles inside, by name.
    """

    name: str
    seconds: float = 0.0
    inside: dict[str, Flame] = dataclasses.field(default_factory=dict)

    def add(self, names: Sequence[str], seconds: float) -> None:
        """Adds time to the rectangle, and to the inner rectangles on the path ``names``."""
        flame = self
        flame.seconds += seconds
        for name in names:
            flame = flame.inside.setdefault(name, Flame(name))
            flame.seconds += seconds


def flame_graph(name: str, stacks: Iterable[tuple[Sequence[str], float]]) -> str:
    """Returns a flame graph as SVG. A click widens a rectangle; the first row resets the graph.

    Args:
      name: the text of the first row.
      stacks: for each operation the names of the rectangles around it, from the outermost, and its
        seconds.
    """
    root = Flame(name)
    for names, seconds in stacks:
        root.add(names, seconds)
    if not root.seconds:
        return ""
    rectangles: list[str] = []
    depth = _draw(root, 0, 0.0, root.seconds, rectangles)
    height = (depth + 1) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flames" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}" onclick="{pages.escaped(_ZOOM)}">'
        f"{''.join(rectangles)}</svg>"
    )


def _draw(flame: Flame, depth: int, start: float, total: float, drawn: list[str]) -> int:
    """Draws a rectangle and the rectangles inside it; returns the greatest depth."""
    x, width = start / total, flame.seconds / total
    if width * _WIDTH < 0.3:
        return depth
    tooltip = f"{flame.name}\n{flame.seconds * 1e3:.3f} ms, {flame.seconds / total:.1%}"
    drawn.append(
        f'<g data-x="{x:.6f}" data-w="{width:.6f}" data-d="{depth}" '
        f'data-n="{pages.escaped(flame.name)}"><title>{pages.escaped(tooltip)}</title>'
        f'<rect x="{x * _WIDTH:.2f}" y="{depth * _ROW}" width="{width * _WIDTH:.2f}" '
        f'height="{_ROW - 1}" fill="{_color(flame.name)}"/>'
        f'<text x="{x * _WIDTH + 3:.2f}" y="{depth * _ROW + 13}">'
        f"{pages.escaped(_fitting(flame.name, width * _WIDTH))}</text></g>"
    )
    deepest = depth
    for inside in sorted(flame.inside.values(), key=lambda inside: -inside.seconds):
        deepest = max(deepest, _draw(inside, depth + 1, start, total, drawn))
        start += inside.seconds
    return deepest


def _fitting(name: str, width: float) -> str:
    letters = int((width - 6) / _LETTER)
    return name if len(name) <= letters else name[:letters] if letters > 2 else ""


def _color(name: str) -> str:
    hue = 0.02 + zlib.crc32(name.encode()) % 1000 / 1000 * 0.12
    channels = colorsys.hls_to_rgb(hue, 0.74, 0.85)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)


# Script that widens a clicked rectangle; all other rectangles move and scale with it.
_ZOOM = f"""
var g = event.target.closest('g'); if (!g) return;
var x = +g.dataset.x, w = +g.dataset.w, d = +g.dataset.d;
for (var e of this.querySelectorAll('g')) {{
  var left = +e.dataset.x, wide = +e.dataset.w, outer = +e.dataset.d < d;
  var apart = left + wide <= x + 1e-9 || left >= x + w - 1e-9;
  e.style.display = apart ? 'none' : '';
  if (apart) continue;
  var from = outer ? 0 : (left - x) / w, to = outer ? 1 : (left + wide - x) / w;
  var pixels = (to - from) * {_WIDTH}, box = e.querySelector('rect'), t = e.querySelector('text');
  box.setAttribute('x', from * {_WIDTH}); box.setAttribute('width', pixels);
  t.setAttribute('x', from * {_WIDTH} + 3);
  var n = Math.floor((pixels - 6) / {_LETTER});
  t.textContent = e.dataset.n.length <= n ? e.dataset.n : n > 2 ? e.dataset.n.slice(0, n) : '';
}}
"""
