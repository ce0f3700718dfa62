# SPDX-License-Identifier: Apache-2.0
"""The shards of an array: their devices, and their assembly on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from olympus_ir.types.arrays import Array
from olympus_ir.types.placement import Device, Sharding
from olympus_sharding.shardings.behavior import shard_indices
from olympus_sharding.shardings.tiling import Index

from .shared_memory import part_of

__all__ = ["Shard", "addressable_shards", "gather", "global_shards"]


class Shard:
    """The shard of an array that one device holds.

    Attributes:
      device: the device.
      index: the slices of the whole array that the shard covers.
      replica_id: the index of the device among the devices with the same shard.
      data: the shard as an array on the device; None if another process holds it.

    Args:
      device: the device.
      sharding: the sharding of the whole array.
      global_shape: the shape of the whole array.
      data: the shard.
    """

    __slots__ = ("_array", "_data", "_place", "_position", "_whole", "device")

    def __init__(
        self,
        device: Device,
        sharding: Sharding,
        global_shape: tuple[int, ...],
        data: Array | None = None,
    ) -> None:
        self.device = device
        # The index and the replica id, computed on first use.
        self._place: tuple[Index, int] | None = None
        self._whole = sharding, tuple(global_shape)
        self._data = data
        self._array: Any = None
        self._position: int | None = None

    @classmethod
    def of_array(
        cls, device: Any, index: Index, replica_id: int, array: Any, position: int | None
    ) -> Shard:
        """Returns the shard at a position among the local shards of an array."""
        self = cls.__new__(cls)
        self.device = device
        self._place = index, replica_id
        self._data = None
        self._array = array
        self._position = position
        return self

    def _find_place(self) -> tuple[Index, int]:
        sharding, shape = self._whole
        for device, index, replica_id in _places(sharding, shape):
            if device == self.device:
                self._place = index, replica_id
                return self._place
        raise ValueError(f"{sharding} places no part of the array on the device {self.device}")

    @property
    def index(self) -> Index:
        """The slices of the whole array that the shard covers."""
        return (self._place or self._find_place())[0]

    @property
    def replica_id(self) -> int:
        """The index of the device among the devices with the same shard."""
        return (self._place or self._find_place())[1]

    @property
    def data(self) -> Any:
        """The shard as an array on the device; None if another process holds it."""
        return self._data if self._position is None else part_of(self._array, self._position)

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def global_shards(array: Any) -> list[Shard]:
    """Returns the shards of an array on all devices, in the sharding's device order."""
    sharding = array._sharding
    process = sharding._device_assignment[0].client.process_index()
    result = []
    position = 0
    for device, index, replica_id in _places(sharding, array.aval.shape):
        local = device.process_index == process
        place = position if local else None
        result.append(Shard.of_array(device, index, replica_id, array, place))
        position += local
    return result


def _places(sharding: Any, shape: tuple[int, ...]) -> Iterator[tuple[Any, Index, int]]:
    """Yields the device, the index and the replica id of each shard."""
    replicas: Counter[tuple] = Counter()
    indices = shard_indices(sharding, shape)
    for device, index in zip(sharding._device_assignment, indices, strict=True):
        key = tuple((part.start, part.stop) for part in index)
        yield device, index, replicas[key]
        replicas[key] += 1


def addressable_shards(array: Any) -> list[Shard]:
    """Returns the shards of an array on this process's devices, in the sharding's device order."""
    return [shard for shard in global_shards(array) if shard._position is not None]


def gather(array: Any) -> np.ndarray:
    """Returns the contents of a fully addressable array as a NumPy array, copied from shards."""
    parts = array._arrays
    for part in parts:
        part._copy_single_device_array_to_host_async()
    whole = np.empty(array.aval.shape, array.aval.dtype)
    for index, part in zip(shard_indices(array._sharding, array.aval.shape), parts, strict=True):
        whole[index], _ = part._single_device_array_to_np_array_did_copy()
    return whole
