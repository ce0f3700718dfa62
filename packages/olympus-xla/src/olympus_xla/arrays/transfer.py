# SPDX-License-Identifier: Apache-2.0
"""Transfers of data from the host to devices, between devices, and back.

Host values are copied to devices. An array shares writable memory only if the caller requests it
(``may_alias=True``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_ir.lax import device_put_p
from olympus_ir.programs.tracing import Tracer, current, evaluation_trace
from olympus_ir.settings.naming import naming
from olympus_ir.trees.pytree_prefix import specification_mismatch
from olympus_ir.trees.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.avals import ShapedArray, array_conversion, get_aval
from olympus_ir.types.dtypes import canonicalize_dtype, float0
from olympus_ir.types.extended_arrays import (
    ExtendedArray,
    logical_aval,
    physical_sharding,
    plain_array,
)
from olympus_ir.types.layouts import mesh_in_force, placed
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.meshes.context import concrete_mesh_in_force, get_mesh
from olympus_sharding.shardings.behavior import shard_indices

from .._jaxlib import (
    ArrayCopySemantics,
    ArrayImpl,
    Device,
    HostBufferSemantics,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    batched_block_until_ready,
    batched_device_put,
    copy_arrays_to_shardings,
)
from ..platforms.backends import default_sharding, device_sharding
from .array import attach_members, check_not_deleted, host_value, is_wide, make_array
from .compiled_copies import compiled_copies
from .layouts import Format, Layout, layout_of
from .shared_memory import note_alias
from .transfer_guards import explicit_device_get, explicit_device_put

__all__ = [
    "array_from_host",
    "block_until_ready",
    "broadcast_prefix",
    "copy_array",
    "copy_to_host_async",
    "device_get",
    "device_put",
    "put_handlers",
    "put_leaf",
    "sharding_of_place",
]

T = TypeVar("T")

# Maps a type of values that `put_leaf` cannot put on devices itself, such as arrays of typed keys,
# to a function `(value, place)` that does so. See `put_leaf` for `place`.
put_handlers: dict[type, Callable[[Any, Any], Any]] = {}


def _put_extended(array: ExtendedArray, place: Any) -> ExtendedArray:
    if type(place) is PartitionSpec:
        place = sharding_of_place(place)
    physical = put_leaf(array.physical, physical_sharding(place, array.aval))
    return ExtendedArray(physical, logical_aval(physical.aval, array.dtype))


put_handlers[ExtendedArray] = _put_extended

_REUSE = ArrayCopySemantics.REUSE_INPUT
_COPY = ArrayCopySemantics.ALWAYS_COPY
_DONATE = ArrayCopySemantics.DONATE_INPUT


def sharding_of_place(place: Any) -> Sharding:
    """Returns the sharding of a place: a device, sharding, format or partition spec.

    Raises:
      ValueError: ``place`` has an unsupported type, is a sharding over an abstract mesh, or is a
        partition spec while no mesh is set.
    """
    kind = type(place)
    if kind is SingleDeviceSharding:
        return place
    if place is None:
        return default_sharding()
    if kind is Device:
        return device_sharding(place)
    if isinstance(place, Sharding):
        if not place._is_concrete:
            raise ValueError(
                f"cannot put data on a sharding over an AbstractMesh, which has no devices: {place}"
            )
        return place
    if kind is Format:
        return sharding_of_place(place.sharding)
    if kind is PartitionSpec:
        mesh = get_mesh()
        if mesh.empty:
            raise ValueError(
                "Please set a mesh via `olympus.set_mesh` if a PartitionSpec is passed to "
                f"device_put: {place}"
            )
        return NamedSharding(mesh, place)
    raise ValueError(
        "`olympus.device_put` only accepts `None`, `olympus.sharding.Sharding`, `olympus.Device`, "
        "`olympus.P` or a pytree of these values. Received invalid value: "
        f"{place!r}"
    )


def _in_memory(value: Any, space: MemorySpace) -> Any:
    """Returns a value's sharding with another memory space; None if the value need not move."""
    kind = MEMORY_KINDS.get(space)
    if kind is None:
        return None
    value = plain_array(value)
    own: Any = value._sharding if type(value) is ArrayImpl else default_sharding()
    return own.with_memory_kind(kind)


# ---- one value ----


def put_leaf(
    value: Any, place: Any = None, *, donate: bool = False, may_alias: bool | None = None
) -> Any:
    """Puts one array or scalar on devices.

    Args:
      value: an array, a NumPy array or scalar, a Python scalar, or a value whose type has an entry
        in `put_handlers`.
      place: a device, a sharding, a partition spec or a memory, to which the result is committed.
        None leaves arrays in place, and puts other values on the default device, uncommitted.
      donate: whether the result may reuse the memory of ``value``, which cannot be used afterwards.
      may_alias: whether the result may share memory with ``value``. None allows it only if
        ``value`` is an OLYMPUS array, and True also if it is a NumPy array.

    Returns:
      An array on the devices of ``place``.

    Raises:
      TypeError: ``value`` is not an array or scalar.
    """
    if type(place) is Format:
        if isinstance(place.layout, Layout):
            return _put_with_layout(value, place, place.layout, donate)
        if place.layout is Layout.AUTO:
            raise ValueError(
                "`olympus.device_put` cannot choose a layout: Layout.AUTO is for compiled "
                f"functions. Got {place}"
            )
        place = place.sharding
    if type(place) is MemorySpace:
        place = _in_memory(value, place)
    if type(value) is ArrayImpl:
        return _move(value, place, _copy_semantics(donate, may_alias))
    handler = put_handlers.get(type(value))
    if handler is not None:
        return handler(value, place)
    aval: Any = get_aval(value)
    if aval.dtype == float0:
        return value  # there are no elements to put on a device
    sharding = sharding_of_place(place)
    if place is not None:
        aval = placed(aval, sharding)
    value = _host_operand(value)
    if type(sharding) is NamedSharding and sharding.spec.unreduced:
        return compiled_copies.with_sharding(value, sharding)
    if type(value) is ArrayImpl:
        return put_leaf(value, place, donate=donate, may_alias=may_alias)
    if type(sharding) is SingleDeviceSharding and not may_alias:
        return make_array(value, aval, sharding, place is not None)
    return _put_host(value, aval, sharding, place is not None, bool(may_alias))


def _put_with_layout(value: Any, place: Format, layout: Layout, donate: bool) -> ArrayImpl:
    """Returns an array on the devices of a format, in the format's layout."""
    array = plain_array(put_leaf(value, place.sharding, donate=donate))
    layout.check_compatible_aval(array.aval.shape)
    return compiled_copies.with_layout(array, layout)


def _host_operand(value: Any) -> Any:
    """Converts a value to a form that C++ can put on a device."""
    if isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        if hasattr(value, "filled"):
            raise ValueError(
                "numpy masked arrays are not supported as direct inputs to OLYMPUS functions. Use "
                "arr.filled() to convert the value to a standard numpy array."
            )
        return value
    convert = array_conversion(value)
    if convert is not None:
        return convert()
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(
            f"{value!r} of type {type(value)} is not a valid {naming.library} value here: it has a "
            "type and no contents. To compute with types alone, use olympus.eval_shape."
        )
    return array


def _put_host(
    value: Any, aval: ShapedArray, sharding: Any, committed: bool, may_alias: bool
) -> ArrayImpl:
    """Puts a host value on one or several devices."""
    shape = aval.shape
    devices = sharding._addressable_device_assignment
    semantics = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    if sharding.is_fully_replicated:
        sharding.check_compatible_aval(shape)
        parts: Sequence[Any] = [value] * len(devices)
        if may_alias:
            semantics = HostBufferSemantics.ZERO_COPY
    else:
        value = np.asarray(value)
        indices = zip(sharding._device_assignment, shard_indices(sharding, shape), strict=True)
        local = set(devices)
        # C++ cannot copy several shards of one buffer during the call, so each is copied here.
        parts = [np.array(value[index]) for device, index in indices if device in local]
        semantics = HostBufferSemantics.ZERO_COPY
    return batched_device_put(
        placed(aval, sharding),
        sharding,
        parts,
        devices,
        committed,
        False,
        semantics,
        is_wide(aval.dtype),
    )


def array_from_host(value: Any, aval: ShapedArray) -> ArrayImpl:
    """Returns a new array of a given type on the default device, uncommitted.

    Args:
      value: a NumPy array or a scalar, of the shape of ``aval`` and convertible to its dtype.
      aval: the type of the result.
    """
    value = np.asarray(value, dtype=aval.dtype)
    if value.shape != aval.shape:
        raise ValueError(f"expected a value of shape {aval.shape}, got one of shape {value.shape}")
    return make_array(value, aval, default_sharding())


def _place_in_program(place: Any) -> Any:
    """Returns a place as a parameter of an equation; a partition spec becomes a sharding.

    Raises:
      ValueError: the target is not a device, sharding, format or memory, or is a partition spec and
        there is no current mesh.
    """
    if type(place) is PartitionSpec:
        mesh: Any = concrete_mesh_in_force() or mesh_in_force()
        if not mesh.empty:
            return NamedSharding(mesh, place)
    if place is not None and not isinstance(place, Sharding | Format | MemorySpace):
        sharding_of_place(place)  # raises ValueError for an invalid place
    return place


# ---- between devices ----


def _move(array: ArrayImpl, place: Any, semantics: Any) -> ArrayImpl:
    check_not_deleted(array)
    own = array._sharding
    if place is None:
        if semantics is _REUSE:
            return array
        return _copy_parts(array, own, semantics, array._committed)
    sharding = sharding_of_place(place)
    if type(sharding) is NamedSharding and sharding.spec.unreduced and own != sharding:
        return compiled_copies.with_sharding(array, sharding)
    if type(own) is NamedSharding and own.spec.unreduced and own != sharding:
        # Add up the terms on their devices, then move the sum.
        whole = NamedSharding(own.mesh, PartitionSpec(*own.spec.partitions))
        array = compiled_copies.with_sharding(array, whole)
        own = whole
    if own == sharding or own.is_equivalent_to(sharding, array.aval.ndim):
        return _commit(array, sharding, semantics)
    return _move_parts(array, own, sharding, semantics)


def _commit(array: ArrayImpl, sharding: Any, semantics: Any) -> ArrayImpl:
    """Returns a committed array with another sharding that is equivalent to the array's."""
    if semantics is not _REUSE:
        return _copy_parts(array, sharding, semantics, True)
    if array._committed and array._sharding == sharding:
        return array
    alias = array._rewrap_with_aval_and_sharding(placed(array.aval, sharding), sharding)
    return note_alias(alias, array)


def _move_parts(array: ArrayImpl, own: Any, sharding: Any, semantics: Any) -> ArrayImpl:
    """Moves an array from its own sharding to one that is not equivalent."""
    if _has_same_parts(array, own, sharding):
        # C++ may crash where memory is donated to another device, so the parts are copied.
        result = _copy_parts(array, sharding, _COPY if semantics is _DONATE else semantics, True)
        if semantics is not _DONATE or own.num_devices == 1:
            return result
    elif not (own.is_fully_addressable and sharding.is_fully_addressable):
        return _move_between_processes(array, sharding, semantics)
    elif own._internal_device_list[0].platform == "cpu":
        # A copy on the host is cut into the new shards.
        result = _put_host(host_value(array), array.aval, sharding, True, False)
    else:
        result = compiled_copies.between_devices(array, sharding)
    if semantics is _DONATE:
        array.delete()
    return result


def _move_between_processes(array: ArrayImpl, sharding: Any, semantics: Any) -> ArrayImpl:
    """Reshards an array by a program that all processes run together."""
    if array._sharding.device_set != sharding.device_set:
        raise ValueError(
            f"device_put cannot move {array.aval.str_short()} from {array._sharding} to "
            f"{sharding}: an array with shards in other processes can be resharded on the same "
            "devices only. experimental.multihost_utils.process_allgather brings the "
            "whole array to every process."
        )
    result = compiled_copies.with_sharding(array, sharding)
    if semantics is _DONATE:
        array.delete()
    return result


def _has_same_parts(array: ArrayImpl, own: Any, other: Any) -> bool:
    """Returns whether two shardings assign equal slices to their n-th devices, for all n."""
    if own.num_devices != other.num_devices:
        return False
    if type(own) is SingleDeviceSharding and type(other) is SingleDeviceSharding:
        return True
    shape = array.aval.shape
    return shard_indices(own, shape) == shard_indices(other, shape)


def _copy_parts(array: ArrayImpl, sharding: Any, semantics: Any, committed: bool) -> ArrayImpl:
    devices = sharding._internal_device_list
    (result,) = copy_arrays_to_shardings([array], [devices], [sharding], [semantics])
    aval = placed(array.aval, sharding)
    if result._committed != committed or result.aval is not aval:
        # The new handle is committed.
        result = result._rewrap_with_aval_and_sharding(aval, sharding)
    return result if semantics is _COPY else note_alias(result, array)


def copy_array(array: ArrayImpl) -> ArrayImpl:
    """Returns a copy of an array in new memory on the same devices."""
    check_not_deleted(array)
    return _copy_parts(array, array._sharding, _COPY, array._committed)


# ---- pytrees of values ----


def device_put(
    x: PyTree,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: PyTree = False,
    may_alias: PyTree = None,
) -> PyTree:
    """Puts the arrays and scalars of a pytree on devices.

    Args:
      x: a pytree of arrays, NumPy arrays and scalars.
      device: a device, sharding, partition spec, format or memory (`memory.Space`), or a tree of
        these that is a prefix of ``x``. Arrays that are already in this place are not copied. None
        leaves arrays in place, and puts other values on the default device, uncommitted.
      src: the current device or sharding of ``x``. Optional, because arrays know their sharding.
      donate: whether results may reuse the memory of the arrays: a bool, or a tree of bools that is
        a prefix of ``x``. Donated arrays cannot be used afterwards.
      may_alias: whether results may share memory with ``x``: a bool or None, or a tree of these
        that is a prefix of ``x``. Unless it is True, NumPy arrays are copied, and later writes to
        them do not change the result.

    Returns:
      ``x`` with arrays on the devices.

    Example:
      >>> import numpy as np
      >>> device_put({"a": 1.0, "b": np.arange(3)})
      {'a': Array(1., dtype=float32, weak_type=True), 'b': Array([0, 1, 2], dtype=int32)}
    """
    with explicit_device_put:
        return _device_put(x, device, src, donate, may_alias)


def _device_put(x: Any, device: Any, src: Any, donate: Any, may_alias: Any) -> Any:
    leaves, tree = tree_flatten(x)
    count = len(leaves)
    places = broadcast_prefix("device", device, x, count)
    donated = broadcast_prefix("donate", donate, x, count)
    aliases = broadcast_prefix("may_alias", may_alias, x, count)
    if any(map(operator.and_, map(bool, donated), map(bool, aliases))):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if current.trace is evaluation_trace:
        results = [
            put_leaf(leaf, place, donate=bool(donates), may_alias=alias)
            for leaf, place, donates, alias in zip(leaves, places, donated, aliases, strict=True)
        ]
    elif leaves:
        for leaf, place in zip(leaves, places, strict=True):
            if isinstance(place, Sharding):
                place.check_compatible_aval(np.shape(leaf))
        results = device_put_p.bind(
            *leaves,
            devices=tuple(map(_place_in_program, places)),
            srcs=tuple(map(_source_of, broadcast_prefix("src", src, x, count), leaves)),
            copy_semantics=tuple(map(_copy_semantics, donated, aliases)),
        )
    else:
        results = []
    return tree_unflatten(tree, results)


def _source_of(src: Any, value: Any) -> Any:
    """Returns the place to which a cotangent goes back: where a committed array is, if known."""
    if src is None and isinstance(value, Tracer):
        value = value.concrete_or_none()
    if src is None and isinstance(value, ArrayImpl) and value._committed:
        return value._sharding
    return src


def _copy_semantics(donate: Any, may_alias: bool | None) -> Any:
    return _DONATE if donate else _COPY if may_alias is False else _REUSE


def _evaluate_device_put(
    *values: Any, devices: Sequence[Any], srcs: Sequence[Any], copy_semantics: Sequence[Any]
) -> list[Any]:
    """Evaluates `device_put_p` on concrete values."""
    return [
        put_leaf(
            value,
            place,
            donate=semantics is _DONATE,
            may_alias=False if semantics is _COPY else None,
        )
        for value, place, semantics in zip(values, devices, copy_semantics, strict=True)
    ]


device_put_p.eager = _evaluate_device_put


def _meshes_asked_for(params: dict[str, Any]) -> list[Any]:
    """Returns the mesh of the first `NamedSharding` in a `device_put` equation."""
    return [place.mesh for place in params["devices"] if type(place) is NamedSharding][:1]


device_put_p.placement_meshes = _meshes_asked_for  # type: ignore[attr-defined]
device_put_p.recorded_place = _place_in_program  # type: ignore[attr-defined]


def _is_none(value: Any) -> bool:
    return value is None


def broadcast_prefix(name: str, prefix: Any, tree: Any, count: int) -> Sequence[Any]:
    """Returns the leaf of a prefix for each leaf of a tree. None also counts as a leaf."""
    prefix_leaves, prefix_structure = tree_flatten(prefix, is_leaf=_is_none)
    if len(prefix_leaves) == 1 and prefix_leaves[0] is prefix:
        return (prefix,) * count
    try:
        subtrees = prefix_structure.flatten_up_to(tree)
    except ValueError:
        raise specification_mismatch(f"device_put {name}", prefix, tree, _is_none) from None
    result: list[Any] = []
    for leaf, subtree in zip(prefix_leaves, subtrees, strict=True):
        result += [leaf] * len(tree_leaves(subtree))
    return result


def device_get(x: PyTree) -> PyTree:
    """Copies the arrays of a pytree to the host, as NumPy arrays.

    Args:
      x: a pytree; tracers, typed random keys and leaves without an ``__array__`` method are
        returned unchanged.

    Returns:
      ``x`` with read-only NumPy arrays in place of arrays.

    Example:
      >>> device_get((device_put(1.0), 2))
      (array(1., dtype=float32), 2)
    """
    with explicit_device_get:
        copy_to_host_async(x)
        return tree_map(_get_leaf, x)


def _get_leaf(leaf: Any) -> Any:
    if type(leaf) is ArrayImpl:
        return host_value(leaf)
    if isinstance(leaf, Tracer | ExtendedArray):
        return leaf
    convert = getattr(leaf, "__array__", None)
    return leaf if convert is None else convert()


def block_until_ready(x: T) -> T:
    """Waits until the arrays of a pytree have been computed.

    Args:
      x: a pytree; leaves that are not arrays are ignored.

    Returns:
      ``x``.

    Example:
      >>> block_until_ready([device_put(1.0), "text"])
      [Array(1., dtype=float32, weak_type=True), 'text']
    """
    if type(x) is ArrayImpl:
        array: Any = x
        return array.block_until_ready()
    arrays = []
    for leaf in tree_leaves(x):
        if type(leaf) is ArrayImpl:
            arrays.append(leaf)
        elif (wait := getattr(leaf, "block_until_ready", None)) is not None:
            wait()
    if arrays:
        batched_block_until_ready(arrays)
    return x


def copy_to_host_async(x: PyTree) -> PyTree:
    """Starts copying the arrays of a pytree to the host, so a later conversion is fast.

    Args:
      x: a pytree; leaves that are not arrays are ignored.

    Returns:
      ``x``.

    Example:
      >>> import numpy as np
      >>> import olympus.numpy as jnp
      >>> x = copy_to_host_async(jnp.arange(3))
      >>> np.asarray(x)
      array([0, 1, 2], dtype=int32)
    """
    for leaf in tree_leaves(x):
        if (start := getattr(leaf, "copy_to_host_async", None)) is not None:
            start()
    return x


# ---- members of arrays ----


def _to_device(self: ArrayImpl, device: Any, *, stream: Any = None) -> ArrayImpl:
    """Returns the array on another device or with another sharding."""
    if stream is not None:
        raise NotImplementedError(
            "to_device does not take a stream: transfers are ordered by the runtime. Leave out "
            "`stream=`."
        )
    return put_leaf(self, device)


def _deepcopy(self: ArrayImpl, memo: Any) -> ArrayImpl:
    return copy_array(self)


def _reduce(self: ArrayImpl) -> tuple:
    # A pickle does not store devices, because the reading process may have other devices.
    return (_rebuild, (host_value(self), self.aval.weak_type))


def _rebuild(value: np.ndarray, weak_type: bool) -> ArrayImpl:
    # The writing process may have had 64-bit types enabled.
    value = value.astype(canonicalize_dtype(value.dtype), copy=False)
    return make_array(value, ShapedArray(value.shape, value.dtype, weak_type), default_sharding())


def _copy(self: ArrayImpl) -> ArrayImpl:
    """Returns a copy in new memory on the same devices."""
    return copy_array(self)


def _format(self: ArrayImpl) -> Format:
    """The layout and sharding of the array."""
    return Format(layout_of(self), self.sharding)


attach_members(
    {
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__reduce__": _reduce,
        "format": property(_format),
        "to_device": _to_device,
    }
)
