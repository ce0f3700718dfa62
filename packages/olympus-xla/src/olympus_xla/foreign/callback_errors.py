# SPDX-License-Identifier: Apache-2.0
"""Threads and exceptions of Python functions called by compiled programs.

XLA turns an exception into a message. The function's wrapper therefore stores the exception with
the user's traceback. The stored exception becomes the cause of the error that XLA raises.

In a program on several devices, the device whose function fails would stop, and the others would
wait for it in the next collective until XLA ends the process. `DeferredErrors` keeps the exception
until the program has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.diagnostics.encodable import encodable
from olympus_ir.diagnostics.source_info import SourceInfo, unknown_source
from olympus_ir.diagnostics.traceback_filtering import filter_exception, filter_text
from olympus_ir.diagnostics.traced_lines import traced_at
from olympus_ir.loading import deferred
from olympus_ir.settings.config_states import current_scope, scope

from .._jaxlib import JaxRuntimeError
from ..platforms import backends

if TYPE_CHECKING:
    import traceback
else:
    traceback = deferred("traceback", milliseconds=0.7)

_calls = threading.local()
_lock = threading.Lock()
# Exceptions of callbacks, with the user's line of each call, if it is known.
_raised: list[tuple[BaseException, str]] = []
_MOST_KEPT = 16


@contextmanager
def calling_back(name: str = "", source: SourceInfo = unknown_source) -> Iterator[None]:
    """Context manager that stores exceptions of a Python function called by a compiled program.

    Args:
      name: the name of the operation that calls the function.
      source: the origin of the operation.
    """
    outer, _calls.active = in_callback(), True
    try:
        yield
    except BaseException as error:
        remember(error, traced_at(name, source))
        _check_encodable(error)
        raise
    finally:
        _calls.active = outer


def _check_encodable(error: BaseException) -> None:
    """Raises another error if the text of an exception would end the process in C++."""
    text = "".join(traceback.format_exception(error))
    if encodable(text) != text:
        lines = traceback.format_exception_only(error)
        raise RuntimeError(encodable("".join(lines).strip())) from None


def in_callback() -> bool:
    """Returns whether the thread runs a Python function for a compiled program."""
    return getattr(_calls, "active", False)


def remember(error: BaseException, place: str = "") -> None:
    """Stores an exception that a callback raised, and the user's line of the call."""
    with _lock:
        _raised.append((error, place))
        del _raised[:-_MOST_KEPT]


def raise_callback_error(error: Exception) -> None:
    """Raises a runtime error, with the callback's exception, if any, as its cause.

    An exception that ends the program, such as `SystemExit`, is raised itself.
    """
    original, place = _cause_and_place(error)
    if isinstance(original, Exception):
        filter_exception(original)
        text = filter_text(str(error))
        raise JaxRuntimeError(f"{text}\n{place}" if place else text) from original
    if original is not None:
        raise original from error


def find_cause(error: Exception) -> BaseException | None:
    """Returns the callback exception that caused a runtime error, and drops it from the store."""
    return _cause_and_place(error)[0]


def _cause_and_place(error: Exception) -> tuple[BaseException | None, str]:
    text = str(error)
    if "callback" not in text.lower():
        return None, ""
    with _lock:
        for position in reversed(range(len(_raised))):
            if type(_raised[position][0]).__name__ in text:
                return _raised.pop(position)
    return None, ""


# The scope of a thread that runs a function for a program on several devices. It is part of the key
# of compiled functions, so that their calls enter Python.
_SCOPE = "callback_for_several_devices"


def check_can_start() -> None:
    """Raises an error if a program on several devices cannot start before its caller ends.

    Raises:
      RuntimeError: the thread runs a Python function for a program on several devices.
    """
    if current_scope(_SCOPE):
        raise RuntimeError(
            "a callback of a program on several devices called a function of arrays on several "
            "devices. That would start when the program has ended, which waits for the callback. "
            "Compute on one device in the callback, for example with np.asarray(x)."
        )


class AnnouncedErrors:
    """Exceptions of the functions of one program of several processes.

    The device whose function fails stops. The other processes would wait for it in the next
    collective, so this process leaves the shared program.
    """

    def guarding(
        self, function: Callable[..., Any], result_types: Sequence[Any]
    ) -> Callable[..., Any]:
        """Returns a function that announces exceptions of ``function`` and raises them.

        Args:
          function: the function that the program calls.
          result_types: the types of its results.
        """

        def call(*views: Any) -> Any:
            try:
                return function(*views)
            except BaseException as error:
                if backends.distributed_runtime is not None:
                    backends.distributed_runtime.announce_failure(
                        "a callback of this process raised "
                        f"{type(error).__name__} in a computation of several processes"
                    )
                raise

        return call


class DeferredErrors:
    """Exceptions of the functions of one program on several devices, raised when it has ended.

    After an exception, the program calls no more functions. It computes with zeros in place of
    their results, and `raised_at_end` keeps its own results from the user.
    """

    # A loop may wait for a result that zeros never give. After this many calls that return zeros,
    # the device stops after all, and XLA ends the process.
    MOST_SKIPPED = 100_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._skipped = 0
        self._error: JaxRuntimeError | None = None

    def guarding(
        self, function: Callable[..., Any], result_types: Sequence[Any]
    ) -> Callable[..., Any]:
        """Returns a function that stores exceptions of ``function``, and returns zeros then.

        Args:
          function: the function that the program calls.
          result_types: the types of its results, as objects with ``shape`` and ``dtype``.
        """

        def call(*views: Any) -> Any:
            if self._error is None:
                try:
                    with scope(_SCOPE, True):
                        return function(*views)
                except BaseException as error:
                    filter_exception(error)
                    self._store(traceback.format_exc())
            self._skip()
            return tuple(np.zeros(type_.shape, type_.dtype) for type_ in result_types)

        return call

    def _store(self, trace: str) -> None:
        with self._lock:
            if self._error is None:
                self._error = JaxRuntimeError(
                    f"INTERNAL: error calling callback: {filter_text(trace)}"
                )

    def _skip(self) -> None:
        with self._lock:
            self._skipped += 1
            if self._skipped > self.MOST_SKIPPED and self._error is not None:
                raise self._error

    @contextmanager
    def raised_at_end(self) -> Iterator[None]:
        """Context manager of one run, from its start to its end, which raises a stored exception.

        Concurrent runs share the callbacks, so all of them raise the exception.
        """
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                error = self._error
                if not self._running:
                    self._error, self._skipped = None, 0
        if error is not None:
            raise error
