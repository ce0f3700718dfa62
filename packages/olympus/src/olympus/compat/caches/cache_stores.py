# SPDX-License-Identifier: Apache-2.0
"""Stores of compiled programs, under the names of JAX's private modules.

Programs may put a store of their own in place of the directory that a flag names, by assigning
``_cache`` of the private module of the compilation cache (`CompilationCacheModule`).
"""

from __future__ import annotations

import contextlib
import heapq
import time
import zlib
from abc import abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.loading import imported
from olympus_ir.settings import config_cache_flags as flags
from olympus_xla import _jaxlib
from olympus_xla.compiling import compilation_cache
from olympus_xla.compiling.cache_store import SUFFIX, ProgramCache

from ..counterparts.classes import StrictABC
from ..registries import distributed_state
from . import cache_keys

__all__ = [
    "CacheInterface",
    "CompilationCacheModule",
    "LRUCache",
    "combine_executable_and_time",
    "compress_executable",
    "decompress_executable",
    "extract_executable_and_time",
    "get_cache_key",
    "get_executable_and_time",
    "get_file_cache",
    "is_cache_used",
    "is_persistent_cache_enabled",
    "put_executable_and_time",
]

_CACHE_SUFFIX = SUFFIX
_ATIME_SUFFIX = "-atime"
_TIME_BYTES = 4


# ---- stores ----


class CacheInterface(StrictABC):
    """Store of values by keys.

    Attributes:
      _path: the directory.
    """

    _path: Path

    @abstractmethod
    def get(self, key: str) -> bytes | None:
        """Returns the value of a key; None if there is none."""

    @abstractmethod
    def put(self, key: str, value: bytes) -> None:
        """Stores a value under a key."""


class LRUCache(CacheInterface):
    """Directory of values, from which the least recently used ones are removed.

    Args:
      path: the directory, which is created if necessary.
      max_size: the number of bytes that all values may have; -1 for no bound.
      lock_timeout_secs: the number of seconds to wait for other processes.

    Raises:
      RuntimeError: there is a bound, and the package ``filelock`` is not installed.
    """

    def __init__(self, path: str, *, max_size: int, lock_timeout_secs: float | None = 10) -> None:
        self.path = self._path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.eviction_enabled = max_size != -1
        self.max_size, self.lock_timeout_secs = max_size, lock_timeout_secs
        self._lock: Any = contextlib.nullcontext()
        if self.eviction_enabled:
            try:
                filelock = imported("filelock")
            except ImportError:
                raise RuntimeError(
                    "Please install the `filelock` package to set `jax_compilation_cache_max_size`"
                ) from None
            timeout = -1 if lock_timeout_secs is None else lock_timeout_secs
            self._lock = filelock.FileLock(self.path / ".lockfile", timeout=timeout)

    def get(self, key: str) -> bytes | None:
        """Returns the value of a key; None if there is none.

        Raises:
          ValueError: the key is empty.
        """
        file = self._file(key)
        with self._lock:
            if not file.exists():
                return None
            self._note_use(key)
            return file.read_bytes()

    def put(self, key: str, value: bytes) -> None:
        """Stores a value under a key that has none.

        A value beyond the bound is not stored, and warns.

        Raises:
          ValueError: the key is empty.
        """
        file = self._file(key)
        if self.eviction_enabled and len(value) > self.max_size:
            warn_user(
                f"Cache value for key {key!r} of size {len(value)} bytes exceeds the maximum cache "
                f"size of {self.max_size} bytes"
            )
            return
        with self._lock:
            if not file.exists():
                self._evict_if_needed(additional_size=len(value))
                file.write_bytes(value)
                self._note_use(key)

    def _file(self, key: str, suffix: str = _CACHE_SUFFIX) -> Path:
        if not key:
            raise ValueError("key cannot be empty")
        return self.path / f"{key}{suffix}"

    def _note_use(self, key: str) -> None:
        if self.eviction_enabled:
            self._file(key, _ATIME_SUFFIX).write_bytes(time.time_ns().to_bytes(8, "little"))

    def _evict_if_needed(self, *, additional_size: int = 0) -> None:
        """Removes values, the least recently used first, until there is room for another."""
        if not self.eviction_enabled:
            return
        uses = []
        for file in self.path.glob(f"*{_CACHE_SUFFIX}"):
            key = file.name.removesuffix(_CACHE_SUFFIX)
            used = int.from_bytes(self._file(key, _ATIME_SUFFIX).read_bytes(), "little")
            uses.append((used, key, file.stat().st_size))
        size = sum(value_size for *_, value_size in uses)
        heapq.heapify(uses)
        while size > self.max_size - additional_size:
            _, key, freed = heapq.heappop(uses)
            self._file(key).unlink()
            self._file(key, _ATIME_SUFFIX).unlink()
            size -= freed


class _Substitute(ProgramCache):
    """A user's store in the place of a directory.

    Args:
      store: the store.
    """

    def __init__(self, store: Any) -> None:
        super().__init__(str(getattr(store, "_path", "")))
        self.store = store

    def get(self, path: Path) -> tuple[bytes, float] | None:
        """Returns an entry's serialized executable and compile time, or None."""
        value = self.store.get(path.name.removesuffix(SUFFIX))
        return None if value is None else extract_executable_and_time(decompress_executable(value))

    def put(self, path: Path, serialized: bytes, seconds: float = 0.0) -> bool:
        """Stores an entry, in the first of several processes only."""
        if distributed_state.process_id != 0:
            return False
        value = compress_executable(combine_executable_and_time(serialized, int(seconds)))
        self.store.put(path.name.removesuffix(SUFFIX), value)
        return True


class CompilationCacheModule(ModuleType):
    """Module whose attribute ``_cache`` is the store of compiled programs."""

    @property
    def _cache(self) -> Any:
        cache = compilation_cache.present_cache()
        return getattr(cache, "store", cache)

    @_cache.setter
    def _cache(self, store: Any) -> None:
        compilation_cache.substitute(None if store is None else _Substitute(store))


# ---- the cache in use ----


def is_persistent_cache_enabled() -> bool:
    """Returns whether flags name a directory for compiled programs."""
    return bool(flags.compilation_cache_dir.value and flags.enable_compilation_cache.value)


def is_cache_used(backend: Any) -> bool:
    """Returns whether compiled programs of a backend are stored at the user's request."""
    return _get_cache(backend) is not None


def _get_cache(backend: Any) -> Any:
    cache = compilation_cache.cache_in_use(backend.platform)
    if cache is None or not cache.is_asked_for:
        return None
    return (
        cache.store
        if isinstance(cache, _Substitute)
        else LRUCache(str(cache.directory), max_size=flags.compilation_cache_max_size.value)
    )


def get_file_cache(path: str) -> tuple[CacheInterface, str]:
    """Returns a store in a directory, and the directory."""
    return LRUCache(path, max_size=flags.compilation_cache_max_size.value), path


def get_executable_and_time(
    cache_key: str, compile_options: Any, backend: Any, executable_devices: Any
) -> tuple[Any, int | None]:
    """Returns a compiled program and the seconds that it took; a pair of None without an entry."""
    cache = _get_cache(backend)
    value = None if cache is None else cache.get(cache_key)
    if value is None:
        return None, None
    serialized, seconds = extract_executable_and_time(decompress_executable(value))
    devices = tuple(executable_devices)
    return _jaxlib.deserialize_executable(serialized, devices, compile_options, []), seconds


def put_executable_and_time(
    cache_key: str, module_name: str, executable: Any, backend: Any, compile_time: int
) -> None:
    """Stores a compiled program and the seconds that it took."""
    del module_name  # for messages
    cache = _get_cache(backend)
    serialized = None if cache is None else _jaxlib.serialize_executable(executable)
    least = flags.persistent_cache_min_entry_size_bytes.value
    if cache is not None and serialized is not None and len(serialized) >= least:
        entry = combine_executable_and_time(serialized, compile_time)
        cache.put(cache_key, compress_executable(entry))


def get_cache_key(
    module: Any,
    devices: Any,
    compile_options: Any,
    backend: Any,
    ignore_callbacks: cache_keys.IgnoreCallbacks = cache_keys.IgnoreCallbacks.NO,
) -> str:
    """Returns the key of a compiled program."""
    return cache_keys.get(module, devices, compile_options, backend, "zlib", ignore_callbacks)


# ---- entries ----


def compress_executable(executable: bytes) -> bytes:
    """Compresses an entry."""
    return zlib.compress(executable)


def decompress_executable(executable: bytes) -> bytes:
    """Decompresses an entry."""
    return zlib.decompress(executable)


def combine_executable_and_time(serialized_executable: bytes, compile_time: int) -> bytes:
    """Returns an entry: the compile time in four bytes, and the program.

    Example:
      >>> combine_executable_and_time(b"code", 258)
      b'\\x00\\x00\\x01\\x02code'
    """
    return int(compile_time).to_bytes(_TIME_BYTES, "big") + serialized_executable


def extract_executable_and_time(executable_and_time: bytes) -> tuple[bytes, int]:
    """Returns the program of an entry, and its compile time.

    Example:
      >>> extract_executable_and_time(b"\\x00\\x00\\x01\\x02code")
      (b'code', 258)
    """
    seconds = int.from_bytes(executable_and_time[:_TIME_BYTES], "big")
    return executable_and_time[_TIME_BYTES:], seconds
