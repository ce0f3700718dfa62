# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of the processes of a program before XLA's coordination service starts.

XLA's client ends the process if it cannot reach the service, or if another process is missing. The
processes therefore first meet on the same port. Each process reports its index. Once all processes
have reported and agree, they are told to continue; otherwise they get an error.

Other programs may reach the port. The coordinator drops and logs their connections, and continues
to wait.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from olympus_ir.settings.naming import logger_name

from . import greetings
from .greetings import BadMessageError

__all__ = ["join", "receive_all", "split_address"]

_RETRY_SECONDS = 0.1
# Limits for a connection that is not yet admitted. A process sends its greeting immediately, in
# about 200 bytes.
_GREETING_SECONDS = 10.0
_LONGEST_GREETING = 4096
_LONGEST_ANSWER = 65536
# The maximal number of open connections that are not yet admitted. With more, the oldest is
# dropped.
_MOST_GUESTS = 256
# The maximal number of dropped connections that are logged individually.
_MOST_LOGGED = 20


def split_address(address: str) -> tuple[str, int]:
    """Splits an address such as ``"10.0.0.1:1234"`` or ``"[::1]:1234"`` into host and port.

    Raises:
      ValueError: the port is missing or is not a number.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or not host:
        raise ValueError(
            f"an address must have the form host:port, as '10.0.0.1:1234', got {address!r}"
        )
    return host.strip("[]"), int(port)


# ---- each process's side ----


def join(
    address: str,
    hello: dict[str, Any],
    deadline: float,
    timeout: float,
    secret: str | None = None,
) -> None:
    """Reports to the coordinator, and waits until all processes have reported.

    Args:
      address: the address of the coordinator.
      hello: the greeting of the process.
      deadline: the time at which to give up, on the clock `time.monotonic`.
      timeout: the total waiting time in seconds, for error messages.
      secret: the secret that the processes share; None for no secret.

    Raises:
      TimeoutError: the coordinator is not reached, or other processes are missing.
      ValueError: the processes do not agree on the program's layout or on the secret.
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
            answer = _converse(connection, hello, deadline, secret)
        except OSError:
            answer = None
        except BadMessageError as error:
            raise ValueError(
                f"process {hello['process_id']} was answered at {address} by a program that is not "
                f"its coordinator: {error}"
            ) from error
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
            time.sleep(min(_RETRY_SECONDS, left))  # the coordinator may not have started


def _converse(
    connection: socket.socket, hello: dict[str, Any], deadline: float, secret: str | None
) -> dict[str, Any] | None:
    """Greets the coordinator. Returns its last answer, or None if the connection ends."""
    greeting = hello if secret is None else {**hello, "nonce": greetings.nonce()}
    connection.sendall(greetings.encode(greeting))
    # Wait longer than the deadline, because the coordinator's answer names the missing processes.
    connection.settimeout(max(deadline - time.monotonic(), 0) + 10)
    with connection.makefile("rb") as lines:
        answer = _read_answer(lines)
        if secret is None or answer is None or "error" in answer:
            return answer
        challenge = answer.get("challenge")
        if not isinstance(challenge, str):
            raise BadMessageError("the coordinator does not ask for the shared secret")
        proof = greetings.prove(secret, "process", challenge, greeting)
        connection.sendall(greetings.encode({"proof": proof}))
        answer = _read_answer(lines)
    if answer is not None and "error" not in answer:
        expected = greetings.prove(secret, "coordinator", challenge, greeting)
        greetings.check_proof(answer.get("proof"), expected)
    return answer


def _read_answer(lines: Any) -> dict[str, Any] | None:
    line = lines.readline(_LONGEST_ANSWER)
    return greetings.decode(line) if line.endswith(b"\n") else None


# ---- the coordinator's side ----


def receive_all(
    listener: socket.socket,
    num_processes: int,
    deadline: float,
    timeout: float,
    start: Callable[[], None],
    secret: str | None = None,
    fields: Mapping[str, tuple[type, ...]] = greetings.FIELDS,
) -> None:
    """Waits for all processes, then starts the service and tells them to continue.

    A connection is dropped and logged if its greeting is malformed or late, or if it does not prove
    knowledge of the secret.

    Args:
      listener: a socket that listens on the coordinator's port. It is closed before ``start`` takes
        over the port.
      num_processes: the number of processes.
      deadline: the time at which to give up, on the clock `time.monotonic`.
      timeout: the total waiting time in seconds, for error messages.
      start: a function that starts the service.
      secret: the secret that the processes share; None for no secret.
      fields: the fields that each greeting has, with their types.

    Raises:
      TimeoutError: processes are missing.
      ValueError: the processes do not agree.
    """
    meeting = _Meeting(listener, num_processes, secret, fields)
    try:
        meeting.gather(deadline, timeout)
        listener.close()
        start()
    except Exception as error:
        for guest in meeting.members.values():
            guest.tell({"error": str(error), "timeout": isinstance(error, TimeoutError)})
        raise
    else:
        for guest in meeting.members.values():
            guest.tell({"go": True, **guest.proof_of_coordinator(secret)})
    finally:
        meeting.close()


@dataclasses.dataclass(eq=False)
class _Guest:
    """A connection to the coordinator.

    Attributes:
      connection: the non-blocking socket.
      address: the address of the other side, for messages.
      deadline: the time at which the connection is dropped, unless it is admitted.
      received: the incomplete line received so far.
      greeting: the greeting, once it has been received.
      challenge: the challenge that was sent; None without a secret.
      admitted: whether the connection belongs to a process of the program.
    """

    connection: socket.socket
    address: str
    deadline: float
    received: bytes = b""
    greeting: dict[str, Any] | None = None
    challenge: str | None = None
    admitted: bool = False

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message if this is possible without waiting."""
        with contextlib.suppress(OSError):
            self.connection.sendall(greetings.encode(message))

    def proof_of_coordinator(self, secret: str | None) -> dict[str, str]:
        """Returns the field by which the coordinator proves that it knows the secret, if any."""
        if secret is None or self.challenge is None or self.greeting is None:
            return {}
        return {"proof": greetings.prove(secret, "coordinator", self.challenge, self.greeting)}


class _Meeting:
    """Coordinator's side of a rendezvous.

    One thread serves all connections, without waiting for any of them.
    """

    def __init__(
        self,
        listener: socket.socket,
        num_processes: int,
        secret: str | None,
        fields: Mapping[str, tuple[type, ...]],
    ) -> None:
        self.members: dict[int, _Guest] = {}
        self._guests: list[_Guest] = []  # the connections that are not yet admitted, oldest first
        self._listener = listener
        self._num_processes = num_processes
        self._secret = secret
        self._fields = fields
        self._dropped = 0
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def gather(self, deadline: float, timeout: float) -> None:
        """Admits connections until all processes are members."""
        while len(self.members) < self._num_processes:
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError(self._missing(timeout))
            while self._guests and self._guests[0].deadline <= now:
                self._drop(self._guests[0], f"no greeting within {_GREETING_SECONDS:g} seconds")
            soonest = min([deadline, *(guest.deadline for guest in self._guests[:1])])
            for key, _ in self._selector.select(soonest - now):
                if key.data is None:
                    self._accept()
                # The connection has not been dropped in the meantime.
                elif key.data.connection.fileno() >= 0:
                    self._receive(key.data)

    def close(self) -> None:
        """Closes all connections."""
        self._selector.close()
        for guest in [*self._guests, *self.members.values()]:
            guest.connection.close()

    def _missing(self, timeout: float) -> str:
        missing = sorted(set(range(self._num_processes)) - set(self.members))
        dropped = f" {self._dropped} other connections were dropped." if self._dropped else ""
        return (
            f"processes {missing} of {self._num_processes} did not report to the coordinator "
            f"within {timeout:g} seconds. Start them, or give them more time with "
            f"initialization_timeout.{dropped}"
        )

    def _accept(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError:  # the other side has left, or there are too many open files
            time.sleep(0.01)
            return
        connection.setblocking(False)
        deadline = time.monotonic() + _GREETING_SECONDS
        guest = _Guest(connection, f"{address[0]} port {address[1]}", deadline)
        self._guests.append(guest)
        self._selector.register(connection, selectors.EVENT_READ, guest)
        if len(self._guests) > _MOST_GUESTS:
            self._drop(self._guests[0], "too many connections have not sent a greeting")

    def _receive(self, guest: _Guest) -> None:
        try:
            part = guest.connection.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._drop(guest, "the other side closed it")
        elif not guest.admitted:
            line, end, rest = (guest.received + part).partition(b"\n")
            guest.received = rest if end else line
            try:
                if len(line) > _LONGEST_GREETING or len(rest) > _LONGEST_GREETING:
                    raise BadMessageError(f"more than {_LONGEST_GREETING} bytes came")
                if end:
                    self._hear(guest, line)
            except BadMessageError as error:
                guest.tell({"error": f"the coordinator dropped this connection: {error}"})
                self._drop(guest, str(error))

    def _hear(self, guest: _Guest, line: bytes) -> None:
        message = greetings.decode(line)
        if guest.greeting is None:
            greetings.check_greeting(message, self._fields, self._num_processes)
            if self._secret is None and "nonce" in message:
                raise BadMessageError("the process has a shared secret, the coordinator has none")
            if self._secret is not None and "nonce" not in message:
                raise BadMessageError("the coordinator has a shared secret, the process has none")
            guest.greeting = message
            if self._secret is not None:
                guest.challenge = greetings.nonce()
                guest.tell({"challenge": guest.challenge})
                return
        elif self._secret is not None and guest.challenge is not None:
            expected = greetings.prove(self._secret, "process", guest.challenge, guest.greeting)
            greetings.check_proof(message.get("proof"), expected)
        self._admit(guest, guest.greeting)

    def _admit(self, guest: _Guest, greeting: dict[str, Any]) -> None:
        process_id = greeting["process_id"]
        if process_id in self.members:
            message = (
                f"two processes have the process_id {process_id}; the ids of "
                f"{self._num_processes} processes are 0 to {self._num_processes - 1}"
            )
            guest.tell({"error": message})
            raise ValueError(message)
        guest.admitted = True
        self._guests.remove(guest)
        self.members[process_id] = guest
        _check_agreement(self.members, process_id)

    def _drop(self, guest: _Guest, reason: str) -> None:
        """Closes a connection. If it was admitted, its process can report again."""
        self._selector.unregister(guest.connection)
        guest.connection.close()
        if guest.admitted and guest.greeting is not None:
            del self.members[guest.greeting["process_id"]]
        else:
            self._guests.remove(guest)
        self._dropped += 1
        if self._dropped <= _MOST_LOGGED:
            logger = logging.getLogger(logger_name("distributed"))
            logger.warning(
                "The coordinator dropped a connection from %s: %s.%s",
                guest.address,
                reason,
                " Further ones are not logged." if self._dropped == _MOST_LOGGED else "",
            )


# The fields that differ between processes.
_OWN_FIELDS = {"process_id", "nonce"}


def _check_agreement(members: Mapping[int, _Guest], process_id: int) -> None:
    first_id = next(iter(members))
    first, hello = members[first_id].greeting or {}, members[process_id].greeting or {}
    for name in first:
        if name not in _OWN_FIELDS and first[name] != hello.get(name):
            raise ValueError(
                f"the processes do not agree: {name} is {first[name]!r} in process {first_id} and "
                f"{hello.get(name)!r} in process {process_id}"
            )
