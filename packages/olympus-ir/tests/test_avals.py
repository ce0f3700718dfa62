# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import gc
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import ShapedArray, get_aval
from olympus_ir.settings.config import enable_x64
from olympus_ir.types.avals import (
    _interned,
    abstract_token,
    argument_aval,
    canonicalize_shape,
    is_valid_value,
    register_value_type,
    typematch,
)
from olympus_ir.types.shape_struct import ShapeDtypeStruct


class TestInterning:
    def test_equal_types_are_one_object(self):
        first = ShapedArray((2, 3), np.float32)
        assert first is ShapedArray([2, 3], "float32")
        assert first is ShapedArray((np.int64(2), 3), np.dtype("float32"), weak_type=False)
        assert first is not ShapedArray((2, 3), np.float32, weak_type=True)
        assert first is not ShapedArray((2, 3), np.float64)

    def test_copies_are_the_same_object(self):
        aval = ShapedArray((2,), ml_dtypes.bfloat16, True)
        assert copy.deepcopy(aval) is aval
        assert pickle.loads(pickle.dumps(aval)) is aval

    def test_unused_types_are_forgotten(self):
        before = len(_interned)
        avals = [ShapedArray((size, 12345), np.int8) for size in range(50)]
        assert len(_interned) == before + 50
        del avals
        gc.collect()
        assert len(_interned) == before

    def test_threads_agree(self):
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(ShapedArray((7, 777), np.int16)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert all(result is results[0] for result in results)


class TestShapedArray:
    def test_fields_are_those_of_an_array(self):
        aval = ShapedArray((2, 3), np.float32)
        assert (aval.shape, aval.ndim, aval.size, len(aval)) == ((2, 3), 2, 6, 2)
        with pytest.raises(TypeError, match="unsized"):
            len(ShapedArray((), np.float32))

    def test_is_immutable(self):
        with pytest.raises(AttributeError, match="immutable"):
            ShapedArray((2,), np.float32).shape = (3,)

    def test_updates_return_the_changed_type(self):
        aval = ShapedArray((2,), np.float32, True)
        assert aval.update(shape=(3,)) is ShapedArray((3,), np.float32, True)
        assert aval.strip_weak_type() is ShapedArray((2,), np.float32)
        assert typematch(aval, aval.strip_weak_type())
        assert not typematch(aval, aval.update(shape=()))

    def test_texts_show_dtype_and_shape(self):
        aval = ShapedArray((2, 3), np.float32)
        assert repr(aval) == "ShapedArray(float32[2,3])"
        assert str(aval) == "float32[2,3]"
        assert aval.str_short(short_dtypes=True) == "f32[2,3]"
        weak = ShapedArray((), np.int32, True)
        assert repr(weak) == "ShapedArray(int32[], weak_type=True)"
        assert str(weak) == "~int32[]"
        assert weak.str_short(short_dtypes=True) == "i32[]"
        assert str(ShapedArray.varying((1,), np.float32, vma=frozenset("i"))) == "float32[1]{V:i}"

    def test_tangent_types_of_integers_are_float0(self):
        aval = ShapedArray((2,), np.float32)
        assert aval.to_tangent_aval() is aval
        assert ShapedArray((2,), np.int32).to_tangent_aval().dtype.names == ("float0",)
        assert abstract_token.to_tangent_aval() is abstract_token

    @pytest.mark.parametrize("shape", [(2.5,), ("a",), (-1,), (None,)])
    def test_shapes_are_checked(self, shape):
        with pytest.raises(TypeError):
            ShapedArray(shape, np.float32)


def test_shapes_are_canonicalized_to_tuples():
    assert canonicalize_shape((1, 2)) == (1, 2)
    assert canonicalize_shape(np.array([1, 2])) == (1, 2)
    assert canonicalize_shape(3) == (3,)
    with pytest.raises(TypeError, match="1D sequences of concrete values"):
        canonicalize_shape(3.0)
    with pytest.raises(TypeError, match=r"concrete values.*in my function"):
        canonicalize_shape((1.5,), "in my function")


class TestGetAval:
    def test_python_scalars_are_weak(self):
        assert get_aval(1) is ShapedArray((), np.int32, True)
        assert get_aval(1.0) is ShapedArray((), np.float32, True)
        assert get_aval(1j) is ShapedArray((), np.complex64, True)
        assert get_aval(True) is ShapedArray((), np.bool_)

    def test_with_64_bits(self):
        with enable_x64(True):
            assert get_aval(1) is ShapedArray((), np.int64, True)
            assert get_aval(np.ones(2)) is ShapedArray((2,), np.float64)
        assert get_aval(1) is ShapedArray((), np.int32, True)
        assert get_aval(np.ones(2)) is ShapedArray((2,), np.float32)

    def test_numpy_values_have_strong_types(self):
        assert get_aval(np.float16(1)) is ShapedArray((), np.float16)
        assert get_aval(np.ones((2, 3), np.int8)) is ShapedArray((2, 3), np.int8)
        assert get_aval(ml_dtypes.bfloat16(1)) is ShapedArray((), ml_dtypes.bfloat16)

    def test_subclasses_of_scalars(self):
        class Count(int):
            pass

        assert get_aval(Count(3)) is ShapedArray((), np.int32, True)

    def test_integers_out_of_range(self):
        with pytest.raises(OverflowError):
            get_aval(2**40)

    @pytest.mark.parametrize("value", ["a", None, object(), [1, 2], np.array(["a"])])
    def test_other_values_raise(self, value):
        with pytest.raises(TypeError):
            get_aval(value)
        assert not is_valid_value(value)

    def test_registered_types_have_abstract_values(self):
        class Grid:
            pass

        register_value_type(Grid, lambda grid: ShapedArray((5,), np.int8))
        assert get_aval(Grid()) is ShapedArray((5,), np.int8)

    def test_the_array_protocol_determines_the_type(self):
        class Wrapped:
            def __olympus_array__(self):
                return np.ones(3, np.float32)

        assert get_aval(Wrapped()) is ShapedArray((3,), np.float32)

    def test_arguments_may_be_types(self):
        struct = ShapeDtypeStruct((2,), np.float64, weak_type=True)
        assert argument_aval(struct) is ShapedArray((2,), np.float32, True)
        assert get_aval(struct) is ShapedArray((2,), np.float32, True)
        with pytest.raises(TypeError):
            argument_aval("text")

    def test_structs_check_the_variation_over_axes(self):
        with pytest.raises(TypeError, match="should be of type `olympus.sharding.ManualAxisType`"):
            ShapeDtypeStruct((2,), np.float32, manual_axis_type={})
