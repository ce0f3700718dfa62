# SPDX-License-Identifier: Apache-2.0
"""Environments of clusters as classes, under the names of JAX's private modules.

`olympus.distributed.initialize` also asks the classes that a program derives from `ClusterEnv`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from olympus_xla.processes import clusters

__all__ = [
    "ClusterEnv",
    "GceTpuCluster",
    "GkeTpuCluster",
    "Mpi4pyCluster",
    "OmpiCluster",
    "SlurmCluster",
]


class ClusterEnv:
    """Base class of the environments that say how many processes a program has.

    A derived class with the class methods `is_env_present`, `get_coordinator_address`,
    `get_process_count` and `get_process_id` becomes a way of detecting a cluster.

    Attributes:
      name: the name of the way, an argument of `olympus.distributed.initialize`.
      opt_in_only_method: whether only programs that ask for the way by its name use it.
    """

    name: str = ""
    opt_in_only_method: bool = False
    _cluster_types: ClassVar[list[type[ClusterEnv]]] = []

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if abstract:
            return
        cls._cluster_types.append(cls)
        name = cls.name or cls.__name__
        if name not in clusters.method_names():
            clusters.add_method(name, clusters.Method(cls._layout, cls.opt_in_only_method))

    @classmethod
    def _layout(cls, variables: Mapping[str, str]) -> clusters.Cluster | None:
        if not cls.is_env_present():
            return None
        local = cls.get_local_process_id()
        return clusters.Cluster(
            cls.get_coordinator_address(None, variables.get("JAX_COORDINATOR_PORT")),
            cls.get_process_count(),
            cls.get_process_id(),
            None if local is None else (local,),
        )

    @classmethod
    def is_env_present(cls) -> bool:
        """Returns whether this process runs in an environment of this class."""
        raise _missing(cls, "is_env_present")

    @classmethod
    def get_coordinator_address(
        cls, timeout_secs: int | None, override_coordinator_port: str | None
    ) -> str:
        """Returns the host and port of the first process.

        Args:
          timeout_secs: how long to look for the address.
          override_coordinator_port: a port to use in place of the environment's.
        """
        raise _missing(cls, "get_coordinator_address")

    @classmethod
    def get_process_count(cls) -> int:
        """Returns the number of processes."""
        raise _missing(cls, "get_process_count")

    @classmethod
    def get_process_id(cls) -> int:
        """Returns the index of this process."""
        raise _missing(cls, "get_process_id")

    @classmethod
    def get_local_process_id(cls) -> int | None:
        """Returns the index of this process on its machine, or None if that is unknown."""
        return None


def _missing(cls: type, name: str) -> NotImplementedError:
    return NotImplementedError(f"{cls.__name__} must define the class method {name}()")


class _KnownCluster:
    """Class methods of the environments that OLYMPUS detects by itself."""

    name: str

    @classmethod
    def _found(cls) -> clusters.Cluster:
        found = clusters.detect(cls.name, os.environ)
        if found is None:
            raise RuntimeError(f"this process was not started by {cls.name!r}")
        return found

    @classmethod
    def is_env_present(cls) -> bool:
        return clusters.detect(cls.name, os.environ) is not None

    @classmethod
    def get_coordinator_address(
        cls, timeout_secs: int | None, override_coordinator_port: str | None
    ) -> str:
        address = str(cls._found().coordinator_address)
        if override_coordinator_port is None:
            return address
        return f"{address.rpartition(':')[0]}:{override_coordinator_port}"

    @classmethod
    def get_process_count(cls) -> int:
        return int(cls._found().num_processes or 1)

    @classmethod
    def get_process_id(cls) -> int:
        return int(cls._found().process_id or 0)

    @classmethod
    def get_local_process_id(cls) -> int | None:
        local = cls._found().local_device_ids
        return None if local is None else local[0]


class SlurmCluster(_KnownCluster, ClusterEnv):
    """Steps of Slurm, started by ``srun``."""

    name = "slurm"


class OmpiCluster(_KnownCluster, ClusterEnv):
    """Processes started by Open MPI's ``mpirun``."""

    name = "ompi"


class Mpi4pyCluster(_KnownCluster, ClusterEnv):
    """Processes of MPI, as mpi4py reports them."""

    name = "mpi4py"


class _AbsentCluster(ClusterEnv, abstract=True):
    """An environment that OLYMPUS does not detect, since it does not run there."""

    @classmethod
    def is_env_present(cls) -> bool:
        return False


class GceTpuCluster(_AbsentCluster):
    """Virtual machines with TPUs in Google Compute Engine."""

    name = "gcetpu"


class GkeTpuCluster(_AbsentCluster):
    """Machines with TPUs in Google Kubernetes Engine."""

    name = "gketpu"
