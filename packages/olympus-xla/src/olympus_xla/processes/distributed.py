# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes, on XLA's coordination service.

Every process calls `initialize` before its first computation. From then on, `devices` lists the
devices of all processes, and all processes together run the computations over these devices.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.loading import deferred
from olympus_ir.settings.config_flags import (
    check_proxy_envs,
    cuda_visible_devices,
    distributed_debug,
    enable_preemption_service,
    rocm_visible_devices,
)
from olympus_ir.settings.naming import logger_name
from olympus_sharding.meshes.mesh import set_process_conversions

from .._jaxlib import (
    JaxRuntimeError,
    create_preemption_sync_manager,
    distributed_runtime_client,
)
from ..calls import effect_tokens, interpreter_exit
from ..platforms import backends
from . import clusters
from .coordination_service import SECRET_VARIABLE, CoordinationServiceProcess, greeting
from .process_monitor import ProcessFailureError, ProcessMonitor
from .rendezvous import join, split_address

if TYPE_CHECKING:
    from . import mesh_arrays
else:
    mesh_arrays = deferred(".mesh_arrays", milliseconds=17.0)

__all__ = ["DistributedRuntime", "ProcessFailureError", "initialize", "is_initialized", "shutdown"]

# Variables that send connections to a proxy.
_PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class DistributedRuntime:
    """Record of a program of several processes, which the clients of devices read.

    Attributes:
      client: the client of XLA's coordination service.
      process_id: the index of this process.
      num_processes: the number of processes.
      slice_index: the index of this process's slice of devices.
      partition_index: the index of this process's partition within the slice.
      check_same_program: called with a computation's name and text before it is compiled for the
        devices of several processes; raises an error unless all processes compile the same program.
      check_no_failure: raises an error if a process has died.
      announce_failure: called with a problem of this process that ends the shared computations.
    """

    client: Any
    process_id: int
    num_processes: int
    slice_index: int | None = None
    partition_index: int | None = None
    check_same_program: Callable[[str, str], None] = lambda name, text: None
    check_no_failure: Callable[[], None] = lambda: None
    announce_failure: Callable[[str], None] = lambda problem: None


class _Timeouts(NamedTuple):
    """Times in seconds after which a process gives up; see `initialize`."""

    initialization: float
    heartbeat: float
    shutdown: float


class _Membership:
    """State of this process in a multi-process program."""

    def __init__(
        self,
        client: Any,
        service: CoordinationServiceProcess | None,
        process_id: int,
        num_processes: int,
        timeouts: _Timeouts,
    ) -> None:
        self.timeouts = timeouts
        self.client = client
        self.service = service
        self.process_id = process_id
        self.num_processes = num_processes
        self.monitor = ProcessMonitor(
            client, process_id, num_processes, timeouts.heartbeat, _devices_of
        )
        self.compilations = 0
        # The preemption manager, made on first use. It handles the termination signal.
        self.preemption: Any = None


_membership: _Membership | None = None
_lock = threading.Lock()


def is_initialized() -> bool:
    """Returns whether this process belongs to a multi-process program.

    Example:
      >>> is_initialized()
      False
    """
    return _membership is not None


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: float = 300,
    heartbeat_timeout_seconds: float = 100,
    shutdown_timeout_seconds: float = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    coordinator_secret: str | None = None,
) -> None:
    """Makes this process one of the processes that run a program together.

    Call it in the main thread of each process, before any computation. It returns when all
    processes have called it.

    Arguments that are not given are read from the environment, from the variables
    ``OLYMPUS_COORDINATOR_ADDRESS``, ``OLYMPUS_NUM_PROCESSES`` and ``OLYMPUS_PROCESS_ID``, or from
    Slurm, Open MPI or mpi4py.

    The coordinator drops and logs connections without a proper greeting. With a secret, it also
    drops connections that do not prove that they know the secret. The secret protects only the
    start: XLA's service, which then uses the same port, requires no secret. Keep the port inside a
    network that you trust.

    When a process dies, every other process raises a `ProcessFailureError` in its main thread. This
    takes at most the heartbeat timeout plus a second.

    Args:
      coordinator_address: host and port of process 0, such as ``"10.0.0.1:1234"``.
      num_processes: the number of processes.
      process_id: the index of this process, from 0.
      local_device_ids: the GPUs of the machine that belong to this process; by default all.
      cluster_detection_method: ``"environment"``, ``"slurm"``, ``"ompi"`` or ``"mpi4py"`` to use
        only this source; ``"deactivate"`` to disable detection.
      initialization_timeout: the seconds to wait for the other processes.
      heartbeat_timeout_seconds: the seconds without a heartbeat after which a process counts as
        dead.
      shutdown_timeout_seconds: the seconds that `shutdown` waits for the other processes.
      coordinator_bind_address: host and port at which process 0 listens; by default the coordinator
        address alone. ``"[::]:1234"`` stands for all addresses of the machine.
      slice_index: the index of this process's slice of devices, if there are several.
      partition_index: the index of this process's partition within the slice.
      coordinator_secret: the secret that the processes share, a text that is hard to guess; by
        default the value of ``OLYMPUS_COORDINATOR_SECRET``, if set.

    Raises:
      ValueError: an argument is neither given nor found, or the processes disagree, for example on
        the secret.
      TypeError: the secret is not a string.
      RuntimeError: the function is called twice or too late, or the port is taken.
      TimeoutError: not all processes call the function in time.

    Example:
      >>> initialize("127.0.0.1:9000", num_processes=2, process_id=0)  # doctest: +SKIP
    """
    global _membership
    with _lock:
        if _membership is not None:
            raise RuntimeError("distributed.initialize should only be called once.")
        if backends.are_backends_initialized():
            raise RuntimeError(
                "olympus.distributed.initialize() must be called before any OLYMPUS calls that "
                "might initialize the XLA backend. This includes any computation, but also calls "
                "to olympus.devices, olympus.device_put, and others."
            )
        cluster = clusters.complete(
            clusters.Cluster(coordinator_address, num_processes, process_id),
            cluster_detection_method,
        )
        address, count, number = _checked(cluster)
        if local_device_ids is None:
            local_device_ids = cluster.local_device_ids
        if local_device_ids is not None:
            _show_devices(local_device_ids)
        _warn_of_proxies()
        if distributed_debug.value:
            _log().warning(
                "connecting to the coordinator at %s as process %d of %d", address, number, count
            )
        timeouts = _Timeouts(
            initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds
        )
        secret = _secret(coordinator_secret)
        _membership = _connect(address, count, number, timeouts, coordinator_bind_address, secret)
        if distributed_debug.value:
            _log().warning("process %d of %d is connected", number, count)
        backends.distributed_runtime = DistributedRuntime(
            _membership.client,
            number,
            count,
            slice_index,
            partition_index,
            check_same_program,
            check_no_failure,
            _membership.monitor.announce,
        )
        set_process_conversions(_join, _part)
        _membership.monitor.start()
        atexit.register(_leave_at_exit)


def _join(array: Any, sharding: Any) -> Any:
    return mesh_arrays.host_local_array_to_global_array_impl(
        array, global_mesh=sharding.mesh, pspec=sharding.spec
    )


def _part(array: Any, sharding: Any) -> Any:
    return mesh_arrays.global_array_to_host_local_array_impl(
        array, global_mesh=sharding.mesh, pspec=sharding.spec
    )


def _log() -> logging.Logger:
    return logging.getLogger(logger_name("distributed"))


def _warn_of_proxies() -> None:
    """Warns if variables of the environment may send the processes' connections to a proxy."""
    found = [name for name in _PROXY_VARIABLES if name in os.environ]
    if found and check_proxy_envs.value:
        warn_user(
            f"olympus.distributed.initialize: the environment variables {', '.join(found)} name "
            "proxies. Connections between the processes may hang on them; unset the variables, add "
            "the coordinator to no_proxy, or silence this warning with OLYMPUS_CHECK_PROXY_ENVS=0."
        )


def _show_devices(local_device_ids: int | Sequence[int]) -> None:
    """Makes only some of the machine's GPUs visible to the process."""
    ids = [local_device_ids] if isinstance(local_device_ids, int) else local_device_ids
    visible = ",".join(map(str, ids))
    for flag in (cuda_visible_devices, rocm_visible_devices):
        flag.update(visible)


def _checked(cluster: clusters.Cluster) -> tuple[str, int, int]:
    if cluster.coordinator_address is None:
        raise ValueError(
            "coordinator_address should be defined. Pass host and port of process 0, or set "
            "OLYMPUS_COORDINATOR_ADDRESS."
        )
    if cluster.num_processes is None:
        raise ValueError(
            "Number of processes must be defined. Pass num_processes, or set OLYMPUS_NUM_PROCESSES."
        )
    if cluster.process_id is None:
        raise ValueError(
            "The process id of the current process must be defined. Pass process_id, or set "
            "OLYMPUS_PROCESS_ID."
        )
    if not 0 <= cluster.process_id < cluster.num_processes:
        raise ValueError(
            f"process_id must be between 0 and num_processes - 1 = {cluster.num_processes - 1}, "
            f"got {cluster.process_id}"
        )
    split_address(cluster.coordinator_address)
    return cluster.coordinator_address, cluster.num_processes, cluster.process_id


def _secret(secret: str | None) -> str | None:
    if secret is not None and not isinstance(secret, str):
        raise TypeError(f"coordinator_secret must be a string, got a {type(secret).__name__}")
    return secret or os.environ.get(SECRET_VARIABLE) or None


def _connect(
    address: str,
    count: int,
    number: int,
    timeouts: _Timeouts,
    bind_address: str | None,
    secret: str | None,
) -> _Membership:
    deadline = time.monotonic() + timeouts.initialization
    service = None
    if number == 0:
        service = CoordinationServiceProcess(
            bind_address or _bind_address(address),
            count,
            timeouts.initialization,
            timeouts.heartbeat,
            timeouts.shutdown,
            secret,
        )
    try:
        hello = greeting(number, count, timeouts.heartbeat)
        join(address, hello, deadline, timeouts.initialization, secret)
        client = distributed_runtime_client(
            address,
            number,
            init_timeout=max(60, round(timeouts.initialization)),
            heartbeat_timeout=max(1, round(timeouts.heartbeat)),
            shutdown_timeout=max(1, round(timeouts.shutdown)),
            use_compression=True,
            shutdown_on_destruction=False,
        )
        client.connect()
    except BaseException:
        if service is not None:
            service.discard()
        raise
    return _Membership(client, service, number, count, timeouts)


def _bind_address(address: str) -> str:
    """Returns the address of this machine that the coordinator address refers to."""
    host, port = split_address(address)
    if host in _LOOPBACK:
        return address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RuntimeError(
            f"the coordinator address {address!r} names no machine: {error}. Pass the address at "
            f"which process 0 listens, such as coordinator_bind_address='[::]:{port}'."
        ) from error
    # A name may have several addresses. Other machines may know only the IPv4 address.
    family, *_, socket_address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    number = str(socket_address[0])
    if number != host and (number.startswith("127.") or number == "::1"):
        _log().warning(
            "%s is %s on this machine, so the coordinator listens for processes of this machine "
            "only. Pass coordinator_bind_address='[::]:%s' to listen at all its addresses.",
            host,
            number,
            port,
        )
    return f"{number}:{port}" if family == socket.AF_INET else f"[{number}]:{port}"


def _devices_of(processes: frozenset[int]) -> frozenset[Any]:
    if not backends.are_backends_initialized():
        return frozenset()
    return frozenset(d for d in backends.devices() if d.process_index in processes)


def wait_at_barrier(name: str, timeout: float) -> None:
    """Waits until all processes have reached a barrier, without using devices.

    Args:
      name: the name of the barrier; a program uses each name once.
      timeout: the time to wait, in seconds.
    """
    if _membership is not None:
        _membership.client.wait_at_barrier(name, round(1000 * timeout))


# ---- leaving ----


def shutdown() -> None:
    """Leaves a program of several processes; does nothing in other programs.

    The function waits until the other processes leave, too. It runs at exit unless the program has
    called it.

    Example:
      >>> shutdown()  # nothing to leave
    """
    _leave(wait=True)


def _leave_at_exit() -> None:
    # After an exception, this process leaves without waiting, so the other processes learn of it at
    # once.
    failed = getattr(sys, "last_value", None) is not None
    if not failed:
        try:
            effect_tokens.barrier()
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
            failed = True
            interpreter_exit.exit_with(1)
    _leave(wait=not failed)


def _leave(wait: bool) -> None:
    global _membership
    with _lock:
        membership, _membership = _membership, None
    if membership is None:
        return
    atexit.unregister(_leave_at_exit)
    client, monitor = membership.client, membership.monitor
    if monitor.failure is None:
        try:
            if wait:
                _meet_at_the_end(membership)
            client.shutdown()
            if wait and membership.service is None:
                client.key_value_set(_left(membership.process_id), "1")
        except JaxRuntimeError as error:
            _log().warning("Not all processes left together: %s", error)
    monitor.stop()
    monitor.join(timeout=10)
    monitor.restore_signal()
    backends.distributed_runtime = None
    if membership.service is not None:
        membership.service.stop()


def _meet_at_the_end(membership: _Membership) -> None:
    client, monitor = membership.client, membership.monitor
    timeout = round(1000 * membership.timeouts.shutdown)
    monitor.say_good_bye()
    client.wait_at_barrier("olympus/shutdown", timeout)
    monitor.stop()
    if membership.service is not None:
        # XLA ends all processes when the service disappears, so the service's host leaves last.
        for other in range(membership.num_processes):
            if other != membership.process_id:
                client.blocking_key_value_get(_left(other), timeout)


def _left(process_id: int) -> str:
    return f"olympus/left/{process_id}"


# ---- state of the processes ----


def live_processes() -> set[int]:
    """Returns the indices of the live processes; a single process returns only its own index."""
    membership = _membership
    if membership is None:
        return {0}
    check_no_failure()
    return set(membership.client.get_live_nodes(list(range(membership.num_processes))))


def reached_sync_point(step: int) -> bool:
    """Returns whether the processes should stop after this step because of a preemption."""
    membership = _membership
    if membership is None:
        raise RuntimeError(
            "Preemption sync manager has not been initialized: call "
            "olympus.distributed.initialize first."
        )
    if not enable_preemption_service.value:
        raise RuntimeError(
            "Preemption sync manager is disabled by the flag olympus_enable_preemption_service."
        )
    if membership.preemption is None:
        membership.preemption = create_preemption_sync_manager()
        membership.preemption.initialize(membership.client)
    return membership.preemption.reached_sync_point(step)


# ---- checks across processes ----


def check_no_failure() -> None:
    """Raises `ProcessFailureError` if a process of the program has died."""
    if _membership is not None and _membership.monitor.failure is not None:
        raise _membership.monitor.failure


# Matches memory addresses, which differ between processes.
_ADDRESSES = re.compile(r"(@InspectSharding\([^)]*\) )\{[^}]*\}")


def check_same_program(name: str, module_text: str) -> None:
    """Checks that all processes are about to compile the same program.

    Processes that run different programs would wait for each other forever, or crash.

    Args:
      name: the name of the computation.
      module_text: the text of the module.

    Raises:
      ValueError: another process compiles another program.
      TimeoutError: another process compiles no program.
    """
    membership = _membership
    if membership is None:
        return
    check_no_failure()
    membership.compilations += 1
    prefix = f"olympus/program/{membership.compilations}"
    digest = hashlib.sha256(_ADDRESSES.sub(r"\1", module_text).encode()).hexdigest()
    client, own = membership.client, membership.process_id
    client.key_value_set(f"{prefix}/{own}", f"{digest} {name}", allow_overwrite=True)
    timeout = membership.timeouts.initialization
    for other in range(membership.num_processes):
        if other == own:
            continue
        try:
            answer = client.blocking_key_value_get(f"{prefix}/{other}", round(1000 * timeout))
        except JaxRuntimeError as error:
            check_no_failure()
            raise TimeoutError(
                f"process {own} is about to compile `{name}`, a computation over several "
                f"processes, and process {other} did not do so within {timeout:g} seconds. All "
                "processes must run the same computations in the same order."
            ) from error
        other_digest, _, other_name = answer.partition(" ")
        if other_digest != digest:
            same = "another version of it" if other_name == name else f"`{other_name}`"
            raise ValueError(
                f"process {own} is about to compile `{name}` as its computation number "
                f"{membership.compilations} over several processes, and process {other} compiles "
                f"{same}. All processes must run the same computations in the same order, with "
                "operands of the same shapes, dtypes and shardings."
            )
