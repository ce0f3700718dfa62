# SPDX-License-Identifier: Apache-2.0
"""Phases of compilation, timed for listeners and for the log.

The events have JAX's names, by which programs that count or time compilations know them.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ..loading import deferred
from ..settings.config_states import log_compiles
from . import monitoring

__all__ = ["Phase", "compiling", "lowering", "note", "tracing"]

if TYPE_CHECKING:
    import logging
else:
    logging = deferred("logging", milliseconds=4.0)

_TRACING = "/jax/core/compile/jaxpr_trace_duration"
_LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_COMPILING = "/jax/core/compile/backend_compile_duration"


class Phase:
    """Context manager that times its body, reports the time to listeners, and logs it.

    Args:
      event: the name of the event.
      name: the computation's name.
      message: the log message, a format string of the name and the seconds.

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

    __slots__ = ("event", "message", "name", "started")

    def __init__(self, event: str, name: str, message: str) -> None:
        self.event = event
        self.name = name
        self.message = message

    def __enter__(self) -> None:
        self.started = time.time()
        monitoring.record_scalar(self.event, self.started, fun_name=self.name)

    def __exit__(self, *raised: object) -> None:
        ended = time.time()
        seconds = ended - self.started
        note(self.message, self.name, seconds)
        monitoring.record_event_duration_secs(self.event, seconds, fun_name=self.name)
        monitoring.record_event_time_span(self.event, self.started, ended, fun_name=self.name)


def note(message: str, *values: Any) -> None:
    """Logs a step of a compilation, as a warning if the flag ``log_compiles`` is set."""
    if not log_compiles.value and "logging" not in sys.modules:
        return  # nobody can be listening, and the import takes milliseconds
    level = logging.WARNING if log_compiles.value else logging.DEBUG
    logging.getLogger("olympus.compilation").log(level, message, *values)


def tracing(name: str) -> Phase:
    """The phase in which a function becomes a program."""
    return Phase(_TRACING, name, "Finished tracing %s for jit in %.9f sec")


def lowering(name: str) -> Phase:
    """The phase in which a program becomes a module for the compiler."""
    return Phase(_LOWERING, name, "Finished jaxpr to MLIR module conversion %s in %.9f sec")


def compiling(name: str) -> Phase:
    """The phase in which a module becomes machine code."""
    return Phase(_COMPILING, name, "Finished XLA compilation of %s in %.9f sec")
