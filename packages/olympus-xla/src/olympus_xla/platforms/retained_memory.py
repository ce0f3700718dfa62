# SPDX-License-Identifier: Apache-2.0
"""Free memory that the process keeps, on Linux with the GNU C library.

XLA's CPU client allocates results and intermediate values with the C library. The GNU C library
maps each block above 32 MB anew, and returns it to the system when it is freed. The system clears
its pages, which can take five times as long as the computation. With `retain_memory` the library
keeps such blocks and uses them again.
"""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["retain_memory", "return_memory"]

# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

# mallopt takes a C int.
_LARGEST = 2**31 - 1


def retain_memory(size: int) -> bool:
    """Lets the C library keep free blocks.

    It keeps blocks of up to ``size`` bytes, and up to ``size`` bytes after the last block in use.
    Gaps between blocks in use are kept, too, however large they are. Settings in the environment of
    the process (``MALLOC_...`` and ``GLIBC_TUNABLES``) are not changed.

    Args:
      size: a positive number of bytes. Above 2 GiB, it counts as 2 GiB.

    Returns:
      Whether the C library accepts it. Libraries other than GNU's and old versions do not.
    """
    mallopt = _function("mallopt")
    if mallopt is None or _is_set_by_user():
        return False
    size = min(size, _LARGEST)
    # Old versions refuse the first call. The second one alone would lower the limit of 32 MB.
    return mallopt(_MMAP_THRESHOLD, size) == 1 and mallopt(_TRIM_THRESHOLD, size) == 1


def return_memory() -> None:
    """Returns all free memory to the system, gaps included."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _function(name: str) -> ctypes._NamedFuncPointer | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def _is_set_by_user() -> bool:
    settings = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_")
    return any(name in os.environ for name in settings) or "glibc.malloc.mmap" in os.environ.get(
        "GLIBC_TUNABLES", ""
    )
