# SPDX-License-Identifier: Apache-2.0
"""Programs that run in the thread of a caller that waits for them.

XLA for CPUs runs a program in a thread of its own, unless the program has very few operations. If
the caller waits, waking both threads takes longer than running a small program. XLA runs programs
with Python functions in the thread of the caller. So a program that the caller waits for gets a
Python function, which it does not call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["callbacks_for_waiting"]


def callbacks_for_waiting(devices: Sequence[Any]) -> list[Callable[..., Any]]:
    """Returns the functions with which a program runs in the thread of a waiting caller.

    Programs for several devices or for accelerators get none, and run as others do.

    Args:
      devices: the devices of the program.
    """
    return [_uncalled] if len(devices) == 1 and devices[0].platform == "cpu" else []


def _uncalled(*values: Any) -> tuple[()]:
    return ()
