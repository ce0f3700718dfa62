# SPDX-License-Identifier: Apache-2.0
"""Arrangements of devices in meshes that follow the physical interconnect.

Neighbors along a mesh axis communicate in collectives over this axis. On a TPU each chip has known
coordinates in a torus. There, mesh axes consist of whole axes of the torus, so that every
collective uses separate links. Elsewhere devices keep their order.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import mesh as _mesh

__all__ = [
    "arranged_torus",
    "axis_assignments",
    "create_device_mesh",
    "create_hybrid_device_mesh",
    "device_kind_handler_dict",
    "torus_of",
]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Arranges devices for a mesh, so that its axes follow the interconnect.

    Args:
      mesh_shape: the sizes of the mesh axes, axes with the most communication last.
      devices: one device for each element of the mesh; the devices of the default backend if None.
      contiguous_submeshes: whether the devices of each process must form a block of the mesh.
      allow_split_physical_axes: whether a physical axis may serve several mesh axes if necessary.

    Returns:
      An array of devices of shape ``mesh_shape``, for `Mesh`.

    Raises:
      ValueError: the number of devices is not the product of the sizes, or no arrangement keeps
        the devices of each process together.
      NotImplementedError: physical axes cannot be assigned to the mesh axes.

    Example:
      >>> import olympus
      >>> create_device_mesh((1, 1), olympus.devices()[:1])
      array([[CpuDevice(id=0)]], dtype=object)
    """
    shape = tuple(operator.index(size) for size in mesh_shape)
    devices = _given_or_all(devices)
    if math.prod(shape) != len(devices):
        raise ValueError(
            f"Number of devices {len(devices)} must equal the product of mesh_shape {shape}"
        )
    if devices[0].platform != "tpu":
        arranged = _object_array(devices).reshape(shape)
        if contiguous_submeshes and not _processes_are_blocks(arranged):
            raise _not_contiguous(shape, "the order of the devices")
        return arranged
    handler = device_kind_handler_dict.get(devices[0].device_kind)
    if handler is not None:
        arranged = handler(shape, devices, contiguous_submeshes)
        if arranged is not None:
            return arranged
    torus = torus_of(devices)
    assignments = axis_assignments(torus.shape, shape, allow_split_physical_axes)
    arrangements = (arranged_torus(torus, shape, assignment) for assignment in assignments)
    if not contiguous_submeshes:
        return next(arrangements)
    for arranged in arrangements:
        if _processes_are_blocks(arranged):
            return arranged
    raise _not_contiguous(shape, f"the physical mesh topology {torus.shape}")


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Arranges the devices of several slices, which a data-center network (DCN) connects.

    Args:
      mesh_shape: the sizes of the mesh axes within a slice.
      dcn_mesh_shape: the sizes of the same axes over the slices.
      devices: the devices; the devices of the default backend if None.
      process_is_granule: whether to group devices by process, not by slice.
      should_sort_granules_by_key: whether to order slices by their indices, not by their first
        devices.
      allow_split_physical_axes: as for `create_device_mesh`.

    Returns:
      An array of devices. Its shape is the elementwise product of ``mesh_shape`` and
      ``dcn_mesh_shape``.

    Raises:
      ValueError: the number of slices, or of devices in a slice, does not match.

    Example:
      >>> import olympus
      >>> create_hybrid_device_mesh((1, 1), (1, 1), olympus.devices()[:1], process_is_granule=True)
      array([[CpuDevice(id=0)]], dtype=object)
    """
    devices = _given_or_all(devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    granules: dict[Any, list[Any]] = defaultdict(list)
    for device in devices:
        try:
            granules[getattr(device, attribute)].append(device)
        except AttributeError:
            raise ValueError(
                f"{device} has no attribute {attribute}, by which create_hybrid_device_mesh groups "
                "devices. Pass process_is_granule=True to group devices by process."
            ) from None
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    if len(mesh_shape) != len(dcn_mesh_shape):
        raise ValueError(
            "mesh_shape and dcn_mesh_shape are sizes of the same axes, and must have the same "
            f"length. Got {tuple(mesh_shape)} and {tuple(dcn_mesh_shape)}"
        )
    if math.prod(dcn_mesh_shape) != len(keys):
        raise ValueError(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape "
            f"{tuple(dcn_mesh_shape)}"
        )
    blocks = [
        create_device_mesh(
            mesh_shape, granules[key], allow_split_physical_axes=allow_split_physical_axes
        )
        for key in keys
    ]
    shape = tuple(map(operator.mul, dcn_mesh_shape, mesh_shape))
    arranged = np.empty(shape, dtype=object)
    for place, block in zip(np.ndindex(*dcn_mesh_shape), blocks, strict=True):
        region = tuple(
            slice(at * size, (at + 1) * size) for at, size in zip(place, mesh_shape, strict=True)
        )
        arranged[region] = block
    return arranged


def _given_or_all(devices: Sequence[Any] | None) -> list[Any]:
    if devices is None:
        if _mesh._default_devices is None:
            raise RuntimeError("no devices are known: pass `devices=`, or import olympus_xla.")
        devices = _mesh._default_devices()
    devices = list(devices)
    if not devices:
        raise ValueError("a mesh needs devices, got none")
    return devices


def _object_array(devices: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(devices), dtype=object)
    array[:] = devices
    return array


# ---- tori ----


def torus_of(devices: Sequence[Any]) -> np.ndarray:
    """Returns the devices at their physical coordinates; cores of a chip are on the last axis."""
    coordinates = [
        (*device.coords[:-1], device.coords[-1], device.core_on_chip) for device in devices
    ]
    lowest, highest = np.min(coordinates, axis=0), np.max(coordinates, axis=0)
    extents = tuple(highest - lowest + 1)
    if math.prod(extents) != len(devices) or len(set(coordinates)) != len(devices):
        raise ValueError(
            f"the {len(devices)} devices do not form a complete block of the hardware: the block "
            f"from {tuple(map(int, lowest))} to {tuple(map(int, highest))} has "
            f"{math.prod(map(int, extents))} devices. Pass all devices of a block."
        )
    torus = np.empty(extents, dtype=object)
    for device, place in zip(devices, coordinates, strict=True):
        torus[tuple(place - lowest)] = device
    *chips, last, cores = extents
    return torus.reshape(*chips, last * cores)


# For each mesh axis, the number of positions that it covers along each physical axis.
Assignment = tuple[tuple[int, ...], ...]


def axis_assignments(
    physical: tuple[int, ...], shape: tuple[int, ...], split: bool
) -> Iterator[Assignment]:
    """Yields the assignments of physical axes to the axes of a mesh, the best first.

    Args:
      physical: the sizes of the physical axes.
      shape: the sizes of the mesh's axes.
      split: whether parts of a physical axis may belong to different axes of the mesh.

    Raises:
      NotImplementedError: there is none.
    """
    found = False
    for choices in (_whole_axes, _parts_of_axes) if split else (_whole_axes,):
        for assignment in _assignments(physical, shape, choices, physical):
            found = True
            yield assignment
    if not found:
        raise NotImplementedError(
            f"Failed to find an assignment of the physical axes {physical} to the mesh_shape "
            f"{shape}: the size of each axis of the mesh must be the product of sizes of physical "
            "axes, and each physical axis belongs to one mesh axis. Pass "
            "allow_split_physical_axes=True to divide them."
        )


def _assignments(
    free: tuple[int, ...],
    shape: tuple[int, ...],
    choices: Callable[..., Iterator[tuple[int, ...]]],
    physical: tuple[int, ...],
) -> Iterator[Assignment]:
    """Yields all assignments of physical axes to mesh axes, the best for the last mesh axis first.

    Args:
      free: the remaining size of each physical axis.
      shape: the sizes of the remaining mesh axes.
      choices: yields the ways to make one axis, the best first.
      physical: the sizes of the physical axes.
    """
    if not shape:
        if math.prod(free) == 1:
            yield ()
        return
    for parts in choices(free, shape[-1], physical):
        rest = tuple(size // part for size, part in zip(free, parts, strict=True))
        for others in _assignments(rest, shape[:-1], choices, physical):
            yield (*others, parts)


def _whole_axes(
    free: tuple[int, ...], size: int, physical: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yields choices of whole physical axes that make a mesh axis, with most axes first.

    A choice has for each physical axis the part of its size that the mesh axis uses.
    """
    axes = [axis for axis, extent in enumerate(free) if extent > 1]
    for count in range(len(axes), -1, -1):
        for chosen in itertools.combinations(axes, count):
            if math.prod(free[axis] for axis in chosen) == size:
                yield tuple(extent if axis in chosen else 1 for axis, extent in enumerate(free))


def _parts_of_axes(
    free: tuple[int, ...], size: int, physical: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yields choices of parts of physical axes that make a mesh axis, with fewest splits first."""
    divisors = [[part for part in range(extent, 0, -1) if extent % part == 0] for extent in free]
    choices = [extents for extents in itertools.product(*divisors) if math.prod(extents) == size]

    def splitting(extents: tuple[int, ...]) -> tuple[int, int]:
        parts = [part for part, extent in zip(extents, physical, strict=True) if 1 < part < extent]
        return len(parts), math.prod(parts)

    yield from sorted(choices, key=splitting)


def arranged_torus(torus: np.ndarray, shape: tuple[int, ...], assignment: Assignment) -> np.ndarray:
    """Returns the devices of a torus in the order of a mesh."""
    # Each physical axis is split into one part per mesh axis; the last mesh axes get minor parts.
    parts = [extents[axis] for axis in range(torus.ndim) for extents in assignment]
    count = len(shape)
    order = [axis * count + index for index in range(count) for axis in range(torus.ndim)]
    return torus.reshape(parts).transpose(order).reshape(shape)


def _processes_are_blocks(arranged: np.ndarray) -> bool:
    """Returns whether the devices of each process form a block of the arrangement."""
    coordinates: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for place in np.ndindex(*arranged.shape):
        device: Any = arranged[place]
        coordinates[device.process_index].append(place)
    return all(
        math.prod(np.max(own, axis=0) - np.min(own, axis=0) + 1) == len(own)
        for own in coordinates.values()
    )


def _not_contiguous(shape: tuple[int, ...], argument: str) -> ValueError:
    return ValueError(
        f"create_device_mesh cannot create contiguous submeshes for mesh_shape {shape} and "
        f"{argument}: in no arrangement are the devices of each process a block of the mesh."
    )


# ---- kinds of devices with a special order ----


# Orders of devices in which neighbors are wired. The first and the last device are wired, too.
# `_RING_OF_CORES` is for four chips in a square with two cores each. `_RINGS_OF_CHIPS` is for four
# chips in a square, eight in two rows and sixteen in a square.
_RING_OF_CORES = (0, 1, 2, 3, 6, 7, 4, 5)
_RINGS_OF_CHIPS = {
    4: (0, 1, 3, 2),
    8: (0, 1, 2, 3, 7, 6, 5, 4),
    16: (0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4),
}


def _two_cores_to_a_chip(
    shape: tuple[int, ...], devices: Sequence[Any], contiguous_submeshes: bool
) -> np.ndarray:
    arranged = _object_array(devices)
    if len(devices) == 8 or shape[-1] == 8:
        arranged = arranged.reshape(-1, 8)[:, _RING_OF_CORES]
    return arranged.reshape(shape)


def _one_core_to_a_chip(
    shape: tuple[int, ...], devices: Sequence[Any], contiguous_submeshes: bool
) -> np.ndarray | None:
    order = _RINGS_OF_CHIPS.get(len(devices))
    # The axes of a square of sixteen chips suit meshes of several axes better than a ring.
    if order is None or (len(order) == 16 and max(shape) < 16):
        return None
    return _object_array([devices[position] for position in order]).reshape(shape)


# Maps a kind of devices to a function `(mesh_shape, devices, contiguous_submeshes)` that arranges
# them. The function returns None if the general arrangement applies.
device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {
    "TPU v2": _two_cores_to_a_chip,
    "TPU v3": _two_cores_to_a_chip,
    "TPU v5 lite": _one_core_to_a_chip,
    "TPU v6 lite": _one_core_to_a_chip,
}
