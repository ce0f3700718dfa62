# SPDX-License-Identifier: Apache-2.0
"""Lists of the registered listeners, under the names of JAX's private module."""

from __future__ import annotations

from olympus_ir.diagnostics import monitoring
from olympus_ir.diagnostics.monitoring import Listener

__all__ = [
    "get_event_duration_listeners",
    "get_event_listeners",
    "get_event_time_span_listeners",
    "get_scalar_listeners",
]


def get_event_listeners() -> list[Listener]:
    """Returns a new list of the listeners of events.

    Example:
      >>> get_event_listeners()
      []
    """
    return list(monitoring._events)


def get_event_duration_listeners() -> list[Listener]:
    """Returns a new list of the listeners of durations."""
    return list(monitoring._durations)


def get_event_time_span_listeners() -> list[Listener]:
    """Returns a new list of the listeners of time spans."""
    return list(monitoring._time_spans)


def get_scalar_listeners() -> list[Listener]:
    """Returns a new list of the listeners of scalars."""
    return list(monitoring._scalars)
