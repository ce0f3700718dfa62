# SPDX-License-Identifier: Apache-2.0
"""Contexts of tests: flags, environment variables, captured output, listeners."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

from olympus_ir.diagnostics import monitoring
from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import State

__all__ = [
    "assert_global_configs_unchanged",
    "capture_stderr",
    "capture_stdout",
    "global_config_context",
    "register_event_duration_listener",
    "set_env",
    "thread_local_config_context",
]


@contextmanager
def global_config_context(**kwds: Any) -> Iterator[None]:
    """Sets flags for the process, and restores them afterwards."""
    previous = {name: config.read(name) for name in kwds}
    try:
        for name, value in kwds.items():
            config.update(name, value)
        yield
    finally:
        for name, value in previous.items():
            config.update(name, value)


@contextmanager
def thread_local_config_context(**kwds: Any) -> Iterator[None]:
    """Sets flags for the current thread.

    Flags that a thread cannot override are set for the process.
    """
    with ExitStack() as stack:
        for name, value in kwds.items():
            flag = config.flag(name)
            is_state = isinstance(flag, State)
            stack.enter_context(flag(value) if is_state else global_config_context(**{name: value}))
        yield


@contextmanager
def assert_global_configs_unchanged() -> Iterator[None]:
    """Compares the values of all flags before and after.

    Raises:
      AssertionError: the value of a flag has changed.
    """
    before = config.values
    yield
    after = config.values
    differing = {
        name: (value, after[name]) for name, value in before.items() if after[name] != value
    }
    if differing:
        raise AssertionError(f"Test changed global config values. Differing values: {differing}")


@contextmanager
def set_env(**kwargs: str | None) -> Iterator[None]:
    """Sets environment variables, or removes those with the value None, and restores them."""

    def put(values: dict[str, str | None]) -> None:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    previous = {name: os.environ.get(name) for name in kwargs}
    put(kwargs)
    try:
        yield
    finally:
        put(previous)


@contextmanager
def register_event_duration_listener(callback: Callable[..., None]) -> Iterator[None]:
    """Calls a function with the duration of each event."""
    monitoring.register_event_duration_secs_listener(callback)
    try:
        yield
    finally:
        monitoring.unregister_event_duration_listener(callback)


@contextmanager
def _captured(stream: TextIO) -> Iterator[Callable[[], str]]:
    """Yields a function that returns, afterwards, what was written to a stream.

    The text includes what native code writes to the file of the stream.
    """
    captured: list[str] = []

    def read() -> str:
        if not captured:
            raise ValueError("the captured text is read after the context has ended")
        return captured[0]

    stream.flush()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        kept = os.dup(stream.fileno())
        os.dup2(file.fileno(), stream.fileno())
        try:
            yield read
        finally:
            stream.flush()
            file.seek(0)
            captured.append(file.read())
            os.dup2(kept, stream.fileno())
            os.close(kept)


def capture_stdout() -> Any:
    """Captures the standard output; see `capture_stderr`."""
    return _captured(sys.stdout)


def capture_stderr() -> Any:
    """Returns a context that yields a function, which returns the captured text afterwards."""
    return _captured(sys.stderr)
