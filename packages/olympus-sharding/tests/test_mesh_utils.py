# SPDX-License-Identifier: Apache-2.0
"""Arrangements of devices: plain devices, and tori of chips with known coordinates."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from olympus_sharding.meshes.arrangements import create_device_mesh, create_hybrid_device_mesh


@dataclasses.dataclass(frozen=True)
class Chip:
    id: int
    coords: tuple[int, int, int]
    device_kind: str
    core_on_chip: int = 0
    process_index: int = 0
    slice_index: int = 0
    platform: str = "tpu"


def chips(shape, kind, cores=1, slice_index=0):
    """Returns a block of chips, with two by two chips in a process."""
    places = itertools.product(*map(range, reversed(shape)), range(cores))
    return [
        Chip(number, (x, y, z), kind, core, x // 2 + 10 * (y // 2) + 100 * z, slice_index)
        for number, (z, y, x, core) in enumerate(places)
    ]


def ids(arranged):
    return [device.id for device in arranged.ravel()]


def test_devices_without_coordinates_keep_their_order(devices):
    arranged = create_device_mesh((4, 2), devices)
    assert arranged.shape == (4, 2)
    assert list(arranged.ravel()) == list(devices)
    assert create_device_mesh((8, 1), devices, contiguous_submeshes=True).shape == (8, 1)


def test_number_of_devices(devices):
    with pytest.raises(ValueError, match=r"Number of devices 8 must equal .* \(4, 4\)"):
        create_device_mesh((4, 4), devices)
    with pytest.raises(ValueError, match="needs devices"):
        create_device_mesh((1,), [])


# Results of jax 0.10.2 for the same blocks of chips.
@pytest.mark.parametrize(
    ("block", "kind", "shape", "expected"),
    [
        ((2, 2, 1), "TPU v4", (4,), [0, 2, 1, 3]),
        ((2, 2, 1), "TPU v4", (2, 2), [0, 1, 2, 3]),
        ((2, 2, 2), "TPU v4", (2, 4), [0, 2, 1, 3, 4, 6, 5, 7]),
        ((2, 2, 1), "TPU v5 lite", (2, 2), [0, 1, 3, 2]),
        ((2, 4, 1), "TPU v5 lite", (2, 4), [0, 1, 2, 3, 7, 6, 5, 4]),
        ((4, 4, 1), "TPU v5 lite", (16,), [0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4]),
        ((2, 4, 1), "TPU v6 lite", (8, 1), [0, 1, 2, 3, 7, 6, 5, 4]),
    ],
)
def test_axes_follow_the_torus(block, kind, shape, expected):
    arranged = create_device_mesh(shape, chips(block, kind))
    assert arranged.shape == shape
    assert ids(arranged) == expected


def test_cores_of_one_chip_are_adjacent():
    assert ids(create_device_mesh((8,), chips((2, 2, 1), "TPU v3", 2))) == [0, 1, 2, 3, 6, 7, 4, 5]
    rings = create_device_mesh((4, 8), chips((4, 4, 1), "TPU v3", 2))
    assert ids(rings)[8:16] == [8, 9, 10, 11, 14, 15, 12, 13]
    assert ids(create_device_mesh((32,), chips((4, 4, 1), "TPU v3", 2))) == list(range(32))


def test_mesh_axes_consist_of_physical_axes():
    block = chips((4, 4, 8), "TPU v5")
    for shape in [(16, 8), (4, 32), (4, 4, 8), (8, 16), (128,)]:
        arranged = create_device_mesh(shape, block)
        assert sorted(ids(arranged)) == list(range(128))
        # Along an axis of the mesh only the coordinates of its physical axes change.
        for axis in range(len(shape)):
            lines = np.moveaxis(arranged, axis, -1).reshape(-1, shape[axis])
            varying = {
                coordinate
                for line in lines
                for coordinate in range(3)
                if len({chip.coords[coordinate] for chip in line}) > 1
            }
            assert math.prod((4, 4, 8)[coordinate] for coordinate in varying) == shape[axis]


def test_splitting_of_physical_axes():
    block = chips((4, 4, 1), "TPU v4")
    with pytest.raises(NotImplementedError, match="allow_split_physical_axes=True"):
        create_device_mesh((2, 4, 2), block)
    arranged = create_device_mesh((2, 4, 2), block, allow_split_physical_axes=True)
    assert ids(arranged) == [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]


def test_contiguous_submeshes_keep_processes_together():
    block = chips((4, 4, 4), "TPU v4")
    arranged = create_device_mesh((4, 4, 4), block, contiguous_submeshes=True)
    for process in {chip.process_index for chip in block}:
        places = np.argwhere(np.vectorize(lambda c, p=process: c.process_index == p)(arranged))
        assert np.prod(places.max(0) - places.min(0) + 1) == len(places) == 4
    with pytest.raises(ValueError, match=r"contiguous submeshes for mesh_shape \(64,\)"):
        create_device_mesh((64,), block, contiguous_submeshes=True)


def test_incomplete_blocks_raise():
    with pytest.raises(ValueError, match="do not form a complete block"):
        create_device_mesh((3,), chips((2, 2, 1), "TPU v4")[:3])


def test_hybrid_meshes_split_slices_first():
    first, second = (chips((2, 2, 1), "TPU v4", slice_index=number) for number in (0, 1))
    arranged = create_hybrid_device_mesh((2, 2), (2, 1), [*second, *first])
    assert arranged.shape == (4, 2)
    assert [chip.slice_index for chip in arranged[:, 0]] == [0, 0, 1, 1]
    unsorted = create_hybrid_device_mesh(
        (2, 2), (1, 2), [*second, *first], should_sort_granules_by_key=False
    )
    assert [chip.slice_index for chip in unsorted[0]] == [1, 1, 0, 0]


def test_invalid_hybrid_meshes_raise(devices):
    block = chips((2, 2, 1), "TPU v4")
    with pytest.raises(ValueError, match="Number of slices 1 must equal"):
        create_hybrid_device_mesh((2, 2), (2, 1), block)
    with pytest.raises(ValueError, match="must have the same length"):
        create_hybrid_device_mesh((4,), (1, 1), block)
    with pytest.raises(ValueError, match="has no attribute slice_index"):
        create_hybrid_device_mesh((8,), (1,), devices)
    by_process = create_hybrid_device_mesh((8,), (1,), devices, process_is_granule=True)
    assert list(by_process) == list(devices)
