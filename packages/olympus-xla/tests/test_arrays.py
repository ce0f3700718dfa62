# SPDX-License-Identifier: Apache-2.0
"""`Array`: attributes, conversions, protocols, deleted arrays."""

import copy
import operator
import pickle
from collections.abc import Hashable

import ml_dtypes
import numpy as np
import pytest

from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_sharding import NamedSharding, SingleDeviceSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import Array, device_put
from olympus_xla.arrays.array import ArrayImpl


def array_of(value, dtype=None):
    return device_put(np.asarray(value, dtype))


@pytest.fixture
def matrix():
    return array_of(np.arange(6).reshape(2, 3), np.float32)


def test_attributes_are_those_of_numpy_arrays(matrix, devices):
    assert isinstance(matrix, Array)
    assert (matrix.shape, matrix.ndim, matrix.size) == ((2, 3), 2, 6)
    assert (matrix.dtype, matrix.itemsize, matrix.nbytes) == (np.float32, 4, 24)
    assert matrix.weak_type is False
    assert device_put(1.0).weak_type is True
    assert get_aval(matrix) is matrix.aval is ShapedArray((2, 3), np.float32)
    assert matrix.device is devices[0]
    assert matrix.devices() == {devices[0]}
    assert matrix.sharding == SingleDeviceSharding(devices[0])
    assert matrix.committed is False
    assert matrix.is_fully_addressable is matrix.is_fully_replicated is True
    assert matrix.is_ready()
    assert matrix.block_until_ready() is matrix
    assert len(matrix) == 2
    four_bits = array_of([1, 2], ml_dtypes.int4)
    assert (four_bits.itemsize, four_bits.nbytes) == (1, 2)


def test_attributes_of_a_sharded_array(mesh):
    sharding = NamedSharding(mesh, P("x"))
    array = device_put(np.arange(8.0), sharding)
    assert array.sharding is sharding
    assert array.device is sharding
    assert array.devices() == set(mesh.devices.flat)
    assert array.committed
    assert not array.is_fully_replicated
    assert device_put(1.0, NamedSharding(mesh, P())).is_fully_replicated


def test_class_is_documented_and_named(matrix):
    assert repr(Array) == "<class 'olympus.Array'>"
    assert Array.shape.__doc__ == "The sizes of the dimensions."
    assert Array.item.__qualname__ == "Array.item"
    assert "immutable" in Array.__doc__


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (bool, True, True),
        (bool, np.float32(0), False),
        (bool, np.zeros((1, 1)), False),
        (int, 3.7, 3),
        (float, np.int32(2), 2.0),
        (float, ml_dtypes.bfloat16(0.5), 0.5),
        (complex, 1 + 2j, 1 + 2j),
        (complex, 2.0, 2 + 0j),
        (operator.index, np.uint8(7), 7),
        (operator.index, ml_dtypes.int4(-3), -3),
        (hex, 255, "0xff"),
    ],
)
def test_scalars_become_python_numbers(convert, value, expected):
    result = convert(device_put(value))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("convert", "value", "error", "message"),
    [
        (bool, np.zeros(2), ValueError, "more than one element is ambiguous"),
        (bool, np.zeros(0), ValueError, "empty array is ambiguous"),
        (int, np.zeros(1), TypeError, r"Only scalar arrays .* got arr.ndim=1"),
        (float, np.zeros((2, 2)), TypeError, r"Only scalar arrays .* got arr.ndim=2"),
        (float, 1j, TypeError, "not 'complex'"),
        (operator.index, 1.0, TypeError, "Only integer scalar arrays"),
        (operator.index, True, TypeError, "Only integer scalar arrays"),
        (operator.index, np.zeros(1, int), TypeError, "Only integer scalar arrays"),
        (operator.index, ml_dtypes.bfloat16(1), TypeError, "Only integer scalar arrays"),
        (len, 1.0, TypeError, r"len\(\) of unsized object"),
        (iter, 1.0, TypeError, "iteration over a 0-d array"),
        (hash, 1.0, TypeError, "unhashable type"),
        (lambda x: x.item(), np.zeros(2), ValueError, "array of size 1"),
    ],
)
def test_invalid_conversions_raise(convert, value, error, message):
    with pytest.raises(error, match=message):
        convert(device_put(value))


def test_arrays_are_not_hashable(matrix):
    assert not isinstance(matrix, Hashable)


def test_items_and_lists(matrix):
    assert matrix.item(4) == matrix.item(1, 1) == 4.0
    assert matrix.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert matrix.tobytes() == np.arange(6, dtype=np.float32).tobytes()
    assert array_of([1, 2], ml_dtypes.bfloat16).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "int4", "complex64"])
def test_iteration_gives_arrays(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    host = np.array([[0, 1], [1, 0]]).astype(dtype)
    rows = list(array_of(host))
    assert all(type(row) is ArrayImpl for row in rows)
    np.testing.assert_array_equal(np.array([np.asarray(row) for row in rows]), host)
    elements = list(rows[1])
    assert [element.shape for element in elements] == [(), ()]
    assert elements[0].dtype == dtype


def test_iteration_keeps_device_and_type(devices):
    array = device_put(np.arange(4.0, dtype=np.float32), devices[1])
    row = next(iter(array))
    assert row.devices() == {devices[1]}
    assert row.committed
    array.delete()
    assert float(row) == 0.0


def test_64_bit_arrays_keep_their_dtype_without_x64():
    with config.enable_x64(True):
        array = array_of([1.0, 2.0], np.float64)
    assert array.dtype == np.float64
    assert [element.dtype for element in array] == [np.float64] * 2
    assert copy.copy(array).dtype == np.asarray(array).dtype == np.float64


def test_numpy_views_are_read_only(matrix):
    view = np.asarray(matrix)
    assert not view.flags.writeable
    assert np.array(matrix).flags.writeable
    assert np.asarray(matrix, copy=False).base is not None
    assert matrix.__array__(np.float64).dtype == np.float64
    assert matrix.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(matrix, np.float64, copy=False)


def test_views_do_not_keep_memory_of_deleted_arrays(matrix):
    assert matrix._value.size == 6
    assert matrix._npy_value is None
    sharded_or_packed = array_of([1, 2], ml_dtypes.int4)
    assert sharded_or_packed._value is sharded_or_packed._value
    assert not sharded_or_packed._value.flags.writeable


def test_sharded_arrays_are_gathered(mesh):
    host = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    for spec in (P("x"), P(None, "y"), P("y", "x"), P(("x", "y")), P()):
        array = device_put(host, NamedSharding(mesh, spec))
        np.testing.assert_array_equal(np.asarray(array), host)
        assert not array._value.flags.writeable


def test_assignment_names_the_alternative(matrix):
    with pytest.raises(TypeError, match=r"immutable.*x\.at\[idx\]\.set\(y\)"):
        matrix[0] = 1.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4", "bool"])
def test_pickles_restore_arrays_of_every_dtype(dtype, devices):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    array = device_put(np.array([0, 1, 1]).astype(dtype), devices[1])
    restored = pickle.loads(pickle.dumps(array))
    assert type(restored) is ArrayImpl
    assert restored.aval is array.aval
    assert restored.devices() == {devices[0]}
    np.testing.assert_array_equal(np.asarray(restored), np.asarray(array))
    assert pickle.loads(pickle.dumps(device_put(1.0))).weak_type


def test_pickle_of_64_bits():
    with config.enable_x64(True):
        array = device_put(np.arange(3, dtype=np.float64))
        saved = pickle.dumps(array)
        assert pickle.loads(saved).dtype == np.float64
    restored = pickle.loads(saved)
    assert restored.dtype == np.float32 and restored.tolist() == [0, 1, 2]
    assert copy.deepcopy(array).dtype == np.float64


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy])
def test_copies_have_separate_buffers(matrix, copy_of, mesh):
    other = copy_of(matrix)
    assert other.unsafe_buffer_pointer() != matrix.unsafe_buffer_pointer()
    assert other.aval is matrix.aval
    assert other.committed == matrix.committed
    matrix.delete()
    assert float(other._value.sum()) == 15.0
    sharded = device_put(np.arange(8.0), NamedSharding(mesh, P("x")))
    assert copy_of(sharded).sharding == sharded.sharding


def test_numpy_defers_to_arrays(matrix):
    assert matrix.__array_priority__ > np.zeros(1).__array_priority__


@pytest.mark.parametrize(
    "use",
    [
        repr,
        str,
        iter,
        np.asarray,
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        device_put,
        lambda x: x._value,
        lambda x: x.devices(),
        lambda x: x.device,
        lambda x: x.tolist(),
        lambda x: x.item(0),
        lambda x: x.is_ready(),
        lambda x: x.clone(),
        lambda x: x.copy_to_host_async(),
        lambda x: x.addressable_data(0),
        lambda x: x.addressable_shards,
        lambda x: x.global_shards,
        lambda x: x.__dlpack__(),
        lambda x: x.__dlpack_device__(),
    ],
)
def test_using_a_deleted_array_raises(matrix, use):
    matrix.delete()
    assert matrix.is_deleted()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[2,3\]\."):
        use(matrix)


def test_deleted_arrays_keep_shape_and_dtype(matrix):
    matrix.delete()
    assert (matrix.shape, matrix.dtype, len(matrix)) == ((2, 3), np.float32, 2)
