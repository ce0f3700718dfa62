# SPDX-License-Identifier: Apache-2.0
"""Interpret mode of kernels, a setting of each thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["force_interpret_mode", "interpret_params", "set_interpret_mode"]


class _State(threading.local):
    interpret: Any = None


_state = _State()


def interpret_params() -> Any:
    """Returns the mode of kernels that have no mode of their own; None for compilation."""
    return _state.interpret


def set_interpret_mode(params: Any) -> None:
    """Sets the mode of kernels that are lowered from now on; None resets the mode."""
    _state.interpret = params


@contextlib.contextmanager
def force_interpret_mode(params: Any) -> Iterator[None]:
    """Context manager that sets the mode of kernels that are lowered within it."""
    saved, _state.interpret = _state.interpret, params
    try:
        yield
    finally:
        _state.interpret = saved
