# SPDX-License-Identifier: Apache-2.0
"""Synchronization of the cores of one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.tracing import current

from ..operations.control import when
from ..operations.transfers import semaphore_signal, semaphore_wait

__all__ = ["core_barrier", "run_on_first_core"]


def core_barrier(sem: Any, *, core_axis_name: str) -> None:
    """Waits until all cores along an axis have arrived.

    Args:
      sem: a semaphore of each core. It must have no other use during the barrier.
      core_axis_name: the name of the axis.
    """
    count = current.axes.size(core_axis_name)
    core_index = lax.axis_index(core_axis_name)
    for number in range(count):

        @when(core_index != number)
        def _(number: int = number) -> None:
            semaphore_signal(sem, 1, core_index=number)

    semaphore_wait(sem, count - 1)


def run_on_first_core(core_axis_name: str) -> Callable[[Callable[[], Any]], None]:
    """Runs the decorated function on the first core along an axis only.

    Args:
      core_axis_name: the name of the axis.

    Returns:
      A decorator that calls the function immediately. The function takes no arguments and returns
      nothing.
    """
    return when(lax.axis_index(core_axis_name) == 0)
