# SPDX-License-Identifier: Apache-2.0
"""Reference arrays: attributes, conversions and printing."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import Array, ShapedArray, get_aval
from olympus_ir.reference import ReferenceArray, reference_evaluator


def array(value, dtype=None, weak_type=False):
    value = np.asarray(value, dtype)
    return reference_evaluator.array(value, ShapedArray(value.shape, value.dtype, weak_type))


def test_attributes_given_by_the_type():
    x = array([[1, 2, 3], [4, 5, 6]], np.int16)
    assert isinstance(x, Array)
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((2, 3), np.int16, 2, 6, 2)
    assert (x.itemsize, x.nbytes, x.weak_type) == (2, 12, False)
    assert get_aval(x) is ShapedArray((2, 3), np.int16)


def test_contents_are_copied_and_read_only():
    source = np.zeros(2)
    x = array(source)
    source[0] = 1
    assert x.tolist() == [0, 0]
    assert not np.asarray(x).flags.writeable
    assert np.array(x).flags.writeable


def test_conversion_to_numpy():
    x = array([1.5, 2.5], np.float32)
    assert np.asarray(x, np.int32).tolist() == [1, 2]
    assert np.asarray(x).tolist() == [1.5, 2.5]
    assert x.tobytes() == np.array([1.5, 2.5], np.float32).tobytes()
    assert np.from_dlpack(x).tolist() == [1.5, 2.5]


def test_conversion_to_python_numbers():
    assert (int(array(3)), float(array(2.5)), complex(array(1j)), bool(array(0))) == (
        3,
        2.5,
        1j,
        False,
    )
    assert array([5]).item() == 5
    assert array([5, 6]).item(1) == 6
    assert [10, 20, 30][array(1)] == 20
    assert f"{array(np.pi):.2f}" == "3.14"
    assert bool(array([[1]]))


def test_invalid_conversions_raise():
    x = array([1, 2])
    with pytest.raises(TypeError, match="Only scalar arrays can be converted to Python scalars"):
        int(x)
    with pytest.raises(ValueError, match="truth value of an array with more than one element"):
        bool(x)
    with pytest.raises(ValueError, match="truth value of an empty array"):
        bool(array([]))
    with pytest.raises(TypeError, match="Only integer scalar arrays"):
        range(3)[array(1.0)]
    with pytest.raises(TypeError, match="unsized"):
        len(array(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(array(1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_assignment_error_suggests_at():
    with pytest.raises(TypeError, match=r"x = x\.at\[idx\]\.set\(y\)"):
        array([1, 2])[0] = 5


def test_iteration_gives_arrays():
    rows = list(array([[1, 2], [3, 4]]))
    assert [row.tolist() for row in rows] == [[1, 2], [3, 4]]
    assert all(isinstance(element, ReferenceArray) for element in rows[0])
    assert [type(one) for one in array([1], ml_dtypes.bfloat16)] == [ReferenceArray]


def test_copies_and_pickles_keep_the_type():
    x = array([1.0, 2.0], weak_type=True)
    restored = pickle.loads(pickle.dumps(x))
    assert (restored.tolist(), restored.weak_type) == ([1, 2], True)
    assert not np.asarray(restored).flags.writeable
    assert copy.copy(x) is copy.deepcopy(x) is x


def test_methods_of_device_arrays():
    x = array([1, 2])
    assert x.block_until_ready() is x.addressable_data(0) is x
    assert (x.is_ready(), x.is_deleted(), x.copy_to_host_async()) == (True, False, None)
    with pytest.raises(IndexError, match="one part"):
        x.addressable_data(1)


@pytest.mark.parametrize(
    ("value", "dtype", "weak_type", "expected"),
    [
        ([1.0, 2.0], np.float32, False, "Array([1., 2.], dtype=float32)"),
        (1.0, np.float32, True, "Array(1., dtype=float32, weak_type=True)"),
        ([[1, 2], [3, 4]], np.int32, False, "Array([[1, 2],\n       [3, 4]], dtype=int32)"),
        (np.ones((0, 3)), np.float32, False, "Array([], shape=(0, 3), dtype=float32)"),
        ([1, 2], ml_dtypes.bfloat16, False, "Array([1, 2], dtype=bfloat16)"),
        ([True], np.bool_, False, "Array([ True], dtype=bool)"),
        (
            np.ones(16),
            np.float32,
            False,
            f"Array([{', '.join(['1.'] * 16)}],\n      dtype=float32)",
        ),
    ],
)
def test_arrays_print_values_and_types(value, dtype, weak_type, expected):
    assert repr(array(value, dtype, weak_type)) == expected


def test_str_equals_numpy():
    assert str(array([1.0, 2.0])) == "[1. 2.]"
