# SPDX-License-Identifier: Apache-2.0
"""Monitoring: reports events, durations, time spans and scalars to listeners.

An event is named by a path such as ``"/olympus/compilation"``. Listeners get the recorded values
and the keyword arguments of the recording call. Without listeners, recording does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]

Listener = Callable[..., Any]

_events: list[Listener] = []
_durations: list[Listener] = []
_time_spans: list[Listener] = []
_scalars: list[Listener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Reports an event to the listeners.

    Args:
      event: the name of the event.
      **kwargs: further properties of the event.

    Example:
      >>> register_event_listener(lambda event, **properties: print(event, properties))
      >>> record_event("/example/started", rank=0)
      /example/started {'rank': 0}
      >>> clear_event_listeners()
    """
    for listener in _events:
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Reports the duration of an event, in seconds.

    Example:
      >>> register_event_duration_secs_listener(lambda event, duration: print(event, duration))
      >>> record_event_duration_secs("/example/step", 0.5)
      /example/step 0.5
      >>> clear_event_listeners()
    """
    for listener in _durations:
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Reports the start and the end of an event, in seconds since the epoch.

    Example:
      >>> register_event_time_span_listener(lambda event, start, end: print(event, end - start))
      >>> record_event_time_span("/example/step", 10.0, 12.5)
      /example/step 2.5
      >>> clear_event_listeners()
    """
    for listener in _time_spans:
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Reports a scalar value.

    Example:
      >>> register_scalar_listener(lambda event, value: print(event, value))
      >>> record_scalar("/example/loss", 0.25)
      /example/loss 0.25
      >>> clear_event_listeners()
    """
    for listener in _scalars:
        listener(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Calls ``callback(event, **kwargs)`` for each recorded event.

    Example:
      >>> heard = []
      >>> register_event_listener(lambda event, **_: heard.append(event))
      >>> record_event("/example/started")
      >>> heard
      ['/example/started']
      >>> clear_event_listeners()
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Calls ``callback(event, duration, **kwargs)`` for each recorded duration, in seconds.

    Example:
      >>> heard = []
      >>> register_event_duration_secs_listener(lambda *given: heard.append(given))
      >>> record_event_duration_secs("/example/step", 0.5)
      >>> heard
      [('/example/step', 0.5)]
      >>> clear_event_listeners()
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Calls ``callback(event, start_time, end_time, **kwargs)`` for each recorded time span.

    Example:
      >>> heard = []
      >>> register_event_time_span_listener(lambda *given: heard.append(given))
      >>> record_event_time_span("/example/step", 10.0, 12.5)
      >>> heard
      [('/example/step', 10.0, 12.5)]
      >>> clear_event_listeners()
    """
    _time_spans.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Calls ``callback(event, value, **kwargs)`` for each recorded scalar.

    Example:
      >>> heard = []
      >>> register_scalar_listener(lambda *given: heard.append(given))
      >>> record_scalar("/example/loss", 0.25)
      >>> heard
      [('/example/loss', 0.25)]
      >>> clear_event_listeners()
    """
    _scalars.append(callback)


def _unregister(listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise ValueError(f"{callback} is not registered as a listener of this kind")
    listeners.remove(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Removes a listener that `register_event_listener` added.

    Example:
      >>> heard = []
      >>> register_event_listener(heard.append)
      >>> unregister_event_listener(heard.append)
      >>> record_event("/example/started")
      >>> heard
      []
    """
    _unregister(_events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Removes a listener that `register_event_duration_secs_listener` added.

    Example:
      >>> heard = []
      >>> register_event_duration_secs_listener(heard.append)
      >>> unregister_event_duration_listener(heard.append)
      >>> record_event_duration_secs("/example/step", 0.5)
      >>> heard
      []
    """
    _unregister(_durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Removes a listener that `register_event_time_span_listener` added.

    Example:
      >>> heard = []
      >>> register_event_time_span_listener(heard.append)
      >>> unregister_event_time_span_listener(heard.append)
      >>> record_event_time_span("/example/step", 10.0, 12.5)
      >>> heard
      []
    """
    _unregister(_time_spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Removes a listener that `register_scalar_listener` added.

    Example:
      >>> heard = []
      >>> register_scalar_listener(heard.append)
      >>> unregister_scalar_listener(heard.append)
      >>> record_scalar("/example/loss", 0.25)
      >>> heard
      []
    """
    _unregister(_scalars, callback)


def clear_event_listeners() -> None:
    """Removes all listeners.

    Example:
      >>> heard = []
      >>> register_event_listener(heard.append)
      >>> clear_event_listeners()
      >>> record_event("/example/started")
      >>> heard
      []
    """
    for listeners in (_events, _durations, _time_spans, _scalars):
        listeners.clear()
