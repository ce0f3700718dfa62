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

    A signal may arrive between any two steps of the main thread. Therefore it never holds a lock
    outside of a ``with`` statement, and does not rely on whether the thread was started.

    Attributes:
      begun: whether the thread has begun.
      canceled: whether the thread shall do nothing, if it has not begun.
      done: a lock that is held until the call has returned.
    """

    __slots__ = ("begun", "canceled", "done", "error", "function", "result")

    def __init__(self, function: Callable[[], object]) -> None:
        self.function: Callable[[], object] | None = function
        self.result: object = None
        self.error: BaseException | None = None
        self.begun = self.canceled = False
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        # Here `begun` is written before `canceled` is read, and in `end` the other way round, so
        # at least one of the threads knows of the other.
        self.begun = True
        try:
            if not self.canceled:
                assert self.function is not None
                self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.function = None
            self.done.release()

    def end(self) -> None:
        """Waits until the call has returned; prevents it if it has not begun."""
        self.canceled = True
        if self.begun:
            with self.done:
                pass


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
    try:
        _thread.start_new_thread(call.run, ())
        with call.done:
            pass
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
        call.end()
        if call in _abandoned:
            _abandoned.remove(call)
