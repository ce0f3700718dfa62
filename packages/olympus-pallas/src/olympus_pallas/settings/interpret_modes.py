# SPDX-License-Identifier: Apache-2.0
"""Switches that concern all kernels of a thread."""

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
    """How kernels are interpreted that do not ask for it themselves; None where they are not."""
    return _state.interpret


def set_interpret_mode(params: Any) -> None:
    """Interprets all kernels that are lowered from now on; with None, those that ask for it."""
    _state.interpret = params


@contextlib.contextmanager
def force_interpret_mode(params: Any) -> Iterator[None]:
    """Interprets all kernels that are lowered meanwhile."""
    saved, _state.interpret = _state.interpret, params
    try:
        yield
    finally:
        _state.interpret = saved
