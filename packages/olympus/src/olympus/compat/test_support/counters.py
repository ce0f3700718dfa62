# SPDX-License-Identifier: Apache-2.0
"""Counters of what compiled functions do: traces, lowerings, compilations, slow calls, copies.

A counter is a context that yields a function, which returns the number of events since the
beginning. The events are calls of certain functions of OLYMPUS. A profiler of the current thread
counts them, so that nothing is counted outside of tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FrameType
from typing import Any

from olympus_ir.diagnostics import phases
from olympus_xla.arrays import transfer
from olympus_xla.calls import compiled_call, eager, jit
from olympus_xla.compiling import compiler
from olympus_xla.compiling.recognition import known_programs

__all__ = [
    "assert_num_jit_and_pmap_compilations",
    "count_aot_jit_cpp_cache_miss",
    "count_compilation_after_persistent_cache_miss",
    "count_device_put",
    "count_jit_and_pmap_lowerings",
    "count_jit_compilation_cache_miss",
    "count_jit_tracing_cache_miss",
    "count_pjit_cpp_cache_miss",
    "count_primitive_compiles",
]

Count = Callable[[], int]


class _Counters:
    """The counters that are open in the current thread, by the code whose calls they count."""

    def __init__(self) -> None:
        self._open: dict[object, tuple[frozenset[CodeType], list[int]]] = {}

    def count(self, frame: FrameType, event: str, argument: Any) -> None:
        """Counts a call; this is the profiler."""
        if event != "call":
            return
        for codes, count in tuple(self._open.values()):
            if frame.f_code in codes:
                count[0] += 1

    @contextmanager
    def opened(self, codes: frozenset[CodeType]) -> Iterator[Count]:
        """Counts the calls of some code."""
        key, count = object(), [0]
        previous = sys.getprofile()
        self._open[key] = codes, count
        sys.setprofile(self.count)
        try:
            yield lambda: count[0]
        finally:
            sys.setprofile(previous)
            del self._open[key]


_counters = _Counters()


def _inner(function: Callable[..., Any], name: str) -> CodeType:
    """Returns the code of a function that is defined inside of another."""
    for constant in function.__code__.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == name:
            return constant
    raise AttributeError(f"{function.__name__} defines no function {name}")


def _code(function: Any) -> CodeType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__


def _counting(*codes: CodeType) -> Callable[[], AbstractContextManager[Count]]:
    return lambda: _counters.opened(frozenset(codes))


_JIT_MISS = _inner(jit._cache_miss, "cache_miss")
_EAGER_MISS = _inner(eager._make_eager, "cache_miss")
_COMPILED_MISS = _inner(compiled_call.make_compiled_call, "cache_miss")

#: Calls of jitted functions and of operations that C++ could not answer.
count_pjit_cpp_cache_miss = _counting(_JIT_MISS, _EAGER_MISS)
#: Calls of functions compiled ahead of time that C++ could not answer.
count_aot_jit_cpp_cache_miss = _counting(_COMPILED_MISS)
#: Traces of functions.
count_jit_tracing_cache_miss = _counting(_code(phases.tracing))
#: Programs made for the compiler, or found on disk under what was traced.
count_jit_and_pmap_lowerings = _counting(_code(phases.lowering), _code(known_programs._load))
#: Programs compiled, or loaded from the disk.
count_jit_compilation_cache_miss = _counting(_code(phases.compiling))
#: Programs compiled because they were not on disk.
count_compilation_after_persistent_cache_miss = _counting(_code(compiler._compile))
#: Operations that run for the first time outside of compiled functions.
count_primitive_compiles = _counting(_code(eager._program))
#: Moves of values to devices.
count_device_put = _counting(_code(transfer.put_leaf))


@contextmanager
def assert_num_jit_and_pmap_compilations(times: int) -> Iterator[None]:
    """Compares the number of compilations with the expected one.

    Raises:
      AssertionError: the numbers differ.
    """
    with count_jit_and_pmap_lowerings() as count:
        yield
    if count() != times:
        raise AssertionError(f"Expected exactly {times} XLA compilations, but executed {count()}")
