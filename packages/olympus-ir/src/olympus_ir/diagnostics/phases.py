# SPDX-License-Identifier: Apache-2.0
"""Phases of compilation, timed for listeners and for the log.

Events have JAX's names, because programs that count or time compilations expect them.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ..loading import deferred, timed_import
from ..settings.config_states import log_compiles
from ..settings.naming import logger_name
from . import monitoring

__all__ = [
    "Phase",
    "compiling",
    "loaded_at",
    "lowering",
    "note",
    "phase_counts",
    "seconds_spent",
    "tracing",
]

if TYPE_CHECKING:
    import logging
else:
    logging = deferred("logging", milliseconds=4.0)

#: For each kind of phase, the seconds without inner phases, and the number of phases.
seconds_spent: dict[str, float] = {"tracing": 0.0, "lowering": 0.0, "compiling": 0.0}
phase_counts: dict[str, int] = dict.fromkeys(seconds_spent, 0)
#: The time at which this module was imported.
loaded_at = time.time()
_spending = threading.Lock()


class _Thread(threading.local):
    """The innermost phase of each thread."""

    phase: Phase | None = None


_thread = _Thread()

_TRACING = "/jax/core/compile/jaxpr_trace_duration"
_LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_COMPILING = "/jax/core/compile/backend_compile_duration"


class Phase:
    """Context manager that times its body, reports the time to listeners, and logs it.

    Args:
      event: the name of the event.
      name: the computation's name.
      message: the log message, a format string of the name and the seconds.
      kind: the entry of `seconds_spent` to which the phase adds its time, or None.

    Example:
      >>> from olympus_ir.diagnostics import monitoring
      >>> def listener(event, seconds, fun_name):
      ...     print(event, fun_name)
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> with Phase("/packing", "boxes", "Packed %s in %.9f sec"):
      ...     pass
      /packing boxes
      >>> monitoring.unregister_event_duration_listener(listener)
    """

    __slots__ = ("event", "imported", "inner", "kind", "message", "name", "outer", "started")

    def __init__(self, event: str, name: str, message: str, kind: str | None = None) -> None:
        self.event = event
        self.name = name
        self.message = message
        self.kind = kind

    def __enter__(self) -> None:
        self.inner = 0.0
        self.imported = timed_import.seconds
        self.outer, _thread.phase = _thread.phase, self
        self.started = time.time()
        monitoring.record_scalar(self.event, self.started, fun_name=self.name)

    def __exit__(self, *raised: object) -> None:
        ended = time.time()
        seconds = ended - self.started
        _thread.phase = self.outer
        if self.outer is not None:
            self.outer.inner += seconds - (timed_import.seconds - self.imported)
        if self.kind is not None:
            own = seconds - self.inner - (timed_import.seconds - self.imported)
            with _spending:
                seconds_spent[self.kind] += own
                phase_counts[self.kind] += 1
        note("dispatch", self.message, self.name, seconds)
        monitoring.record_event_duration_secs(self.event, seconds, fun_name=self.name)
        monitoring.record_event_time_span(self.event, self.started, ended, fun_name=self.name)


def note(subject: str, message: str, *values: Any) -> None:
    """Logs a step of a compilation, as a warning if the flag ``log_compiles`` is set.

    Args:
      subject: the subject of the logger; see `logger_name`.
      message: the message, a format string of the values.
      *values: the values.
    """
    is_shown = log_compiles.value
    if not is_shown and "logging" not in sys.modules:
        return  # Nobody can see the message, so the slow import of logging is avoided.
    logger = _logger(logger_name(subject))
    level = _WARNING if is_shown else _DEBUG
    if logger.isEnabledFor(level):
        logger.log(level, message, *values)


@functools.cache
def _logger(name: str) -> logging.Logger:
    # `logging.getLogger` takes a lock, and every trace notes a step.
    return logging.getLogger(name)


# The values of logging.DEBUG and logging.WARNING.
_DEBUG, _WARNING = 10, 30


def tracing(name: str) -> Phase:
    """Returns the phase in which a function becomes a program."""
    return Phase(_TRACING, name, "Finished tracing %s for jit in %.9f sec", "tracing")


def lowering(name: str) -> Phase:
    """Returns the phase in which a program becomes a module for the compiler."""
    message = "Finished jaxpr to MLIR module conversion %s in %.9f sec"
    return Phase(_LOWERING, name, message, "lowering")


def compiling(name: str) -> Phase:
    """Returns the phase in which a module becomes machine code."""
    return Phase(_COMPILING, name, "Finished XLA compilation of %s in %.9f sec", "compiling")
