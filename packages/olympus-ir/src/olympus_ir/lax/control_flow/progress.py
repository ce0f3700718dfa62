# SPDX-License-Identifier: Apache-2.0
"""Progress of loops in compiled programs, shown as a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...types.avals import get_aval
from ..callbacks import debug_callback
from ..calls.primitives import optimization_barrier
from ..elementwise.arithmetic import add, rem
from ..elementwise.logic import bitwise_or, eq
from .conditionals import cond
from .shown_values import Progress, Report

__all__ = ["scan", "while_loop"]

_STEPS_OF_A_BAR = 100  # the number of reports of a loop of known length
_STEPS_OF_A_LINE = 64  # the number of iterations between reports of a loop of unknown length


def _report_of(shown: Any, total: int | None) -> Report:
    if isinstance(shown, Progress):
        shown = shown.description
    elif shown is True:
        shown = ""
    elif not isinstance(shown, str):
        raise TypeError(
            f"progress must be True, a description or the result of progress(), got {shown!r}."
        )
    return Report(shown, total)


def scan(
    loop: Callable[..., Any],
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    shown: Any,
    length: int,
    **options: Any,
) -> Any:
    """Runs a `scan` that reports its progress.

    Args:
      loop: the function `lax.scan`.
      f: as in `lax.scan`.
      init: as in `lax.scan`.
      xs: as in `lax.scan`.
      shown: True, the text before the bar, or a `Progress`.
      length: the number of iterations.
      **options: the other arguments of `lax.scan`.
    """
    report = _report_of(shown, length)
    every = max(length // _STEPS_OF_A_BAR, 1)

    def body(carry: Any, x: Any) -> Any:
        step, value = carry
        after = add(step, _one)
        is_last = eq(after, np.int32(length))
        _report_if(bitwise_or(is_last, _is_multiple(step, every)), report, step)
        value, y = f(value, x)
        return (after, value), y

    (_, value), ys = loop(body, (_zero, init), xs, length, **options)
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
    """Runs a `while_loop` that reports the number of finished iterations.

    Args:
      loop: the function `lax.while_loop`.
      cond_fun: as in `lax.while_loop`.
      body_fun: as in `lax.while_loop`.
      init_val: as in `lax.while_loop`.
      shown: True, the text before the bar, or a `Progress`.
      inverse: as in `lax.while_loop`.
      **options: the other arguments of `lax.while_loop`.
    """
    report = _report_of(shown, options.get("max_steps"))

    def body(carry: Any) -> Any:
        step, value = carry
        _report_if(_is_multiple(step, _STEPS_OF_A_LINE), report, step)
        return add(step, _one), body_fun(value)

    def undo(carry: Any) -> Any:
        step, value = carry
        return add(step, np.int32(-1)), inverse(value) if inverse is not None else value

    # A compiler that knows the number of iterations could complete the bar before the loop runs.
    step, value = loop(
        lambda carry: cond_fun(carry[1]),
        body,
        (optimization_barrier(_zero), init_val),
        inverse=None if inverse is None else undo,
        **options,
    )
    debug_callback(report.finish, step)
    return value


_zero, _one = np.int32(0), np.int32(1)


def _is_multiple(step: Any, number: int) -> Any:
    return eq(rem(step, np.int32(number)), _zero)


def _report_if(is_wanted: Any, report: Report, step: Any) -> None:
    if not get_aval(step).vma:
        cond(is_wanted, lambda step: debug_callback(report, step), lambda step: None, step)
        return
    debug_callback(report, step)
