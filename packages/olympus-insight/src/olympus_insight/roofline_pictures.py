# SPDX-License-Identifier: Apache-2.0
"""Pictures of costs: operations under the roofline of a device, and the steps of the first call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from . import pages
from .costs import count_text
from .machine_rates import Rates

__all__ = ["roofline", "timeline"]

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 320, 90, 16


class _Operation(Protocol):
    """The parts of an operation that the picture shows."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def flops(self) -> float: ...
    @property
    def bytes(self) -> float: ...


def roofline(operations: Sequence[_Operation], rates: Rates) -> str:
    """Returns operations as circles under the roofline, on logarithmic axes.

    A larger circle stands for a longer time.

    Args:
      operations: the operations.
      rates: the rates of the device.
    """
    shown = [
        operation
        for operation in operations
        if operation.flops and operation.bytes and operation.seconds
    ]
    if not shown:
        return ""
    ridge = rates.flops / rates.bytes
    intensities = [operation.flops / operation.bytes for operation in shown]
    speeds = [operation.flops / operation.seconds for operation in shown]
    across = _span([*intensities, ridge])
    up = _span([*speeds, rates.flops])
    total = sum(operation.seconds for operation in operations)

    def x(intensity: float) -> float:
        return _LEFT + _WIDTH * (math.log10(intensity) - across[0]) / (across[1] - across[0])

    def y(speed: float) -> float:
        return _TOP + _HEIGHT * (1 - (math.log10(speed) - up[0]) / (up[1] - up[0]))

    start = 10.0 ** max(across[0], up[0] - math.log10(rates.bytes))
    roof = (
        f'<polyline fill="none" stroke="#1c2430" stroke-width="1.5" points="{x(start):.1f},'
        f"{y(start * rates.bytes):.1f} {x(ridge):.1f},{y(rates.flops):.1f} "
        f'{_LEFT + _WIDTH},{y(rates.flops):.1f}"/>'
    )
    circles = "".join(
        f'<circle cx="{x(intensity):.1f}" cy="{y(speed):.1f}" '
        f'r="{3 + 16 * math.sqrt(op.seconds / total):.1f}" fill="#d1495b" fill-opacity="0.45" '
        f'stroke="#d1495b"><title>{pages.escaped(op.origin or op.name)}\n'
        f"{intensity:.2g} operations a byte, {count_text(speed, 'flop/s')}</title></circle>"
        for op, intensity, speed in zip(shown, intensities, speeds, strict=True)
    )
    axes = "".join(
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y(10.0**power):.1f}" '
        f'y2="{y(10.0**power):.1f}" stroke="#e3e7ec"/><text x="{_LEFT - 6}" '
        f'y="{y(10.0**power) + 4:.1f}" text-anchor="end">{count_text(10.0**power, "flop/s")}</text>'
        for power in range(math.ceil(up[0]), math.floor(up[1]) + 1)
    ) + "".join(
        f'<text x="{x(10.0**power):.1f}" y="{_TOP + _HEIGHT + 16}" text-anchor="middle">'
        f"{10.0**power:g}</text>"
        for power in range(math.ceil(across[0]), math.floor(across[1]) + 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="roofline" width="{_LEFT + _WIDTH + 30}" '
        f'height="{_TOP + _HEIGHT + 40}">{axes}{roof}{circles}<text x="{_LEFT + _WIDTH}" '
        f'y="{_TOP + _HEIGHT + 34}" text-anchor="end">operations for each byte</text></svg>'
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Returns the logarithms between which an axis shows values."""
    return math.log10(min(values)) - 0.3, math.log10(max(values)) + 0.3


_COLORS = {"trace": "#7c8da6", "lower": "#edae49", "compile": "#d1495b", "run": "#4c9f70"}
_BAR = 900


def timeline(seconds: dict[str, float]) -> str:
    """Returns the steps of the first call as parts of a bar.

    Args:
      seconds: the seconds of each step.
    """
    total = sum(seconds.values()) or 1.0
    parts, x, label = [], 0.0, 0.0
    for name, spent in seconds.items():
        width = _BAR * spent / total
        text = f"{name} {spent * 1e3:.1f} ms"
        parts.append(
            f'<rect class="{name}" x="{x:.1f}" y="4" width="{max(width, 1):.1f}" height="20" '
            f'fill="{_COLORS.get(name, "#8a94a3")}"><title>{text}</title></rect>'
            f'<rect x="{label}" y="32" width="11" height="11" '
            f'fill="{_COLORS.get(name, "#8a94a3")}"/>'
            f'<text x="{label + 16}" y="42">{text}</text>'
        )
        x += width
        label += 190.0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="steps" width="{_BAR + 10}" height="50">'
        f"{''.join(parts)}</svg>"
    )
