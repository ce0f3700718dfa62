# SPDX-License-Identifier: Apache-2.0
"""A directory of cache entries that several processes may use at the same time.

An entry is written under a temporary name and then renamed, so readers never find an incomplete
entry. A checksum detects damaged entries. If the size is bounded, the least recently used entries
are removed first.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from olympus_ir.loading import deferred
from olympus_ir.settings import config_cache_flags as flags

from . import cache_folder

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = deferred("tempfile", milliseconds=4.0)

__all__ = [
    "MAGIC",
    "SUFFIX",
    "UNFINISHED",
    "CacheEntry",
    "DirectoryContents",
    "ProgramCache",
    "UserCache",
]

MAGIC = b"OLYMPUS-EXECUTABLE-2\n"
_EARLIER_MAGIC = b"OLYMPUS-EXECUTABLE\n"
# The fields: checksum, uncompressed length, compile time in seconds.
_HEADER = struct.Struct("<IQd")
SUFFIX = "-cache"
UNFINISHED = ".unfinished"
# Unfinished files of dead processes are removed after this many seconds.
_ABANDONED_AFTER = 3600.0

# Bounds of the user's folder. A flag may set the number of bytes.
_MOST_BYTES = 1 << 30
_MOST_ENTRIES = 1 << 14
# One in this many writes searches the user's folder for old entries, which takes up to 0.1 s.
_WRITES_PER_SEARCH = 32


class CacheEntry(NamedTuple):
    """An entry of a cache directory. Entries are ordered by their last use.

    Attributes:
      last_use: the time of the last use, in nanoseconds.
      size: the size in bytes.
      path: the path of the file.
    """

    last_use: int
    size: int
    path: Path


class DirectoryContents:
    """Entries of a cache directory, with their total size in bytes.

    Attributes:
      entries: the entries, the least recently used first.
      size: the sum of the sizes.
    """

    def __init__(self, directory: Path) -> None:
        self.entries: list[CacheEntry] = []
        now = time.time()
        with os.scandir(directory) as files:
            for file in files:
                try:
                    status = file.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process removed the file
                    continue
                if file.name.endswith(SUFFIX):
                    path = Path(file.path)
                    self.entries.append(CacheEntry(status.st_mtime_ns, status.st_size, path))
                elif file.name.endswith(UNFINISHED) and now - status.st_mtime > _ABANDONED_AFTER:
                    _remove(Path(file.path))
        self.entries.sort()
        self.size = sum(entry.size for entry in self.entries)


class ProgramCache:
    """A directory of executables that the user has chosen by a flag.

    Args:
      directory: the directory, which is created if necessary.
    """

    #: Whether the user has requested this cache.
    is_asked_for = True

    def __init__(self, directory: str) -> None:
        if "://" in directory:
            raise ValueError(
                f"olympus_compilation_cache_dir is {directory!r}; the compilation cache is kept in "
                "a local directory, and cannot be at a URL"
            )
        self.directory = Path(directory)
        self._lock = threading.Lock()

    @property
    def most_bytes(self) -> int:
        """The maximal size of the cache in bytes; -1 if there is no bound."""
        return flags.compilation_cache_max_size.value

    @property
    def least_seconds(self) -> float:
        """The compile time, in seconds, below which programs are not stored."""
        return flags.persistent_cache_min_compile_time_secs.value

    def path_of(self, name: str, key: str) -> Path:
        """Returns the path of an entry's file.

        The key identifies the entry. The name is only for readers.
        """
        readable = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64]
        return self.directory / f"{readable}-{key}{SUFFIX}"

    def get(self, path: Path) -> tuple[bytes, float] | None:
        """Returns an entry's serialized executable and compile time, or None.

        Raises:
          OSError: the entry exists but cannot be read.
          ValueError: the entry is damaged.
        """
        contents = self._read(path)
        if contents is None or contents.startswith(_EARLIER_MAGIC):
            return None
        start = len(MAGIC) + _HEADER.size
        if len(contents) < start or not contents.startswith(MAGIC):
            raise ValueError(f"{path} is not an executable of OLYMPUS's cache")
        checksum, length, seconds = _HEADER.unpack_from(contents, len(MAGIC))
        packed = memoryview(contents)[start:]
        if _checksum(packed, length, seconds) != checksum:
            raise ValueError(f"{path} is damaged: its checksum differs")
        serialized = _decompressed(packed, length, path)
        if self.most_bytes >= 0:
            try:
                os.utime(path)  # This marks the entry as the most recently used.
            except OSError:  # another process removed it, or the directory is read-only
                pass
        return serialized, seconds

    def put(self, path: Path, serialized: bytes, seconds: float = 0.0) -> bool:
        """Writes an entry, and removes the least recently used ones if the cache is full.

        Returns:
          Whether the entry was written. Entries larger than the maximal size of the cache are not
          written.

        Raises:
          OSError: the entry cannot be written.
        """
        packed = zlib.compress(serialized, 1)
        checksum = _checksum(packed, len(serialized), seconds)
        contents = MAGIC + _HEADER.pack(checksum, len(serialized), seconds) + packed
        most = self.most_bytes
        if 0 <= most < len(contents):
            return False
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(suffix=UNFINISHED, dir=self.directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(contents)
            os.replace(unfinished, path)
        except BaseException:
            _remove(Path(unfinished))
            raise
        self._make_room(path, len(contents))
        return True

    def clear(self) -> int:
        """Removes all entries, and returns their number."""
        if not self.directory.is_dir():
            return 0
        contents = DirectoryContents(self.directory)
        for entry in contents.entries:
            _remove(entry.path)
        return len(contents.entries)

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def _make_room(self, written: Path, size: int) -> None:
        if self.most_bytes >= 0:
            self._evict(self.most_bytes, keep=written)

    def _evict(self, most: int, keep: Path, most_entries: int | None = None) -> None:
        """Removes entries, least recently used first, until the bounds are met."""
        with self._lock:
            contents = DirectoryContents(self.directory)
            total, count = contents.size, len(contents.entries)
            for entry in contents.entries:
                if total <= most and (most_entries is None or count <= most_entries):
                    break
                if entry.path != keep:
                    _remove(entry.path)
                    total, count = total - entry.size, count - 1


class UserCache(ProgramCache):
    """A cache in the user's cache folder, used by default.

    Args:
      name: the name of the subfolder.

    Raises:
      OSError: the folder cannot be used.
    """

    is_asked_for = False

    def __init__(self, name: str = "executables") -> None:
        super().__init__(os.fspath(cache_folder.prepared_folder(name)))

    @property
    def most_bytes(self) -> int:
        """The maximal size of the cache in bytes; -1 if the flag removes the bound."""
        flag = flags.compilation_cache_max_size
        return _MOST_BYTES if flag.origin == "default" else flag.value

    @property
    def least_seconds(self) -> float:
        """The compile time, in seconds, below which programs are not stored."""
        flag = flags.persistent_cache_min_compile_time_secs
        return 0.0 if flag.origin == "default" else flag.value

    def _read(self, path: Path) -> bytes | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | _NO_LINKS)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise cache_folder.CacheFolderError(f"{path} is a symbolic link") from None
            raise
        with os.fdopen(descriptor, "rb") as file:
            cache_folder.check_file(path, os.fstat(descriptor))
            return file.read()

    def _make_room(self, written: Path, size: int) -> None:
        most = self.most_bytes
        if most < 0:
            return
        # The name ends with a digest, which serves as a random number.
        digest = written.name.removesuffix(SUFFIX)
        is_chosen = int(digest[-4:], 16) % _WRITES_PER_SEARCH == 0
        if is_chosen or size > most // _WRITES_PER_SEARCH:
            self._evict(most, keep=written, most_entries=_MOST_ENTRIES)


def _checksum(packed: bytes | memoryview, length: int, seconds: float) -> int:
    """Returns the checksum of an entry and of the rest of its header."""
    return zlib.crc32(packed, zlib.crc32(_HEADER.pack(0, length, seconds)))


def _decompressed(packed: memoryview, length: int, path: Path) -> bytes:
    """Decompresses an entry; reserves no memory for the length that the entry claims to have."""
    try:
        serialized = zlib.decompressobj().decompress(packed, min(length, sys.maxsize - 1) + 1)
    except zlib.error as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if len(serialized) != length:
        raise ValueError(f"{path} is damaged: it does not have the {length} bytes that it claims")
    return serialized


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        # Another process removed the file, or reads it on a system where this blocks the removal.
        pass
