# SPDX-License-Identifier: Apache-2.0
"""Starting programs of several processes, as far as one process can. Each test has its own.

integration_tests/test_multiprocess.py has the programs that two processes run.
"""

from __future__ import annotations

import socket
import threading
import time

import pytest

from olympus_xla.processes import rendezvous

INITIALIZE = """
from olympus_xla.platforms import backends
from olympus_xla.processes import distributed
try:
    distributed.initialize({arguments})
    print("initialized", backends.process_count(), distributed.is_initialized())
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def initialize(run_python):
    return lambda arguments: run_python(INITIALIZE.format(arguments=arguments))


def test_one_process_initializes(initialize, port):
    assert initialize(f"'localhost:{port}', 1, 0") == "initialized 1 True"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "ValueError coordinator_address should be defined"),
        ("'host:1'", "ValueError Number of processes must be defined"),
        ("'host:1', 2", "ValueError The process id of the current process must be defined"),
        ("'host:1', 2, 2", "ValueError process_id must be between 0 and num_processes - 1 = 1"),
        ("'host', 2, 0", "ValueError an address must have the form host:port"),
        ("cluster_detection_method='slurm'", "ValueError cluster_detection_method is 'slurm'"),
    ],
)
def test_wrong_arguments_are_reported(initialize, arguments, message):
    assert initialize(arguments).startswith(message)


def test_missing_processes_raise_a_timeout(initialize, port):
    """Raises an exception; XLA's client would end the process."""
    printed = initialize(f"'localhost:{port}', 3, 0, initialization_timeout=5")
    assert printed.startswith("TimeoutError processes [1, 2] of 3 did not report")
    printed = initialize(f"'localhost:{port}', 2, 1, initialization_timeout=1")
    assert printed.startswith("TimeoutError process 1 did not reach the coordinator")


def test_used_port_raises(initialize, port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        printed = initialize(f"'127.0.0.1:{port}', 1, 0")
    assert "RuntimeError the coordination service could not start: cannot listen" in printed


def test_initialization_twice_or_too_late_raises(run_python, port):
    printed = run_python(f"""
from olympus_xla.platforms import backends
from olympus_xla.processes import distributed
distributed.initialize("localhost:{port}", 1, 0)
try:
    distributed.initialize("localhost:{port}", 1, 0)
except RuntimeError as error:
    print(error)
backends.devices()
distributed.shutdown()
distributed.shutdown()
try:
    distributed.initialize("localhost:{port}", 1, 0)
except RuntimeError as error:
    print(error)
""")
    twice, late = printed.splitlines()
    assert twice == "distributed.initialize should only be called once."
    assert "must be called before any OLYMPUS calls that might initialize" in late


def test_addresses_are_split_into_host_and_port():
    assert rendezvous.split_address("10.0.0.1:12") == ("10.0.0.1", 12)
    assert rendezvous.split_address("[::1]:12") == ("::1", 12)
    for address in ("host", "host:", ":12", "host:port"):
        with pytest.raises(ValueError, match="host:port"):
            rendezvous.split_address(address)


def meet(hellos, num_processes, timeout=5.0, strangers=0):
    """Runs the rendezvous; returns the outcome for each process and for the coordinator."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    outcomes = [None] * (len(hellos) + 1)

    def note(position, function, *arguments):
        try:
            function(*arguments)
            outcomes[position] = "go"
        except (ValueError, TimeoutError) as error:
            outcomes[position] = error

    deadline = time.monotonic() + timeout
    coordinator = (listener, num_processes, deadline, timeout, lambda: None)
    threads = [threading.Thread(target=note, args=(-1, rendezvous.receive_all, *coordinator))]
    for position, hello in enumerate(hellos):
        process = (f"127.0.0.1:{port}", hello, deadline, timeout)
        threads.append(threading.Thread(target=note, args=(position, rendezvous.join, *process)))
    for _ in range(strangers):
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    listener.close()
    return outcomes


def hello(process_id, **fields):
    return {"process_id": process_id, "num_processes": 2, **fields}


def test_rendezvous_of_processes():
    assert meet([hello(0), hello(1)], 2) == ["go"] * 3
    assert meet([hello(1), hello(0)], 2, strangers=2) == ["go"] * 3


def test_rendezvous_failure_reaches_all_processes():
    missing = meet([hello(0)], 2, timeout=0.5)
    assert all(isinstance(outcome, TimeoutError) for outcome in missing)
    differing = meet([hello(0, jaxlib=1), hello(1, jaxlib=2)], 2)
    assert all("jaxlib is" in str(outcome) for outcome in differing)
    twins = meet([hello(1), hello(1)], 2)
    assert all("two processes have the process_id 1" in str(outcome) for outcome in twins)
