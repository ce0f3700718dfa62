# SPDX-License-Identifier: Apache-2.0
"""Compiling for machines that are described and absent."""

import importlib.util

import numpy as np
import pytest

from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.shardings.behavior import NamedSharding
from olympus_xla import jit
from olympus_xla.platforms import backends
from olympus_xla.platforms.topologies import (
    CompileOnlyExecutable,
    TopologyDescription,
    get_attached_topology,
    get_topology_desc,
    make_mesh,
)

X = ShapeDtypeStruct((8, 4), np.float32)


def test_topology_of_the_local_cpus():
    topology = get_attached_topology("cpu")
    assert isinstance(topology, TopologyDescription)
    assert topology.devices == backends.devices("cpu")


def test_a_mesh_of_described_devices():
    topology = get_attached_topology("cpu")
    count = len(topology.devices)
    mesh = make_mesh(topology, (count, 1), ("x", "y"))
    assert mesh.shape == {"x": count, "y": 1}
    with pytest.raises(ValueError, match="must equal the product of mesh_shape"):
        make_mesh(topology, (count + 1,), ("x",))


def test_platforms_without_descriptions():
    with pytest.raises(NotImplementedError, match="tpu or cuda, not cpu"):
        get_topology_desc("some", "cpu")


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_plugins_that_are_not_installed(platform):
    library = {"tpu": "libtpu", "cuda": "jax_plugins"}[platform]
    if importlib.util.find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    with pytest.raises(RuntimeError, match=r"install one: .*olympus\["):
        get_topology_desc("v5e:2x2", platform)


def test_executables_without_devices_do_not_run():
    with pytest.raises(RuntimeError, match="no devices|none to run it on"):
        CompileOnlyExecutable(object()).execute_sharded([])


@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed")
def test_a_program_for_four_tpus():
    mesh = make_mesh(get_topology_desc("v5e:2x2", "tpu"), (4,), ("x",))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    compiled = jit(lambda x: lax.reduce_sum(x, (0, 1)), in_shardings=rows).lower(X).compile()
    assert "all-reduce" in compiled.as_text()
    assert compiled.memory_analysis().argument_size_in_bytes > 0
    with pytest.raises(RuntimeError, match="there are none to run it on"):
        compiled(np.ones((8, 4), np.float32))
