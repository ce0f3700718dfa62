# SPDX-License-Identifier: Apache-2.0
"""The end of the interpreter while daemon threads still compute.

Before version 3.14, Python ends a daemon thread that asks for the interpreter's lock after the
interpreter has ended, by unwinding its stack. The frames of C++ on it do not allow that: the C++
runtime, or the C library, aborts the process. Here such threads sleep until the process is gone.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading

__all__ = ["park_daemon_threads"]

# The process ends with SIGALRM if its end takes longer than this many seconds: a thread that sleeps
# may hold a lock of C++.
_PATIENCE = 60
_DEFAULT_ACTION = 0  # SIG_DFL


def park_daemon_threads() -> None:
    """Makes threads that C++ would abort sleep instead; call it when the interpreter ends."""
    if sys.platform != "linux" or sys.version_info >= (3, 14) or not _daemons_are_alive():
        return
    library = ctypes.CDLL(None)
    sleep = ctypes.cast(library.pause, ctypes.c_void_p)
    for set_handler in _terminate_handlers(library):
        set_handler(sleep)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal(signal.SIGABRT, sleep)
    library.signal(signal.SIGALRM, _DEFAULT_ACTION)
    library.alarm(_PATIENCE)


def _daemons_are_alive() -> bool:
    # Threads that were not started by `threading` are in this dictionary only.
    return len(sys._current_frames()) > 1 or threading.active_count() > 1


def _terminate_handlers(library: ctypes.CDLL) -> list:
    """Returns the functions ``std::set_terminate`` of the C++ runtimes in use."""
    found = []
    for holder in (library, "libstdc++.so.6"):
        try:
            runtime = ctypes.CDLL(holder) if isinstance(holder, str) else holder
            found.append(runtime["_ZSt13set_terminatePFvvE"])
        except (OSError, AttributeError):
            continue
    return found
