# SPDX-License-Identifier: Apache-2.0
"""Shardings as XLA writes them."""

import numpy as np
import pytest

from olympus_sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from olympus_sharding import PartitionSpec as P
from olympus_sharding.shardings.tiling import mesh_tiling
from olympus_xla import device_put
from olympus_xla._jaxlib import GSPMDSharding
from olympus_xla.arrays.hlo_shardings import hlo_sharding

Explicit, Manual, Auto = AxisType.Explicit, AxisType.Manual, AxisType.Auto


@pytest.mark.parametrize(
    ("types", "spec", "ndim", "text"),
    [
        ((Auto, Auto), P(), 3, "{replicated}"),
        ((Auto, Auto), P("x"), 2, "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
        ((Auto, Auto), P("x", "y"), 2, "{devices=[2,2]<=[4]}"),
        ((Auto, Auto), P(("x", "y")), 2, "{devices=[4,1]<=[4]}"),
        ((Auto, Auto), P(("y", "x")), 2, "{devices=[4,1]<=[2,2]T(1,0)}"),
        ((Auto, Auto), P(None, "y"), 2, "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
        (
            (Auto, Auto),
            P("x", P.UNCONSTRAINED),
            2,
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
        ),
        (
            (Explicit, Explicit),
            P("x", unreduced={"y"}),
            2,
            "{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}",
        ),
        (
            (Explicit, Explicit),
            P("x", reduced={"y"}),
            2,
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
        ),
        (
            (Manual, Auto),
            P("y"),
            2,
            "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={manual}}",
        ),
        ((Manual, Manual), P(), 2, "{manual}"),
    ],
)
def test_named_shardings_are_converted(mesh, types, spec, ndim, text):
    # What JAX gives for the same mesh and spec.
    sharding = NamedSharding(mesh.update(axis_types=types), spec)
    assert str(hlo_sharding(sharding, ndim)) == text


@pytest.mark.parametrize(
    "spec", [P("x"), P("y"), P("x", "y"), P("y", "x"), P(("x", "y")), P(None, ("y", "x"))]
)
def test_xla_tiles_equal_the_mesh_tiling(mesh, spec):
    factors, parts = mesh_tiling(mesh, spec, 2)
    sharding = hlo_sharding(NamedSharding(mesh, spec), 2)
    dimensions = sharding.tile_assignment_dimensions()
    assert tuple(dimensions[:2]) == factors
    tiles = np.reshape(sharding.tile_assignment_devices(), (*factors, -1))
    for device, part in enumerate(parts):
        assert device in tiles[tuple(part)]


def test_axes_of_size_one(devices):
    mesh = Mesh([devices], ("one", "four"))
    assert str(hlo_sharding(NamedSharding(mesh, P("one")), 1)) == "{replicated}"


def test_single_devices_are_replicated(devices):
    assert str(hlo_sharding(SingleDeviceSharding(devices[1]), 2)) == "{replicated}"


@pytest.mark.parametrize("spec", [P(), P("x"), P(None, "y"), P(("y", "x")), P("y", "x")])
def test_gspmd_shardings_are_equal_to_named_ones(mesh, spec):
    named = NamedSharding(mesh, spec)
    devices = named._internal_device_list
    sharding = GSPMDSharding(devices, hlo_sharding(named, 2))
    assert hlo_sharding(sharding, 2) == hlo_sharding(named, 2)
    assert sharding.is_fully_replicated == named.is_fully_replicated
    assert sharding.device_set == named.device_set
    assert sharding.shard_shape((8, 4)) == named.shard_shape((8, 4))
    host = np.arange(32, dtype=np.float32).reshape(8, 4)
    indices = sharding.devices_indices_map((8, 4))
    for device, index in named.devices_indices_map((8, 4)).items():
        assert np.array_equal(host[indices[device]], host[index])
    array = device_put(host, sharding)
    assert array.sharding == sharding
    assert np.array_equal(array, host)
    assert "GSPMDSharding({" in repr(sharding)
