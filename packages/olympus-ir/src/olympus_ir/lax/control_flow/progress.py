# SPDX-License-Identifier: Apache-2.0
"""Progress of loops in compiled programs, shown as a bar while they run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...loading import deferred
from ...types.avals import get_aval
from ..callbacks import debug_callback
from ..elementwise import add, rem
from ..logic import bitwise_or, eq
from . import scanning
from .conditionals import cond

if TYPE_CHECKING:
    from ...diagnostics import progress_bars
else:
    progress_bars = deferred("...diagnostics.progress_bars", milliseconds=1.0)

__all__ = ["Progress", "progress"]

_STEPS_OF_A_BAR = 100  # how often a loop of known length reports
_STEPS_OF_A_LINE = 64  # how many iterations of a loop of unknown length are between reports
_numbers = itertools.count()


class Progress:
    """Values whose traversal is shown; made by `progress`.

    Attributes:
      values: the values.
      description: the words before the bar.
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
        report = _Report(self.description, total)
        count = 0
        for count, value in enumerate(self.values, 1):
            yield value
            report(count - 1)
        report.finish(count)

    def __len__(self) -> int:
        return len(self.values)


def progress(xs: Any, description: str = "") -> Progress:
    """Returns values whose traversal shows a bar: in Python's ``for``, `scan` and `map`.

    The bar is that of tqdm where tqdm is installed, and else a plain line. It is written to the
    standard error.

    Args:
      xs: an iterable, or the arrays to scan over.
      description: the words before the bar.

    Returns:
      An iterable, which `scan` and `map` accept in place of ``xs``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> squares = lax.map(lambda x: lax.mul(x, x), progress(np.arange(4)))
      >>> squares
      Array([0, 1, 4, 9], dtype=int32)
    """
    return Progress(xs, description)


scanning.install_progress(Progress)


class _Report:
    """Reports of one loop: a function that the program calls while it runs."""

    def __init__(self, description: str, total: int | None) -> None:
        self.number = next(_numbers)
        self.description = description
        self.total = total

    def __call__(self, step: Any) -> None:
        progress_bars.show(self.number, self.description, self.total, int(step))

    def finish(self, steps: Any) -> None:
        progress_bars.finish(self.number, int(steps))


def _report_of(shown: Any, total: int | None) -> _Report:
    if isinstance(shown, Progress):
        shown = shown.description
    elif shown is True:
        shown = ""
    elif not isinstance(shown, str):
        raise TypeError(
            f"progress must be True, a description or the result of progress(), got {shown!r}."
        )
    return _Report(shown, total)


def scan(f: Callable[..., Any], init: Any, xs: Any, shown: Any, length: int, **options: Any) -> Any:
    """Runs a `scan` that reports how far it is."""
    report = _report_of(shown, length)
    every = max(length // _STEPS_OF_A_BAR, 1)

    def body(carry: Any, x: Any) -> Any:
        step, value = carry
        after = add(step, _one)
        is_last = eq(after, np.int32(length))
        _report_if(bitwise_or(is_last, _is_multiple(step, every)), report, step)
        value, y = f(value, x)
        return (after, value), y

    (_, value), ys = scanning.scan(body, (_zero, init), xs, length, **options)
    return value, ys


def while_loop(
    loop: Callable[..., Any],
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    shown: Any,
    inverse: Callable[..., Any] | None,
    **options: Any,
) -> Any:
    """Runs a `while_loop` that reports how many iterations it has done."""
    report = _report_of(shown, options.get("max_steps"))

    def body(carry: Any) -> Any:
        step, value = carry
        _report_if(_is_multiple(step, _STEPS_OF_A_LINE), report, step)
        return add(step, _one), body_fun(value)

    def undo(carry: Any) -> Any:
        step, value = carry
        return add(step, np.int32(-1)), inverse(value) if inverse is not None else value

    step, value = loop(
        lambda carry: cond_fun(carry[1]),
        body,
        (_zero, init_val),
        inverse=None if inverse is None else undo,
        **options,
    )
    debug_callback(report.finish, step)
    return value


_zero, _one = np.int32(0), np.int32(1)


def _is_multiple(step: Any, number: int) -> Any:
    return eq(rem(step, np.int32(number)), _zero)


def _report_if(is_wanted: Any, report: _Report, step: Any) -> None:
    if not get_aval(step).vma:
        cond(is_wanted, lambda step: debug_callback(report, step), lambda step: None, step)
        return
    debug_callback(report, step)
