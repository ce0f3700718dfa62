# SPDX-License-Identifier: Apache-2.0
"""The parts of an array: which device holds which, and putting them together on the host."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from olympus_sharding.shardings import shard_indices
from olympus_sharding.tiling import Index

__all__ = ["Shard", "addressable_shards", "gather", "global_shards"]


class Shard:
    """The part of an array that one device holds.

    Attributes:
      device: the device.
      index: the slices that cut the part out of the whole array.
      replica_id: counts the devices that hold the same part, from 0.
      data: the part as an array on the device; None where another process holds it.
    """

    __slots__ = ("_array", "_position", "device", "index", "replica_id")

    def __init__(
        self, device: Any, index: Index, replica_id: int, array: Any, position: int | None
    ) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self._array = array
        self._position = position

    @property
    def data(self) -> Any:
        """The part as an array on the device; None where another process holds it."""
        return None if self._position is None else self._array._arrays[self._position]

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def global_shards(array: Any) -> list[Shard]:
    """The parts of an array on all devices, in the sharding's device order."""
    sharding = array._sharding
    process = sharding._device_assignment[0].client.process_index()
    replicas: Counter[tuple] = Counter()
    result = []
    position = 0
    indices = shard_indices(sharding, array.aval.shape)
    for device, index in zip(sharding._device_assignment, indices, strict=True):
        key = tuple((part.start, part.stop) for part in index)
        local = device.process_index == process
        result.append(Shard(device, index, replicas[key], array, position if local else None))
        replicas[key] += 1
        position += local
    return result


def addressable_shards(array: Any) -> list[Shard]:
    """The parts of an array on the devices of this process, in the sharding's device order."""
    return [shard for shard in global_shards(array) if shard._position is not None]


def gather(array: Any) -> np.ndarray:
    """The whole of an array whose parts are all on devices of this process, as a NumPy array."""
    parts = array._arrays
    for part in parts:
        part._copy_single_device_array_to_host_async()
    whole = np.empty(array.aval.shape, array.aval.dtype)
    for index, part in zip(shard_indices(array._sharding, array.aval.shape), parts, strict=True):
        whole[index], _ = part._single_device_array_to_np_array_did_copy()
    return whole
