# SPDX-License-Identifier: Apache-2.0
"""Methods of shardings: which device holds which part of an array.

`SingleDeviceSharding` and `NamedSharding` are C++ types that the compiled call paths recognize by
identity. These paths would not recognize subclasses, so this module attaches methods to the types
themselves. olympus-xla attaches the translation for XLA, which only the runtime needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_ir.diagnostics import reports
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types.placement import (
    UNCONSTRAINED,
    AxisType,
    BaseMesh,
    Device,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    check_named_shardings_with,
)

from .tiling import Index, axes_of_dimensions, mesh_tiling, slices

__all__ = [
    "DuplicateSpecError",
    "IndivisibleError",
    "NamedSharding",
    "Sharding",
    "SingleDeviceSharding",
    "make_single_device_sharding",
    "shard_indices",
]


class IndivisibleError(ValueError):
    """Error for a dimension whose size is not divisible by its number of shards."""


class DuplicateSpecError(ValueError):
    """Error for a partition spec that uses a mesh axis twice."""


def shard_indices(sharding: Any, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """Returns the slices of each device's shard of an array, in device order.

    Args:
      sharding: any sharding of devices.
      shape: the shape of the whole array.

    Returns:
      A tuple with one tuple of slices for each device.

    Raises:
      IndivisibleError: the size of a dimension is not divisible by the number of its parts.
    """
    sharding.shard_shape(shape)
    if type(sharding) is NamedSharding:
        return slices(sharding.mesh, sharding.spec, tuple(shape))
    if type(sharding) is SingleDeviceSharding:
        return ((slice(None),) * len(shape),)
    return tuple(sharding.devices_indices_map(shape).values())


def make_single_device_sharding(
    device: Any, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Returns the sharding that places an array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; the default one if None.

    Returns:
      A `SingleDeviceSharding`.

    Example:
      >>> import olympus
      >>> device = olympus.devices()[0]
      >>> make_single_device_sharding(device).device_set == {device}
      True
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


# Pickles refer to these functions and not to the C++ types, whose `__module__` may change.
def _rebuild_named_sharding(*fields: Any) -> NamedSharding:
    return NamedSharding(*fields)


def _rebuild_single_device_sharding(*fields: Any) -> SingleDeviceSharding:
    return SingleDeviceSharding(*fields)


# Entries of a class body that `_attach` does not copy to the C++ class.
_NO_MEMBERS = frozenset(
    {"__annotations__", "__dict__", "__module__", "__qualname__", "__weakref__"}
)


def _attach(sharding_class: type) -> Callable[[type], type]:
    """Returns a class decorator that sets the members of a class body on a C++ class."""

    def attach(members: type) -> type:
        for name, member in vars(members).items():
            if name not in _NO_MEMBERS:
                setattr(sharding_class, name, member)
        return sharding_class

    return attach


def _undefined(sharding: Any, name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{type(sharding).__name__} does not define {name}, which every subclass of Sharding must."
    )


@_attach(Sharding)
class _Sharding:
    """Placement of the parts of an array on devices.

    Subclasses define `_device_assignment`, `devices_indices_map`, `memory_kind` and
    `with_memory_kind`; the other members follow from these.
    """

    @property
    def _device_assignment(self) -> tuple:
        raise _undefined(self, "_device_assignment")

    def _repr_html_(self) -> str | None:
        """Returns a picture of the sharding, which notebooks show."""
        return reports.html_of(self)

    @property
    def memory_kind(self) -> str | None:
        """The kind of the devices' memory."""
        raise _undefined(self, "memory_kind")

    @api_boundary
    def with_memory_kind(self, kind: str) -> Sharding:
        """Returns the same sharding in another kind of memory."""
        raise _undefined(self, "with_memory_kind")

    @api_boundary
    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Index]:
        """Returns a dictionary from each device to the slices of its part of an array."""
        raise _undefined(self, "devices_indices_map")

    @property
    def _is_concrete(self) -> bool:
        return True

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self._device_assignment)

    @property
    def device_set(self) -> set:
        """The set of devices."""
        return set(self._device_assignment)

    @property
    def is_fully_replicated(self) -> bool:
        """True if every device holds the whole array."""
        raise _undefined(self, "is_fully_replicated")

    @property
    def _addressable_device_assignment(self) -> tuple:
        return tuple(
            device
            for device in self._device_assignment
            if device.process_index == device.client.process_index()
        )

    @property
    def is_fully_addressable(self) -> bool:
        """True if all devices belong to this process."""
        return len(self._addressable_device_assignment) == self.num_devices

    @property
    def has_addressable_devices(self) -> bool:
        """True if some device belongs to this process."""
        return bool(self._addressable_device_assignment)

    @property
    def addressable_devices(self) -> set:
        """The set of devices of this process."""
        return set(self._addressable_device_assignment)

    @api_boundary
    def addressable_devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Index]:
        """Returns a dictionary from each device of this process to the slices of its part."""
        indices = self.devices_indices_map(global_shape)
        return {device: indices[device] for device in self._addressable_device_assignment}

    @api_boundary
    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of one part of an array of shape ``global_shape``."""
        index = next(iter(self.devices_indices_map(global_shape).values()))
        return tuple(len(range(size)[part]) for size, part in zip(global_shape, index, strict=True))

    @api_boundary
    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Returns whether ``other`` places an array of ``ndim`` dimensions in the same way."""
        return self is other or _placement(self, ndim) == _placement(other, ndim)


def _placement(sharding: Any, ndim: int) -> tuple:
    """Returns a key that is equal for shardings that place arrays in the same way."""
    if type(sharding) is SingleDeviceSharding:
        return ((sharding._device,), (1,) * ndim, bytes(ndim), sharding.memory_kind, None)
    if type(sharding) is NamedSharding:
        mesh, spec = sharding.mesh, sharding.spec
        if len(spec) > ndim:
            sharding.check_compatible_aval((1,) * ndim)
        factors, parts = mesh_tiling(mesh, spec, ndim)
        devices = sharding._device_assignment if sharding._is_concrete else mesh
        # The integer dtype depends on the factors only, so equal parts have equal bytes.
        numbers = parts.astype("uint8" if max(factors, default=1) < 256 else int).tobytes()
        special = (mesh, spec.unreduced) if spec.unreduced or mesh.manual_axes else None
        return (devices, factors, numbers, sharding.memory_kind, special)
    if not isinstance(sharding, Sharding):
        raise TypeError(f"expected a sharding to compare with, got {sharding!r}")
    return (sharding,)


@_attach(SingleDeviceSharding)
class _SingleDeviceSharding:
    """Sharding that places an array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; the default one if None.

    Example:
      >>> import olympus
      >>> SingleDeviceSharding(olympus.devices("cpu")[0])
      SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    # The fields of the C++ record.
    _device: Any
    _memory_kind: str | None

    @property
    def _device_assignment(self) -> tuple:
        return (self._device,)

    @property
    def device_set(self) -> set:
        return {self._device}

    @property
    def num_devices(self) -> int:
        return 1

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind

    @api_boundary
    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @api_boundary
    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Index]:
        return {self._device: (slice(None),) * len(global_shape)}

    @api_boundary
    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    @api_boundary
    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Accepts any shape, since one device can hold arrays of any shape."""

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is SingleDeviceSharding
            and self._device == other._device
            and self._memory_kind == other._memory_kind
        )

    def __hash__(self) -> int:
        return hash((self._device, self._memory_kind))

    def __repr__(self) -> str:
        kind = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
        return f"SingleDeviceSharding(device={self._device!r}{kind})"

    def __reduce__(self) -> tuple:
        return (_rebuild_single_device_sharding, (self._device, self._memory_kind))


@_attach(NamedSharding)
class _NamedSharding:
    """Sharding that partitions an array over the devices of a mesh, as a `PartitionSpec` says.

    Args:
      mesh: a `Mesh`, or an `AbstractMesh` for a sharding without devices.
      spec: for each dimension, the mesh axes over which it is split.
      memory_kind: the kind of the devices' memory; the default one if None.

    Example:
      >>> import olympus
      >>> mesh = olympus.make_mesh((1,), ("data",))
      >>> NamedSharding(mesh, olympus.P("data")).shard_shape((8, 2))
      (8, 2)
    """

    # The fields of the C++ record.
    mesh: Any
    spec: PartitionSpec
    _memory_kind: str | None
    _logical_device_ids: Any

    @property
    def _is_concrete(self) -> bool:
        return self.mesh._internal_device_list is not None

    @property
    def _device_assignment(self) -> tuple:
        self._check_concrete("_device_assignment")
        return self.mesh._flat_devices

    def _check_concrete(self, name: str) -> None:
        if self.mesh._internal_device_list is None:
            raise ValueError(
                f"{name} is not implemented for a NamedSharding over an AbstractMesh, which has "
                f"no devices: {self}"
            )

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def device_set(self) -> set:
        self._check_concrete("device_set")
        return set(self.mesh._flat_devices)

    @property
    def is_fully_addressable(self) -> bool:
        self._check_concrete("is_fully_addressable")
        return not self.mesh.is_multi_process

    @property
    def _addressable_device_assignment(self) -> tuple:
        self._check_concrete("addressable_devices")
        return tuple(self.mesh.local_devices)

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind

    @api_boundary
    def with_memory_kind(self, kind: str) -> NamedSharding:
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    @api_boundary
    def update(
        self, *, mesh: Any = None, spec: Any = None, memory_kind: str | None = None
    ) -> NamedSharding:
        """Returns the same sharding with the given constructor arguments replaced."""
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            self.spec if spec is None else spec,
            memory_kind=self._memory_kind if memory_kind is None else memory_kind,
        )

    @property
    def is_fully_replicated(self) -> bool:
        return _is_fully_replicated(self.mesh, self.spec)

    @property
    def replicated_axes(self) -> frozenset:
        """The mesh axes along which the array is replicated."""
        spec = self.spec
        split = {axis for axes in axes_of_dimensions(spec, len(spec)) for axis in axes}
        return frozenset(self.mesh.axis_names) - split - spec.unreduced

    @api_boundary
    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Index]:
        if self.spec.unreduced:
            raise ValueError(
                "devices_indices_map is not defined for partial sums, since each device holds only "
                f"a term of the array: {self.spec} has unreduced axes."
            )
        return dict(zip(self._device_assignment, shard_indices(self, global_shape), strict=True))

    @api_boundary
    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return _shard_shape(self, tuple(global_shape))

    @api_boundary
    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Checks that an array of shape ``aval_shape`` has enough dimensions for the spec.

        Raises:
          ValueError: the array has too few dimensions.
        """
        if len(self.spec) > len(aval_shape):
            hint = " For scalars the PartitionSpec should be P()" if not aval_shape else ""
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but "
                f"was applied to a value of rank {len(aval_shape)}.{hint}"
            )

    def __repr__(self) -> str:
        kind = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"

    def __reduce__(self) -> tuple:
        fields = (self.mesh, self.spec, self._memory_kind, self._logical_device_ids)
        return (_rebuild_named_sharding, fields)


@functools.lru_cache(maxsize=4096)
def _is_fully_replicated(mesh: BaseMesh, spec: PartitionSpec) -> bool:
    return not spec.unreduced and max(mesh_tiling(mesh, spec, len(spec))[0], default=1) == 1


@functools.lru_cache(maxsize=4096)
def _shard_shape(sharding: NamedSharding, shape: tuple[int, ...]) -> tuple[int, ...]:
    sharding.check_compatible_aval(shape)
    factors, _ = mesh_tiling(sharding.mesh, sharding.spec, len(shape))
    for axis, (size, factor) in enumerate(zip(shape, factors)):
        if size % factor:
            raise IndivisibleError(
                f"Sharding {sharding} implies that array axis {axis} is partitioned {factor} "
                f"times, but the dimension size is {size} (full shape: {shape}, per-dimension "
                f"tiling factors: {list(factors)} should evenly divide the shape)"
            )
    return tuple(size // factor for size, factor in zip(shape, factors))


@api_boundary
def _check_arguments(mesh: Any, spec: Any) -> None:
    """Checks that a spec is legal on a mesh; the C++ constructor of `NamedSharding` calls it."""
    if type(spec) is PartitionSpec and isinstance(mesh, BaseMesh):
        _check_spec(mesh, spec)
    elif isinstance(mesh, BaseMesh):
        raise TypeError(
            "NamedSharding requires a PartitionSpec as its second argument, got "
            f"{spec!r} of type {type(spec).__name__}"
        )
    elif spec != ():  # the call that installs this check passes neither mesh nor spec
        raise TypeError(
            "NamedSharding requires a Mesh or an AbstractMesh as its first argument, got "
            f"{mesh!r} of type {type(mesh).__name__}"
        )


def check_no_duplicates(spec: PartitionSpec, name: str) -> None:
    """Raises DuplicateSpecError if a spec has an axis twice; ``name`` names the spec."""
    seen: set[Any] = set()
    for axes in axes_of_dimensions(spec, len(spec)):
        for axis in axes:
            if axis in seen:
                raise DuplicateSpecError(
                    f"A single {name} specification can map every mesh axis to at most one "
                    f"positional dimension, but {spec} has duplicate entries for `{axis}`"
                )
            seen.add(axis)


@functools.lru_cache(maxsize=4096)
def _check_spec(mesh: BaseMesh, spec: PartitionSpec) -> None:
    for axes in axes_of_dimensions(spec, len(spec)):
        for axis in axes:
            if axis not in mesh.axis_names:
                raise ValueError(
                    f"Resource axis: {axis} of {spec} is not found in mesh: {mesh.axis_names}."
                )
    check_no_duplicates(spec, "NamedSharding spec")
    _check_axis_groups(mesh, spec)
    if UNCONSTRAINED in spec.partitions and not mesh.auto_axes and mesh.axis_names:
        raise ValueError(
            f"{spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. "
            f"Got mesh axis_types: {mesh.axis_types}"
        )


def _check_axis_groups(mesh: BaseMesh, spec: PartitionSpec) -> None:
    for name, axes in (("Unreduced", spec.unreduced), ("Reduced", spec.reduced)):
        for axis in axes:
            if axis not in mesh.axis_names:
                raise ValueError(
                    f"{name} axes {axis} is not found in mesh.axis_names={mesh.axis_names}. "
                    f"Got pspec={spec}"
                )
            if mesh.axis_types[mesh.axis_names.index(axis)] is AxisType.Auto:
                raise ValueError(
                    f"{name} axes can only refer to mesh axes that is of type `Explicit`. "
                    f"Got {name.lower()} axes: {axes} and mesh: {mesh}"
                )


check_named_shardings_with(_check_arguments)

for _class in (NamedSharding, SingleDeviceSharding):
    # Users import the types from this module, and error messages show it.
    _class.__module__ = "olympus.sharding"
