# SPDX-License-Identifier: Apache-2.0
"""`progress`: marks values so that a loop over them shows a progress bar."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...loading import deferred
from ...settings import config_states

if TYPE_CHECKING:
    from ...diagnostics import progress_bars
else:
    progress_bars = deferred("...diagnostics.progress_bars", milliseconds=1.0)

__all__ = ["Progress", "Report", "progress"]

_numbers = itertools.count()


class Progress:
    """Values marked by `progress`: a loop over them shows a progress bar.

    Attributes:
      values: the values.
      description: the text before the bar.
    """

    __slots__ = ("description", "values")

    def __init__(self, values: Any, description: str) -> None:
        self.values = values
        self.description = description

    def __iter__(self) -> Iterator[Any]:
        try:
            total = len(self.values)
        except TypeError:
            total = None
        report = Report(self.description, total)
        count = 0
        for count, value in enumerate(self.values, 1):
            yield value
            report(count - 1)
        report.finish(count)

    def __len__(self) -> int:
        return len(self.values)


def progress(xs: Any, description: str = "") -> Progress:
    """Returns values whose iteration shows a progress bar: in Python's ``for``, `scan` and `map`.

    tqdm draws the bar if it is installed; otherwise the bar is a plain line. The bar is written to
    standard error.

    Args:
      xs: an iterable, or the arrays to scan over.
      description: the text before the bar.

    Returns:
      An iterable, which `scan` and `map` accept in place of ``xs``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> lax.map(lambda x: lax.mul(x, x), progress(np.arange(4)))
      Array([0, 1, 4, 9], dtype=int32)
    """
    return Progress(xs, description)


class Report:
    """Reporter of one loop's progress: a function that the program calls while it runs."""

    __slots__ = ("description", "devices", "number", "total")

    def __init__(self, description: str, total: int | None) -> None:
        self.number = next(_numbers)
        # Every device of a `shard_map` runs the loop, whether types track variation or not.
        mesh = config_states.abstract_mesh.value
        axes = {} if mesh is None else {axis: mesh.shape[axis] for axis in mesh.manual_axes}
        self.devices = math.prod(axes.values())
        self.description = description
        self.total = total

    def __call__(self, step: Any) -> None:
        """Shows the progress after a number of steps."""
        progress_bars.show(self.number, self.description, self.total, int(step), self.devices)

    def finish(self, steps: Any) -> None:
        """Completes the bar."""
        progress_bars.finish(self.number, int(steps), self.devices)
