# SPDX-License-Identifier: Apache-2.0
"""`explain`: the causes of repeated traces and compilations of functions."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.calls.retracing import (
    Cause,
    Line,
    arguments_of,
    causes_of,
    compilation_causes,
    line_of,
    stale_values,
)
from olympus_ir.programs.calls.trace_history import (
    TraceRecord,
    histories,
    history_of,
    next_number,
    traced_function,
)

from . import pages

__all__ = ["Cause", "Explanation", "Line", "Recompilation", "Trace", "explain"]


class Recompilation(NamedTuple):
    """A second or later compilation of one traced program.

    Attributes:
      causes: the differences from the previous compilation.
    """

    causes: tuple[Cause, ...]


class Trace(NamedTuple):
    """One trace of a function.

    Attributes:
      function: the function's name and line.
      number: the position of the trace among the traces of the function, counted from 1.
      line: the line of the call; None if it is not known.
      seconds: the duration of the trace.
      arguments: a text ``name: type`` for each argument.
      causes: differences from the most similar earlier trace; none for the first.
      recompilations: the compilations of the program after its first one.
      stale: variables that have changed since the trace; the program keeps their old values.
    """

    function: str
    number: int
    line: Line | None
    seconds: float
    arguments: tuple[str, ...]
    causes: tuple[Cause, ...]
    recompilations: tuple[Recompilation, ...]
    stale: tuple[Cause, ...]


class Explanation:
    """The traces of functions, with the cause of each.

    As a context manager, an explanation covers the traces and compilations in the ``with`` block.

    Attributes:
      traces: the traces, in order, grouped by function.
    """

    def __init__(self, fun: Callable[..., Any] | None = None) -> None:
        self._function = fun
        self._first = 0
        self._last: int | None = None
        self._traces: tuple[Trace, ...] | None = None

    def __enter__(self) -> Explanation:
        self._first, self._last, self._traces = next_number(), None, None
        return self

    def __exit__(self, *raised: object) -> None:
        self._last = next_number()
        self._traces = tuple(self._collected())

    @property
    def traces(self) -> tuple[Trace, ...]:
        return tuple(self._collected()) if self._traces is None else self._traces

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of all traces and compilations, in order."""
        return tuple(
            cause
            for trace in self.traces
            for causes in (
                trace.causes,
                *(recompilation.causes for recompilation in trace.recompilations),
            )
            for cause in causes
        )

    def __len__(self) -> int:
        return len(self.traces)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    def _collected(self) -> Iterator[Trace]:
        groups = (
            map(list, list(histories.values()))
            if self._function is None
            else [history_of(self._function)]
        )
        for records in groups:
            for position, record in enumerate(records):
                if self._is_of_another_function(record):
                    continue
                if self._covers(record.number) or any(
                    self._covers(compilation.number) for compilation in record.compilations[1:]
                ):
                    yield self._trace(record, records[:position])

    def _is_of_another_function(self, record: TraceRecord) -> bool:
        fun = self._function
        if fun is None or record.function is None:
            return False
        return record.function() != traced_function(fun)

    def _covers(self, number: int) -> bool:
        return self._first <= number and (self._last is None or number < self._last)

    def _trace(self, record: TraceRecord, earlier: Sequence[TraceRecord]) -> Trace:
        return Trace(
            record.debug_info.func_src_info,
            len(earlier) + 1,
            line_of(record),
            record.seconds,
            tuple(arguments_of(record)),
            causes_of(record, earlier) if self._covers(record.number) else (),
            tuple(
                Recompilation(compilation_causes(record, compilation))
                for compilation in record.compilations[1:]
                if self._covers(compilation.number)
            ),
            stale_values(record),
        )

    def __str__(self) -> str:
        groups = itertools.groupby(self.traces, key=lambda trace: trace.function)
        texts = [_text_of_function(function, list(group)) for function, group in groups]
        if not texts and self._function is not None:
            return "The function has not been traced."
        return "\n\n".join(texts) or "No function has been traced."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        groups = itertools.groupby(self.traces, key=lambda trace: trace.function)
        parts = [_html_of_function(function, list(group)) for function, group in groups]
        return pages.fragment(*(parts or [pages.escaped(self)]))

    @api_boundary
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as an HTML file that opens without a network."""
        pages.save(path, "Why was it traced again?", self)


class _Explain:
    """Reports why functions were traced or compiled again.

    A call ``explain(f)`` lists the traces of ``f``. For each trace after the first, the report
    names the cause by the path of the argument. A line in a loop may make a new function, such as a
    lambda, in each iteration. The first trace of the new function then has a cause, too. Calls of
    compiled functions record nothing; only traces and compilations do.

    Without a function, the report covers all functions of the user's program. The report is also a
    context manager that covers the traces inside the ``with`` block.

    The most similar earlier trace is chosen by a heuristic: the trace with the fewest differences.

    Args:
      fun: a function that `jit` has returned, or the function given to `jit`; None for all.

    Returns:
      An `Explanation`: ``traces`` and ``causes`` as records, a text, and a table in notebooks.

    Raises:
      TypeError: ``fun`` is not callable.

    Example:
      >>> import numpy as np
      >>> from olympus_xla import jit
      >>> @jit
      ... def total(params):
      ...     return params["w"].sum()
      >>> with explain() as report:
      ...     for size in (3, 3, 4):
      ...         _ = total({"w": np.zeros(size)})
      >>> print(report.causes[0])
      params['w']: shape f32[4], before f32[3]
    """

    __name__ = __qualname__ = "explain"

    def __init__(self) -> None:
        # `help` and the public modules read and set these attributes, as they do for functions.
        self.__module__ = __name__
        self.__doc__ = type(self).__doc__

    def __repr__(self) -> str:
        return "<function explain>"

    @api_boundary
    def __call__(self, fun: Callable[..., Any] | None = None) -> Explanation:
        if fun is not None and not callable(fun):
            raise TypeError(f"explain takes a function, got {fun!r} of type {type(fun).__name__}")
        return Explanation(fun)

    @staticmethod
    def at_exit() -> None:
        """Prints, at the end of the process, a report on functions that are traced repeatedly.

        The report covers the traces after this call.

        Example:
          >>> explain.at_exit()  # doctest: +SKIP
        """
        report = Explanation()
        report.__enter__()
        atexit.register(_print_retraced, report)


explain = _Explain()


def _print_retraced(report: Explanation) -> None:
    report.__exit__()
    counted = [trace for trace in report.traces if trace.causes or trace.recompilations]
    retraced = {trace.function for trace in counted}
    report._traces = tuple(trace for trace in report.traces if trace.function in retraced)
    if retraced:
        print(report, file=sys.stderr)
    else:
        print("No function was traced more than once.", file=sys.stderr)


# ---- text ----


def _summary(function: str, traces: Sequence[Trace]) -> str:
    count = len(traces)
    again = sum(len(trace.recompilations) for trace in traces)
    compiled = f", and compiled {_times(again)} more" if again else ""
    return f"{function} was traced {_times(count)}{compiled}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _text_of_function(function: str, traces: Sequence[Trace]) -> str:
    lines = [f"{_summary(function, traces)}."]
    for trace in traces:
        location = f", called at {trace.line}" if trace.line else ""
        lines.append(f"  trace {trace.number}{location} ({trace.seconds * 1000:.1f} ms)")
        if trace.causes:
            lines += [f"    {cause}" for cause in trace.causes]
        else:
            lines.append(f"    for {', '.join(trace.arguments) or 'no arguments'}")
        for recompilation in trace.recompilations:
            lines.append("    compiled again:")
            lines += [f"      {cause}" for cause in recompilation.causes]
    lines += [f"  {text}" for text in _stale_texts(traces)]
    return "\n".join(lines)


def _stale_texts(traces: Sequence[Trace]) -> list[str]:
    return [
        f"Note: the {cause.kind} `{cause.path}` is {cause.now} now; the program traced last keeps "
        f"{cause.before}."
        for cause in traces[-1].stale
    ]


def _html_of_function(function: str, traces: Sequence[Trace]) -> str:
    rows = []
    for trace in traces:
        causes = [str(cause) for cause in trace.causes] or [f"for {', '.join(trace.arguments)}"]
        causes += [
            f"compiled again: {cause}"
            for recompilation in trace.recompilations
            for cause in recompilation.causes
        ]
        location = trace.line or ""
        rows.append((trace.number, location, f"{trace.seconds * 1000:.1f} ms", "; ".join(causes)))
    notes = "".join(f'<p class="note">{pages.escaped(text)}</p>' for text in _stale_texts(traces))
    return (
        f"<h3>{pages.escaped(_summary(function, traces))}</h3>"
        + pages.table(("trace", "called at", "time", "cause"), rows)
        + notes
    )
