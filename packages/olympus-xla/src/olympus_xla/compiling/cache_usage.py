# SPDX-License-Identifier: Apache-2.0
"""Counts of hits and misses in the user's cache folder, over all processes.

Each process appends one line to a file when it ends.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path

__all__ = ["forget", "total_usage"]

# The counts of this process, and the directory whose file they are added to.
hits = 0
misses = 0
directory: Path | None = None

_FILE = "usage"
_MOST_BYTES = 1 << 16


def total_usage(directory: Path) -> tuple[int, int]:
    """Returns the total counts of hits and misses recorded for a directory."""
    try:
        lines = (directory / _FILE).read_text("ascii").splitlines()
    except (OSError, ValueError):
        return 0, 0
    pairs = [line.split() for line in lines]
    counts = [pair for pair in pairs if len(pair) == 2 and all(map(str.isdigit, pair))]
    return sum(int(pair[0]) for pair in counts), sum(int(pair[1]) for pair in counts)


@atexit.register
def _record() -> None:
    if directory is None or not hits + misses:
        return
    path = directory / _FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{hits} {misses}\n")
            is_long = file.tell() > _MOST_BYTES
        if is_long:
            total = "{} {}\n".format(*total_usage(directory))
            path.write_text(total, "ascii")
    except OSError:  # the disk is full or read-only, and the counts are not essential
        pass


def forget(directory: Path) -> None:
    """Removes the counts recorded for a directory."""
    (directory / _FILE).unlink(missing_ok=True)
