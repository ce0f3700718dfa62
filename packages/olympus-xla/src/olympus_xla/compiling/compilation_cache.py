# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache: executables on disk for later processes.

The flag ``olympus_compilation_cache_dir`` names a directory for the programs of all platforms.
Without the flag, only programs for CPUs are stored, in the user's cache folder (`cache_folder`).
The flag ``olympus_enable_compilation_cache`` switches the cache on or off. The key of an entry
covers everything on which the compiler's output depends (`cache_key.executable_key`), so entries
never become stale.

The user's folder is used by default, so its failures must not disturb programs: the process warns
once and continues without the folder. Events of this cache are not reported to listeners.

Loading an entry runs its machine code. Anyone who can write to the directory can run code in the
processes that use it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics import monitoring
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.loading import deferred
from olympus_ir.settings import config_cache_flags as flags
from olympus_ir.settings import config_states
from olympus_ir.settings.naming import logger_name

from .. import _jaxlib
from . import cache_folder, cache_key, cache_usage
from .cache_store import SUFFIX, ProgramCache, UserCache

if TYPE_CHECKING:
    from .lowering import mlir
else:
    # Programs that are found on disk need no MLIR.
    mlir = deferred(".lowering.mlir", milliseconds=60.0)

__all__ = [
    "cache_in_use",
    "is_initialized",
    "present_cache",
    "reset_cache",
    "set_cache_dir",
    "substitute",
]


# ---- the cache of the process ----

_cache: ProgramCache | None = None
_substitute: ProgramCache | None = None
_told_disabled = False  # whether listeners have been told that a flag turns the cache off


def cache_in_use(platform: str = "") -> ProgramCache | None:
    """Returns the cache chosen by the flags; None if programs are not stored.

    Args:
      platform: the platform of the program; the user's folder holds programs for ``"cpu"``.
    """
    global _cache, _told_disabled
    directory = flags.compilation_cache_dir.value
    if not directory and _substitute is None:
        return _user_cache() if platform == "cpu" else None
    if not flags.enable_compilation_cache.value:
        if not _told_disabled:
            _told_disabled = True
            monitoring.record_event(_EVENTS + "task_disabled_cache")
        return None
    if flags.compilation_cache_max_size.value == 0:
        return None
    if _substitute is not None:
        if _cache is not _substitute:
            _cache = _substitute
            _record(_cache, "tasks_using_cache")
    elif _cache is None or os.fspath(_cache.directory) != os.path.normpath(directory):
        _cache = ProgramCache(directory)
        _log(
            _cache, "compilation_cache", "Initialized persistent compilation cache at %s", directory
        )
        _record(_cache, "tasks_using_cache")
    return _cache


def present_cache() -> ProgramCache | None:
    """Returns the cache of the user's choice that the process uses at the moment, or None."""
    return _cache if _substitute is None else _substitute


def substitute(cache: ProgramCache | None) -> None:
    """Uses the given cache; with None, the cache in the directory that a flag names."""
    global _cache, _substitute
    _cache, _substitute = None, cache


def is_initialized() -> bool:
    """Returns whether a directory named by a flag has been used.

    Uses before the last `reset_cache` do not count.
    """
    return _cache is not None


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Sets the directory of the persistent cache.

    This is the same as setting the flag ``olympus_compilation_cache_dir``. Anyone who can write to
    the directory can run code in the processes that use it.

    Args:
      path: the directory.

    Example:
      >>> import tempfile
      >>> set_cache_dir(tempfile.mkdtemp())
    """
    flags.compilation_cache_dir.update(os.fspath(path))


def reset_cache() -> None:
    """Resets the cache's state in this process. The entries stay on disk.

    Example:
      >>> reset_cache()
      >>> is_initialized()
      False
    """
    global _cache, _substitute, _told_disabled, _user
    _cache, _substitute, _told_disabled, _user = None, None, False, None
    _failed.clear()


# ---- the user's folder ----

# The value of the flag ``olympus_cache_dir``, and the cache in the user's folder. The cache is None
# if the folder cannot be used.
_user: tuple[str | None, UserCache | None] | None = None
_user_lock = threading.Lock()


def _user_cache() -> UserCache | None:
    global _user
    if not flags.enable_compilation_cache.value or flags.compilation_cache_max_size.value == 0:
        return None
    chosen = flags.cache_dir.value
    found = _user
    if found is None or found[0] != chosen:
        with _user_lock:
            found = _user
            if found is None or found[0] != chosen:
                found = _user = (chosen, _opened_user_cache())
    return found[1]


def _opened_user_cache() -> UserCache | None:
    try:
        cache = UserCache()
    except OSError as error:
        cache_folder.warn_quietly(
            f"compiled programs are not kept on disk: {error}. OLYMPUS_ENABLE_COMPILATION_CACHE=0 "
            "turns the cache off"
        )
        return None
    cache_usage.directory = cache.directory
    return cache


# ---- compilation through the cache ----

_EVENTS = "/jax/compilation_cache/"
# Kinds of failures that have occurred, as pairs of the cache's directory and the kind.
_failed: set[tuple[Path, str]] = set()


def load_or_compile(
    cache: ProgramCache,
    module: Any,
    devices: Sequence[Any],
    options: Any,
    compile_module: Callable[[Any], Any],
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> tuple[Any, bytes | None, str | None]:
    """Loads an executable from the cache, or compiles a new one.

    A new executable is stored if its compilation took long enough.

    Args:
      cache: the cache.
      module: the MLIR module.
      devices: the devices on which the module runs.
      options: XLA's compile options.
      compile_module: a function that compiles the module with the options.
      host_callbacks: Python functions for a loaded executable; see `waiting`.

    Returns:
      The executable; its bytes if it was loaded, or None if it was compiled; and the name of the
      file that holds it, or None if it is not stored.
    """
    key = cache_key.executable_key(module, devices, options, is_asked_for=cache.is_asked_for)
    if key is None:
        return compile_module(options), None, None
    _record(cache, "compile_requests_use_cache")
    name = mlir.module_name(module)
    path = cache.path_of(name, key)
    shown = path.name.removesuffix(SUFFIX)
    started = time.monotonic()
    try:
        found = cache.get(path)
        if found is not None:
            loaded = _jaxlib.deserialize_executable(found[0], devices, options, host_callbacks)
            seconds = time.monotonic() - started
            cache_usage.hits += 1
            _record(cache, "cache_hits")
            _record_seconds(cache, "compile_time_saved_sec", found[1] - seconds)
            _record_seconds(cache, "cache_retrieval_time_sec", seconds)
            hit = "Persistent compilation cache hit for '%s' with key '%s'"
            _log(cache, "compiler", hit, name, shown, warns=config_states.log_compiles.value)
            if flags.compilation_cache_check_contents.value:
                _check_same(name, loaded, compile_module(options))
            return loaded, found[0], path.name
    except Exception as error:
        if isinstance(error, CacheContentsError):
            raise
        report_failure(cache, "reading", name, error)
    miss = "PERSISTENT COMPILATION CACHE MISS for '%s' with key '%s'"
    _log(cache, "compiler", miss, name, shown, warns=_explains())
    cache_usage.misses += 1
    started = time.monotonic()
    loaded = compile_module(options)
    seconds = time.monotonic() - started
    has_failed = (cache.directory, "writing") in _failed
    is_stored = not has_failed and _store(cache, path, name, loaded, seconds)
    return loaded, None, path.name if is_stored else None


def note_host_callbacks(cache: ProgramCache, module: Any) -> None:
    """Reports a cache request for a program that is not stored because it calls Python."""
    _record(cache, "compile_requests_use_cache")
    name = mlir.module_name(module)
    _log(cache, "compiler", _NOT_WRITTEN + "it uses host callbacks", name, warns=_explains())


_NOT_WRITTEN = "Not writing persistent cache entry for '%s' because "


def _log(
    cache: ProgramCache, subject: str, message: str, *values: Any, warns: bool = False
) -> None:
    """Logs an action of the cache.

    Args:
      cache: the cache.
      subject: the subject of the logger; see `logger_name`.
      message: the message, a format string for the values.
      *values: the values.
      warns: whether the message is a warning if the user has requested the cache.
    """
    logger = logging.getLogger(logger_name(subject))
    level = logging.WARNING if warns and cache.is_asked_for else logging.DEBUG
    logger.log(level, message, *values)


def _explains() -> bool:
    """Returns whether a flag asks for the reasons why programs are not in the cache."""
    return config_states.explain_cache_misses.value


def _record(cache: ProgramCache, event: str) -> None:
    if cache.is_asked_for:
        monitoring.record_event(_EVENTS + event)


def _record_seconds(cache: ProgramCache, event: str, seconds: float) -> None:
    if cache.is_asked_for:
        monitoring.record_event_duration_secs(_EVENTS + event, seconds)


def report_failure(cache: ProgramCache, kind: str, name: str, error: Exception) -> None:
    """Warns of the first failure of each kind. A flag turns the warning into an error."""
    if flags.raise_persistent_cache_errors.value:
        raise error
    message = f"Error {kind} persistent compilation cache entry for '{name}': "
    message += f"{type(error).__name__}: {error}"
    if (cache.directory, kind) in _failed:
        _log(cache, "compilation_cache", "%s", message)
        return
    _failed.add((cache.directory, kind))
    if cache.is_asked_for:
        warn_user(message)
    else:
        cache_folder.warn_quietly(message)


class CacheContentsError(RuntimeError):
    """Error for a cached executable that differs from the compiler's current output."""


def _check_same(name: str, cached: Any, compiled: Any) -> None:
    if _jaxlib.hlo_without_metadata(cached) != _jaxlib.hlo_without_metadata(compiled):
        raise CacheContentsError(
            f"the executable of '{name}' in the persistent compilation cache differs from the one "
            "compiled now; the flag olympus_compilation_cache_check_contents asks for this check"
        )


def _store(cache: ProgramCache, path: Path, name: str, loaded: Any, seconds: float) -> bool:
    """Stores a new executable. Returns whether it is on disk now."""
    least = cache.least_seconds
    if seconds < least:
        took = "it took < %.2f seconds to compile (%.2fs)"
        _log(cache, "compiler", _NOT_WRITTEN + took, name, least, seconds, warns=_explains())
        return False
    took = "'%s' took at least %.2f seconds to compile (%.2fs)"
    _log(cache, "compiler", took, name, least, seconds)
    key = path.name.removesuffix(SUFFIX)
    try:
        serialized = _jaxlib.serialize_executable(loaded)
        if serialized is None:
            _log(cache, "compiler", _NOT_WRITTEN + "its executable cannot be serialized", name)
            return False
        least_bytes = flags.persistent_cache_min_entry_size_bytes.value
        if len(serialized) < least_bytes:
            _log(
                cache,
                "compilation_cache",
                "Not writing persistent cache entry with key '%s' since its size (%d bytes) is less"
                " than threshold (%d bytes)",
                key,
                len(serialized),
                least_bytes,
                warns=_explains(),
            )
            return False
        writing = "Writing %s to persistent compilation cache with key '%s'"
        _log(cache, "compilation_cache", writing, name, key, warns=_explains())
        if cache.put(path, serialized, seconds):
            _record(cache, "cache_misses")
            return True
        larger = "%s is larger than the whole cache may be"
        _log(cache, "compilation_cache", larger, path.name)
    except Exception as error:
        report_failure(cache, "writing", name, error)
    return False
