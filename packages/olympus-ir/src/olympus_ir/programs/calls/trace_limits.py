# SPDX-License-Identifier: Apache-2.0
"""The error of a function that is traced more often than its option ``max_traces`` allows."""

from __future__ import annotations

from typing import Any, NoReturn

from ...diagnostics.source_info import FunctionOrigin
from .retracing import described
from .trace_history import TraceRecord, history_of

__all__ = ["refuse"]


def refuse(fun: Any, limit: int, record: TraceRecord | None) -> NoReturn:
    """Raises RuntimeError, which explains each trace of the function.

    Args:
      fun: the function.
      limit: the number of traces that its option allows.
      record: the record of the trace that is refused.
    """
    records = [
        each for each in history_of(fun) if record and each.function_id == record.function_id
    ]
    times = "once" if limit == 1 else f"{limit} times"
    explanation = f":\n{described(records)}" if records else "."
    raise RuntimeError(
        f"{FunctionOrigin(fun).description} may be traced {times} (max_traces={limit}), and this "
        f"call would trace it again{explanation}\n"
        "Pass arguments of the same structure, types and static values, or raise max_traces."
    )
