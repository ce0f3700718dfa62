# SPDX-License-Identifier: Apache-2.0
"""Two real processes with two devices each: collectives, training, failures, disagreement."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

TIMEOUT = 150
HEARTBEAT = 3

# What every process does first. `rank` is its number; `show` prints a line that the test reads.
PREAMBLE = """
import os, sys, time
import numpy as np
import olympus
import olympus.numpy as jnp
from olympus import P, grad, jit, lax, value_and_grad
from olympus.experimental import multihost_utils
from olympus.sharding import AxisType, Mesh, NamedSharding

rank = int(os.environ["RANK"])

def show(*values):
    print("SHOWN", *values, flush=True)

olympus.config.update("olympus_num_cpu_devices", 2)
"""

INITIALIZE = f"""
olympus.distributed.initialize(
    os.environ["ADDRESS"], 2, rank, initialization_timeout=60,
    heartbeat_timeout_seconds={HEARTBEAT}, shutdown_timeout_seconds=30,
)
mesh = Mesh(np.array(olympus.devices()), ("i",))
rows = NamedSharding(mesh, P("i"))
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_about(text):
    """Returns the ids of the processes whose command line contains a text."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_text()
        except OSError:
            continue
        if text in command:
            found.append(int(entry.name))
    return found


class Run:
    """Output and exit status of the processes of one program."""

    def __init__(self, statuses, outputs, errors):
        self.statuses = statuses
        self.outputs = outputs
        self.errors = errors

    def shown(self, rank):
        lines = self.outputs[rank].splitlines()
        return [line.partition("SHOWN ")[2] for line in lines if "SHOWN " in line]


@pytest.fixture
def run_two():
    """Runs the same code in two processes; afterwards none of them is left."""
    ports = []

    def run(*parts, environment=None, check=True):
        port = free_port()
        ports.append(port)
        code = PREAMBLE + "".join(textwrap.dedent(part) for part in parts)
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OLYMPUS_", "XLA_", "SLURM_", "OMPI_"))
        }
        own["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        processes = []
        try:
            for rank in (0, 1):
                variables = {
                    "RANK": str(rank),
                    "ADDRESS": f"127.0.0.1:{port}",
                    **{
                        name: value.format(rank=rank, port=port)
                        for name, value in (environment or {}).items()
                    },
                }
                processes.append(
                    subprocess.Popen(
                        [sys.executable, "-c", code],
                        env={**own, **variables},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
            outputs, errors = zip(
                *(process.communicate(timeout=TIMEOUT) for process in processes), strict=True
            )
        finally:
            for process in processes:
                process.kill()
                process.wait()
        result = Run([process.returncode for process in processes], outputs, errors)
        if check:
            assert result.statuses == [0, 0], "\n".join(errors)
        return result

    yield run
    deadline = time.monotonic() + 3 * HEARTBEAT + 10
    for port in ports:
        while left := processes_about(f'"127.0.0.1:{port}"'):
            assert time.monotonic() < deadline, f"coordination services are left: {left}"
            time.sleep(0.2)


def test_devices_collectives_and_the_environment(run_two):
    result = run_two(
        """
        olympus.distributed.initialize(heartbeat_timeout_seconds=10)
        show(olympus.distributed.is_initialized())
        show(olympus.process_index(), olympus.process_count())
        show(len(olympus.devices()), [d.process_index for d in olympus.local_devices()])
        mesh = Mesh(np.array(olympus.devices()), ("i",))
        rows = NamedSharding(mesh, P("i"))
        x = olympus.make_array_from_callback((8,), rows, lambda index: np.arange(8.0)[index])
        show(x.is_fully_addressable, [s.index[0].start for s in x.addressable_shards])
        show(repr(x))
        # Through shardings, and by hand.
        show(float(jit(jnp.sum)(x)))
        total = olympus.shard_map(
            lambda block: lax.psum(jnp.sum(block), "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
        )
        show(float(jit(total)(x)))
        olympus.distributed.shutdown()
        show(olympus.distributed.is_initialized())
        """,
        environment={
            "OLYMPUS_COORDINATOR_ADDRESS": "127.0.0.1:{port}",
            "OLYMPUS_NUM_PROCESSES": "2",
            "OLYMPUS_PROCESS_ID": "{rank}",
        },
    )
    for rank in (0, 1):
        assert result.shown(rank) == [
            "True",
            f"{rank} 2",
            f"4 [{rank}, {rank}]",
            f"False [{4 * rank}, {4 * rank + 2}]",
            "Array(shape=(8,), dtype=float32)",
            "28.0",
            "28.0",
            "False",
        ]


def test_initialization_follows_flags(run_two):
    result = run_two(
        INITIALIZE,
        """
        show([device.process_index for device in olympus.devices()])
        try:
            multihost_utils.reached_preemption_sync_point(1)
        except RuntimeError as error:
            show(error)
        """,
        environment={
            "OLYMPUS_ENABLE_PREEMPTION_SERVICE": "0",
            "OLYMPUS_DISTRIBUTED_DEBUG": "1",
            "http_proxy": "proxy:3128",
            "no_proxy": "127.0.0.1,localhost",
        },
    )
    for rank in (0, 1):
        devices, refusal = result.shown(rank)
        assert devices == "[0, 0, 1, 1]"
        assert "disabled by the flag olympus_enable_preemption_service" in refusal
        assert f"as process {rank} of 2" in result.errors[rank]
        assert f"process {rank} of 2 is connected" in result.errors[rank]
        assert "the environment variables http_proxy name proxies" in result.errors[rank]


def test_multihost_utilities_gather_and_broadcast(run_two):
    result = run_two(
        INITIALIZE,
        """
        own = np.arange(2) + 10 * rank
        show(multihost_utils.process_allgather(own).tolist())
        show(multihost_utils.process_allgather(own, tiled=True).tolist())
        show(multihost_utils.broadcast_one_to_all({"a": own})["a"].tolist())
        show(multihost_utils.broadcast_one_to_all(own, is_source=rank == 1).tolist())
        show(np.signbit(multihost_utils.broadcast_one_to_all(np.float32(-0.0))))
        multihost_utils.sync_global_devices("same")
        for check in (
            lambda: multihost_utils.assert_equal(rank, "they differ."),
            lambda: multihost_utils.sync_global_devices(f"place {rank}"),
        ):
            try:
                check()
                show("equal")
            except AssertionError as error:
                show(str(error).partition(" Expected")[0])
        whole = multihost_utils.host_local_array_to_global_array(own, mesh, P("i"))
        show(whole.shape, whole.sharding == rows)
        show(multihost_utils.process_allgather(whole).tolist())
        local = multihost_utils.global_array_to_host_local_array(whole, mesh, P("i"))
        show(np.asarray(local).tolist())
        spread = olympus.device_put(whole, NamedSharding(mesh, P()))
        show(np.asarray(spread).tolist())
        with multihost_utils.live_devices(olympus.devices()) as live:
            show(len(live))
        for attempt in (lambda: np.asarray(whole),
                        lambda: olympus.device_put(whole, olympus.local_devices()[0])):
            try:
                attempt()
            except (RuntimeError, ValueError) as error:
                show(type(error).__name__)
        """,
    )
    for rank in (0, 1):
        assert result.shown(rank) == [
            "[[0, 1], [10, 11]]",
            "[0, 1, 10, 11]",
            "[0, 1]",
            "[10, 11]",
            "True",
            "they differ." if rank else "equal",
            "sync_global_devices name mismatch ('place 1')." if rank else "equal",
            "(4,) True",
            "[0, 1, 10, 11]",
            str([10 * rank, 10 * rank + 1]),
            "[0, 1, 10, 11]",
            "4",
            "RuntimeError",
            "ValueError",
        ]


# The model of the tour, trained with the batch divided over the devices.
MODEL = """
def predict(params, inputs):
    for W, b in params:
        outputs = jnp.dot(inputs, W) + b
        inputs = jnp.tanh(outputs)
    return outputs

def loss(params, batch):
    inputs, targets = batch
    preds = predict(params, inputs)
    return jnp.sum((preds - targets) ** 2)

def update(params, gradients):
    return olympus.tree.map(lambda p, g: p - 0.01 * g, params, gradients)

random = np.random.default_rng(0)
sizes = [4, 16, 2]
params = [
    (0.3 * random.normal(size=(m, n)).astype(np.float32), np.zeros(n, np.float32))
    for m, n in zip(sizes, sizes[1:])
]
inputs = random.normal(size=(32, 4)).astype(np.float32)
batch = inputs, np.sin(2 * inputs[:, :2])
"""


def reference_losses(steps):
    """Returns the losses of the same training in NumPy, with handwritten gradients."""
    random = np.random.default_rng(0)
    w1 = 0.3 * random.normal(size=(4, 16)).astype(np.float32)
    w2 = 0.3 * random.normal(size=(16, 2)).astype(np.float32)
    b1, b2 = np.zeros(16, np.float32), np.zeros(2, np.float32)
    inputs = random.normal(size=(32, 4)).astype(np.float32)
    targets = np.sin(2 * inputs[:, :2])
    losses = []
    for _ in range(steps):
        hidden = np.tanh(inputs @ w1 + b1)
        difference = hidden @ w2 + b2 - targets
        losses.append(float((difference**2).sum()))
        d_out = 2 * difference
        d_hidden = d_out @ w2.T * (1 - hidden**2)
        w2, b2 = w2 - 0.01 * hidden.T @ d_out, b2 - 0.01 * d_out.sum(0)
        w1, b1 = w1 - 0.01 * inputs.T @ d_hidden, b1 - 0.01 * d_hidden.sum(0)
    return losses


@pytest.mark.thorough("shardings")
@pytest.mark.parametrize("way", ["shardings", "shard_map"])
def test_training_loss_equals_numpy(run_two, way):
    steps = {
        "shardings": """
        @jit
        def step(params, batch):
            value, gradients = value_and_grad(loss)(params, batch)
            return update(params, gradients), value
        """,
        "shard_map": """
        @jit
        @olympus.shard_map(mesh=mesh, in_specs=(P(), (P("i"), P("i"))), out_specs=(P(), P()))
        def step(params, batch):
            def global_loss(params):
                return lax.psum(loss(params, batch), "i")
            value, gradients = value_and_grad(global_loss)(params)
            return update(params, gradients), value
        """,
    }
    result = run_two(
        INITIALIZE,
        MODEL,
        steps[way],
        """
        def divided(array):  # each process gives the rows of its own devices
            half = len(array) // 2
            own = array[half * rank : half * (rank + 1)]
            return olympus.make_array_from_process_local_data(rows, own)

        batch = olympus.tree.map(divided, batch)
        params = olympus.device_put(params, NamedSharding(mesh, P()))
        for _ in range(20):
            params, value = step(params, batch)
            show(float(value))
        """,
    )
    losses = [float(line) for line in result.shown(0)]
    assert result.shown(0) == result.shown(1)
    np.testing.assert_allclose(losses, reference_losses(20), rtol=1e-4)


def test_pmap_maps_over_devices_of_each_process(run_two):
    result = run_two(
        INITIALIZE,
        """
        own = np.arange(2.0) + 10 * rank
        total = olympus.pmap(lambda x: x / lax.psum(x, "i"), "i")
        show(np.asarray(total(own)).tolist())
        same = olympus.pmap(lambda x: lax.pmax(x, "i"), "i", out_axes=None)
        show(np.asarray(same(own)).tolist())
        again = total(total(own))  # results are operands
        show(again.is_fully_addressable, again.shape)
        try:
            total(np.ones(4))
        except ValueError as error:
            show(error)
        """,
    )
    for rank in (0, 1):
        quotients, largest, again, error = result.shown(rank)
        own = np.arange(2.0) + 10 * rank
        np.testing.assert_allclose(eval(quotients), own / 22, rtol=1e-6)
        assert float(largest) == 11.0
        assert again == "True (2,)"
        assert "only 2 devices in each process" in error


@pytest.mark.parametrize("victim", [0, 1])
def test_death_of_one_process_raises_in_other(run_two, victim):
    """Includes the death of process 0, and death during a collective."""
    result = run_two(
        INITIALIZE,
        f"""
        import signal
        x = olympus.make_array_from_callback((4,), rows, lambda index: np.ones(4)[index])
        total = jit(jnp.sum)
        show(float(total(x)))
        if rank == {victim}:
            os.kill(os.getpid(), signal.SIGKILL)
        died = time.monotonic()
        failures = []
        try:
            total(x).block_until_ready()  # a broken connection may be noticed at once
        except Exception as error:
            failures.append(error)
        try:
            while time.monotonic() < died + 60 and not any(
                isinstance(f, multihost_utils.ProcessFailureError) for f in failures
            ):
                time.sleep(0.1)
        except multihost_utils.ProcessFailureError as error:
            failures.append(error)
        show(time.monotonic() - died)
        error = failures[-1]
        show(type(error).__name__, sorted(error.failed_processes), len(error.failed_devices))
        try:
            total(x)
        except multihost_utils.ProcessFailureError:
            show("refused")
        show(float(jnp.sum(jnp.ones(3))))  # what is local goes on
        """,
        check=False,
    )
    survivor = 1 - victim
    assert result.statuses[victim] == -signal.SIGKILL
    assert result.statuses[survivor] == 0, result.errors[survivor]
    total, elapsed, error, refused, local = result.shown(survivor)
    assert total == "4.0"
    assert float(elapsed) < HEARTBEAT + 4
    assert error == f"ProcessFailureError [{victim}] 2"
    assert refused == "refused"
    assert local == "3.0"


FAILING_CALLBACK = """
fails = False

def check(block):
    if fails and rank == 1:
        raise KeyError("mine")
    return block

@jit
@olympus.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
def total(x):
    return lax.psum(jnp.sum(olympus.pure_callback(check, x, x)), "i")

def read(x):
    return float(x.addressable_shards[0].data)

x = olympus.make_array_from_callback((4,), rows, lambda index: np.ones(4, np.float32)[index])
show(read(total(x)))  # the devices are connected
fails = True
"""


def test_failing_callback_raises_in_every_process(run_two):
    """The process whose callback fails learns of it at once, and the other one soon."""
    result = run_two(
        INITIALIZE,
        FAILING_CALLBACK,
        """
        began = time.monotonic()
        try:
            read(total(x))
        except RuntimeError as error:
            show(type(error).__name__)
        show(time.monotonic() - began)
        if rank == 1:  # which goes on, and does not make the other wait
            time.sleep(10)
        try:
            while True:  # the other process hears of the reason a moment later
                time.sleep(0.1)
                total(x)
        except multihost_utils.ProcessFailureError as error:
            show(sorted(error.failed_processes))
        """,
        check=False,
    )
    for rank in (0, 1):
        value, error, elapsed, failed = result.shown(rank)
        assert (value, failed) == ("4.0", "[1]")
        assert error in ("JaxRuntimeError", "ProcessFailureError")[: 2 - rank]
        assert float(elapsed) < HEARTBEAT + 6
    assert "KeyError: 'mine'" in result.errors[1]


def test_failing_callback_whose_result_nobody_reads(run_two):
    result = run_two(INITIALIZE, FAILING_CALLBACK, "total(x)", check=False)
    assert result.statuses == [1, 1]
    assert "KeyError: 'mine'" in result.errors[1]
    assert "ProcessFailureError" in result.errors[0]


def test_uncaught_exception_raises_in_other_processes(run_two):
    result = run_two(
        INITIALIZE,
        """
        olympus.devices()
        if rank == 1:
            raise KeyError("mine")
        try:
            time.sleep(30)
        except multihost_utils.ProcessFailureError as error:
            show(error)
        """,
        check=False,
    )
    assert result.statuses == [0, 1]
    assert "KeyError: 'mine'" in result.errors[1]
    assert "process 1 of 2 died" in result.shown(0)[0]


def test_different_programs_raise(run_two):
    result = run_two(
        INITIALIZE,
        """
        x = olympus.make_array_from_callback((4,), rows, lambda index: np.ones(4)[index])
        def doubled(x):
            return x * 2
        def tripled(x):
            return x * 3
        try:
            jit(tripled if rank else doubled)(x)
        except ValueError as error:
            show(error)
        multihost_utils.sync_global_devices("both are well")
        """,
    )
    for rank, (own, other) in enumerate([("doubled", "tripled"), ("tripled", "doubled")]):
        (message,) = result.shown(rank)
        assert f"process {rank} is about to compile `{own}`" in message
        assert f"compiles `{other}`" in message


def test_inconsistent_processes_raise(run_two):
    result = run_two(
        """
        try:
            olympus.distributed.initialize(
                os.environ["ADDRESS"], 2 + rank, rank, initialization_timeout=30
            )
        except ValueError as error:
            show(error)
        """
    )
    for rank in (0, 1):
        (message,) = result.shown(rank)
        assert "do not agree: num_processes is" in message
