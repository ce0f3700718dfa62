# SPDX-License-Identifier: Apache-2.0
"""Detection of the layout of a multi-process program from the environment.

Each method reads the variables that one kind of launcher sets for its processes.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["Cluster", "Method", "add_method", "complete", "detect", "method_names"]


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The known part of the layout of a multi-process program.

    Attributes:
      coordinator_address: host and port of process 0.
      num_processes: the number of processes.
      process_id: the index of this process.
      local_device_ids: the machine's devices that belong to this process; None for all.
    """

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


def complete(cluster: Cluster, method: str | None) -> Cluster:
    """Completes a layout of processes from the environment.

    Args:
      cluster: the part given by the user.
      method: the name of a method; None for the first method whose launcher is in use.

    Raises:
      ValueError: there is no such method, or its launcher is not in use.
    """
    fields = (cluster.coordinator_address, cluster.num_processes, cluster.process_id)
    if method == "deactivate" or None not in fields:
        return cluster
    if method is not None and method not in _METHODS:
        raise ValueError(
            f"cluster_detection_method must be one of {[*_METHODS, 'deactivate']}, got {method!r}"
        )
    automatic = [name for name, known in _METHODS.items() if not known.on_request]
    for name in automatic if method is None else [method]:
        found = detect(name, os.environ)
        if found is not None:
            return _filled(cluster, found)
    if method is not None:
        raise ValueError(
            f"cluster_detection_method is {method!r}, and this process was not started that way: "
            "the environment does not say so"
        )
    return cluster


def _filled(cluster: Cluster, found: Cluster) -> Cluster:
    """Returns a layout whose unknown fields are taken from a layout that was found."""
    unknown = {
        field.name: getattr(found, field.name)
        for field in dataclasses.fields(Cluster)
        if getattr(cluster, field.name) is None
    }
    return dataclasses.replace(cluster, **unknown)


def _environment(variables: Mapping[str, str]) -> Cluster | None:
    """Returns the layout in OLYMPUS's environment variables; None if none of them is set."""
    address = variables.get("OLYMPUS_COORDINATOR_ADDRESS")
    count = variables.get("OLYMPUS_NUM_PROCESSES")
    number = variables.get("OLYMPUS_PROCESS_ID")
    if address is None and count is None and number is None:
        return None
    return Cluster(
        address, None if count is None else int(count), None if number is None else int(number)
    )


# The range of ports that programs may use: the first port and the number of ports.
_FIRST_PORT, _PORTS = 61440, 4096


def _slurm(variables: Mapping[str, str]) -> Cluster | None:
    """Returns the layout of a Slurm step, started by ``srun``; None outside of a step."""
    names = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID")
    if any(name not in variables for name in names):
        return None
    job, nodes, count, number = (variables[name] for name in names)
    port = _FIRST_PORT + int(job) % _PORTS
    return Cluster(
        f"{_first_node(nodes)}:{port}",
        int(variables.get("SLURM_STEP_NUM_TASKS", count)),
        int(number),
        _own_device(variables.get("SLURM_LOCALID"), _tasks_here(variables)),
    )


def _own_device(position: str | None, tasks: int) -> tuple[int] | None:
    """Returns the device of a task that shares its machine with others; None for a single task.

    Args:
      position: the position of the task among those of the machine.
      tasks: the number of tasks of the machine.
    """
    return (int(position),) if position is not None and tasks > 1 else None


def _tasks_here(variables: Mapping[str, str]) -> int:
    # For example, "2(x3),1" means three nodes with two tasks each, and one node with one task.
    match = re.match(r"\d+", variables.get("SLURM_STEP_TASKS_PER_NODE", "1"))
    return int(match[0]) if match else 1


def _first_node(nodes: str) -> str:
    """Returns the first node of a list such as ``gpu[003-005,9],login``."""
    match = re.match(r"([^\[,]+)(?:\[([^,\-\]]+)[^\]]*\])?([^,\[]*)", nodes)
    if match is None:
        raise ValueError(f"SLURM_STEP_NODELIST is {nodes!r}, which names no node")
    return "".join(part or "" for part in match.groups())


def _open_mpi(variables: Mapping[str, str]) -> Cluster | None:
    """Returns the layout of processes started by Open MPI's ``mpirun``; None if it is unknown."""
    count = variables.get("OMPI_COMM_WORLD_SIZE")
    number = variables.get("OMPI_COMM_WORLD_RANK")
    if count is None or number is None:
        return None
    local_count = variables.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    address = _open_mpi_address(variables, is_single_machine=local_count == count)
    if address is None:
        return None
    local = variables.get("OMPI_COMM_WORLD_LOCAL_RANK")
    return Cluster(address, int(count), int(number), _own_device(local, int(local_count or 1)))


def _open_mpi_address(variables: Mapping[str, str], is_single_machine: bool) -> str | None:
    """Returns the address of the coordinator; None if it is unknown."""
    # The value names the launcher's job and addresses, for example
    # "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911".
    launcher = variables.get("OMPI_MCA_orte_hnp_uri")
    if launcher is not None:
        match = re.search(r"(\d+)\.\d+;tcp6?://\[?([^,:\]]+)", launcher)
        if match is None:
            raise ValueError(f"OMPI_MCA_orte_hnp_uri is {launcher!r}, which has no address")
        return f"{match[2]}:{_FIRST_PORT + int(match[1]) // 65536 % _PORTS}"
    if not is_single_machine:
        return None
    # The job's name distinguishes concurrent programs.
    job = variables.get("PMIX_NAMESPACE", variables.get("OMPI_MCA_ess_base_jobid", ""))
    return f"127.0.0.1:{_FIRST_PORT + sum(map(ord, job)) % _PORTS}"


def _mpi4py(variables: Mapping[str, str]) -> Cluster | None:
    """Returns the layout that mpi4py reports; None if mpi4py is missing or there is one process."""
    launched = any(name.startswith(("PMI_", "PMIX_", "MPI_", "OMPI_")) for name in variables)
    if not launched or importlib.util.find_spec("mpi4py") is None:
        return None
    mpi = importlib.import_module("mpi4py.MPI")  # importing it initializes MPI
    world = mpi.COMM_WORLD
    if world.Get_size() == 1:
        return None
    address = None
    if world.Get_rank() == 0:
        with socket.socket() as probe:
            probe.bind(("", 0))
            address = f"{socket.gethostname()}:{probe.getsockname()[1]}"
    address = world.bcast(address, root=0)
    on_host = world.Split_type(mpi.COMM_TYPE_SHARED)
    local = (on_host.Get_rank(),) if on_host.Get_size() > 1 else None
    return Cluster(address, world.Get_size(), world.Get_rank(), local)


class Method(NamedTuple):
    """A method that detects the layout of a program's processes.

    Attributes:
      layout: returns the layout that it reads from environment variables; None if its launcher is
        not in use.
      on_request: whether to try the method only if the user asks for it.
    """

    layout: Callable[[Mapping[str, str]], Cluster | None]
    on_request: bool = False


# The methods by name, in the order in which they are tried.
_METHODS: dict[str, Method] = {
    "environment": Method(_environment),
    "slurm": Method(_slurm),
    "ompi": Method(_open_mpi),
    "mpi4py": Method(_mpi4py),
}


def add_method(name: str, method: Method) -> None:
    """Adds a method that detects the cluster, under a name that `initialize` accepts."""
    _METHODS[name] = method


def detect(name: str, variables: Mapping[str, str]) -> Cluster | None:
    """Returns the layout that one method finds; None if its launcher is not in use."""
    return _METHODS[name].layout(variables)


def method_names() -> list[str]:
    """Returns the names of the methods, in the order in which they are tried."""
    return list(_METHODS)
