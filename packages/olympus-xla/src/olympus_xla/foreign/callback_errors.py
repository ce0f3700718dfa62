# SPDX-License-Identifier: Apache-2.0
"""Threads and exceptions of Python functions called by compiled programs.

XLA turns an exception into a message. The function's wrapper therefore stores the exception with
the user's traceback. The stored exception becomes the cause of the error that XLA raises.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_calls = threading.local()
_lock = threading.Lock()
_raised: list[BaseException] = []
_MOST_KEPT = 16


@contextmanager
def calling_back() -> Iterator[None]:
    """Context manager that stores exceptions of a Python function called by a compiled program."""
    outer, _calls.active = in_callback(), True
    try:
        yield
    except BaseException as error:
        remember(error)
        raise
    finally:
        _calls.active = outer


def in_callback() -> bool:
    """Returns whether the thread runs a Python function for a compiled program."""
    return getattr(_calls, "active", False)


def remember(error: BaseException) -> None:
    """Stores an exception that a callback raised."""
    with _lock:
        _raised.append(error)
        del _raised[:-_MOST_KEPT]


def raise_callback_error(error: Exception) -> None:
    """Raises a runtime error, with the callback's exception, if any, as its cause.

    An exception that ends the program, such as `SystemExit`, is raised itself.
    """
    original = find_cause(error)
    if isinstance(original, Exception):
        raise error from original
    if original is not None:
        raise original from error


def find_cause(error: Exception) -> BaseException | None:
    """Returns the callback exception that caused a runtime error, and drops it from the store."""
    text = str(error)
    if "callback" not in text.lower():
        return None
    with _lock:
        for position in reversed(range(len(_raised))):
            if type(_raised[position]).__name__ in text:
                return _raised.pop(position)
    return None
