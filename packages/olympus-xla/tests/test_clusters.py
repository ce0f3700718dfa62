# SPDX-License-Identifier: Apache-2.0
"""Detection of clusters from the environment variables of launchers."""

from __future__ import annotations

import pytest

from olympus_xla.processes import clusters
from olympus_xla.processes.clusters import Cluster, complete

SLURM = {
    "SLURM_JOB_ID": "4099",
    "SLURM_STEP_NODELIST": "gpu[003-005,9],login",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "6",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_TASKS_PER_NODE": "2(x3)",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
}


@pytest.fixture
def environment(monkeypatch):
    """Returns a function that replaces the environment variables."""

    def set_to(variables):
        monkeypatch.setattr(clusters.os, "environ", dict(variables))

    set_to({})
    return set_to


def test_olympus_environment_variables(environment):
    environment({"OLYMPUS_COORDINATOR_ADDRESS": "a:1", "OLYMPUS_NUM_PROCESSES": "2"})
    assert complete(Cluster(process_id=1), None) == Cluster("a:1", 2, 1)


def test_slurm_variables_describe_the_cluster(environment):
    environment(SLURM)
    expected = Cluster("gpu003:61443", 6, 3, (1,))
    assert complete(Cluster(), None) == complete(Cluster(), "slurm") == expected
    # What is given wins.
    assert complete(Cluster("host:7", None, 0), None) == Cluster("host:7", 6, 0, (1,))


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("node1", "node1"),
        ("node1,node2", "node1"),
        ("node[1-3]", "node1"),
        ("node[07,9]", "node07"),
        ("rack[2-3]-cpu", "rack2-cpu"),
    ],
)
def test_first_node_of_a_slurm_list(environment, nodes, first):
    environment({**SLURM, "SLURM_STEP_NODELIST": nodes})
    assert complete(Cluster(), "slurm").coordinator_address == f"{first}:61443"


def test_open_mpi_variables_describe_the_cluster(environment):
    environment(OPEN_MPI)
    found = complete(Cluster(), None)
    assert found.coordinator_address is not None
    assert found.coordinator_address.startswith("10.96.0.1:")
    assert found == Cluster(found.coordinator_address, 4, 2, (0,))
    # On one machine the launcher's address is not needed.
    local = {**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
    del local["OMPI_MCA_orte_hnp_uri"]
    environment(local)
    found = complete(Cluster(), "ompi")
    assert found.coordinator_address is not None
    assert found.coordinator_address.startswith("127.0.0.1:")


def test_no_cluster_is_detected(environment):
    assert complete(Cluster(), None) == Cluster()
    environment(SLURM)
    assert complete(Cluster(), "deactivate") == Cluster()
    with pytest.raises(ValueError, match="'ompi', and this process was not started that way"):
        complete(Cluster(), "ompi")
    with pytest.raises(ValueError, match="must be one of .* got 'cloud'"):
        complete(Cluster(), "cloud")
    with pytest.raises(ValueError, match="names no node"):
        environment({**SLURM, "SLURM_STEP_NODELIST": ""})
        complete(Cluster(), "slurm")


def test_added_methods_are_tried_last_or_on_request(environment, monkeypatch):
    monkeypatch.setattr(clusters, "_METHODS", dict(clusters._METHODS))
    asked = clusters.Method(lambda _: Cluster("asked:1", 2, 0), on_request=True)
    clusters.add_method("asked", asked)
    assert complete(Cluster(), None) == Cluster()
    assert complete(Cluster(), "asked") == Cluster("asked:1", 2, 0)
    clusters.add_method("found", clusters.Method(lambda _: Cluster("found:1", 2, 1)))
    assert complete(Cluster(), None) == Cluster("found:1", 2, 1)
    environment({"OMPI_COMM_WORLD_SIZE": "4", **OPEN_MPI})
    assert clusters.detect("ompi", OPEN_MPI) == complete(Cluster(), None)
