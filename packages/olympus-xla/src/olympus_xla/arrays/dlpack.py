# SPDX-License-Identifier: Apache-2.0
"""Exchange of arrays with other libraries through DLPack."""

from __future__ import annotations

import enum
import operator
from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import DeviceLike, DTypeLike
from olympus_ir.types.arrays import Array

from .. import _jaxlib
from ..platforms import backends
from .array import attach_members, check_not_deleted
from .transfer import copy_array, put_leaf

__all__ = ["DLDeviceType", "dlpack_device", "from_dlpack", "is_supported_dtype", "to_dlpack"]

# The dtypes that most other libraries can read. The runtime also exports 8-bit floats, which few
# libraries support.
_SUPPORTED_DTYPES = frozenset(
    np.dtype(dtype)
    for dtype in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128"),
    )
)


class DLDeviceType(enum.IntEnum):
    """The kinds of devices, in DLPack's numbering."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLROCM = 10


_TYPE_OF_PLATFORM = {
    "cpu": DLDeviceType.kDLCPU,
    "cuda": DLDeviceType.kDLCUDA,
    "rocm": DLDeviceType.kDLROCM,
}
_PLATFORM_OF_TYPE: dict[int, str] = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLROCM: "rocm",
}


def _raw_platform(device: Any) -> str:
    """Returns the platform of a device.

    For GPUs, it is "cuda" or "rocm", depending on the vendor.
    """
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def dlpack_device(self: Any) -> tuple[DLDeviceType, int]:
    """Returns the type and the id of the array's device, in DLPack's numbering."""
    device = _single_device(self)
    kind = _TYPE_OF_PLATFORM.get(_raw_platform(device))
    if kind is None:
        raise BufferError(f"DLPack has no number for devices of platform {device.platform!r}.")
    return kind, device.local_hardware_id if kind is not DLDeviceType.kDLCPU else 0


def _single_device(array: Any) -> Any:
    check_not_deleted(array)
    assignment = array._sharding._device_assignment
    if len(assignment) != 1:
        raise BufferError(
            "to_dlpack can only pack a dlpack tensor from an array on a singular device, but an "
            f"array with a Sharding over {len(assignment)} devices was provided. Export the "
            "`data` of each of its `addressable_shards`."
        )
    return assignment[0]


def to_dlpack(
    self: Any,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Returns a DLPack capsule of the array.

    Args:
      stream: the consumer's stream, on devices that have streams.
      max_version: the highest version of DLPack that the consumer reads.
      dl_device: the device on which the consumer wants the data: the array's device or the CPU.
      copy: True to copy, False to fail rather than copy, None to copy where necessary.

    Raises:
      BufferError: the array is on several devices, or cannot be exported as requested.
    """
    device = _single_device(self)
    array, copied = self, False
    if dl_device is not None and tuple(dl_device) != dlpack_device(self):
        if tuple(dl_device) != (DLDeviceType.kDLCPU, 0):
            raise BufferError(
                f"cannot export an array on {device} to the DLPack device {tuple(dl_device)}; "
                "move it there with `device_put` first."
            )
        if copy is False:
            raise BufferError(
                f"exporting an array on {device} to the CPU requires a copy, and copy=False."
            )
        array, copied = put_leaf(self, backends.local_devices(backend="cpu")[0]), True
    elif copy:
        array, copied = copy_array(self), True
    return _jaxlib.export_dlpack(array, stream, max_version, copied)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Returns whether arrays of a dtype can be exchanged through DLPack.

    Example:
      >>> is_supported_dtype("float32"), is_supported_dtype("int4")
      (True, False)
    """
    if dtype is None:
        raise TypeError(f"Expected a string or dtype-like object; got {dtype=}")
    try:
        return np.dtype(dtype) in _SUPPORTED_DTYPES
    except TypeError:
        if isinstance(dtype, str):
            return False  # NumPy lacks the dtype, such as "int4"
        raise


def from_dlpack(external_array: Any, device: DeviceLike = None, copy: bool | None = None) -> Array:
    """Returns an array that shares the memory of another library's array, or copies it.

    If the memory is shared, neither library may write to it any more.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__``.
      device: the device or sharding of the result; None for the device that holds the data.
      copy: True to copy, False to fail rather than copy, None to copy where necessary.

    Raises:
      TypeError: ``external_array`` does not support DLPack.
      ValueError: a copy is necessary and ``copy`` is False.

    Example:
      >>> import numpy as np
      >>> from_dlpack(np.ones(3, np.float32))
      Array([1., 1., 1.], dtype=float32)
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods, "
            f"got {type(external_array).__name__}."
        )
    source = _device_of_number(external_array.__dlpack_device__())
    if copy is False and device is not None and getattr(device, "device_set", {device}) != {source}:
        raise ValueError(
            f"Specified {device=} which requires a copy since the source device is {source!r}, "
            "however copy=False. Set copy=True or copy=None to perform the requested operation."
        )
    # The exporter makes the data on a GPU ready for this stream.
    stream = None if source.platform == "cpu" else source.get_stream_for_external_ready_events()
    arguments = {} if stream is None else {"stream": stream}
    try:
        capsule = external_array.__dlpack__(**arguments)
    except BufferError:
        if not isinstance(external_array, np.ndarray) or external_array.flags.writeable:
            raise
        return _put_read_only(external_array, device, copy)
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(
            f"{type(external_array).__name__}.__dlpack__ must return a capsule of DLPack, got "
            f"{type(capsule).__name__}."
        )
    array = _import(capsule, source, stream, copy)
    if dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        if copy is False:
            raise ValueError(
                f"from_dlpack cannot take {array.dtype.name} data without a copy, and copy=False: "
                "64-bit types are disabled; enable them with the flag "
                f"{naming.module}_enable_x64."
            )
        array = put_leaf(np.asarray(array), source)
    return array if device is None else put_leaf(array, device)


def _import(capsule: Any, device: Any, stream: Any, copy: bool | None) -> Array:
    # The C++ import shares aligned memory even if a copy is requested, so copy the array
    # afterwards.
    if copy:
        return copy_array(_jaxlib.import_dlpack(capsule, device, stream))
    try:
        return _jaxlib.import_dlpack(capsule, device, stream, copy)
    except _jaxlib.JaxRuntimeError as error:
        if copy is None or "unaligned" not in str(error):
            raise
        raise ValueError(
            "Specified input which requires a copy since the source data buffer is not aligned to "
            "64 bytes, however copy=False. Set copy=True or copy=None to perform the requested "
            "operation."
        ) from error


def _put_read_only(array: np.ndarray, device: Any, copy: bool | None) -> Array:
    """Copies a read-only NumPy array to a device, because NumPy does not export it by DLPack."""
    if copy is False:
        raise ValueError("from_dlpack must copy a read-only NumPy array, and copy=False.")
    return put_leaf(array, backends.local_devices(backend="cpu")[0] if device is None else device)


def _device_of_number(place: Any) -> Any:
    """Returns the device that a pair of a DLPack type and a number stands for."""
    try:
        kind, number = map(operator.index, place)
    except (TypeError, ValueError):
        raise TypeError(
            f"__dlpack_device__ must return two integers, the type and number of a device, got "
            f"{place!r}."
        ) from None
    platform = _PLATFORM_OF_TYPE.get(kind)
    if platform is None:
        raise TypeError(
            f"from_dlpack takes arrays on the CPU, CUDA and ROCm, got DLPack device type {kind}."
        )
    client = backends.get_backend(platform)
    if platform == "cpu":
        return client.local_devices()[0]
    return client.device_from_local_hardware_id(number)


attach_members({"__dlpack__": to_dlpack, "__dlpack_device__": dlpack_device})
