# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal for compilations that take more than a few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from olympus_ir.settings.config_flags import show_compilation

__all__ = ["shown", "watching_threads"]

_SHOWN_AFTER = 3.0
_REFRESHED_EVERY = 1.0

# The running compilations by thread, in the order of their start. Each has a text with the name and
# the size of the program, and the start time.
_running: dict[int, tuple[str, float]] = {}
_began = threading.Event()
_watcher: threading.Thread | None = None
_lock = threading.Lock()


def watching_threads() -> int:
    """Returns the number of threads that do nothing but watch compilations."""
    return 0 if _watcher is None else 1


def _output() -> TextIO | None:
    """Returns the terminal or notebook to write to; None if there is neither."""
    if not show_compilation.value or sys.stderr is None:
        return None
    return sys.stderr if sys.stderr.isatty() or "ipykernel" in sys.modules else None


@contextmanager
def shown(name: str, equations: int) -> Iterator[None]:
    """Context manager that shows the progress of a compilation if it takes long.

    Args:
      name: the name of the program.
      equations: the number of the program's equations; 0 if it is unknown.
    """
    if _output() is None:
        yield
        return
    size = f" of {equations:,} equations" if equations else ""
    key = threading.get_ident()
    outer = _running.get(key)
    _running[key] = (f"{name}{size}", time.monotonic())
    _start_watching()
    _began.set()
    try:
        yield
    finally:
        if outer is None:
            del _running[key]
        else:
            _running[key] = outer


def _start_watching() -> None:
    global _watcher
    with _lock:
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, name="olympus-compilations", daemon=True)
            _watcher.start()


def _watch() -> None:
    written = False
    while True:
        if not _running:
            if written:
                _write("")
                written = False
            _began.clear()
            if not _running:  # a compilation may have begun before `clear`
                _began.wait()
        time.sleep(_REFRESHED_EVERY)
        line = _line()
        if line or written:
            _write(line)
            written = bool(line)


def _line() -> str:
    """Returns the text to show: the earliest compilation, and the number of other compilations."""
    now = time.monotonic()
    slow = [(now - began, name) for name, began in list(_running.values())]
    slow = sorted((entry for entry in slow if entry[0] >= _SHOWN_AFTER), reverse=True)
    if not slow:
        return ""
    seconds, name = slow[0]
    others = f", and {len(slow) - 1} other programs" if len(slow) > 1 else ""
    return f"compiling {name}{others}: {seconds:.0f} s"


def _write(line: str) -> None:
    """Replaces the line on the terminal."""
    output = _output()
    if output is not None:
        try:
            output.write(f"\r\x1b[K{line}")
            output.flush()
        except (OSError, ValueError):  # the output was closed
            pass
