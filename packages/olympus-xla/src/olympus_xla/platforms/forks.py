# SPDX-License-Identifier: Apache-2.0
"""Warning about forks of a process that has devices.

A forked child has a copy of the memory, but XLA's threads do not run in the child. The
child's first computation waits for these threads forever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from olympus_ir.diagnostics.user_warnings import warn_user

__all__ = ["warn_of_forks"]

# Packages of the standard library that fork for their callers. Forks by `subprocess` need no
# warning, because the child immediately starts another program.
_CALLERS = frozenset(("concurrent", "multiprocessing", "os", "pty"))
_is_hooked = False


def warn_of_forks(has_devices: Callable[[], bool]) -> None:
    """Warns from now on when the process forks and ``has_devices()`` is true."""
    global _is_hooked
    if not _is_hooked and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: has_devices() and _warn())
        _is_hooked = True


def _warn() -> None:
    # Frame 1 is the hook that `warn_of_forks` registers, and frame 2 the one that calls `os.fork`.
    if sys._getframe(2).f_globals.get("__name__") == "subprocess":
        return
    warn_user(
        "The process forks after OLYMPUS has started the threads of its devices, which the child "
        "does not get: the child hangs in its first computation. Start processes another way: "
        'multiprocessing.get_context("spawn") or get_context("forkserver"), or '
        'torch.utils.data.DataLoader(..., multiprocessing_context="spawn"). A child that only uses '
        "NumPy arrays and Python objects is safe.",
        RuntimeWarning,
        called_through=_CALLERS,
    )
