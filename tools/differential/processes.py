# SPDX-License-Identifier: Apache-2.0
"""Processes that answer requests, one a line, and are started again when they die or hang."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Worker"]


class Worker:
    """Process that answers requests in JSON, started again when it dies or hangs.

    The process prints a line when it is ready, and then one line for each request.
    """

    def __init__(
        self, command: Sequence[str], patience: float, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = command
        self.patience = patience
        self.environment = environment
        self.process: subprocess.Popen[str] | None = None

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self.environment,
            )
            assert self.process.stdout is not None
            self.process.stdout.readline()  # waits until the process is ready
        return self.process

    def ask(self, request: Any) -> Any:
        """Returns the answer to a request, or a record with ``status`` "hang" or "crash"."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        hung = threading.Event()
        timer = threading.Timer(self.patience, lambda: (hung.set(), process.kill()))
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if line:
            return json.loads(line)
        self.process = None
        code = process.wait()
        return {"status": "hang" if hung.is_set() else "crash", "code": code}

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
