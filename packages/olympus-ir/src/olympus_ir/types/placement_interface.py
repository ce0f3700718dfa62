# SPDX-License-Identifier: Apache-2.0
"""Interface of devices and shardings for type checkers: typed attributes and methods.

The classes of devices and shardings are written in C++, and olympus-sharding attaches methods to
the shardings at import. Type checkers see neither, so they read this file instead. Programs never
import it. A test compares the members with those of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .placement import BaseMesh, PartitionSpec

Index = tuple[slice, ...]


class Client:
    """Type of clients, which give access to the devices of a platform.

    Clients have further members.
    """

    platform: str
    platform_version: str

    def __getattr__(self, name: str) -> Any: ...


class Device:
    """Type of devices, such as a GPU or the CPU."""

    id: int
    process_index: int
    local_hardware_id: int | None
    platform: str
    device_kind: str
    host_id: int
    task_id: int
    client: Client

    def addressable_memories(self) -> list[Any]: ...
    def default_memory(self) -> Any: ...
    def memory(self, kind: str) -> Any: ...
    def memory_stats(self) -> dict[str, int] | None: ...
    def live_buffers(self) -> list[Any]: ...


class Sharding:
    """Type of shardings: which device holds which part of an array."""

    _to_xla_hlo_sharding: Callable[..., Any]  # olympus-xla attaches it

    @property
    def device_set(self) -> set[Device]: ...
    @property
    def num_devices(self) -> int: ...
    @property
    def addressable_devices(self) -> set[Device]: ...
    @property
    def has_addressable_devices(self) -> bool: ...
    @property
    def is_fully_addressable(self) -> bool: ...
    @property
    def is_fully_replicated(self) -> bool: ...
    @property
    def memory_kind(self) -> str | None: ...
    @property
    def _memory_kind(self) -> str | None: ...
    @property
    def _device_assignment(self) -> tuple[Device, ...]: ...
    @property
    def _is_concrete(self) -> bool: ...
    @property
    def _internal_device_list(self) -> Any: ...
    def with_memory_kind(self, kind: str) -> Sharding: ...
    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]: ...
    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Index]: ...
    def addressable_devices_indices_map(
        self, global_shape: tuple[int, ...]
    ) -> dict[Device, Index]: ...
    def is_equivalent_to(self, other: Any, ndim: int) -> bool: ...
    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None: ...


class SingleDeviceSharding(Sharding):
    """Sharding of an array that lies on one device."""

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None: ...
    @property
    def _device(self) -> Device: ...


class NamedSharding(Sharding):
    """Sharding that assigns axes of a mesh to the dimensions of an array."""

    def __init__(
        self,
        mesh: BaseMesh,
        spec: PartitionSpec,
        *,
        memory_kind: str | None = None,
        _logical_device_ids: Sequence[int] | None = None,
    ) -> None: ...
    @property
    def mesh(self) -> Any: ...
    @property
    def spec(self) -> PartitionSpec: ...
    @property
    def replicated_axes(self) -> frozenset[Any]: ...
    @property
    def _logical_device_ids(self) -> tuple[int, ...] | None: ...
    def update(
        self, *, mesh: BaseMesh | None = None, spec: Any = None, memory_kind: str | None = None
    ) -> NamedSharding: ...
