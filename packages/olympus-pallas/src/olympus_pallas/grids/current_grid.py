# SPDX-License-Identifier: Apache-2.0
"""The grid of the kernel that is being traced."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["inside_grid", "state"]


class _State(threading.local):
    grid: tuple[Any, ...] | None = None
    # The grid indices, if their values are known, as in loops that interpret grids.
    place: tuple[Any, ...] | None = None


state = _State()


@contextlib.contextmanager
def inside_grid(
    grid: tuple[Any, ...] | None, place: tuple[Any, ...] | None = None
) -> Iterator[None]:
    """Sets the sizes of the grid while a kernel is traced and, if known, the program's index."""
    saved = state.grid, state.place
    state.grid, state.place = grid, place
    try:
        yield
    finally:
        state.grid, state.place = saved
