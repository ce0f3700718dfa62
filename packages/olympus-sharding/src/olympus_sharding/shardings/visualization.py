# SPDX-License-Identifier: Apache-2.0
"""Drawings of shardings in box characters: which device holds which part of an array."""

from __future__ import annotations

import colorsys
import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["sharding_text", "visualize_sharding"]

# A color: red, green and blue, each between 0 and 1. Later components, such as alpha, are ignored.
Color = Sequence[float]
ColorMap = Callable[[float], Color]

# The approximate ratio of the height of a character to its width.
_ASPECT_OF_CHARACTERS = 2.5
_LINES = 10


def visualize_sharding(
    shape: Sequence[int],
    sharding: Any,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: ColorMap | None = None,
) -> None:
    """Prints a drawing of how arrays of a shape are partitioned over devices.

    Args:
      shape: a shape of one or two dimensions.
      sharding: a sharding of devices.
      use_color: whether to color the parts, if the output is a terminal or a notebook.
      scale: the scale of the drawing.
      min_width: the least width of a part, in characters.
      max_width: the greatest width of a part, in characters.
      color_map: a function from the position of a part, between 0 and 1, to a color. As in maps of
        matplotlib, a color is red, green and blue between 0 and 1.

    Raises:
      ValueError: the shape does not have one or two dimensions.

    Example:
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> visualize_sharding((4,), olympus.NamedSharding(mesh, olympus.P("i")), use_color=False)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    colors = None
    if use_color and _shows_colors():
        colors = _rainbow if color_map is None else color_map
    print(
        sharding_text(
            shape, sharding, scale=scale, min_width=min_width, max_width=max_width, colors=colors
        )
    )


def sharding_text(
    shape: Sequence[int],
    sharding: Any,
    *,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    colors: ColorMap | None = None,
) -> str:
    """Returns the drawing that `visualize_sharding` prints.

    Args:
      shape: a shape of one or two dimensions.
      sharding: a sharding of devices.
      scale: the scale of the drawing.
      min_width: the least width of a part, in characters.
      max_width: the greatest width of a part, in characters.
      colors: the color map; None for no colors.

    Returns:
      The drawing, a string.

    Raises:
      ValueError: the shape does not have one or two dimensions.

    Example:
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> print(sharding_text((4,), olympus.NamedSharding(mesh, olympus.P("i"))))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError(
            "`visualize_sharding` only works for shapes with 1 and 2 dimensions, got the shape "
            f"{shape}. Look at one slice of it, or print the sharding."
        )
    rows, columns, parts = _parts(shape, sharding)
    if len(shape) == 1:
        height, width = 1.0, float(min_width)
    else:
        height = _LINES * scale
        width = int(height * shape[1] / max(shape[0], 1)) * _ASPECT_OF_CHARACTERS
    labels = [[_label(parts[row, column]) for column in columns] for row in rows]
    heights = [max(1, int(height * (stop - start)) - 1) for start, stop in rows]
    widths = []
    for position, (start, stop) in enumerate(columns):
        inner_width = min(max(int(width * (stop - start)), min_width), max_width) - 2
        # A part is always wide enough for its label.
        widths.append(max(inner_width, *(len(row[position]) for row in labels)))
    return _draw(labels, heights, widths, colors)


# The start and the end of a part, as fractions of a dimension.
Interval = tuple[float, float]


def _parts(
    shape: tuple[int, ...], sharding: Any
) -> tuple[list[Interval], list[Interval], dict[tuple[Interval, Interval], list[Any]]]:
    """Returns the rows and columns of parts, and the devices that hold each part."""
    parts: dict[tuple[Interval, Interval], list[Any]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        intervals = []
        for size, part in zip(shape, index, strict=True):
            start, stop, _ = part.indices(size)
            intervals.append((start / max(size, 1), stop / max(size, 1)) if size else (0.0, 1.0))
        row, column = intervals if len(shape) == 2 else ((0.0, 1.0), intervals[0])
        parts.setdefault((row, column), []).append(device)
    rows = sorted({row for row, _ in parts})
    columns = sorted({column for _, column in parts})
    return rows, columns, parts


def _label(devices: Sequence[Any]) -> str:
    ids = ",".join(str(device.id) for device in sorted(devices, key=lambda device: device.id))
    return f"{devices[0].platform.upper()} {ids}"


def _draw(
    labels: Sequence[Sequence[str]],
    heights: Sequence[int],
    widths: Sequence[int],
    colors: ColorMap | None,
) -> str:
    """Draws the parts of an array as a table. Parts with equal labels have equal colors."""
    distinct = list(dict.fromkeys(label for row in labels for label in row))
    paint = {
        label: _painter(colors(position / len(distinct))) if colors else lambda text: text
        for position, label in enumerate(distinct)
    }

    def border(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * width for width in widths) + right

    lines = [border("┌", "┬", "┐")]
    for index, (row, height) in enumerate(zip(labels, heights, strict=True)):
        if index:
            lines.append(border("├", "┼", "┤"))
        label_line = (height - 1) // 2
        for line in range(height):
            cells = []
            for label, width in zip(row, widths, strict=True):
                text = label if line == label_line else ""
                before = (width - len(text)) // 2
                padded = " " * before + text + " " * (width - len(text) - before)
                cells.append(paint[label](padded))
            lines.append("│" + "│".join(cells) + "│")
    lines.append(border("└", "┴", "┘"))
    return "\n".join(lines)


# ---- colors ----


def _shows_colors() -> bool:
    # The output streams of notebooks are not terminals, but understand the same color codes.
    return sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel")


def _rainbow(position: float) -> Color:
    return colorsys.hls_to_rgb(position, 0.4, 0.5)


def _painter(color: Color) -> Callable[[str], str]:
    red, green, blue = (round(255 * float(part)) for part in tuple(color)[:3])
    # The text is black on light backgrounds and white on dark ones.
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 128
    text_code = 30 if is_light else 97
    return lambda text: f"\x1b[48;2;{red};{green};{blue}m\x1b[{text_code}m{text}\x1b[0m"
