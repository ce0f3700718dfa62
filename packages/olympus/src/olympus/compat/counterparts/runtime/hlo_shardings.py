# SPDX-License-Identifier: Apache-2.0
"""Questions about shardings of XLA, under the names of JAX's private module ``op_shardings``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "are_hlo_shardings_equal",
    "get_num_ways_dim_sharded",
    "is_hlo_sharding_replicated",
    "op_sharding_to_indices",
    "op_sharding_to_numpy_indices",
]


def get_num_ways_dim_sharded(hlo_sharding: Any) -> tuple[list[int], int]:
    """Returns the number of parts along each dimension, and the number of copies of each part."""
    if hlo_sharding.is_replicated():
        return [], 1
    tiles = list(hlo_sharding.tile_assignment_dimensions())
    del tiles[len(tiles) - len(hlo_sharding.subgroup_types()) :]
    copies = tiles.pop() if hlo_sharding.replicate_on_last_tile_dim() else 1
    return tiles, copies


def is_hlo_sharding_replicated(hc: Any) -> bool:
    """Returns whether each device has all of an array."""
    return hc.is_replicated() or all(count == 1 for count in get_num_ways_dim_sharded(hc)[0])


def are_hlo_shardings_equal(hc1: Any, hc2: Any) -> bool:
    """Returns whether two shardings place arrays alike."""
    if hc1 is hc2 or hc1 == hc2:
        return True
    return is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)


def op_sharding_to_numpy_indices(
    hlo_sharding: Any, shape: Sequence[int], num_devices: int
) -> np.ndarray:
    """Returns the slices of an array that each device has, as an array of tuples."""
    indices = np.empty(num_devices, object)
    tiles, _ = get_num_ways_dim_sharded(hlo_sharding)
    if not tiles:
        for number in range(num_devices):
            indices[number] = (slice(None),) * len(shape)
        return indices
    devices = np.reshape(hlo_sharding.tile_assignment_devices(), (*tiles, -1))
    for position in np.ndindex(*tiles):
        parts = zip(position, tiles, shape, strict=True)
        index = tuple(_part(place, count, size) for place, count, size in parts)
        for number in devices[position]:
            indices[number] = index
    return indices


def _part(place: int, count: int, size: int) -> slice:
    if count == 1:
        return slice(None)
    if size % count:
        raise ValueError(f"{count} parts do not divide a dimension of size {size}")
    length = size // count
    return slice(place * length, (place + 1) * length)


def op_sharding_to_indices(
    op_sharding: Any, shape: Sequence[int], num_devices: int
) -> tuple[tuple[slice, ...], ...]:
    """Returns the slices of an array that each device has; see `op_sharding_to_numpy_indices`."""
    return tuple(op_sharding_to_numpy_indices(op_sharding, shape, num_devices))
