# SPDX-License-Identifier: Apache-2.0
"""Context managers that record the programs that are lowered, and the functions they become."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from olympus_xla._jaxlib import _jax
from olympus_xla.compiling import program_lowering
from olympus_xla.compiling.lowering.context import ModuleLowering

from .counters import _code

__all__ = [
    "collect_lowered_olympusprs",
    "count_internal_device_puts",
    "count_subolympuspr_to_hlo_conversion",
]


@contextmanager
def _watched(code: CodeType, event: str, watch: Callable[[FrameType, Any], None]) -> Iterator[None]:
    """Calls a function at each beginning or end of the calls of some code."""
    previous = sys.getprofile()

    def profiler(frame: FrameType, happened: Any, argument: Any) -> None:
        if happened == event and frame.f_code is code:
            watch(frame, argument)
        if previous is not None:
            previous(frame, happened, argument)

    sys.setprofile(profiler)
    try:
        yield
    finally:
        sys.setprofile(previous)


@contextmanager
def collect_lowered_olympusprs() -> Iterator[list[tuple[Any, Any]]]:
    """Yields a list, to which each lowering adds a pair of the program and the MLIR module."""
    lowered: list[tuple[Any, Any]] = []

    def note(frame: FrameType, result: Any) -> None:
        if result is not None:  # None at the end of a call that raised
            lowered.append((result.closed, result.module))

    with _watched(_code(program_lowering.lower), "return", note):
        yield lowered


@contextmanager
def count_subolympuspr_to_hlo_conversion(fun_name: str) -> Iterator[Callable[[], int]]:
    """Yields a function that counts how often the program of a function became one of a module.

    Args:
      fun_name: the name of the function, or a part of it.
    """
    counts: Counter[str] = Counter()

    def note(frame: FrameType, _: Any) -> None:
        counts[frame.f_locals["name"]] += 1

    def count() -> int:
        names = [name for name in counts if fun_name in name]
        if len(names) > 1:
            raise ValueError(f"ambiguous name: {fun_name}")
        return counts[names[0]]

    with _watched(_code(ModuleLowering.add_function), "call", note):
        yield count


@contextmanager
def count_internal_device_puts() -> Iterator[Callable[[], dict[str, int]]]:
    """Yields a function that returns, at the end, how often C++ moved values of each kind."""
    before = _jax.get_internal_device_put_info()
    counts: dict[str, int] = {}
    try:
        yield lambda: counts
    finally:
        for kind, count in _jax.get_internal_device_put_info().items():
            if count != before.get(kind, 0):
                counts[kind] = count - before.get(kind, 0)
