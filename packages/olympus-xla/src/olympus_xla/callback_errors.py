# SPDX-License-Identifier: Apache-2.0
"""Exceptions raised by Python functions that compiled programs call.

XLA turns an exception into a message. The original is kept aside by the wrapper of the function
and raised in place of the message, with the user's traceback.
"""

from __future__ import annotations

import threading

_lock = threading.Lock()
_raised: list[BaseException] = []
_MOST_KEPT = 16


def remember(error: BaseException) -> None:
    """Keeps an exception that a callback raised."""
    with _lock:
        _raised.append(error)
        del _raised[:-_MOST_KEPT]


def raise_callback_error(error: Exception) -> None:
    """Raises the exception behind a runtime error, where a callback caused it."""
    text = str(error)
    if "callback" not in text.lower():
        return
    with _lock:
        for position in reversed(range(len(_raised))):
            original = _raised[position]
            if type(original).__name__ in text:
                del _raised[position]
                break
        else:
            return
    raise original from error
