# SPDX-License-Identifier: Apache-2.0
"""The error for a function that is traced more often than its option ``max_traces`` allows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...diagnostics.source_info import FunctionOrigin
from ...trees.flattening import debug_info_of_tree
from .options import JitOptions
from .retracing import described
from .trace_history import forget_trace, history_of, record_trace
from .trace_keys import TraceKey

__all__ = ["check"]


def check(
    fun: Any,
    options: JitOptions,
    traced: Collection[TraceKey],
    key: TraceKey,
    positions: Sequence[int] | None,
) -> None:
    """Raises RuntimeError, which explains each trace, if another trace would exceed the limit.

    Args:
      fun: the function.
      options: the function's options, with a limit.
      traced: the keys of the programs to which the function was traced.
      key: the key of the program for the current call.
      positions: the positions of the traced positional arguments; None for all.
    """
    limit = options.max_traces
    if limit is None or sum(other.options == options for other in traced) < limit:
        return
    record = record_trace(fun, key, debug_info_of_tree("jit", fun, key.in_tree, positions))
    records = [
        entry
        for entry in history_of(fun)
        if record and entry.function_id == record.function_id and entry.options == options
    ]
    forget_trace(record)
    times = "once" if limit == 1 else f"{limit} times"
    explanation = f":\n{described(records)}" if records else "."
    raise RuntimeError(
        f"{FunctionOrigin(fun).description} may be traced {times} (max_traces={limit}), and this "
        f"call would trace it again{explanation}\n"
        "Pass arguments of the same structure, types and static values, or raise max_traces."
    )
