# SPDX-License-Identifier: Apache-2.0
"""`Array`: properties of device arrays and their conversion to host values.

Device arrays are instances of a C++ class that cannot be subclassed. The members below are set on
its abstract base, the public class `olympus.Array`. NumPy's methods and operators are composed of
primitives. olympus-numpy attaches them through `olympus_ir.types.arrays`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from olympus_ir.diagnostics.errors import assignment_error, truth_value_error
from olympus_ir.diagnostics.traceback_filtering import boundary_members
from olympus_ir.types.arrays import register_array_class
from olympus_ir.types.avals import ShapedArray, register_value_type
from olympus_sharding.shardings.behavior import NamedSharding, SingleDeviceSharding

from .._jaxlib import Array, ArrayImpl, HostBufferSemantics, batched_device_put, sharded_to_numpy
from . import printing, shards
from .donations import calls_that_took
from .shared_memory import note_alias, part_of

__all__ = [
    "Array",
    "ArrayImpl",
    "attach_members",
    "check_not_deleted",
    "host_value",
    "is_wide",
    "make_array",
]

_COPY = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def is_wide(dtype: Any) -> bool:
    """Returns whether a dtype exists only while 64-bit types are enabled."""
    return dtype in _WIDE


def check_not_deleted(array: ArrayImpl) -> None:
    """Raises RuntimeError if the array's memory has been deleted or donated."""
    if array.is_deleted():
        shape = array.aval.str_short()
        start = f"Array has been deleted with shape={shape}. Its memory was given up by "
        repair = "Use the result of that call, or pass `x.copy()`."
        if calls := calls_that_took(array.aval):
            raise RuntimeError(f"{start}`x.delete()`, or was donated to {calls}\n{repair}")
        raise RuntimeError(
            f"{start}`x.delete()`, or by a call of a function with `donate_argnums` or "
            f"`donate_argnames` that took it. {repair}"
        )


def make_array(
    value: Any, aval: ShapedArray, sharding: SingleDeviceSharding, committed: bool = False
) -> ArrayImpl:
    """Puts a host value on one device. The array never shares memory with the value.

    Args:
      value: a NumPy array or scalar, or a Python scalar, with the shape of ``aval``. A 64-bit value
        is converted to 32 bits if the dtype of ``aval`` has 32 bits.
      aval: the type of the array.
      sharding: the sharding on one device.
      committed: whether the array is committed to the device.
    """
    return batched_device_put(
        aval,
        sharding,
        [value],
        [sharding._device],
        committed,
        False,
        _COPY,
        aval.dtype in _WIDE,
    )


# ---- copies to the host ----


def host_value(array: ArrayImpl) -> np.ndarray:
    """Returns the contents as a read-only NumPy array.

    On a CPU, the result is a view of the array's memory.
    """
    value = array._npy_value
    if value is not None:
        return value
    check_not_deleted(array)
    sharding = array._sharding
    if is_of_terms(sharding):
        raise NotImplementedError(
            "devices_indices_map doesn't work with unreduced: the devices hold terms of a sum that "
            f"is still to be added up, {array.aval.str_short()}. Add them up with "
            "`olympus.sharding.reshard`, or read the parts, `addressable_shards`."
        )
    if type(sharding) is SingleDeviceSharding:
        value = _host_view(array, sharding)
        if value is not None:
            return value
        value, copied = array._single_device_array_to_np_array_did_copy()
    elif sharding.is_fully_replicated:
        shard = array._fully_replicated_shard()
        value, copied = shard._single_device_array_to_np_array_did_copy()
    else:
        _check_addressable(array)
        value, copied = sharded_to_numpy(array), True
        if value is None:
            value = shards.gather(array)
            value.flags.writeable = False
    if copied:
        # Views are not cached, because a view would keep the memory of a deleted or donated array
        # alive.
        array._npy_value = value
    return value


def is_of_terms(sharding: Any) -> bool:
    """Returns whether a sharding is unreduced: each device holds one term of a sum."""
    return type(sharding) is NamedSharding and bool(sharding.spec.unreduced)


def _host_view(array: ArrayImpl, sharding: SingleDeviceSharding) -> np.ndarray | None:
    """Returns a view of an array in host memory; None if NumPy cannot read the memory.

    This is faster than the conversion in C++, which searches for a Python module of JAX each time
    and takes 0.1 ms.
    """
    if sharding._device.platform != "cpu":
        return None
    try:
        return np.asarray(memoryview(array))
    except BufferError:  # The buffer protocol does not support the dtype.
        return None


def _check_addressable(array: ArrayImpl) -> None:
    if not array._sharding.is_fully_addressable:
        raise RuntimeError(
            "Fetching the value of an olympus.Array that spans devices of other processes is not "
            f"possible: {array.aval.str_short()} with sharding {array._sharding}. Use "
            "`addressable_shards` for the parts that this process holds, or gather it first."
        )


def _to_numpy(self: ArrayImpl, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Returns the contents as a NumPy array, read-only unless a copy was requested."""
    value = host_value(self)
    if dtype is None and copy is None:
        return value
    return np.array(value, dtype=dtype, copy=copy)


def _scalar(self: ArrayImpl) -> Any:
    """Returns the only element of a scalar as a Python number."""
    if self.aval.shape:
        raise TypeError(
            "Only scalar arrays can be converted to Python scalars; "
            f"got arr.ndim={len(self.aval.shape)}"
        )
    return host_value(self).item()


def _bool(self: ArrayImpl) -> bool:
    size = self.aval.size
    if size == 1:
        return bool(host_value(self))
    raise truth_value_error(size)


def _int(self: ArrayImpl) -> int:
    return int(_scalar(self))


def _float(self: ArrayImpl) -> float:
    return float(_scalar(self))


def _complex(self: ArrayImpl) -> complex:
    return complex(_scalar(self))


def _index(self: ArrayImpl) -> int:
    aval = self.aval
    if aval.shape or aval.dtype.kind not in "iuV":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    value = host_value(self).item()
    if type(value) is not int:  # kind V includes the small floats of ml_dtypes
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    return value


def _item(self: ArrayImpl, *args: Any) -> Any:
    """Returns an element as a Python number: the only element, or the element at an index."""
    return host_value(self).item(*args)


def _tolist(self: ArrayImpl) -> Any:
    """Returns the contents as nested lists of Python numbers."""
    return host_value(self).tolist()


def _tobytes(self: ArrayImpl, order: Any = "C") -> bytes:
    """Returns the contents as bytes."""
    return host_value(self).tobytes(order)


def _len(self: ArrayImpl) -> int:
    try:
        return self.aval.shape[0]
    except IndexError:
        raise TypeError("len() of unsized object") from None


def _iter(self: ArrayImpl) -> Iterator[ArrayImpl]:
    """Iterates over the rows.

    olympus-numpy replaces this method, because its own can be traced and slices many rows in one
    operation. This method serves programs that load only the layers below.
    """
    shape = self.aval.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    check_not_deleted(self)
    sharding = self._sharding
    if type(sharding) is SingleDeviceSharding and sharding._device.platform == "cpu":
        return _rows_of_host_copy(self, sharding)
    return (self[position] for position in range(shape[0]))


def _rows_of_host_copy(array: ArrayImpl, sharding: SingleDeviceSharding) -> Iterator[ArrayImpl]:
    """Yields an array's rows, cut from a host copy, which costs less than slicing on the device."""
    aval = array.aval
    row_aval = ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)
    committed = array._committed
    value = host_value(array)
    for position in range(aval.shape[0]):
        # The ellipsis yields a NumPy array even for a single element, because some dtypes have no
        # scalars.
        yield make_array(value[position, ...], row_aval, sharding, committed)


def _setitem(self: ArrayImpl, index: Any, value: Any) -> NoReturn:
    raise assignment_error()


# ---- devices and shards ----


def _devices(self: ArrayImpl) -> set:
    """Returns the devices that hold shards of the array."""
    check_not_deleted(self)
    return self._sharding.device_set


def _device(self: ArrayImpl) -> Any:
    """Returns the device of a single-device array; for other arrays, returns the sharding."""
    check_not_deleted(self)
    sharding = self._sharding
    if type(sharding) is SingleDeviceSharding:
        return sharding._device
    devices = sharding.device_set
    return devices.pop() if len(devices) == 1 else sharding


def _addressable_data(self: ArrayImpl, index: int) -> ArrayImpl:
    """Returns the shard at position ``index`` among the addressable shards."""
    check_not_deleted(self)
    return part_of(self, index)


def _addressable_shards(self: ArrayImpl) -> list[shards.Shard]:
    """Returns the shards on the devices of this process."""
    check_not_deleted(self)
    return shards.addressable_shards(self)


def _global_shards(self: ArrayImpl) -> list[shards.Shard]:
    """Returns the shards on all devices. Shards of other processes have no data."""
    check_not_deleted(self)
    return shards.global_shards(self)


def _copy_to_host_async(self: ArrayImpl) -> None:
    """Starts copying the contents to the host, so a later conversion is fast."""
    check_not_deleted(self)
    if self._npy_value is None:
        for part in self._arrays:
            part._copy_single_device_array_to_host_async()


# These two C++ methods crash the process if they are called on a deleted array.
_is_ready_unchecked = ArrayImpl.is_ready
_clone_unchecked = ArrayImpl.clone


def _is_ready(self: ArrayImpl) -> bool:
    """Returns whether the array has been computed."""
    check_not_deleted(self)
    return _is_ready_unchecked(self)


def _clone(self: ArrayImpl) -> ArrayImpl:
    """Returns a second handle of the same memory."""
    check_not_deleted(self)
    return note_alias(_clone_unchecked(self), self)


def _aval_property(name: str, doc: str) -> property:
    return property(operator.attrgetter(f"aval.{name}"), doc=doc)


_members = {
    "__array__": _to_numpy,
    # NumPy calls the right operand's operator if the right operand has the higher priority.
    "__array_priority__": 100,
    "__bool__": _bool,
    "__complex__": _complex,
    "__float__": _float,
    "__format__": printing.format_array,
    "__hash__": None,
    "__index__": _index,
    "__int__": _int,
    "__iter__": _iter,
    "__len__": _len,
    "__repr__": printing.repr_array,
    "__setitem__": _setitem,
    "__str__": printing.str_array,
    "_value": property(host_value),
    "addressable_data": _addressable_data,
    "addressable_shards": property(_addressable_shards),
    "committed": property(
        operator.attrgetter("_committed"),
        doc="Whether the array stays on its devices whatever it is combined with.",
    ),
    "copy_to_host_async": _copy_to_host_async,
    "device": property(_device),
    "devices": _devices,
    "dtype": _aval_property("dtype", "The data type of the elements."),
    "global_shards": property(_global_shards),
    "is_fully_addressable": property(
        lambda self: self._sharding.is_fully_addressable,
        doc="Whether this process holds all parts of the array.",
    ),
    "is_fully_replicated": property(
        lambda self: self._sharding.is_fully_replicated,
        doc="Whether each device holds the whole array.",
    ),
    "item": _item,
    "itemsize": _aval_property("dtype.itemsize", "The size of one element in bytes."),
    "nbytes": property(
        lambda self: math.prod(self.aval.shape) * self.aval.dtype.itemsize,
        doc="The size of all elements in bytes.",
    ),
    "ndim": _aval_property("ndim", "The number of dimensions."),
    "shape": _aval_property("shape", "The sizes of the dimensions."),
    "sharding": property(operator.attrgetter("_sharding"), doc="Which device holds which part."),
    "size": _aval_property("size", "The number of elements."),
    "tobytes": _tobytes,
    "tolist": _tolist,
    "weak_type": _aval_property("weak_type", "Whether the dtype gives way in promotion."),
}


def attach_members(members: dict[str, Any]) -> None:
    """Sets methods and properties on the class of arrays."""
    for name, member in members.items():
        if isinstance(member, FunctionType):
            member.__name__ = name
            member.__qualname__ = f"Array.{name}"
    for name, member in boundary_members(members).items():
        setattr(Array, name, member)


attach_members(_members)
ArrayImpl.is_ready = _is_ready
ArrayImpl.clone = _clone
Array.__module__, Array.__qualname__ = "olympus", "Array"
Array.__doc__ = """The type of arrays: on devices, and of the tracers that stand for them.

Arrays are immutable and are made by functions such as `olympus.numpy.array`, not by calling the
class; ``isinstance(x, olympus.Array)`` holds inside transformed functions too.

Example:
  >>> import olympus
  >>> import olympus.numpy as np
  >>> isinstance(np.ones(3), olympus.Array)
  True
"""
register_array_class(Array)
register_value_type(ArrayImpl, operator.attrgetter("aval"))
