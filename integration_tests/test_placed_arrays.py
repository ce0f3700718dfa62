# SPDX-License-Identifier: Apache-2.0
"""Arrays made where the caller says, and updates of arrays over several devices."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import Mesh, NamedSharding, PartitionSpec


def test_functions_that_make_arrays_take_a_device():
    device = olympus.devices()[-1]
    x = jnp.zeros(3)
    assert x.devices() != {device}
    for made in (
        jnp.array([1, 2], device=device),
        jnp.asarray(x, device=device),
        jnp.zeros(3, device=device),
        jnp.full(3, 2.0, device=device),
        jnp.arange(3, device=device),
        jnp.linspace(0, 1, 3, device=device),
        jnp.zeros_like(x, device=device),
    ):
        assert made.devices() == {device}


@pytest.mark.parametrize("size", [1, 2])
def test_updates_of_sharded_dimensions_stay_within_bounds(size):
    mesh = Mesh(np.array(olympus.devices()[:2]), ("i",))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    placed = olympus.device_put(x, NamedSharding(mesh, PartitionSpec("i")))
    update = np.full((size, 3), -1, np.float32)
    updated = olympus.jit(lambda x, start: lax.dynamic_update_slice(x, update, (start, 0)))
    for start in (-9, -1, 0, 3, 5, 100):
        first = start + 4 if start < 0 else start  # negative indices count from the end
        expected = x.copy()
        expected[np.clip(first, 0, 4 - size) :][:size] = -1
        np.testing.assert_array_equal(updated(placed, np.int32(start)), expected)
