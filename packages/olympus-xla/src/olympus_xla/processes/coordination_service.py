# SPDX-License-Identifier: Apache-2.0
"""XLA's coordination service in a separate process, which process 0 starts.

If the service ran in process 0 itself, it would die with process 0, and XLA would end all other
processes at once. A separate service outlives process 0. The other processes can then learn which
process died and raise an exception.

The command ``python -m olympus_xla.processes.coordination_service OPTIONS`` runs the service, with
the options as JSON. The service writes ``listening`` to its standard output as soon as processes
can report. It ends at the line ``shutdown`` on its standard input, or when process 0 dies, which
closes this stream.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from olympus_ir.settings.naming import logger_name

from .. import _jaxlib
from .greetings import FIELDS
from .rendezvous import receive_all, split_address

__all__ = ["SECRET_VARIABLE", "CoordinationServiceProcess", "greeting"]

# The environment variable with the secret that the processes share.
SECRET_VARIABLE = "OLYMPUS_COORDINATOR_SECRET"

# Prefix of warnings, which the service process writes to its standard error.
_WARNING = "warning: "


def greeting(process_id: int, num_processes: int, heartbeat_timeout: float) -> dict[str, Any]:
    """Returns the greeting of a process, with the fields that the service requires."""
    return {
        "process_id": process_id,
        "num_processes": num_processes,
        "jaxlib": _jaxlib.JAXLIB_VERSION,
        "heartbeat_timeout_seconds": heartbeat_timeout,
    }


_FIELDS = {**FIELDS, "jaxlib": (str,), "heartbeat_timeout_seconds": (int, float)}


class CoordinationServiceProcess:
    """Process 0's handle of the process that hosts the service.

    Args:
      bind_address: the address at which the service listens, as host:port.
      num_processes: the number of processes.
      initialization_timeout: the time to wait for all processes, in seconds.
      heartbeat_timeout: the seconds without a heartbeat after which a process counts as dead.
      shutdown_timeout: the time to wait at the end, in seconds.
      secret: the secret that the processes share; None for no secret.

    Raises:
      RuntimeError: the service cannot listen on the address.
    """

    def __init__(
        self,
        bind_address: str,
        num_processes: int,
        initialization_timeout: float,
        heartbeat_timeout: float,
        shutdown_timeout: float,
        secret: str | None = None,
    ) -> None:
        options = {
            "bind_address": bind_address,
            "num_processes": num_processes,
            "initialization_timeout": initialization_timeout,
            "heartbeat_timeout": heartbeat_timeout,
            "shutdown_timeout": shutdown_timeout,
        }
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            # Other users of the machine can read the command line, but not the environment.
            SECRET_VARIABLE: secret or "",
        }
        self._shutdown_timeout = shutdown_timeout
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            # Keyboard interrupts are for the program, not for the service.
            start_new_session=True,
            text=True,
        )
        self._errors: collections.deque[str] = collections.deque(maxlen=20)
        self._log = threading.Thread(target=self._read_errors, daemon=True)
        self._log.start()
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "listening":
            self._end(None)
            lines = [*self._errors] or [f"status {self._process.returncode}"]
            raise RuntimeError(f"the coordination service could not start: {lines[-1]}")

    def _read_errors(self) -> None:
        # The pipe is read continuously, because the service would block on a full pipe.
        assert self._process.stderr is not None
        logger = logging.getLogger(logger_name("distributed"))
        for line in self._process.stderr:
            text = line.strip()
            if text.startswith(_WARNING):
                logger.warning("%s", text.removeprefix(_WARNING))
            elif text:
                self._errors.append(text)

    def _end(self, timeout: float | None) -> None:
        """Closes the service's input, and waits for the service to end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(timeout)
        self._log.join(10)
        self._process.stdout.close()

    def stop(self) -> None:
        """Ends the service process once all other processes have finished."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._process.stdin.write("shutdown\n")
            self._end(self._shutdown_timeout)
        if self._process.poll() is None:
            self.kill()

    def discard(self) -> None:
        """Ends the service process after a failed start. It has 5 s to tell the other processes."""
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._end(5)
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """Kills the service process."""
        self._process.kill()
        self._end(None)


# ---- code of the service process ----


def _serve(options: dict[str, Any]) -> None:
    host, port = split_address(options["bind_address"])
    services: list[Any] = []

    def start() -> None:
        services.append(
            _jaxlib.distributed_runtime_service(
                options["bind_address"],
                options["num_processes"],
                heartbeat_timeout=_seconds(options["heartbeat_timeout"]),
                cluster_register_timeout=_seconds(options["initialization_timeout"]),
                shutdown_timeout=_seconds(options["shutdown_timeout"]),
                recoverable=True,
            )
        )

    timeout = options["initialization_timeout"]
    with _listening(host, port) as listener:
        print("listening", flush=True)
        receive_all(
            listener,
            options["num_processes"],
            time.monotonic() + timeout,
            timeout,
            start,
            secret=os.environ.get(SECRET_VARIABLE) or None,
            fields=_FIELDS,
        )
    if sys.stdin.readline().strip() != "shutdown":
        _wait_for_survivors(port, 2 * options["heartbeat_timeout"] + 10)
    services.pop().shutdown()


def _seconds(value: float) -> int:
    return max(1, round(value))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    if host == "::" and not socket.has_dualstack_ipv6():
        family, host = socket.AF_INET, "0.0.0.0"
    listener = socket.socket(family, socket.SOCK_STREAM)
    # The service takes over the port while connections to this listener are still open.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6 and host == "::":
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    # Port sharing would hide that another process uses the port, so first bind a socket without
    # sharing.
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(probe, host, port)
    _bind(listener, host, port)
    listener.listen(128)
    return listener


def _bind(listener: socket.socket, host: str, port: int) -> None:
    try:
        listener.bind((host, port))
    except OSError as error:
        remedy = ""
        if error.errno == errno.EADDRNOTAVAIL:
            remedy = (
                ". Pass an address of the machine of process 0 to distributed.initialize, such as "
                f"coordinator_bind_address='[::]:{port}' for all of them"
            )
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}{remedy}") from error


def _wait_for_survivors(port: int, longest: float) -> None:
    """Keeps the service up until the other processes have noticed process 0's death and left."""
    deadline = time.monotonic() + longest
    while time.monotonic() < deadline:
        time.sleep(0.5)
        if _connections(port) == 0:
            return


def _connections(port: int) -> int | None:
    """Returns the number of open connections to a local port; None if unknown."""
    count = 0
    try:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table) as lines:
                next(lines)
                for line in lines:
                    local, state = line.split()[1], line.split()[3]
                    count += state == "01" and int(local.rpartition(":")[2], 16) == port
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return count


def main(arguments: Sequence[str]) -> int:
    """Runs the service until process 0 ends it."""
    # Signals to process 0's group are meant for process 0.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format=f"{_WARNING}%(message)s", stream=sys.stderr, force=True)
    try:
        _serve(json.loads(arguments[0]))
    except Exception as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
