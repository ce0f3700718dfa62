# SPDX-License-Identifier: Apache-2.0
"""The batching rule of host-local to global array conversion, on one device."""

from __future__ import annotations

import olympus
import olympus.numpy as jnp
from olympus.experimental import multihost_utils
from olympus.sharding import Mesh, PartitionSpec


def test_spmd_axis_name_shards_the_batch() -> None:
    mesh = Mesh(olympus.devices()[:1], ("i",))

    def together(spec):
        def one(x):
            primitive = multihost_utils.host_local_array_to_global_array_p
            return primitive.bind(x, global_mesh=mesh, pspec=spec)

        return one

    x = jnp.ones((2, 4))
    shared = olympus.vmap(together(PartitionSpec("i")))(x)
    assert shared.sharding.spec == PartitionSpec(None, "i")
    divided = olympus.vmap(together(PartitionSpec(None)), spmd_axis_name="i")(x)
    assert divided.sharding.spec == PartitionSpec("i", None)


def test_process_failure_error() -> None:
    error = multihost_utils.ProcessFailureError(olympus.devices()[:1])
    assert error.failed_processes == {0} and "died" in str(error)
