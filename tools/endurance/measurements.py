# SPDX-License-Identifier: Apache-2.0
"""Resources of a process: memory, objects, threads, files and the state of the library."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from typing import NamedTuple

import olympus
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_xla.compiling.compiler import CompiledProgram, compiled_programs


class Measurement(NamedTuple):
    """The resources of a process at one time, after the garbage collector has run.

    Attributes:
      memory: the resident memory in bytes.
      objects: the number of objects that the garbage collector follows.
      arrays: the number of live arrays.
      threads: the number of threads of Python.
      files: the number of open files.
      state: the settings that differ from their defaults, and the trace in force.
    """

    memory: int
    objects: int
    arrays: int
    threads: int
    files: int
    state: str


def fill_records() -> None:
    """Fills the list of the programs that were compiled last, which otherwise grows for hours."""
    record = CompiledProgram("filled", "filled", 0, 0.0, False)
    most = compiled_programs.maxlen or 0
    compiled_programs.extend([record._replace() for _ in range(most)])


def measure() -> Measurement:
    """Returns the current resources of the process."""
    gc.collect()
    gc.collect()
    if sys.platform == "linux":  # returns freed memory to the system
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    trace = "evaluation" if current.trace is evaluation_trace else repr(current.trace)
    return Measurement(
        memory=pages * os.sysconf("SC_PAGE_SIZE"),
        objects=len(gc.get_objects()),
        arrays=len(olympus.live_arrays()),
        threads=threading.active_count(),
        files=len(os.listdir("/proc/self/fd")),
        state=f"{olympus.config!r} {trace} {dict(current.axes.sizes)}",
    )
