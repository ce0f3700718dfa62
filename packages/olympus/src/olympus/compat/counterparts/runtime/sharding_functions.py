# SPDX-License-Identifier: Apache-2.0
"""Functions of shardings, under the names of JAX's private modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir.types.placement import AxisType, PartitionSpec
from olympus_sharding.meshes.context import get_abstract_mesh
from olympus_sharding.shardings.behavior import NamedSharding

__all__ = [
    "canonicalize_sharding",
    "common_devices_indices_map",
    "common_is_equivalent_to",
    "device_replica_id_map",
    "hashed_index",
    "num_addressable_indices",
]

Shape = tuple[int, ...]


def canonicalize_sharding(
    sharding: NamedSharding | PartitionSpec | None,
    api_name: str,
    check_mesh_consistency: bool = True,
) -> NamedSharding | None:
    """Returns the sharding that an argument ``out_sharding`` stands for, over an abstract mesh.

    Args:
      sharding: the argument. A partition spec refers to the mesh in force.
      api_name: the name of the function, for messages.
      check_mesh_consistency: whether a mesh other than the mesh in force is an error.

    Returns:
      The sharding; None if there is no mesh.

    Raises:
      TypeError: the argument is of another type.
      ValueError: there is no mesh for a partition spec, the meshes differ, or a dimension is
        sharded over an axis that is not explicit.
    """
    if sharding is None or (isinstance(sharding, NamedSharding) and sharding.mesh.empty):
        return None
    mesh = get_abstract_mesh()
    if isinstance(sharding, PartitionSpec):
        if mesh.empty:
            raise ValueError(
                f"{api_name} got out_sharding={sharding}, a PartitionSpec, when you are not under "
                "a mesh context: enter one by olympus.set_mesh(mesh), or give a NamedSharding."
            )
        return _over_explicit_axes(NamedSharding(mesh, sharding), api_name)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(
            f"`out_sharding` argument of {api_name} only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {sharding} of type {type(sharding).__name__}"
        )
    own = sharding.mesh.abstract_mesh
    all_automatic = own.are_all_axes_auto and mesh.are_all_axes_auto
    if check_mesh_consistency and not (all_automatic or mesh.empty or own == mesh):
        raise ValueError(
            f"Context mesh {mesh} should match the mesh of sharding {own} passed to {api_name}."
        )
    return _over_explicit_axes(NamedSharding(own, sharding.spec), api_name)


def _over_explicit_axes(sharding: NamedSharding, api_name: str) -> NamedSharding:
    spec, mesh = sharding.spec, sharding.mesh
    used = [name for part in spec for name in (part if isinstance(part, tuple) else (part,))]
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for name in (*used, *spec.unreduced, *spec.reduced):
        kind = kinds.get(name)
        if kind is not None and kind is not AxisType.Explicit:
            raise ValueError(
                f"PartitionSpec passed to {api_name} cannot contain axis names that are of type "
                f"Auto or Manual. Got PartitionSpec: {spec} with axis name: {name} of type: {kind}"
            )
    return sharding


def hashed_index(x: Sequence[slice]) -> int:
    """Returns a hash of the index of a shard, a tuple of slices."""
    return hash(tuple((part.start, part.stop) for part in x))


def common_devices_indices_map(s: Any, global_shape: Shape) -> Mapping[Any, tuple[slice, ...]]:
    """Returns the index of each device's shard of an array of the given shape."""
    return s.devices_indices_map(global_shape)


def common_is_equivalent_to(s1: Any, s2: Any, ndim: int, check_devices: bool = True) -> bool:
    """Returns whether two shardings place arrays of ``ndim`` dimensions alike.

    Args:
      s1: a sharding.
      s2: another sharding.
      ndim: the number of dimensions.
      check_devices: whether the devices, in their order, must be the same.
    """
    if check_devices:
        return s1.is_equivalent_to(s2, ndim)
    same_memory = s1.memory_kind == s2.memory_kind
    return same_memory and s1._to_xla_hlo_sharding(ndim) == s2._to_xla_hlo_sharding(ndim)


def device_replica_id_map(sharding: Any, global_shape: Shape) -> dict[Any, int]:
    """Returns, for each device, the number of earlier devices that hold the same shard."""
    seen: Counter[int] = Counter()
    replicas: dict[Any, int] = {}
    for device, index in sharding.devices_indices_map(global_shape).items():
        part = hashed_index(index)
        replicas[device] = seen[part]
        seen[part] += 1
    return replicas


def num_addressable_indices(tensor_sharding: Any, dim: int, global_shape: Shape) -> int:
    """Returns the number of indices of one dimension that this process holds."""
    held: set[int] = set()
    for index in tensor_sharding.addressable_devices_indices_map(global_shape).values():
        held.update(range(*index[dim].indices(global_shape[dim])))
    return len(held)
