# SPDX-License-Identifier: Apache-2.0
"""Stages of a function for reports: traced, lowered and compiled."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from olympus_ir.settings.config_cache_flags import compilation_cache_include_metadata_in_key
from olympus_xla import jit
from olympus_xla.calls.stages import Compiled, Lowered, Traced

__all__ = ["Stages", "compiled_of", "format_bytes", "jitted", "stages_of"]


class Stages(NamedTuple):
    """A function that was traced, lowered and compiled.

    Attributes:
      traced: the traced function.
      lowered: the lowered program.
      compiled: the executable.
      seconds: the duration of each step, by name. The compilation may be that of an earlier call.
    """

    traced: Traced
    lowered: Lowered
    compiled: Compiled
    seconds: dict[str, float]


def jitted(fun: Callable[..., Any]) -> Any:
    """Returns the compiled form of a function, which may be compiled already.

    Raises:
      TypeError: ``fun`` is not callable, or was compiled for particular arguments already.
    """
    if isinstance(fun, Compiled):
        raise TypeError(
            "expected a function and its arguments, got a compiled program: pass the function, "
            "whose stages are measured one by one"
        )
    if not callable(fun):
        raise TypeError(
            f"expected a function and its arguments, got {fun!r} of type {type(fun).__name__}"
        )
    return fun if hasattr(fun, "lower") and hasattr(fun, "trace") else jit(fun)


def stages_of(fun: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Stages:
    """Traces, lowers and compiles a function for arguments, or for their types."""
    times = [time.perf_counter()]
    traced = jitted(fun).trace(*args, **kwargs)
    times.append(time.perf_counter())
    lowered = traced.lower()
    times.append(time.perf_counter())
    compiled = _compiled_in_a_call(traced) or _compiled(lowered)
    times.append(time.perf_counter())
    seconds = {
        name: end - start
        for name, start, end in zip(
            ("trace", "lower", "compile"), times[:-1], times[1:], strict=True
        )
    }
    earlier = getattr(getattr(compiled, "_executable", None), "compiled", None)
    if earlier is not None and earlier.seconds is not None:
        seconds["compile"] = earlier.seconds
    return Stages(traced, lowered, compiled, seconds)


def _compiled(lowered: Any) -> Compiled:
    with _keyed_by_lines():
        return lowered.compile()


@contextlib.contextmanager
def _keyed_by_lines() -> Iterator[None]:
    """Context manager that includes source lines in the keys of the cache on disk.

    Reports show lines, so they must not get the executable of a program with other lines.
    """
    before = compilation_cache_include_metadata_in_key.swap_local(True)
    try:
        yield
    finally:
        compilation_cache_include_metadata_in_key.set_local(before)


def compiled_of(fun: Any, args: tuple, kwargs: dict[str, Any]) -> Compiled:
    """Returns the executable of a function for arguments; returns a compiled stage unchanged."""
    if isinstance(fun, Compiled):
        return fun
    if isinstance(fun, Lowered):
        return fun.compile()
    if isinstance(fun, Traced):
        return fun.lower().compile()
    traced = jitted(fun).trace(*args, **kwargs)
    return _compiled_in_a_call(traced) or _compiled(traced.lower())


def _compiled_in_a_call(traced: Any) -> Compiled | None:
    """Returns the executable that a call has compiled, because a program is compiled only once."""
    return traced._compiled_in_a_call() if isinstance(traced, Traced) else None


def format_bytes(count: float) -> str:
    """Returns a number of bytes with a unit.

    Example:
      >>> format_bytes(1536), format_bytes(20)
      ('1.5 KiB', '20 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1024 or unit == "TiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit has no bound")
