# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of the processes of a program before XLA's coordination service starts.

XLA's client ends the process if it cannot reach the service or if another process is missing. So
the processes meet first, on the same port. Each process reports its number. It is told to continue
once all processes have reported and agree; otherwise it gets an error. Messages are lines of JSON.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

__all__ = ["join", "receive_all", "split_address"]

_RETRY_SECONDS = 0.1
_LONGEST_MESSAGE = 65536


def split_address(address: str) -> tuple[str, int]:
    """Splits an address such as ``"10.0.0.1:1234"`` or ``"[::1]:1234"`` into host and port.

    Raises:
      ValueError: the port is missing or is not a number.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or not host:
        raise ValueError(
            f"an address has the form host:port, such as '10.0.0.1:1234', got {address!r}"
        )
    return host.strip("[]"), int(port)


# ---- each process ----


def join(address: str, hello: dict[str, Any], deadline: float, timeout: float) -> None:
    """Reports to the coordinator, and waits until all processes have reported.

    Args:
      address: the address of the coordinator.
      hello: the report of the process.
      deadline: the time at which to give up, on the clock `time.monotonic`.
      timeout: the total waiting time in seconds, for error messages.

    Raises:
      TimeoutError: the coordinator is not reached, or other processes are missing.
      ValueError: the processes do not agree on the program's layout.
    """
    host, port = split_address(address)
    connection = _connect(host, port, deadline)
    if connection is None:
        raise TimeoutError(
            f"process {hello['process_id']} did not reach the coordinator at {address} within "
            f"{timeout:g} seconds. Is process 0 running, is the address that of its machine, and "
            "is the port free and open?"
        )
    with connection:
        try:
            connection.sendall(json.dumps(hello).encode() + b"\n")
            # The coordinator knows which processes are missing, so it gets more time to answer.
            connection.settimeout(max(deadline - time.monotonic(), 0) + 10)
            answer = _read_line(connection)
        except OSError:
            answer = None
    if answer is None:
        raise TimeoutError(
            f"process {hello['process_id']} lost its connection to the coordinator at {address} "
            "while waiting for the other processes"
        )
    if "error" in answer:
        error_type = TimeoutError if answer.get("timeout") else ValueError
        raise error_type(answer["error"])


def _connect(host: str, port: int, deadline: float) -> socket.socket | None:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            return socket.create_connection((host, port), timeout=min(left, 5.0))
        except OSError:
            time.sleep(min(_RETRY_SECONDS, left))  # the coordinator may not have started yet


def _read_line(connection: socket.socket) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n"):
        part = connection.recv(4096)
        if not part or len(data) > _LONGEST_MESSAGE:
            return None
        data += part
    return json.loads(data)


# ---- the coordinator ----


def receive_all(
    listener: socket.socket,
    num_processes: int,
    deadline: float,
    timeout: float,
    start: Callable[[], None],
) -> None:
    """Waits for all processes, then starts the service and tells them to continue.

    Args:
      listener: a socket that listens on the coordinator's port. It is closed before ``start`` takes
        over the port.
      num_processes: the number of processes.
      deadline: the time at which to give up, on the clock `time.monotonic`.
      timeout: the total waiting time in seconds, for error messages.
      start: a function that starts the service.

    Raises:
      TimeoutError: processes are missing.
      ValueError: the processes do not agree.
    """
    connections: dict[int, socket.socket] = {}
    hellos: dict[int, dict[str, Any]] = {}
    try:
        _gather(listener, num_processes, deadline, timeout, connections, hellos)
        listener.close()
        start()
    except Exception as error:
        message = {"error": str(error), "timeout": isinstance(error, TimeoutError)}
        _tell(connections, message)
        raise
    _tell(connections, {"go": True})


def _gather(
    listener: socket.socket,
    num_processes: int,
    deadline: float,
    timeout: float,
    connections: dict[int, socket.socket],
    hellos: dict[int, dict[str, Any]],
) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while len(connections) < num_processes:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                missing = sorted(set(range(num_processes)) - set(connections))
                raise TimeoutError(
                    f"processes {missing} of {num_processes} did not report to the coordinator "
                    f"within {timeout:g} seconds. Start them, or give them more time with "
                    "initialization_timeout."
                )
            connection, _ = listener.accept()
            connection.settimeout(5.0)
            hello = None
            try:
                hello = _read_line(connection)
                process_id = int(hello["process_id"]) if hello else None
            except (OSError, ValueError, KeyError, TypeError):
                process_id = None
            if process_id is None or hello is None:  # a connection from another program
                connection.close()
                continue
            other = connections.get(process_id)
            connections[process_id] = connection
            if other is not None:
                _tell({0: other}, {"error": f"two processes have the process_id {process_id}"})
                raise ValueError(
                    f"two processes have the process_id {process_id}; the ids of "
                    f"{num_processes} processes are 0 to {num_processes - 1}"
                )
            hellos[process_id] = hello
            _check_agreement(hellos, process_id)


def _check_agreement(hellos: dict[int, dict[str, Any]], process_id: int) -> None:
    first_id = next(iter(hellos))
    first, hello = hellos[first_id], hellos[process_id]
    for name in first:
        if name != "process_id" and first[name] != hello.get(name):
            raise ValueError(
                f"the processes do not agree: {name} is {first[name]!r} in process {first_id} and "
                f"{hello.get(name)!r} in process {process_id}"
            )


def _tell(connections: dict[int, socket.socket], message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    for connection in connections.values():
        with contextlib.suppress(OSError), connection:
            connection.sendall(data)
