# SPDX-License-Identifier: Apache-2.0
"""Vetting of modules from untrusted files: a separate process reads each module first.

The reader of StableHLO's bytecode is written in C++ and trusts its input. On malicious bytes it may
loop forever, or damage the memory of its process. `vet` therefore lets a separate process read a
module first. The caller's process reads only modules that the separate process has read.

One separate process serves all calls, and ends with its caller. If it dies or does not answer, the
next call starts a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import subprocess
import sys
import threading
from typing import IO

try:
    import resource
except ImportError:  # Windows has no limits of this kind
    resource = None

from olympus_xla.compiling.lowering import mlir

__all__ = ["serve", "vet"]

#: Seconds that reading may take, and additional seconds for each megabyte of a module.
PATIENCE, PATIENCE_PER_MEGABYTE = 10.0, 0.5
#: Bytes of memory that the process may use in addition to its memory at the start.
MEMORY = 4 << 30
_LENGTH = struct.Struct("<Q")
_COMMAND = "from olympus_export.functions.vetting import serve; serve()"


def vet(module: bytes) -> None:
    """Lets another process read and verify a module.

    Args:
      module: the StableHLO module as a portable artifact.

    Raises:
      ValueError: the module cannot be read, or the process that read it died or took too long.
    """
    with _lock:
        answer = _ask(module)
    if answer:
        raise ValueError(f"the program is damaged: {answer}")


_lock = threading.Lock()
_reader: subprocess.Popen[bytes] | None = None


def _ask(module: bytes) -> str:
    """Returns a description of a module's defect; an empty text if it has none."""
    global _reader
    if _reader is None or _reader.poll() is not None:
        _end()
        _reader = _started()
    process = _reader
    assert process.stdin is not None and process.stdout is not None
    seconds = PATIENCE + PATIENCE_PER_MEGABYTE * len(module) / 1e6
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        _send(process.stdin, module)
        return _receive(process.stdout).decode()
    except (BrokenPipeError, EOFError):
        timed_out = not timer.is_alive()
        code = _end()
        if timed_out:
            return f"reading it did not end within {seconds:.0f} s"
        return f"the process that read it died with exit status {code}"
    finally:
        timer.cancel()


@atexit.register
def _end() -> int | None:
    """Ends the reading process; returns its exit status, or None if no process is running."""
    global _reader
    process, _reader = _reader, None
    if process is None:
        return None
    process.kill()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # `close` flushes the buffer
            pipe.close()
    return process.wait()


def _started() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert process.stdout is not None
    try:
        _receive(process.stdout)  # A process that is ready sends an empty message.
    except EOFError:
        raise RuntimeError(
            f"the process that reads untrusted programs did not start: {sys.executable} ended with "
            f"exit status {process.wait()}"
        ) from None
    return process


def _send(file: IO[bytes], contents: bytes) -> None:
    file.write(_LENGTH.pack(len(contents)) + contents)
    file.flush()


def _receive(file: IO[bytes]) -> bytes:
    """Reads a message that `_send` wrote; raises EOFError if the other process has ended."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    contents = file.read(length)
    if len(contents) < length:
        raise EOFError
    return contents


# ---- in the other process ----


def serve() -> None:
    """Reads modules from standard input; answers each with a description of its defect."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print to the standard output
    mlir.context()
    _limit_memory()
    _send(answers, b"")
    while True:
        try:
            contents = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            well_formed = mlir.portable_module(contents).operation.verify()
            answer = "" if well_formed else "it is malformed"
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        _send(answers, answer.encode("utf-8", "replace"))


def _limit_memory() -> None:
    """Limits the memory of this process, on systems that support such limits."""
    if resource is None or not os.path.exists("/proc/self/statm"):
        return
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
