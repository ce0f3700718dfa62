# SPDX-License-Identifier: Apache-2.0
"""Exit of the interpreter while daemon threads still compute.

A daemon thread may request the interpreter's lock after the interpreter has ended. Before version
3.14, Python ends such a thread by unwinding its stack. If the stack has C++ frames, this aborts the
process. A thread may also read memory that the interpreter has freed. This module makes such
threads sleep until the process has ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading

__all__ = ["end_if_failed", "exit_with", "park_daemon_threads"]

# SIGALRM ends the process if the exit takes longer than this many seconds. The exit may wait for a
# C++ lock that a sleeping thread holds.
_PATIENCE = 60
_DEFAULT_ACTION = 0  # SIG_DFL


_status: int | None = None


def exit_with(status: int) -> None:
    """Sets the exit status of the process, after a failure while the interpreter ends."""
    global _status
    _status = status


def end_if_failed() -> None:
    """Ends the process if it failed during the exit, when Python cannot change its status."""
    if _status is not None:
        if "logging" in sys.modules:
            sys.modules["logging"].shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(_status)


def park_daemon_threads() -> None:
    """Puts threads to sleep that would otherwise abort the process.

    Python calls this function when the interpreter ends.
    """
    if sys.platform != "linux" or sys.version_info >= (3, 14) or not _daemons_are_alive():
        return
    library = ctypes.CDLL(None)
    sleep = ctypes.cast(library.pause, ctypes.c_void_p)
    for set_handler in _terminate_handlers(library):
        set_handler(sleep)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    for fatal in (signal.SIGABRT, signal.SIGSEGV):
        library.signal(fatal, sleep)
    library.signal(signal.SIGALRM, _DEFAULT_ACTION)
    library.alarm(_PATIENCE)


def _daemons_are_alive() -> bool:
    # Only `sys._current_frames` includes threads that `threading` did not start.
    return len(sys._current_frames()) > 1 or threading.active_count() > 1


def _terminate_handlers(library: ctypes.CDLL) -> list:
    """Returns the function ``std::set_terminate`` of each C++ runtime in use."""
    found = []
    for holder in (library, "libstdc++.so.6"):
        try:
            runtime = ctypes.CDLL(holder) if isinstance(holder, str) else holder
            found.append(runtime["_ZSt13set_terminatePFvvE"])
        except (OSError, AttributeError):
            continue
    return found
