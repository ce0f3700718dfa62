# SPDX-License-Identifier: Apache-2.0
"""Shards of arrays."""

import numpy as np
import pytest

from olympus_sharding import NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put
from olympus_xla.arrays.shards import gather


def test_shards_of_an_array_on_one_device(devices):
    array = device_put(np.arange(3.0))
    (shard,) = array.addressable_shards
    assert (shard.device, shard.index, shard.replica_id) == (devices[0], (slice(None),), 0)
    assert shard.data.tolist() == [0.0, 1.0, 2.0]
    assert repr(shard) == (
        "Shard(device=CpuDevice(id=0), index=(slice(None, None, None),), replica_id=0, "
        "data=[0. 1. 2.])"
    )


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [(P(), [0, 1, 2, 3]), (P("x"), [0, 1, 0, 1]), (P("y"), [0, 0, 1, 1]), (P("x", "y"), [0] * 4)],
)
def test_shards_of_a_sharded_array(mesh, spec, replicas):
    host = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    array = device_put(host, NamedSharding(mesh, spec))
    assert [shard.replica_id for shard in array.addressable_shards] == replicas
    assert len(array.global_shards) == 4
    for position, shard in enumerate(array.addressable_shards):
        assert shard.data.devices() == {shard.device}
        np.testing.assert_array_equal(np.asarray(shard.data), host[shard.index])
        np.testing.assert_array_equal(
            np.asarray(array.addressable_data(position)), host[shard.index]
        )
    np.testing.assert_array_equal(gather(array), host)
