# SPDX-License-Identifier: Apache-2.0
"""Queries of the current tracing state, for libraries whose objects must not cross traces."""

from __future__ import annotations

import weakref
from typing import Any

from ..programs import tracing
from ..programs.leaks import check_leaks
from ..programs.tracing import Trace, current, evaluation_trace

__all__ = [
    "OpaqueTraceState",
    "TraceTag",
    "am_i_under_a_trace",
    "am_i_under_a_vmap",
    "axis_names",
    "eval_context",
    "find_top_trace",
    "get_opaque_trace_state",
    "nonempty_axis_env",
    "set_current_trace",
    "take_current_trace",
    "trace_state_clean",
]


class TraceTag:
    """Identity of a transformation, which distinguishes its tracers from other tracers."""

    def __init__(self) -> None:
        self._finished = False

    def invalidate(self) -> None:
        """Marks the transformation as finished."""
        self._finished = True

    def is_valid(self) -> bool:
        return not self._finished


class OpaqueTraceState:
    """Snapshot of the tracing state, equal to snapshots with the same trace and axes."""

    __slots__ = ("_axes", "_trace")

    def __init__(self) -> None:
        self._trace = weakref.ref(current.trace)
        self._axes = current.axes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return NotImplemented
        trace = self._trace()
        return trace is not None and trace is other._trace() and self._axes == other._axes

    __hash__ = None  # type: ignore[assignment]


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Returns a snapshot of the tracing state, to be compared later.

    Args:
      convention: the name of the calling library; ignored.

    Example:
      >>> get_opaque_trace_state() == get_opaque_trace_state()
      True
    """
    return OpaqueTraceState()


def find_top_trace(_: Any) -> Trace:
    """Returns the current interpreter of primitives, whatever the operands are."""
    return current.trace


def trace_state_clean() -> bool:
    """Returns whether nothing is being traced and no named axis is bound."""
    return current.trace is evaluation_trace and not current.axes.sizes


class set_current_trace(tracing.set_current_trace):
    """Context manager that makes an interpreter the current interpreter.

    Args:
      trace: the interpreter; None for plain evaluation.
      check_leaks: whether to raise an error at the end if values of the interpreter are still
        referred to.
    """

    __slots__ = ("check_leaks",)

    def __init__(self, trace: Trace | None, check_leaks: bool = False) -> None:
        super().__init__(evaluation_trace if trace is None else trace)
        self.check_leaks = check_leaks

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        if self.check_leaks:
            check_leaks(self.trace)


class take_current_trace(set_current_trace):
    """Context manager that returns the current interpreter, and suspends it in the body."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None)

    def __enter__(self) -> Trace:
        super().__enter__()
        return self.prev


def eval_context() -> set_current_trace:
    """Returns a context manager that evaluates operations on concrete values immediately.

    Example:
      >>> with eval_context():
      ...     trace_state_clean()
      True
    """
    return set_current_trace(evaluation_trace)


def axis_names() -> list[Any]:
    """Returns the names of all axes in scope."""
    return list(current.axes.sizes)


def nonempty_axis_env() -> bool:
    """Returns whether a named axis is bound."""
    return bool(current.axes.sizes)


def am_i_under_a_trace() -> bool:
    """Returns whether a function is being staged, as under ``jit``."""
    return "StagingTrace" in _names_of_traces()


def am_i_under_a_vmap() -> bool:
    """Returns whether a function is being batched."""
    return "BatchTrace" in _names_of_traces()


def _names_of_traces() -> set[str]:
    names = set()
    trace: Trace | None = current.trace
    while trace is not None:
        names.add(type(trace).__name__)
        trace = trace.parent
    return names
