# SPDX-License-Identifier: Apache-2.0
"""Unknown connections at the coordinator's port, and the secret that processes share."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from olympus_xla.processes import distributed, greetings, rendezvous

# No test waits for so long, unless a stranger can block the others.
TIMEOUT = 30.0


def greeting(process_id, **fields):
    return {"process_id": process_id, "num_processes": 2, **fields}


class Meeting:
    """Coordinator of two processes in a thread, on a port of the loopback address."""

    def __init__(self, secret=None):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.deadline = time.monotonic() + TIMEOUT
        self.outcome = None
        self.failures = []
        self.processes = []
        arguments = (self.listener, 2, self.deadline, TIMEOUT, lambda: None)
        options = {"secret": secret} if secret else {}
        self.thread = threading.Thread(target=self._coordinate, args=(arguments, options))
        self.thread.start()

    def _coordinate(self, arguments, options):
        try:
            rendezvous.receive_all(*arguments, **options)
            self.outcome = "go"
        except BaseException as error:
            self.outcome = error

    def stranger(self, data=b""):
        connection = socket.create_connection(self.listener.getsockname(), timeout=TIMEOUT)
        connection.sendall(data)
        return connection

    def join(self, hello, *secret):
        rendezvous.join(self.address, hello, self.deadline, TIMEOUT, *secret)

    def _join(self, *arguments):
        try:
            self.join(*arguments)
        except (ValueError, TimeoutError) as error:
            self.failures.append(error)

    def start(self, hello, *secret):
        self.processes.append(threading.Thread(target=self._join, args=(hello, *secret)))
        self.processes[-1].start()

    def end(self):
        for thread in [self.thread, *self.processes]:
            thread.join(2 * TIMEOUT)
        assert not self.failures
        return self.outcome


@pytest.fixture
def meeting():
    with contextlib.ExitStack() as stack:

        def make(secret=None):
            made = Meeting(secret)
            stack.callback(made.listener.close)
            stack.callback(made.end)
            return made

        yield make


# ---- greetings ----


def line(**fields):
    return json.dumps(fields).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (line(process_id=9), "no proper num_processes"),
        (line(process_id=9, num_processes=2), "not one of those of 2 processes"),
        (line(process_id=-1, num_processes=2), "not one of those of 2 processes"),
        (line(process_id="1", num_processes=2), "no proper process_id"),
        (line(process_id=True, num_processes=2), "no proper process_id"),
        (line(process_id=1.0, num_processes=2), "no proper process_id"),
        (line(process_id=1, num_processes=2, more=[[]]), "nested values"),
        (b'{"process_id": 1, "num_processes": 2, "x": NaN}\n', "not JSON"),
        (b'{"process_id": ' + 2000 * b"[" + b"\n", "nested too deeply|nested values|not JSON"),
        (600 * b'{"a":' + 600 * b"}" + b"\n", "nested too deeply|nested values|not JSON"),
        (2000 * b"[" + 2000 * b"]" + b"\n", "nested too deeply|not a JSON object"),
        (100_000 * b"x", "more than 4096 bytes"),
    ],
)
def test_invalid_greetings_are_dropped_and_logged(meeting, caplog, data, reason):
    made = meeting()
    with made.stranger(data) as stranger:
        made.start(greeting(0))
        made.start(greeting(1))
        assert made.end() == "go"
        with contextlib.suppress(ConnectionResetError):
            assert b"go" not in stranger.recv(4096)
    assert caplog.text.count("dropped a connection from 127.0.0.1") == 1
    assert any(part in caplog.text for part in reason.split("|"))


def test_dropped_process_gets_the_reason(meeting):
    made = meeting()
    with pytest.raises(ValueError, match="dropped this connection: the process_id is not one of"):
        made.join(greeting(2))
    made.start(greeting(0))
    made.start(greeting(1))
    assert made.end() == "go"


def test_slow_connections_do_not_block_processes(meeting):
    made = meeting()
    with contextlib.ExitStack() as stack:
        for data in 10 * [b"", b"{", b'{"process_id": 1, ']:
            stack.enter_context(made.stranger(data))
        made.start(greeting(0))
        made.start(greeting(1))
        assert made.end() == "go"


def test_slow_connections_are_dropped(meeting, monkeypatch, caplog):
    monkeypatch.setattr(rendezvous, "_GREETING_SECONDS", 0.2)
    made = meeting()
    made.start(greeting(0))
    with made.stranger(b"{") as stranger:
        assert stranger.recv(1) == b""  # while the coordinator still waits for process 1
    made.start(greeting(1))
    assert made.end() == "go"
    assert "no greeting within 0.2 seconds" in caplog.text


def test_excess_connections_are_dropped(meeting, monkeypatch):
    monkeypatch.setattr(rendezvous, "_MOST_GUESTS", 2)
    made = meeting()
    with made.stranger() as first, made.stranger(), made.stranger():
        assert first.recv(1) == b""
        made.start(greeting(0))
        made.start(greeting(1))
        assert made.end() == "go"


def test_disconnected_process_can_reconnect(meeting):
    made = meeting()
    made.stranger(line(**greeting(1))).close()
    made.start(greeting(0))
    made.start(greeting(1))
    assert made.end() == "go"


# ---- the secret ----


def test_processes_with_the_secret_connect(meeting):
    made = meeting("sesame")
    made.start(greeting(0), "sesame")
    made.start(greeting(1), "sesame")
    assert made.end() == "go"


@pytest.mark.parametrize(
    ("secret", "message"),
    [("simsim", "wrong or missing"), ("sésame", "wrong or missing"), (None, "process has none")],
)
def test_a_process_without_the_secret_is_dropped(meeting, caplog, secret, message):
    made = meeting("sesame")
    with pytest.raises(ValueError, match=message):
        made.join(greeting(1), secret)
    made.start(greeting(0), "sesame")
    made.start(greeting(1), "sesame")
    assert made.end() == "go"
    assert message in caplog.text
    assert "sesame" not in caplog.text


def test_proofs_cannot_be_replayed(meeting):
    """A proof of another conversation, and the coordinator's own proof, are dropped."""
    hello = greeting(1, nonce="0")
    for role, challenge in [("process", "other"), ("coordinator", None)]:
        made = meeting("sesame")
        with made.stranger(line(**hello)) as stranger, stranger.makefile("rb") as lines:
            sent = json.loads(lines.readline())["challenge"]
            proof = greetings.prove("sesame", role, challenge or sent, hello)
            stranger.sendall(line(proof=proof))
            assert b"wrong or missing" in lines.readline()
        made.start(greeting(0), "sesame")
        made.start(greeting(1), "sesame")
        assert made.end() == "go"


def test_a_proof_is_an_hmac():
    """RFC 2104 with SHA-256, written out."""
    key, text = b"sesame".ljust(64, b"\0"), b'process\nabc\n{"process_id": 1}\n'
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key) + text).digest()
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()
    assert greetings.prove("sesame", "process", "abc", {"process_id": 1}) == outer


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([b'{"go": true}\n'], "does not ask for the shared secret"),
        ([b'{"challenge": "0"}\n', b'{"go": true}\n'], "wrong or missing"),
        ([b"HTTP/1.1 400 Bad Request\n"], "not JSON"),
    ],
)
def test_unauthenticated_coordinator_is_refused(answers, message):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                for text in answers:
                    connection.recv(4096)
                    connection.sendall(text)
                connection.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ValueError, match=message):
            rendezvous.join(address, greeting(1), time.monotonic() + TIMEOUT, TIMEOUT, "sesame")
        thread.join(TIMEOUT)


def test_secret_is_given_or_in_environment(monkeypatch):
    monkeypatch.setenv("OLYMPUS_COORDINATOR_SECRET", "sesame")
    assert distributed._secret(None) == "sesame"
    assert distributed._secret("simsim") == "simsim"
    with pytest.raises(TypeError, match="coordinator_secret must be a string, got a bytes"):
        distributed._secret(b"sesame")


# ---- addresses ----


def test_coordinator_listens_only_at_its_address():
    assert distributed._bind_address("localhost:12") == "localhost:12"
    assert distributed._bind_address("127.0.0.2:12") == "127.0.0.2:12"
    assert distributed._bind_address("10.1.2.3:12") == "10.1.2.3:12"
    assert distributed._bind_address("[fd00::1]:12") == "[fd00::1]:12"
    with pytest.raises(RuntimeError, match="names no machine"):
        distributed._bind_address("no.such.name.invalid:12")


def test_an_address_of_another_machine(run_python):
    # 192.0.2.0/24 belongs to no machine (RFC 5737).
    printed = run_python("""
from olympus_xla.processes import distributed
try:
    distributed.initialize("192.0.2.1:12345", 1, 0, initialization_timeout=5)
except RuntimeError as error:
    print(error)
""")
    assert "cannot listen on 192.0.2.1:12345" in printed
    assert "coordinator_bind_address='[::]:12345'" in printed


# ---- the whole start ----

PROGRAM = """
import sys
from olympus_xla.processes import distributed
distributed.initialize(sys.argv[1], 2, int(sys.argv[2]), initialization_timeout=60)
print("initialized")
distributed.shutdown()
"""


def start(address, number, **variables):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address, str(number)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_job_starts_despite_unknown_connections():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = probe.getsockname()
    address, secret = f"127.0.0.1:{place[1]}", {"OLYMPUS_COORDINATOR_SECRET": "sesame"}
    first = start(address, 0, **secret)
    strangers = []
    for data in (line(process_id=9), line(**greeting(1)), b"["):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                strangers.append(socket.create_connection(place, timeout=5))
                strangers[-1].sendall(data)
                break
            except OSError:
                time.sleep(0.02)
    second = start(address, 1, **secret)
    (printed, errors), (other, _) = first.communicate(timeout=90), second.communicate(timeout=90)
    for stranger in strangers:
        stranger.close()
    assert (printed, other) == ("initialized\n", "initialized\n"), errors
    assert errors.count("The coordinator dropped a connection from 127.0.0.1") >= 2
    assert "sesame" not in errors
