# SPDX-License-Identifier: Apache-2.0
"""Python scalars and NumPy arrays as operands and results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import Array, ShapedArray, Tracer, lax, trace_to_olympuspr, typeof
from olympus_ir.lax.core.values import as_array, cast, shape_of, typed_scalar
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.settings import config
from olympus_ir.types import dtypes

F32 = ShapedArray((), np.float32)


def traced(fun):
    """Returns the result of a function that is called while tracing."""
    results = []
    trace_to_olympuspr(lambda x: results.append(fun()) or [x], [F32])
    return results[0]


def test_shapes_of_scalars_are_empty():
    assert shape_of(1.0) == shape_of(np.float32(1)) == ()
    assert shape_of(np.ones((2, 3))) == (2, 3)
    with pytest.raises(TypeError, match="not a valid OLYMPUS type"):
        shape_of("a")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([1e20, -1e20, np.inf, -np.inf, np.nan, 2.7, -2.7], np.int32,
         [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 2, -2]),
        ([1e20, -1.5, 255.9, np.nan], np.uint8, [255, 0, 255, 0]),
        ([1e30, -1e30, 2.0**62], np.int64, [2**63 - 1, -(2**63), 2**62]),
        ([1e30, -1.0], np.uint64, [2**64 - 1, 0]),
        ([9.0, -9.0, 3.5], ml_dtypes.int4, [7, -8, 3]),
        ([0.0, -0.5, np.nan], np.bool_, [False, True, True]),
        ([1e6], np.float16, [np.inf]),
    ],
)  # fmt: skip
def test_cast_of_floats(value, dtype, expected):
    result = cast(np.array(value), np.dtype(dtype))
    assert result.dtype == dtype
    assert result.astype(object).tolist() == expected


def test_cast_of_integers_wraps_around():
    assert cast(np.array([300, -1]), np.dtype(np.uint8)).tolist() == [44, 255]
    assert cast(np.array([9]), np.dtype(ml_dtypes.int4)).astype(int).tolist() == [-7]


def test_cast_of_complex_numbers():
    x = np.array([1 + 2j, 0])
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert cast(x, np.dtype(np.int32)).tolist() == [1, 0]
    assert cast(1j * x, np.dtype(np.bool_)).tolist() == [True, False]


def test_typed_scalars_are_arrays_outside_of_tracing():
    scalar = typed_scalar(2.5, np.dtype(np.int8))
    assert isinstance(scalar, Array)
    assert (scalar.dtype, int(scalar)) == (np.int8, 2)


def test_typed_scalars_are_literals_of_programs():
    scalar = traced(lambda: typed_scalar(2.5, np.dtype(np.float16)))
    assert isinstance(scalar, np.ndarray)
    assert typeof(scalar) is ShapedArray((), np.float16)
    assert traced(lambda: typed_scalar(2, np.dtype(np.float32), weak_type=True)) == 2.0
    weak = traced(lambda: typed_scalar(2, np.dtype(np.float16), weak_type=True))
    assert typeof(weak) is ShapedArray((), np.float16, weak_type=True)


def test_results_are_arrays_outside_of_tracing():
    x = np.ones(2)
    assert isinstance(as_array(x), Array)
    for result in unchanged(x):
        assert isinstance(result, Array)


def test_results_are_tracers_while_tracing():
    def program():
        for result in unchanged(np.ones(2)):
            assert isinstance(result, Tracer)
            assert result.dtype in (np.float32, np.int32)
        return as_array(2.0), lax.full((), 3, np.float32)

    olympuspr, _ = trace_to_olympuspr(program, [])
    assert str(olympuspr).endswith("in (2.0:f32[], 3.0:f32[]) }")


def unchanged(x):
    """Results of operations that leave the array `x` of two elements, or make a scalar."""
    return (
        as_array(x),
        lax.transpose(x, (0,)),
        lax.reshape(x, (2,)),
        lax.broadcast(x, ()),
        lax.broadcast_in_dim(x, (2,), (0,)),
        lax.squeeze(x, ()),
        lax.expand_dims(x, ()),
        lax.concatenate([x], 0),
        lax.collapse(x, 0, 1),
        lax.full((), 1.0),
        lax.full((), 1, np.float32),
        lax.full_like(1.0, 2),
        lax.convert_element_type(1, np.float32),
        lax.convert_element_type(np.ones(2, np.float32), np.float32),
    )


def test_no_op_conversions_return_the_same_array():
    x = lax.full((2,), 1, np.float32)
    assert lax.convert_element_type(x, "float32") is x
    assert convert_dtype(x) is x
    weak = convert_dtype(x, weak_type=True)
    assert weak.weak_type
    assert not lax.convert_element_type(weak, np.float32).weak_type


def test_large_integers_become_floats():
    assert lax.convert_element_type(2**100, np.float32) == np.float32(2.0**100)
    with pytest.raises(OverflowError):
        lax.convert_element_type(2**100, np.int32)


def test_allow_f16_reductions_flag():
    x = np.ones((3, 1), np.float16)
    assert lax.reduce_sum(x, (0,)).dtype == np.float16
    with config.allow_f16_reductions(False):
        with pytest.raises(ValueError, match=r"f16\[3,1\] is not allowed when .*=False"):
            lax.reduce_sum(x, (0,))
        lax.reduce_sum(x, (1,))  # adds nothing
        lax.reduce_sum(x.astype(np.float32), (0,))
    assert lax.reduce_sum(x, (0,)).shape == (1,)


@pytest.mark.parametrize("operation", [lax.sin, lax.neg, lambda x: lax.add(x, x)])
def test_float0_arithmetic_raises(operation):
    with pytest.raises(TypeError, match="float0s do not support any operations by design"):
        operation(np.zeros(2, dtypes.float0))


def test_dimensions_are_broadcast_in_any_order():
    x = np.arange(6).reshape(2, 3)
    result = lax.broadcast_in_dim(x, (3, 5, 2), (2, 0))
    np.testing.assert_array_equal(result, np.broadcast_to(x.T[:, None], (3, 5, 2)))


@pytest.mark.parametrize("number", [2**31, 2**32 + 5, -(2**31) - 1, 2**63])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_large_integers_keep_their_low_bits(number, dtype):
    expected = np.asarray(number).astype(dtype)
    assert lax.convert_element_type(number, dtype) == expected
    assert np.asarray(lax.full((2,), number, dtype)).tolist() == [expected] * 2
    with pytest.raises(OverflowError):
        lax.full((2,), 2**64, dtype)


def test_shapes_of_one_dimension_may_be_integers():
    assert lax.full(2, 1.0).shape == lax.empty(2, float).shape == (2,)
    assert lax.broadcasted_iota(int, 3, 0).tolist() == [0, 1, 2]


def test_arrays_are_filled_with_scalars():
    for fill in (lambda x: lax.full_like(x, x), lambda x: lax.full((2,), x)):
        with pytest.raises(TypeError, match=r"scalar fill_value, got fill_value.shape \(3,\)"):
            fill(np.ones(3))


def test_gather_from_an_empty_dimension():
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    found = lax.gather(np.zeros((0, 2)), np.zeros((0, 1), np.int32), numbers, (1, 2))
    assert found.shape == (0, 2)
    with pytest.raises(TypeError, match="Slice size at index 0"):
        lax.gather(np.zeros((0, 2)), np.zeros((1, 1), np.int32), numbers, (1, 2))


def test_casts_between_narrow_integers_wrap_around():
    """ml_dtypes converts few of its integers to one another."""
    names = ("int2", "int4", "uint2", "uint4")
    for given in names:
        info = ml_dtypes.iinfo(given)
        x = np.arange(info.min, info.max + 1).astype(given)
        for name in names:
            result = cast(x, np.dtype(name))
            assert result.dtype == name
            difference = result.astype(np.int64) - x.astype(np.int64)
            np.testing.assert_array_equal(difference % 2 ** ml_dtypes.iinfo(name).bits, 0)


def test_products_of_different_dtypes():
    x = np.array([1.5, 2.5], np.float32)
    found = lax.mul(x, np.int8(3), out_dtype=np.int32)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [3, 6])
    with pytest.raises(TypeError, match="same dtypes"):
        lax.mul(x, np.int8(3))


@pytest.mark.parametrize(
    "bounds, weak",
    [
        ((0.0, 1.0), True),
        ((0, 5), True),
        ((np.float32(0), 1.0), False),
        ((np.float32(0), np.float32(1)), False),
    ],
)
def test_random_numbers_between_python_numbers_have_a_weak_type(bounds, weak):
    aval = typeof(traced(lambda: lax.rng_uniform(*bounds, (3,))))
    assert aval.shape == (3,) and aval.weak_type is weak
