# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache: executables on disk for later processes.

It is in use if a directory is configured: the flag ``olympus_compilation_cache_dir``, or
``OLYMPUS_COMPILATION_CACHE_DIR`` in the environment. An entry is found by a key made of everything
that the compiler's output depends on (`cache_key.executable_key`), so it is never stale. Any number
of processes may use one directory at the same time: an entry is written under another name first
and then renamed, so a reader finds a whole entry or none.

Loading an entry runs its machine code. Anyone who can write to the
directory can run code in the processes that use it.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import threading
import time
import zlib
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
from . import cache_key
from .lowering import mlir

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = deferred("tempfile", milliseconds=4.0)

__all__ = ["cache_in_use", "is_initialized", "reset_cache", "set_cache_dir"]


_MAGIC = b"OLYMPUS-EXECUTABLE\n"
_HEADER = struct.Struct("<IQd")  # checksum, uncompressed length, compile time in seconds
_SUFFIX = "-cache"
_UNFINISHED = ".unfinished"
# Unfinished files of processes that died are removed after this many seconds.
_ABANDONED_AFTER = 3600.0


class ProgramCache:
    """A directory of executables.

    Args:
      directory: the directory; it is made if it does not exist.
    """

    def __init__(self, directory: str) -> None:
        if "://" in directory:
            raise ValueError(
                f"olympus_compilation_cache_dir is {directory!r}; the compilation cache is kept in "
                "a local directory, and cannot be at a URL"
            )
        self.directory = Path(directory)
        self._lock = threading.Lock()

    def path_of(self, name: str, key: str) -> Path:
        """Returns the file of an entry.

        The key identifies the entry; the name is for human readers.
        """
        readable = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64]
        return self.directory / f"{readable}-{key}{_SUFFIX}"

    def get(self, path: Path) -> tuple[bytes, float] | None:
        """Returns the serialized executable and the compile time of an entry, or None.

        Raises:
          OSError: the entry exists but cannot be read.
          ValueError: the entry is damaged.
        """
        try:
            contents = path.read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MAGIC) + _HEADER.size
        if len(contents) < start or not contents.startswith(_MAGIC):
            raise ValueError(f"{path} is not an executable of OLYMPUS's cache")
        checksum, length, seconds = _HEADER.unpack_from(contents, len(_MAGIC))
        packed = memoryview(contents)[start:]
        if zlib.crc32(packed) != checksum:
            raise ValueError(f"{path} is damaged: its checksum differs")
        serialized = zlib.decompress(packed, bufsize=length)
        if self._is_bounded():
            os.utime(path)  # makes it the most recently used entry, which is removed last
        return serialized, seconds

    def put(self, path: Path, serialized: bytes, seconds: float = 0.0) -> None:
        """Writes an entry, and removes the least recently used ones if there are too many.

        Raises:
          OSError: the entry cannot be written.
        """
        packed = zlib.compress(serialized, 1)
        contents = _MAGIC + _HEADER.pack(zlib.crc32(packed), len(serialized), seconds) + packed
        most = flags.compilation_cache_max_size.value
        if self._is_bounded() and len(contents) > most:
            _log("compilation_cache", "%s is larger than the whole cache may be", path.name)
            return
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(suffix=_UNFINISHED, dir=self.directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(contents)
            os.replace(unfinished, path)
        except BaseException:
            _remove(Path(unfinished))
            raise
        if self._is_bounded():
            self._evict(most, keep=path)

    def _is_bounded(self) -> bool:
        return flags.compilation_cache_max_size.value >= 0

    def _evict(self, most: int, keep: Path) -> None:
        """Removes entries, the least recently used first, until the size of the rest is allowed."""
        with self._lock:
            entries = []
            now = time.time()
            with os.scandir(self.directory) as found:
                for entry in found:
                    try:
                        status = entry.stat()
                    except FileNotFoundError:  # another process removed it
                        continue
                    if entry.name.endswith(_SUFFIX):
                        entries.append((status.st_mtime_ns, status.st_size, Path(entry.path)))
                    elif entry.name.endswith(_UNFINISHED):
                        if now - status.st_mtime > _ABANDONED_AFTER:
                            _remove(Path(entry.path))
            total = sum(size for _, size, _ in entries)
            for _, size, path in sorted(entries):
                if total <= most:
                    break
                if path != keep:
                    _remove(path)
                    total -= size


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:  # another process removed it, or reads it on a system where this blocks removal
        pass


# ---- the cache of the process ----

_cache: ProgramCache | None = None
_told_disabled = False  # whether listeners know that a flag turns the cache off


def cache_in_use() -> ProgramCache | None:
    """Returns the cache that the flags configure; None if they configure none."""
    global _cache, _told_disabled
    directory = flags.compilation_cache_dir.value
    if not directory:
        return None
    if not flags.enable_compilation_cache.value:
        if not _told_disabled:
            _told_disabled = True
            _record("task_disabled_cache")
        return None
    if flags.compilation_cache_max_size.value == 0:
        return None
    if _cache is None or os.fspath(_cache.directory) != os.path.normpath(directory):
        _cache = ProgramCache(directory)
        _log("compilation_cache", "Initialized persistent compilation cache at %s", directory)
        _record("tasks_using_cache")
    return _cache


def is_initialized() -> bool:
    """Returns whether the cache has been used since the process began, or since `reset_cache`."""
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
    """Forgets the cache's state in this process; the entries stay.

    Example:
      >>> reset_cache()
      >>> is_initialized()
      False
    """
    global _cache, _told_disabled
    _cache, _told_disabled = None, False


# ---- compiling through the cache ----


def load_or_compile(
    cache: ProgramCache,
    module: Any,
    devices: Sequence[Any],
    options: Any,
    compile_module: Callable[[Any], Any],
) -> Any:
    """Returns an executable from the cache, or compiles it.

    A new executable is stored if its compilation took long enough.


    Args:
      cache: the cache.
      module: the MLIR module.
      devices: the devices that it runs on.
      options: XLA's compile options.
      compile_module: a function that compiles the module with the options.
    """
    key = cache_key.executable_key(module, devices, options)
    if key is None:
        return compile_module(options)
    _record("compile_requests_use_cache")
    name = mlir.module_name(module)
    path = cache.path_of(name, key)
    shown = path.name.removesuffix(_SUFFIX)
    started = time.monotonic()
    try:
        found = cache.get(path)
        if found is not None:
            loaded = _jaxlib.deserialize_executable(found[0], devices, options)
            seconds = time.monotonic() - started
            _record("cache_hits")
            _record_seconds("compile_time_saved_sec", found[1] - seconds)
            _record_seconds("cache_retrieval_time_sec", seconds)
            _log("compiler", "Persistent compilation cache hit for '%s' with key '%s'", name, shown)
            if flags.compilation_cache_check_contents.value:
                _check_same(name, loaded, compile_module(options))
            return loaded
    except Exception as error:
        if isinstance(error, CacheContentsError) or flags.raise_persistent_cache_errors.value:
            raise
        warn_user(f"Error reading persistent compilation cache entry for '{name}': {error}")
    miss = "PERSISTENT COMPILATION CACHE MISS for '%s' with key '%s'"
    _log("compiler", miss, name, shown, explains=True)
    started = time.monotonic()
    loaded = compile_module(options)
    _store(cache, path, name, loaded, time.monotonic() - started)
    return loaded


def note_host_callbacks(module: Any) -> None:
    """Reports a cache request for a program that cannot be stored, as it calls Python functions."""
    _record("compile_requests_use_cache")
    _log("compiler", _NOT_WRITTEN + "it uses host callbacks", mlir.module_name(module))


_NOT_WRITTEN = "Not writing persistent cache entry for '%s' because "


def _log(subject: str, message: str, *values: Any, explains: bool = False) -> None:
    """Logs an action of the cache.

    Args:
      subject: the subject of the logger; see `logger_name`.
      message: the message, a format string for the values.
      *values: the values.
      explains: whether the message is a warning under the flag ``explain_cache_misses``.
    """
    warns = explains and config_states.explain_cache_misses.value
    logger = logging.getLogger(logger_name(subject))
    logger.log(logging.WARNING if warns else logging.DEBUG, message, *values)


def _record(event: str) -> None:
    monitoring.record_event(f"/jax/compilation_cache/{event}")


def _record_seconds(event: str, seconds: float) -> None:
    monitoring.record_event_duration_secs(f"/jax/compilation_cache/{event}", seconds)


class CacheContentsError(RuntimeError):
    """Error for a cached executable that differs from the compiler's present result."""


def _check_same(name: str, cached: Any, compiled: Any) -> None:
    if _jaxlib.hlo_without_metadata(cached) != _jaxlib.hlo_without_metadata(compiled):
        raise CacheContentsError(
            f"the executable of '{name}' in the persistent compilation cache differs from the one "
            "compiled now; the flag olympus_compilation_cache_check_contents asks for this check"
        )


def _store(cache: ProgramCache, path: Path, name: str, loaded: Any, seconds: float) -> None:
    least = flags.persistent_cache_min_compile_time_secs.value
    if seconds < least:
        took = "it took < %.2f seconds to compile (%.2fs)"
        _log("compiler", _NOT_WRITTEN + took, name, least, seconds)
        return
    took = "'%s' took at least %.2f seconds to compile (%.2fs)"
    _log("compiler", took, name, least, seconds)
    key = path.name.removesuffix(_SUFFIX)
    try:
        serialized = _jaxlib.serialize_executable(loaded)
        if serialized is None:
            _log("compiler", _NOT_WRITTEN + "its executable cannot be serialized", name)
            return
        least_bytes = flags.persistent_cache_min_entry_size_bytes.value
        if len(serialized) < least_bytes:
            _log(
                "compilation_cache",
                "Not writing persistent cache entry with key '%s' since its size (%d bytes) is less"
                " than threshold (%d bytes)",
                key,
                len(serialized),
                least_bytes,
            )
            return
        writing = "Writing %s to persistent compilation cache with key '%s'"
        _log("compilation_cache", writing, name, key, explains=True)
        cache.put(path, serialized, seconds)
        _record("cache_misses")
    except Exception as error:
        if flags.raise_persistent_cache_errors.value:
            raise
        warn_user(f"Error writing persistent compilation cache entry for '{name}': {error}")
