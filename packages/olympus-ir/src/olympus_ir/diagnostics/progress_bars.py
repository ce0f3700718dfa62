# SPDX-License-Identifier: Apache-2.0
"""Bars that show the progress of loops, drawn by tqdm or as a plain line."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from ..loading import deferred

if TYPE_CHECKING:
    import tqdm
else:
    tqdm = deferred("tqdm", milliseconds=20)

__all__ = ["finish", "show"]


class _Bar(Protocol):
    n: Any

    def update(self, n: Any) -> Any: ...

    def close(self) -> Any: ...


class _Line:
    """A line on standard error that shows the number of steps; used if tqdm is not installed."""

    SECONDS = 0.1  # the time between two updates of the line

    def __init__(self, description: str, total: int | None) -> None:
        self.description = description
        self.total = total
        self.n = 0
        self.started = time.monotonic()
        self.drawn = -float("inf")

    def update(self, n: int) -> None:
        self.n += n
        now = time.monotonic()
        if now - self.drawn >= self.SECONDS:
            self.drawn = now
            self.draw("")

    def draw(self, end: str) -> None:
        seconds = time.monotonic() - self.started
        words = f"{self.description}: " if self.description else ""
        if self.total:
            words += f"{100 * self.n // self.total:3d}% {self.n}/{self.total}"
        else:
            words += f"{self.n} steps"
        rate = f", {self.n / seconds:.1f} steps/s" if seconds > 0 else ""
        sys.stderr.write(f"\r{words} [{seconds:.1f} s{rate}]{end}")
        sys.stderr.flush()

    def close(self) -> None:
        self.draw("\n")


def _new_bar(description: str, total: int | None) -> _Bar:
    if importlib.util.find_spec("tqdm") is None:
        return _Line(description, total)
    return tqdm.tqdm(desc=description or None, total=total, file=sys.stderr)


class _Shown:
    """A bar that is drawn.

    Attributes:
      bar: the bar.
      step: the number of iterations before the latest reported iteration.
      ended: the number of devices whose loops have ended.
    """

    __slots__ = ("bar", "ended", "step")

    def __init__(self, bar: _Bar) -> None:
        self.bar = bar
        self.step = 0
        self.ended = 0

    def reach(self, steps: int) -> None:
        if steps > self.bar.n:
            self.bar.update(steps - self.bar.n)


_bars: dict[int, _Shown] = {}
_lock = threading.Lock()


def show(number: int, description: str, total: int | None, step: int, devices: int = 1) -> None:
    """Shows the progress of a loop's iteration.

    One iteration may be reported several times: by each device, by each example of a batch, and by
    the backward pass. The bar shows the latest iteration that has been reached so far.

    Args:
      number: the identifier of the loop. The first iteration of the loop makes a new bar.
      description: the text before the bar.
      total: the number of iterations, if known.
      step: the number of iterations before the reported iteration.
      devices: the number of devices that run the loop.
    """
    with _lock:
        shown = _bars.get(number)
        if shown is not None and not step and shown.step and devices == 1:
            _bars.pop(number).bar.close()  # of a run that failed
            shown = None
        if shown is None:
            if step:
                return  # the bar is complete
            shown = _bars[number] = _Shown(_new_bar(description, total))
        shown.step = max(shown.step, step)
        done = step + 1 if total else step
        shown.reach(done)
        if total is not None and done >= total:
            _end(number, shown, devices)


def finish(number: int, steps: int, devices: int = 1) -> None:
    """Closes the bar of a loop that has ended.

    Args:
      number: the identifier of the loop.
      steps: the number of iterations that the loop ran.
      devices: the number of devices that run the loop.
    """
    with _lock:
        shown = _bars.get(number)
        if shown is not None:
            # An iteration that was reported has run. Other examples of a batch may run more
            # iterations than this one.
            shown.reach(max(steps, shown.step + 1))
            _end(number, shown, devices)


def _end(number: int, shown: _Shown, devices: int) -> None:
    """Closes a bar if the loops of all devices have ended."""
    shown.ended += 1
    if shown.ended >= devices:
        _bars.pop(number).bar.close()
