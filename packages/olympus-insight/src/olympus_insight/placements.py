# SPDX-License-Identifier: Apache-2.0
"""Pictures of the placement of arrays: which device holds which part."""

from __future__ import annotations

import colorsys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from . import pages

__all__ = ["mesh_svg", "placement_svg"]

_LEAST_SIDE, _MOST_SIDE, _MARGIN = 46, 360, 30
_MOST_DEVICES_NAMED = 6


def placement_svg(shape: Sequence[int], sharding: Any) -> str:
    """Returns a picture of an array's parts on its devices.

    The picture has two dimensions: the last two that are split, or the last two dimensions of the
    array.

    Args:
      shape: the shape of the array.
      sharding: the sharding of the array.
    """
    shape = tuple(shape)
    indices = sharding.devices_indices_map(shape)
    split = [
        axis
        for axis in range(len(shape))
        if len({_bounds(index[axis], shape[axis]) for index in indices.values()}) > 1
    ]
    others = [axis for axis in reversed(range(len(shape))) if axis not in split]
    axes = sorted([*split[-2:], *others][: min(2, len(shape))])
    if len(axes) < 2:  # a vector is drawn as a row
        axes = [None, *axes] if axes else [None, None]
    parts: dict[tuple, list[int]] = defaultdict(list)
    for device, index in indices.items():
        key = tuple((0, 1) if axis is None else _bounds(index[axis], shape[axis]) for axis in axes)
        parts[key].append(device.id)
    sizes = [1 if axis is None else max(shape[axis], 1) for axis in axes]
    counts = [len({key[side] for key in parts}) for side in (0, 1)]
    pixels = [
        min(max(_LEAST_SIDE * count, 90 if side else 60), _MOST_SIDE * 2)
        for side, count in enumerate(counts)
    ]
    body = "".join(
        _part_svg(key, sorted(devices), sizes, pixels) for key, devices in sorted(parts.items())
    )
    names = ["" if axis is None else f"dimension {axis}: {shape[axis]}" for axis in axes]
    hidden = [axis for axis in split if axis not in axes]
    note = f"also split: dimensions {', '.join(map(str, hidden))}" if hidden else ""
    return _framed(body, pixels, names, note)


def _bounds(part: slice, size: int) -> tuple[int, int]:
    start, stop, _ = part.indices(size)
    return start, stop


def _part_svg(
    key: tuple, devices: Sequence[int], sizes: Sequence[int], pixels: Sequence[float]
) -> str:
    (top, bottom), (left, right) = key
    y, height = top / sizes[0] * pixels[0], (bottom - top) / sizes[0] * pixels[0]
    x, width = left / sizes[1] * pixels[1], (right - left) / sizes[1] * pixels[1]
    shown = ", ".join(map(str, devices[:_MOST_DEVICES_NAMED]))
    if len(devices) > _MOST_DEVICES_NAMED:
        shown += ", ..."
    tooltip = f"[{top}:{bottom}, {left}:{right}] on devices {', '.join(map(str, devices))}"
    return (
        f'<g class="part"><title>{tooltip}</title><rect x="{_MARGIN + x:.1f}" '
        f'y="{_MARGIN + y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{_color(devices[0])}" stroke="#1c2430"/>'
        f'<text x="{_MARGIN + x + width / 2:.1f}" y="{_MARGIN + y + height / 2 + 4:.1f}" '
        f'text-anchor="middle">{shown}</text></g>'
    )


def _color(device: int) -> str:
    # Successive multiples of the golden ratio spread the hues of any number of devices.
    channels = colorsys.hls_to_rgb(device * 0.618034 % 1, 0.82, 0.6)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)


def _framed(body: str, pixels: Sequence[float], names: Sequence[str], note: str) -> str:
    width = max(pixels[1] + 2 * _MARGIN, 240)
    height = pixels[0] + 2 * _MARGIN + (18 if note else 0)
    middle = _MARGIN + pixels[0] / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="placement" width="{width:.0f}" '
        f'height="{height:.0f}"><text x="{_MARGIN}" y="20">{pages.escaped(names[1])}</text>'
        f'<text x="18" y="{middle:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 18 {middle:.0f})">{pages.escaped(names[0])}</text>{body}'
        f'<text x="{_MARGIN}" y="{height - 10:.0f}">{pages.escaped(note)}</text></svg>'
    )


def mesh_svg(mesh: Any) -> str:
    """Returns a picture of a mesh: its devices along its last two axes.

    Args:
      mesh: a mesh with devices.
    """
    devices = mesh.devices
    names = mesh.axis_names
    grid = devices.reshape(-1, devices.shape[-1]) if devices.ndim else devices.reshape(1, 1)
    pixels = [grid.shape[0] * _LEAST_SIDE, grid.shape[1] * _LEAST_SIDE]
    body = "".join(
        _part_svg(((row, row + 1), (column, column + 1)), [device.id], grid.shape, pixels)
        for (row, column), device in _entries(grid)
    )
    rows = ", ".join(f"{name}: {mesh.shape[name]}" for name in names[:-1])
    columns = f"{names[-1]}: {mesh.shape[names[-1]]}" if names else ""
    return _framed(body, pixels, (rows, columns), "")


def _entries(grid: Any) -> list[tuple[tuple[int, int], Any]]:
    return [
        ((row, column), grid[row, column])
        for row in range(grid.shape[0])
        for column in range(grid.shape[1])
    ]
