# SPDX-License-Identifier: Apache-2.0
"""Arrays over several devices, assembled from their shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees.pytrees import tree_flatten, tree_unflatten, treedef_is_leaf
from olympus_ir.types.annotations import DTypeLike, PyTree
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, canonicalize_shape
from olympus_ir.types.extended_arrays import ExtendedArray, logical_aval, physical_sharding
from olympus_ir.types.layouts import placed
from olympus_ir.types.placement import Sharding as Placement
from olympus_sharding.shardings.behavior import shard_indices
from olympus_sharding.shardings.tiling import Index

from .._jaxlib import ArrayImpl, Sharding, assemble_array
from ..platforms.backends import process_count
from .layouts import Format
from .shared_memory import note_parts
from .transfer import broadcast_prefix, device_put, put_leaf, sharding_of_place

__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Any,
    arrays: Sequence[ArrayImpl],
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns an array over several devices, assembled from its shards without copying.

    Args:
      shape: the shape of the whole array.
      sharding: the sharding of the whole array.
      arrays: the shards of this process, each on its device, in any order.
      dtype: the dtype; required if this process holds no shard.

    Raises:
      TypeError: ``arrays`` is not a list or tuple, or an element is not an array on a device.
      ValueError: the arrays do not match the shards of the sharding, or are traced.

    Example:
      >>> import olympus
      >>> sharding = olympus.NamedSharding(olympus.make_mesh((1,), ("x",)), olympus.P("x"))
      >>> part = olympus.device_put(1.0 * np.arange(3))
      >>> make_array_from_single_device_arrays((3,), sharding, [part])
      Array([0., 1., 2.], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    _check_sharding(sharding)
    if not isinstance(arrays, list | tuple):
        raise TypeError(
            "olympus.make_array_from_single_device_arrays `arrays` argument must be a list or "
            f"tuple, but got {type(arrays)}."
        )
    if any(isinstance(array, Tracer) for array in arrays):
        raise ValueError(
            "olympus.make_array_from_single_device_arrays requires a list of concrete arrays as "
            f"input, but got types {set(map(type, arrays))}"
        )
    if any(isinstance(array, ExtendedArray) for array in arrays):
        return _of_extended_parts(shape, sharding, arrays)
    devices = sharding._addressable_device_assignment
    for array in arrays:
        if type(array) is not ArrayImpl:
            raise TypeError(
                "make_array_from_single_device_arrays takes arrays on devices, got a value of "
                f"type {type(array).__name__}; put it on its device with device_put."
            )
        if array.sharding.num_devices != 1:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one "
                f"shard each. An argument array had {array.sharding.num_devices} shard(s)."
            )
    if not arrays and dtype is None:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` "
            "argument to `olympus.make_array_from_single_device_arrays`."
        )
    parts = _in_order_of(devices, arrays)
    found = parts[0].dtype if parts else np.dtype(dtype)
    if dtype is not None and np.dtype(dtype) != found:
        raise ValueError(
            "If `dtype` is provided to `olympus.make_array_from_single_device_arrays`, it must "
            f"match the dtype of the addressable shards. Got dtype={np.dtype(dtype)} and shard "
            f"dtype={found}."
        )
    _check_parts(shape, found, sharding, parts)
    aval = placed(ShapedArray(shape, found), sharding)
    array = assemble_array(aval, sharding, parts, committed=True)
    note_parts(array, parts)
    return array


def _in_order_of(devices: Sequence[Any], arrays: Sequence[ArrayImpl]) -> list[ArrayImpl]:
    """Returns single-device arrays in the order of the devices of a sharding.

    Raises:
      ValueError: the arrays are not one for each device.
    """
    if len(arrays) != len(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable "
            f"by the sharding), but got {len(arrays)}"
        )
    by_device = {array.device: array for array in arrays}
    if len(by_device) != len(arrays):
        raise ValueError(
            "When making an array from single-device arrays, the input arrays must be from "
            f"distinct devices, but got device IDs {[a.device.id for a in arrays]}"
        )
    if by_device.keys() != set(devices):
        lacking = {device.id for device in devices} - {device.id for device in by_device}
        foreign = {device.id for device in by_device} - {device.id for device in devices}
        raise ValueError(
            "Addressable devices and per-device arrays devices do not match. Sharding contains "
            f"devices {lacking} that are not present in per-device arrays. Per-device arrays "
            f"contain devices {foreign} that are not present in the sharding."
        )
    return [by_device[device] for device in devices]


def _of_extended_parts(shape: tuple[int, ...], sharding: Any, arrays: Sequence[Any]) -> Any:
    """Returns an array of an extended dtype, such as typed random keys, assembled from shards."""
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) != 1:
        raise ValueError(f"Input buffers to `Array` must have matching dtypes. Got {dtypes}")
    (dtype,) = dtypes
    whole = (*shape, *dtype.physical_element_aval().shape)
    placed_as = physical_sharding(sharding, ShapedArray(shape, dtype))
    physical = make_array_from_single_device_arrays(
        whole, placed_as, [array.physical for array in arrays]
    )
    return ExtendedArray(physical, logical_aval(physical.aval, dtype))


def _check_sharding(sharding: Any) -> None:
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "sharding should be an instance of `olympus.sharding.Sharding`. "
            f"Got {sharding} of type {type(sharding)}"
        )


def _check_parts(
    shape: tuple[int, ...], dtype: Any, sharding: Any, parts: Sequence[ArrayImpl]
) -> None:
    expected = sharding.shard_shape(shape)
    for part in parts:
        if part.dtype != dtype:
            raise ValueError(
                f"Input buffers to `Array` must have matching dtypes. Got {part.dtype}, expected "
                f"{dtype} for the part on {part.device}"
            )
        if part.shape != expected:
            raise ValueError(
                f"Expected shard shape {expected} doesn't match the single device array shape "
                f"{part.shape}. Shape of Array is {ShapedArray(shape, dtype).str_short()} with "
                f"sharding {sharding}"
            )


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Placement | Format,
    data_callback: Callable[[Index], Any],
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns an array over several devices, whose shards are computed by a function.

    Args:
      shape: the shape of the whole array.
      sharding: the sharding of the whole array, or a format, which also specifies the layout.
      data_callback: takes the slices of the whole array that a shard covers, and returns the shard,
        an array or array-like. It is called once for each device of this process.
      dtype: the dtype; required if this process holds no shard.

    Raises:
      UnexpectedTracerError: the function returns traced values.
      ValueError: the values do not have the shape of their shards.

    Example:
      >>> import olympus
      >>> sharding = olympus.NamedSharding(olympus.make_mesh((1,), ("x",)), olympus.P("x"))
      >>> whole = np.arange(4.0)
      >>> make_array_from_callback((4,), sharding, lambda index: whole[index])
      Array([0., 1., 2., 3.], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    if isinstance(sharding, Format):
        place: Any = sharding.sharding  # refused below if None
        array = make_array_from_callback(shape, place, data_callback, dtype)
        return put_leaf(array, sharding)
    _check_sharding(sharding)
    indices = sharding.addressable_devices_indices_map(shape)
    values = [data_callback(index) for index in indices.values()]
    if any(isinstance(value, Tracer) for value in values):
        raise UnexpectedTracerError(
            "olympus.make_array_from_callback cannot be called within a traced context."
        )
    parts = [put_leaf(value, device) for value, device in zip(values, indices, strict=True)]
    return make_array_from_single_device_arrays(shape, sharding, parts, dtype=dtype)


def make_array_from_process_local_data(
    sharding: Any, local_data: PyTree, global_shape: PyTree = None
) -> PyTree:
    """Returns an array over the devices of several processes, from the data of each process.

    Args:
      sharding: a sharding, a device, a format, or a partition spec over the current mesh; or a tree
        of these that is a prefix of ``local_data``.
      local_data: a pytree of NumPy arrays, the data that the devices of this process hold.
      global_shape: the shapes of the whole arrays, a pytree like ``local_data``; inferred from the
        sharding if None.

    Returns:
      ``local_data`` with arrays on the devices, each committed to its sharding.

    Raises:
      ValueError: the shapes do not match.

    Example:
      >>> import olympus
      >>> sharding = olympus.NamedSharding(olympus.make_mesh((1,), ("x",)), olympus.P("x"))
      >>> make_array_from_process_local_data(sharding, np.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    if sharding is None:
        raise ValueError("sharding is None: it must say which device holds which part")
    leaves, tree = tree_flatten(local_data)
    shapes = _global_shapes(global_shape, tree)
    if process_count() == 1:
        for data, shape in zip(leaves, shapes, strict=True):
            if shape is not None and shape != np.shape(data):
                raise ValueError(
                    "When calling `make_array_from_process_local_data` on a single process, "
                    "global_shape should be None or equal to local_data.shape. Got "
                    f"global_shape={shape} and local_data.shape={np.shape(data)}."
                )
        return device_put(local_data, sharding)
    places = broadcast_prefix("sharding", sharding, local_data, len(leaves))
    arrays = map(_from_local_data, places, leaves, shapes)
    return tree_unflatten(tree, list(arrays))


def _global_shapes(shape_tree: Any, tree: Any) -> list[tuple[int, ...] | None]:
    """Returns the shape of each whole array; None for shapes that follow from the data."""
    if shape_tree is None:
        return [None] * tree.num_leaves
    shapes = [shape_tree] if treedef_is_leaf(tree) else tree.flatten_up_to(shape_tree)
    return [None if shape is None else tuple(shape) for shape in shapes]


def _from_local_data(place: Any, data: Any, shape: tuple[int, ...] | None) -> Array:
    sharding = sharding_of_place(place)
    data = np.asarray(data)
    if shape is None:
        shape = _global_shape(sharding, data.shape)
    region = _local_region(sharding, shape)
    extents = tuple(part.stop - part.start for part in region)
    if data.shape != extents:
        raise ValueError(
            f"local_data has shape {data.shape}, but the devices of this process hold a part of "
            f"shape {extents} of an array of global_shape={shape} with sharding {sharding}."
        )

    def local_part(index: Index) -> np.ndarray:
        return data[
            tuple(
                slice(part.indices(size)[0] - own.start, part.indices(size)[1] - own.start)
                for part, size, own in zip(index, shape, region, strict=True)
            )
        ]

    array = make_array_from_callback(
        shape, sharding, local_part, data.dtype if not data.size else None
    )
    return put_leaf(array, place) if type(place) is Format else array


def _local_bounds(sharding: Any, shape: tuple[int, ...]) -> list[set[tuple[int, int]]]:
    """Returns for each dimension the start and stop of each shard of this process, as a set."""
    bounds: list[set[tuple[int, int]]] = [set() for _ in shape]
    for index in sharding.addressable_devices_indices_map(shape).values():
        for dimension, (part, size) in enumerate(zip(index, shape, strict=True)):
            bounds[dimension].add(part.indices(size)[:2])
    return bounds


def _local_region(sharding: Any, shape: tuple[int, ...]) -> Index:
    """Returns the smallest block of an array that contains all shards of this process."""
    return tuple(
        slice(min(start for start, _ in bounds), max(stop for _, stop in bounds))
        for bounds in _local_bounds(sharding, shape)
    )


def _global_shape(sharding: Any, local: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of an array, given the shape of this process's block."""
    # Count the shards along each dimension, in total (`whole`) and in this process (`here`).
    probe = tuple(sharding.num_devices for _ in local)
    whole = [
        {index[d].indices(probe[d])[:2] for index in shard_indices(sharding, probe)}
        for d in range(len(local))
    ]
    here = _local_bounds(sharding, probe)
    return tuple(
        size * len(all_parts) // len(own) for size, all_parts, own in zip(local, whole, here)
    )
