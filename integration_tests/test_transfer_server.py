# SPDX-License-Identifier: Apache-2.0
"""Transfer of arrays between processes over the network."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.experimental import transfer
from olympus.sharding import SingleDeviceSharding


def struct(array):
    sharding = SingleDeviceSharding(olympus.devices()[0])
    return olympus.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)


@pytest.fixture(scope="module")
def connected():
    client = olympus.devices()[0].client
    server = transfer.start_transfer_server(client, "127.0.0.1:0", ["127.0.0.1:0"])
    return server, server.connect(server.address())


def test_pytrees_are_pulled(connected):
    server, connection = connected
    offered = {"a": jnp.arange(3.0), "b": (jnp.arange(4) + 1,)}
    server.await_pull(1, offered)
    found = connection.pull(1, olympus.tree.map(struct, offered))
    olympus.tree.map(np.testing.assert_array_equal, found, offered)


def test_sharding_is_needed(connected):
    _, connection = connected
    with pytest.raises(ValueError, match="needs a sharding"):
        connection.pull(2, olympus.ShapeDtypeStruct((3,), np.float32))
    assert connection.pull(3, ()) == ()


def test_arrays_of_errors():
    array = transfer.make_error_array(struct(jnp.zeros(2)), "the peer is gone")
    assert array.shape == (2,)
    with pytest.raises(Exception, match="the peer is gone"):
        array.block_until_ready()
