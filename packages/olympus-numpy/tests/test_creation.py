# SPDX-License-Identifier: Apache-2.0
"""Creation of arrays from values of all kinds, and errors for other objects."""

from __future__ import annotations

import enum
import warnings

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir import make_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.types import dtypes


class Convertible:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3)


@pytest.mark.parametrize("name", ["bool_", "int8", "uint32", "bfloat16", "float32", "complex64"])
def test_scalar_types_equal_numpys_types_and_dtypes(name):
    scalar_type = getattr(jnp, name)
    dtype = scalar_type.dtype
    for other in (dtype, dtype.type, scalar_type):
        assert scalar_type == other and other == scalar_type
        assert not (scalar_type != other or other != scalar_type)
        assert other in [scalar_type] and scalar_type in [other]
    for other in (jnp.float16, jnp.float16.dtype, np.float16, float, name, None):
        assert scalar_type != other and other not in [scalar_type]


class Holder:
    def __jax_array__(self):
        return jnp.arange(3)


@pytest.mark.parametrize(
    ("value", "dtype", "weak_type"),
    [
        (True, "bool", False),
        (3, "int32", True),
        (2.5, "float32", True),
        (1j, "complex64", True),
        (np.float16(1), "float16", False),
        (np.float64(1), "float32", False),
        (np.int64(1), "int32", False),
        (ml_dtypes.bfloat16(1), "bfloat16", False),
        (np.arange(3), "int32", False),
        (np.ones(2), "float32", False),
        ([1, 2], "int32", False),
        ([1, 2.5], "float32", False),
        ([True, 2], "int32", False),
        ([1, 2j], "complex64", False),
        ([np.int8(1), 2], "int8", False),
        ([np.int8(1), 2.5], "float32", False),
        ([], "float32", False),
        (range(3), "int32", False),
        (bytearray(b"abc"), "uint8", False),
        (memoryview(b"abc"), "uint8", False),
        (Convertible(), "int32", False),
        (Holder(), "int32", False),
    ],
)
@pytest.mark.parametrize("make", [jnp.array, jnp.asarray], ids=["array", "asarray"])
def test_dtypes_of_values(make, value, dtype, weak_type):
    result = make(value)
    assert isinstance(result, jnp.ndarray)
    assert (str(result.dtype), result.weak_type) == (dtype, weak_type)


def test_array_joins_nested_lists_and_arrays():
    assert jnp.array([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert jnp.array([jnp.arange(2), [5, 6]]).tolist() == [[0, 1], [5, 6]]
    assert jnp.array([[jnp.int32(1), 2.5]]).tolist() == [[1, 2.5]]
    assert jnp.array(1.5, dtype=int).item() == 1
    assert jnp.array([2.5, 0], dtype=bool).tolist() == [True, False]
    assert jnp.array(1, ndmin=2).shape == (1, 1)


def test_an_array_is_kept_or_copied():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x, copy=False) is x
    assert jnp.array(x) is not x
    assert jnp.asarray(x, copy=True) is not x
    host = np.arange(3)
    made = jnp.asarray(host)
    host[0] = 7
    assert made.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, ValueError, "None is not a valid value"),
        ([None], ValueError, "None is not a valid value"),
        ("text", TypeError, "Only arrays of numeric types"),
        (["text"], TypeError, "Only arrays of numeric types"),
        (b"abc", TypeError, "Only arrays of numeric types"),
        ({}, TypeError, "Only arrays of numeric types"),
        (object(), TypeError, "Only arrays of numeric types"),
        (np.datetime64("2020-01-01"), TypeError, "Only arrays of numeric types"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
        (2**40, OverflowError, "int32"),
    ],
)
def test_values_that_are_not_arrays_are_refused(value, error, message):
    with pytest.raises(error, match=message):
        jnp.array(value)


def test_unsupported_arguments_are_refused():
    with pytest.raises(NotImplementedError, match="order"):
        jnp.array([1], order="F")
    with pytest.raises(NotImplementedError, match="order"):
        jnp.asarray([1], order="C")
    with pytest.raises(TypeError, match="dtype"):
        jnp.array(3, dtype="S")
    with pytest.raises(TypeError, match="the same shape"):
        jnp.array([jnp.arange(3), 1])
    with pytest.raises(TypeError, match="complex"):
        jnp.array(1j, dtype=float)


WIDE = [
    lambda: jnp.array([1, 2], dtype="float64"),
    lambda: jnp.asarray(1, dtype=np.int64),
    lambda: jnp.zeros(3, dtype="int64"),
    lambda: jnp.ones(3, dtype=np.complex128),
    lambda: jnp.full(3, 1, dtype="uint64"),
    lambda: jnp.arange(3, dtype="int64"),
    lambda: jnp.linspace(0, 1, 3, dtype="float64"),
    lambda: jnp.eye(2, dtype="float64"),
    lambda: jnp.arange(3).astype("int64"),
    lambda: jnp.sum(jnp.ones(3), dtype="float64"),
]


@pytest.mark.parametrize("make", WIDE)
def test_explicit_64_bit_dtypes(make):
    with pytest.warns(UserWarning, match="Explicitly requested dtype"):
        narrow = make()
    assert narrow.dtype.itemsize <= 8
    with config.enable_x64(True):
        assert make().dtype.itemsize == 2 * narrow.dtype.itemsize


@pytest.mark.filterwarnings("error")
def test_abstract_dtypes_do_not_warn():
    assert jnp.zeros(3, float).dtype == np.float32
    assert jnp.zeros(3, int).dtype == np.int32
    assert jnp.zeros(3, complex).dtype == np.complex64
    assert jnp.array(np.arange(3)).dtype == np.int32


def test_64_bits_enabled():
    with config.enable_x64(True):
        assert jnp.arange(3).dtype == np.int64
        assert jnp.array(1.5).dtype == np.float64
        assert jnp.array(1.5).weak_type
        assert jnp.array(2**40).item() == 2**40
        assert jnp.float64(2).dtype == np.float64
        assert (jnp.ones(2, "float32") + 1).dtype == np.float32
        assert jnp.sum(jnp.ones(2, "int8")).dtype == np.int64
        assert jnp.argmax(jnp.arange(3)).dtype == np.int64


def test_filled_arrays_have_shape_and_value():
    assert jnp.zeros((2, 0)).shape == (2, 0)
    assert jnp.ones(3, bool).tolist() == [True] * 3
    assert jnp.full((2, 3), jnp.arange(3)).tolist() == [[0, 1, 2]] * 2
    assert jnp.full(2, 1.5).weak_type
    assert jnp.full_like(jnp.arange(2), 2.5).tolist() == [2, 2]
    assert jnp.full_like(jnp.arange(2), 2.5, dtype=float).tolist() == [2.5, 2.5]
    assert jnp.zeros_like(jnp.arange(2), shape=(1, 2)).shape == (1, 2)
    assert jnp.empty((2,)).shape == (2,)
    for size in (-1, 2.5, (2, "a")):
        with pytest.raises(TypeError, match="Shapes"):
            jnp.zeros(size)
    with pytest.raises(TypeError, match="zeros_like requires"):
        jnp.zeros_like([1, 2])


def test_ranges_equal_numpy():
    assert jnp.arange(5, 1, -2).tolist() == [5, 3]
    assert jnp.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert jnp.arange(3.5).tolist() == [0, 1, 2, 3]
    assert jnp.linspace(0, 1, 5, endpoint=False).shape == (5,)
    assert jnp.linspace(0, 10, 5, dtype=int).tolist() == [0, 2, 5, 7, 10]
    values, step = jnp.linspace(0, 1, 3, retstep=True)
    assert (values.tolist(), step.item()) == ([0, 0.5, 1], 0.5)
    with pytest.raises(ZeroDivisionError):
        jnp.arange(0, 10, 0)
    with pytest.raises(ValueError, match="non-negative"):
        jnp.linspace(0, 1, -1)


def test_scalar_types_make_strong_scalars():
    assert jnp.float32(3).dtype == np.float32
    assert not jnp.float32(3).weak_type
    assert jnp.int32([1.5, 2]).tolist() == [1, 2]
    assert jnp.bfloat16 == ml_dtypes.bfloat16
    assert np.dtype(jnp.float16) == np.float16
    assert jnp.float32.dtype == np.dtype("float32")
    assert len({jnp.float32, np.float32}) == 1
    assert isinstance(np.float32(1), jnp.floating)
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.finfo("bfloat16").bits == 16
    assert jnp.iinfo("int4").max == 7
    assert jnp.promote_types("bfloat16", "float16") == np.float32
    assert jnp.result_type(jnp.int8, 2) == np.int8
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an explicit dtype gives no warning about truncation
        assert jnp.result_type(jnp.float64) == np.float32
    assert not jnp.can_cast(np.float64, "float32") and jnp.can_cast(jnp.int8, "float32")


def test_scalars_made_under_a_trace_are_literals():
    def function(x):
        return x + jnp.float32(2) * jnp.array(1.5) + jnp.asarray(np.float16(1))

    program = make_olympuspr(function)(jnp.ones(3, jnp.float32))
    assert not program.consts
    assert jit(function)(jnp.ones(2, jnp.float32)).tolist() == [5, 5]
    assert make_olympuspr(lambda x: x * int(jnp.array(2)))(1.0)  # the value is known while tracing
    assert make_olympuspr(lambda: jnp.array(1.5).at[()].set(2.0))().out_avals[0].weak_type


def test_sizes_and_axes_may_be_concrete_arrays():
    two, one = jnp.asarray(2), jnp.asarray(1)
    x = jnp.arange(6)
    for result in (x.reshape(two, 3), x.reshape((two, -1)), jnp.reshape(x, (two, 3))):
        assert result.shape == (2, 3)
    assert jnp.transpose(x.reshape(2, 3), (one, one - 1)).shape == (3, 2)
    with pytest.raises(TypeError, match="Shapes must be 1D sequences"):
        x.reshape((2.0, 3))


def test_subclasses_of_numbers_are_weakly_typed():
    class Color(enum.IntEnum):
        RED = 3

    for value in (Color.RED, type("Length", (float,), {})(2.5)):
        array = jnp.asarray(value)
        assert array == value and array.weak_type


def test_lists_of_objects_with_array_protocol():
    np.testing.assert_array_equal(jnp.array([Convertible(), Convertible()]), [[0, 1, 2]] * 2)


def test_float0_arrays_are_returned_unchanged():
    zeros = np.zeros(2, dtypes.float0)
    assert jnp.asarray(zeros) is zeros
    for function in (jnp.sin, jnp.negative, lambda x: jnp.add(1.0, x), lambda x: jnp.equal(x, x)):
        with pytest.raises(TypeError, match="float0s do not support any operations by design"):
            function(zeros)


@pytest.mark.parametrize("transform", [lambda f: f, jit, vmap])
def test_casts_from_complex_to_real_warn(transform):
    x = jnp.array([1 + 2j])
    with pytest.warns(DeprecationWarning, match="Casting from complex to real dtypes"):
        assert transform(lambda x: x.astype("float32"))(x).tolist() == [1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert transform(lambda x: x.astype(bool))(x).tolist() == [True]


@pytest.mark.parametrize(
    "convert, problem",
    [
        (lambda: jnp.array(np.array([1e10]), dtype="int8"), "invalid value"),
        (lambda: jnp.array(np.array([1e300])), "overflow"),
        (lambda: jnp.array(1e300), "overflow"),
        (lambda: jnp.asarray([1.0, 1e10], dtype="float16"), "overflow"),
        (lambda: jnp.asarray(np.float64(1e10), dtype="float16"), "overflow"),
        (lambda: jnp.array(np.array([np.nan]), dtype="int32"), "invalid value"),
    ],
)
def test_overflowing_casts_warn_as_in_numpy(convert, problem):
    with pytest.warns(RuntimeWarning, match=f"{problem} encountered in cast") as caught:
        result = convert()
    if problem == "overflow":
        assert np.isinf(np.asarray(result)).any()
    assert [warning.filename for warning in caught] == [__file__]


def test_asarray_without_copy():
    x = jnp.ones(3)
    assert jnp.asarray(x) is x
    for dtype in ("float32", jnp.float32, float, np.float32):
        assert jnp.asarray(x, dtype) is x
    assert jnp.float32(x) is x
    assert jnp.asarray(x, copy=True) is not x
    weak = jnp.asarray(1.0)
    assert weak.weak_type and not jnp.asarray(weak, jnp.float32).weak_type


@pytest.mark.parametrize("call", [lambda f: f(), lambda f: jit(f)()], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", ["uint32", "int32", "int8", "uint8", "float32"])
@pytest.mark.parametrize("value", [2**31, 2**32 - 1, 2**40, -1, -(2**31) - 1])
def test_fill_values_out_of_range_wrap_around(value, dtype, call):
    expected = np.array(value, np.int64).astype(dtype)
    assert call(lambda: jnp.full(2, value, dtype)).tolist() == [expected] * 2
    assert call(lambda: jnp.full_like(jnp.zeros(1, dtype), value)).tolist() == [expected]


def test_default_dtype_of_fill_values():
    filled = jnp.full(1, 2**31)
    assert (filled.tolist(), str(filled.dtype), filled.weak_type) == ([-(2**31)], "int32", True)
    with pytest.raises(OverflowError):
        jnp.full(1, 2**64)
    with pytest.raises(TypeError, match=r"float\(\) argument must be"):
        jnp.full(2, 1 + 2j, "float32")


def test_float0_is_made_under_a_trace():
    zeros = jit(lambda: jnp.zeros((2,), dtypes.float0))()
    assert zeros.dtype == dtypes.float0 and zeros.shape == (2,)


def test_unwrap_of_booleans_computes_integers():
    assert jnp.unwrap(jnp.array([True, False]), period=4).dtype == np.int32
    assert jnp.unwrap(jnp.array([True, False])).dtype == np.float32


def test_polyfit_of_complex_values_has_real_rcond():
    x = jnp.arange(4.0)
    limits = [jnp.polyfit(each, each * each, 2, full=True)[4] for each in (x, x + 1j)]
    assert [str(limit.dtype) for limit in limits] == ["float32", "float32"]


@pytest.mark.filterwarnings("error")
def test_lists_of_arrays_of_64_bits_keep_them():
    with config.enable_x64(True):
        wide = jnp.arange(3.0)
    assert wide.dtype == np.float64
    assert jnp.array([wide, wide]).dtype == np.float64
    assert jnp.array([[wide], [wide]]).dtype == np.float64
    np.testing.assert_array_equal(jnp.array([wide, [2.0, 1.0, 0.0]]), [[0, 1, 2], [2, 1, 0]])
    assert jnp.array([wide, wide], np.float32).dtype == np.float32
