# SPDX-License-Identifier: Apache-2.0
"""Meshes: arrays of devices with named axes."""

from __future__ import annotations

import functools
import math
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types.placement import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    BaseMesh,
    Device,
    DeviceList,
    MeshAxisName,
    check_axis_types,
    empty_abstract_mesh,
    install_empty_mesh,
)

__all__ = ["Mesh", "empty_mesh", "make_mesh", "set_default_devices"]

_set_field = object.__setattr__
# Equal meshes are one object: the key of compiled calls compares them by identity.
_meshes: weakref.WeakValueDictionary[tuple, Mesh] = weakref.WeakValueDictionary()
_meshes_lock = threading.Lock()


class Mesh(BaseMesh):
    """Array of devices with a name for each axis.

    Meshes are immutable. Equal meshes are the same object.

    Args:
      devices: an array of devices, or a nested sequence, with one dimension for each axis.
      axis_names: the names of the axes; one string for a single axis.
      axis_types: an `AxisType` for each axis; all `AxisType.Auto` if None.

    Raises:
      TypeError: ``devices`` are not devices.
      ValueError: a name is None, or the number of names is not the number of dimensions.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> Mesh(np.array(olympus.devices()[:1]).reshape(1, 1), ("data", "model"))
      Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Auto, Auto))
    """

    # The dictionary holds the values of the cached properties.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_internal_device_list",
        "axis_names",
        "axis_sizes",
        "axis_types",
        "devices",
        "size",
    )

    devices: np.ndarray
    # The C++ sharding reads this attribute; None for a mesh without devices.
    _internal_device_list: DeviceList | None

    @api_boundary
    def __new__(
        cls,
        devices: Any,
        axis_names: str | Sequence[MeshAxisName],
        axis_types: AxisType | tuple[AxisType, ...] | None = None,
    ) -> Mesh:
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices, dtype=object)
        axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if any(name is None for name in axis_names):
            raise ValueError(f"Mesh axis names cannot be None. Got: {axis_names}")
        if devices.ndim != len(axis_names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {devices.ndim} and "
                f"len(axis_names) == {len(axis_names)}."
            )
        axis_types = check_axis_types(cls.__name__, axis_names, axis_types)
        for device in devices.flat:
            if not hasattr(device, "device_kind"):
                raise TypeError(
                    "Mesh requires an array of devices, as `olympus.devices()` lists them, but "
                    f"got {device!r} of type {type(device).__name__}."
                )
        if devices.size == 0:
            return empty_mesh
        key = (tuple(devices.flat), devices.shape, axis_names, axis_types)
        with _meshes_lock:
            mesh = _meshes.get(key)
            if mesh is None:
                mesh = _meshes[key] = _make_mesh(*key)
        return mesh

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError("Mesh cannot be subclassed: its values are interned by content.")

    def __reduce__(self) -> tuple:
        if self.empty:
            return (_the_empty_mesh, ())
        return (Mesh, (self.devices, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        sizes, names, types = self.axis_sizes, self.axis_names, self.axis_types
        if self.empty:
            return f"Mesh(axis_sizes={sizes}, axis_names={names})"
        return f"Mesh(axis_sizes={sizes}, axis_names={names}, axis_types={types!r})"

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._axes_text()})"

    @api_boundary
    def update(
        self,
        devices: Any = None,
        axis_names: Sequence[MeshAxisName] | None = None,
        axis_types: tuple[AxisType, ...] | None = None,
    ) -> Mesh:
        """Returns the same mesh with the given constructor arguments replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def empty(self) -> bool:
        """True if the mesh has no devices."""
        return self.size == 0

    @property
    def is_scalar(self) -> bool:
        """True if the mesh is one device without axes."""
        return self.devices.ndim == 0

    @functools.cached_property
    def device_ids(self) -> np.ndarray:
        """The ids of the devices, an integer array of the mesh's shape."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=int).reshape(self.devices.shape)

    @functools.cached_property
    def _flat_devices(self) -> tuple:
        return tuple(self.devices.flat)

    @property
    def is_multi_process(self) -> bool:
        """True if some of the devices belong to another process."""
        return len(self.local_devices) != self.size

    @functools.cached_property
    def local_devices(self) -> list:
        """The devices of this process, in mesh order."""
        return [device for device in self._flat_devices if _is_local(device)]

    @functools.cached_property
    def local_mesh(self) -> Mesh:
        """The part of the mesh whose devices belong to this process."""
        if not self.is_multi_process:
            return self
        local = np.vectorize(_is_local, otypes=[bool])(self.devices)
        # For each axis, the positions at which some device is local.
        occupied = [
            np.flatnonzero(local.any(_others(axis, local.ndim))) for axis in range(local.ndim)
        ]
        block = np.ix_(*occupied)
        if not local[block].all():
            raise ValueError(
                f"The devices of this process do not form a rectangular part of {self}: "
                "devices that are arranged by process have a local mesh."
            )
        return Mesh(self.devices[block], self.axis_names, self.axis_types)

    @functools.cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The abstract mesh: this mesh without its devices. Types of arrays refer to it."""
        if self.empty:
            return empty_abstract_mesh
        device = _abstract_device(self._flat_devices[0])
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device
        )


def _make_mesh(devices: tuple, shape: tuple, axis_names: tuple, axis_types: tuple) -> Mesh:
    self = object.__new__(Mesh)
    arrangement = np.empty(len(devices), dtype=object)
    arrangement[:] = devices
    if devices:
        arrangement = arrangement.reshape(shape)
    arrangement.flags.writeable = False
    _set_field(self, "devices", arrangement)
    _set_field(self, "axis_names", axis_names)
    _set_field(self, "axis_sizes", shape)
    _set_field(self, "axis_types", axis_types)
    _set_field(self, "size", math.prod(shape) if devices else 0)
    _set_field(self, "_internal_device_list", DeviceList(devices) if devices else None)
    return self


# A mesh without devices has no axes, even if names were given.
empty_mesh = _make_mesh((), (), (), ())


def _the_empty_mesh() -> Mesh:
    """Returns the only mesh without devices, for copies and pickles."""
    return empty_mesh


install_empty_mesh(empty_mesh)


def _is_local(device: Any) -> bool:
    return device.process_index == device.client.process_index()


def _others(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(other for other in range(ndim) if other != axis)


def _abstract_device(device: Any) -> AbstractDevice:
    # Only TPUs have several cores per chip, and only their devices have `num_cores`.
    cores = device.num_cores if device.platform == "tpu" else None
    return AbstractDevice(device.device_kind, cores, device.platform)


_default_devices: Callable[[], Sequence[Any]] | None = None


def set_default_devices(devices: Callable[[], Sequence[Any]]) -> None:
    """Sets the function that lists the default devices of meshes; the runtime calls this setter."""
    global _default_devices
    _default_devices = devices


Conversion: TypeAlias = Callable[[Any, Any], Any]
_process_conversions: tuple[Conversion, Conversion] | None = None


def set_process_conversions(join: Conversion, part: Conversion) -> None:
    """Sets the conversions of `pmap` between arrays of one process and arrays of several.

    The runtime implements the conversions and calls this function.

    Args:
      join: ``(array, sharding)``; converts data of this process to an array over all devices.
      part: ``(array, sharding)``; converts an array over all devices to data of this process.
    """
    global _process_conversions
    _process_conversions = join, part


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[MeshAxisName],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Makes a mesh of the given sizes from the first devices of a list.

    Args:
      axis_shapes: the sizes of the axes, positive.
      axis_names: the names of the axes.
      axis_types: the types of the axes; all `AxisType.Explicit` if None.
      devices: at least as many devices as the mesh needs, taken in order; the devices of the
        default backend if None.

    Returns:
      A `Mesh`.

    Raises:
      ValueError: a size is not a positive integer, or there are too few devices.
      RuntimeError: no devices are given, and no loaded runtime has devices.

    Example:
      >>> import olympus
      >>> olympus.make_mesh((1,), ("data",))
      Mesh(axis_sizes=(1,), axis_names=('data',), axis_types=(Explicit,))
    """
    try:
        sizes = tuple(operator.index(size) for size in axis_shapes)
    except TypeError:
        raise ValueError(
            f"`axis_shapes` passed to `make_mesh` should be a sequence of ints. Got {axis_shapes}"
        ) from None
    if any(size < 1 for size in sizes):
        raise ValueError(f"The sizes of mesh axes must be positive, got axis_shapes={sizes}.")
    if devices is None:
        if _default_devices is None:
            raise RuntimeError(
                "make_mesh found no devices: pass `devices=`, or install and import olympus_xla."
            )
        devices = _default_devices()
    count = math.prod(sizes)
    devices = list(devices)
    if len(devices) < count:
        raise ValueError(
            f"Number of devices {len(devices)} must be >= the product of mesh_shape {sizes}"
        )
    arrangement = np.empty(count, dtype=object)
    arrangement[:] = devices[:count]
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(sizes)
    return Mesh(arrangement.reshape(sizes), axis_names, axis_types)
