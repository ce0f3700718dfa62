# SPDX-License-Identifier: Apache-2.0
"""Processes that answer requests, one on each line, and are restarted when they die or hang."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import select
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

__all__ = ["CHEAP_COMPILATION", "Answers", "Worker"]

#: XLA's flags for programs that run once. At level 0 XLA returns wrong values for some programs.
#: Emitters of fusions take up to half of the time that a small program compiles. Code that is
#: generated in parts takes a fifth more.
CHEAP_COMPILATION = (
    "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
#: Maximal time for which a process sleeps, in units of its patience.
IDLE = 10


class Worker:
    """Process that answers requests in JSON, and is restarted when it dies or hangs.

    The process prints a line when it is ready, and then one line for each request, in their order.

    Args:
      command: the command of the process.
      patience: the maximal processor time of an answer, in seconds.
      environment: the variables of the process; those of this process by default.
      errors: the file for the process's standard error; None to drop it.
    """

    def __init__(
        self,
        command: Sequence[str],
        patience: float,
        environment: Mapping[str, str] | None = None,
        errors: IO[Any] | None = None,
    ) -> None:
        self.command = command
        self.patience = patience
        self.environment = environment
        self.errors = errors
        self.process: subprocess.Popen[bytes] | None = None
        self.buffer = b""

    def _started(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if self.errors is None else self.errors,
                env=self.environment,
                bufsize=0,
            )
            self.buffer = b""
            assert self._line(), "a worker ended before it was ready"
        return self.process

    def _busy(self) -> float:
        """Returns the seconds of processor time that the process has used."""
        assert self.process is not None
        # Linux's identifier of the clock of a process; `time` has no name for it.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def _waits_for_processor(self) -> bool:
        """Returns whether a thread of the process could run, but others use the processors."""
        assert self.process is not None
        for status in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            try:
                text = status.read_text("utf-8")
            except OSError:
                continue  # the thread has ended
            if text.rpartition(")")[2].split()[0] in "RD":
                return True
        return False

    def _line(self) -> bytes:
        """Returns the next line; empty at the end. Kills a process that exceeds its patience."""
        assert self.process is not None and self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        since = time.monotonic()
        busy = None
        while b"\n" not in self.buffer:
            if select.select([pipe], [], [], 1.0)[0]:
                data = os.read(pipe, 1 << 16)
                if not data:
                    return b""
                self.buffer += data
                continue
            busy = self._busy() if busy is None else busy
            if self._waits_for_processor():
                since = time.monotonic()
            idle = time.monotonic() - since > IDLE * self.patience
            if idle or self._busy() - busy > self.patience:
                self.process.kill()
                raise TimeoutError
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line + b"\n"

    def _send(self, request: Any) -> None:
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            pass  # the missing answer shows that the process died

    def answers(self, requests: Iterable[Any], ahead: int = 16) -> Iterator[Any]:
        """Yields the answers to requests; a few requests are sent in advance.

        If a process dies or hangs, the cause is the first request without an answer. Its answer is
        a record with ``status`` "crash" or "hang"; the other requests go to a new process.

        Args:
          requests: the requests, read when they are sent.
          ahead: the number of requests that are sent before an answer is needed.
        """
        waiting: collections.deque[Any] = collections.deque()
        source = iter(requests)
        ended = False
        while True:
            while not ended and len(waiting) < ahead:
                try:
                    request = next(source)
                except StopIteration:
                    ended = True
                else:
                    waiting.append(request)
                    self._send(request)
            if not waiting:
                return
            try:
                line, status = self._line(), "crash"
            except TimeoutError:
                line, status = b"", "hang"
            if line:
                waiting.popleft()
                yield json.loads(line)
                continue
            assert self.process is not None
            code = self.process.wait()
            self.process = None
            waiting.popleft()
            for request in waiting:
                self._send(request)
            yield {"status": status, "code": code}

    def ask(self, request: Any) -> Any:
        """Returns the answer to a request, or a record with ``status`` "hang" or "crash"."""
        return next(self.answers([request]))

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Answers:
    """Answers of a worker, kept in a file so that equal requests are not repeated.

    Args:
      worker: the process that answers.
      path: the file, with one request and its answer on each line; None to keep nothing.
    """

    def __init__(self, worker: Worker, path: str | None) -> None:
        self.worker = worker
        self.path = path
        self.known: dict[str, Any] = {}
        if path and pathlib.Path(path).exists():
            for line in pathlib.Path(path).read_text("utf-8").splitlines():
                request, answer = json.loads(line)
                self.known[json.dumps(request)] = answer

    def answers(self, requests: Iterable[Any], ahead: int = 16) -> Iterator[Any]:
        """Yields the answers to requests, from the file or from the worker."""
        marked: collections.deque[tuple[Any, Any]] = collections.deque()

        def unknown() -> Iterator[Any]:
            for request in requests:
                known = self.known.get(json.dumps(request))
                marked.append((request, known))
                if known is None:
                    yield request

        fresh = self.worker.answers(unknown(), ahead)
        for answer in fresh:
            while marked[0][1] is not None:
                yield marked.popleft()[1]
            self._keep(marked.popleft()[0], answer)
            yield answer
        while marked:
            yield marked.popleft()[1]

    def _keep(self, request: Any, answer: Any) -> None:
        if self.path:
            self.known[json.dumps(request)] = answer
            with open(self.path, "a", encoding="utf-8") as file:
                print(json.dumps([request, answer]), file=file)
