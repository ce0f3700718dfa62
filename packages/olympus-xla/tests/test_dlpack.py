# SPDX-License-Identifier: Apache-2.0
"""Exchange through DLPack, both ways."""

import ml_dtypes
import numpy as np
import pytest

from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray
from olympus_sharding import NamedSharding, SingleDeviceSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put, from_dlpack
from olympus_xla.arrays.array import ArrayImpl
from olympus_xla.arrays.dlpack import is_supported_dtype


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint32", "bool", "complex64"])
def test_numpy_reads_arrays(dtype):
    host = np.array([[0, 1], [1, 0]]).astype(dtype)
    array = device_put(host)
    view = np.from_dlpack(array)
    np.testing.assert_array_equal(view, host)
    assert view.ctypes.data == array.unsafe_buffer_pointer()
    assert array.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint32", "bool", "complex64"])
def test_arrays_read_numpy(dtype):
    host = np.array([[0, 1], [1, 0]]).astype(dtype)
    array = from_dlpack(host)
    assert type(array) is ArrayImpl
    assert array.aval is ShapedArray((2, 2), dtype)
    np.testing.assert_array_equal(np.asarray(array), host)
    np.testing.assert_array_equal(np.asarray(from_dlpack(host.T)), host.T)


def aligned(dtype, shift=0):
    """64 zeros at an address that is a multiple of 64, or a little above."""
    size = 64 * np.dtype(dtype).itemsize
    buffer = np.zeros(size + 128, np.uint8)
    start = -buffer.ctypes.data % 64 + shift
    return buffer[start : start + size].view(dtype)


def test_aligned_memory_is_shared():
    host = aligned(np.float32)
    assert from_dlpack(host).unsafe_buffer_pointer() == host.ctypes.data
    assert from_dlpack(host, copy=True).unsafe_buffer_pointer() != host.ctypes.data
    shifted = aligned(np.float32, shift=4)
    assert from_dlpack(shifted).shape == (64,)
    with pytest.raises(ValueError, match="not aligned"):
        from_dlpack(shifted, copy=False)


def test_wide_types_follow_the_configuration():
    assert from_dlpack(np.arange(3)).aval is ShapedArray((3,), np.int32)
    with pytest.raises(ValueError, match="64-bit types are disabled"):
        from_dlpack(aligned(np.int64), copy=False)
    with config.enable_x64(True):
        assert from_dlpack(np.arange(3)).aval is ShapedArray((3,), np.int64)


def test_round_trip_between_arrays(devices):
    array = device_put(np.arange(3.0, dtype=np.float32))
    other = from_dlpack(array)
    assert other.unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert from_dlpack(array, device=devices[1]).devices() == {devices[1]}
    for place in (devices[1], SingleDeviceSharding(devices[1])):
        with pytest.raises(ValueError, match=r"requires a copy since the source device is CpuDev"):
            from_dlpack(array, device=place, copy=False)
    for place in (devices[0], SingleDeviceSharding(devices[0])):
        shared = from_dlpack(array, device=place, copy=False)
        assert shared.unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    brain = from_dlpack(device_put(np.arange(3).astype(ml_dtypes.bfloat16)))
    assert brain.dtype == ml_dtypes.bfloat16


def test_deleting_while_a_capsule_lives():
    # Were the capsule made of the array itself, this would end the process.
    array = device_put(np.arange(3.0, dtype=np.float32))
    capsule = array.__dlpack__()
    array.delete()
    del capsule
    array = device_put(np.arange(3.0, dtype=np.float32))
    other = from_dlpack(array)
    view = np.from_dlpack(other)
    array.delete()
    other.delete()
    assert view.tolist() == [0.0, 1.0, 2.0]


def test_export_options_request_copies():
    array = device_put(np.arange(3.0, dtype=np.float32))
    assert np.from_dlpack(array, copy=True).ctypes.data != array.unsafe_buffer_pointer()
    assert np.from_dlpack(array, device="cpu").tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(BufferError, match=r"DLPack device \(2, 0\)"):
        array.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float32", True),
        (float, True),
        (ml_dtypes.bfloat16, True),
        (ml_dtypes.int4, False),
        ("int4", False),
    ],
)
def test_supported_dtypes_are_known(dtype, expected):
    assert is_supported_dtype(dtype) is expected


def test_invalid_dtypes_raise():
    for dtype in (None, 3):
        with pytest.raises(TypeError):
            is_supported_dtype(dtype)


def test_read_only_numpy_arrays():
    host = np.arange(3.0, dtype=np.float32)
    host.flags.writeable = False
    assert from_dlpack(host).tolist() == [0.0, 1.0, 2.0]


def test_arrays_that_dlpack_does_not_support(mesh):
    array = device_put(np.arange(4.0), NamedSharding(mesh, P("x")))
    with pytest.raises(BufferError, match="Sharding over 4 devices"):
        array.__dlpack__()
    with pytest.raises(BufferError, match="Sharding over 4 devices"):
        array.__dlpack_device__()
    with pytest.raises(TypeError, match="must have __dlpack__"):
        from_dlpack(3)

    class OnTheMoon:
        def __dlpack__(self):
            raise AssertionError

        def __dlpack_device__(self):
            return (99, 0)

    with pytest.raises(TypeError, match="DLPack device type 99"):
        from_dlpack(OnTheMoon())


def test_export_waits_for_running_computations():
    # The consumer reads the memory at once, so the producer must have written it.
    array = device_put(np.ones((256, 256), np.float32))
    assert np.from_dlpack(array).sum() == 256 * 256


def test_exporters_that_lie():
    class Exporter:
        place, capsule = (1, 0), 5

        def __dlpack_device__(self):
            return self.place

        def __dlpack__(self, **_):
            return self.capsule

    with pytest.raises(TypeError, match="Exporter.__dlpack__ must return a capsule"):
        from_dlpack(Exporter())
    for place in ("a",), 5, (1, 0, 0), (1, None):
        Exporter.place = place
        with pytest.raises(TypeError, match="__dlpack_device__ must return two integers"):
            from_dlpack(Exporter())
