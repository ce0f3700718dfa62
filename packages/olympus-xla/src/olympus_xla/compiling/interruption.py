# SPDX-License-Identifier: Apache-2.0
"""Compilations that Ctrl-C can interrupt.

Python handles signals in the main thread, between two bytecode instructions. A compilation is a
single call of C++, which may take minutes. Another thread therefore makes the call, and the main
thread waits in a way that signals can interrupt. The compilation itself cannot be stopped. After an
interrupt it continues in the background, and its executable is dropped.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["await_abandoned", "interruptibly"]

T = TypeVar("T")


class _Call:
    """A call that runs in another thread.

    Attributes:
      done: a lock that is held until the call has returned.
    """

    __slots__ = ("done", "error", "function", "result")

    def __init__(self, function: Callable[[], object]) -> None:
        self.function: Callable[[], object] | None = function
        self.result: object = None
        self.error: BaseException | None = None
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        try:
            assert self.function is not None
            self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.function = None
            self.done.release()


# Interrupted calls that still use the MLIR context in which the process builds programs.
_abandoned: list[_Call] = []


def _handles_signals() -> bool:
    """Returns whether this thread handles signals, such as the user's interrupt, in Python."""
    return threading.current_thread() is threading.main_thread() and callable(
        signal.getsignal(signal.SIGINT)
    )


def interruptibly(function: Callable[[], T]) -> T:
    """Calls a function such that signals can interrupt the wait for its result.

    Args:
      function: a function whose call releases the interpreter's lock.

    Returns:
      The result of the function.
    """
    if not _handles_signals():
        return function()
    call = _Call(function)
    _thread.start_new_thread(call.run, ())
    try:
        call.done.acquire()
    except BaseException:
        _abandoned.append(call)
        raise
    if call.error is not None:
        raise call.error
    return call.result  # type: ignore[return-value]


def await_abandoned() -> None:
    """Waits for interrupted compilations, which still use the MLIR context of the process."""
    while _abandoned:
        call = _abandoned[-1]
        call.done.acquire()
        call.done.release()
        if call in _abandoned:
            _abandoned.remove(call)
