# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import warnings

import ml_dtypes
import numpy as np
import pytest

from olympus_ir.settings.config import config, enable_x64
from olympus_ir.types import dtypes
from olympus_ir.types.extended_dtypes import ExtendedDType, extended, float0, prng_key

RECORD = json.loads(
    (pathlib.Path(__file__).parent / "data" / "dtypes_and_flags.json").read_text("utf-8")
)["dtypes"]
DTYPES = {dtype.name: dtype for dtype in dtypes.numeric_dtypes}
# jax leaves integers of one and two bits as they are where floats are needed.
WITHOUT_FLOATING_DTYPE = {"int1", "int2", "uint1", "uint2"}


class KeyDType(ExtendedDType):
    type = prng_key
    name = "key<test>"
    itemsize = 8

    def physical_element_aval(self):
        raise AssertionError("not needed here")

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(KeyDType)


key_dtype = KeyDType()


def test_all_recorded_dtypes_exist():
    newer_ml_dtypes = {"int1", "uint1"} - set(DTYPES)
    assert set(RECORD) - newer_ml_dtypes == set(DTYPES)


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_properties_match_the_record(name):
    dtype, facts = DTYPES[name], RECORD[name]
    assert dtypes.canonicalize_dtype(dtype).name == facts["canonical_x32"]
    assert dtypes.short_name(dtype) == facts["short"]
    assert dtypes.name_of(dtype) == name
    assert dtypes.itemsize_bits(dtype) == facts["bits"]
    assert dtypes.scalar_type_of(np.zeros((), dtype)).__name__ == facts["scalar_type"]
    kinds = "generic number integer signedinteger unsignedinteger inexact floating complexfloating"
    kinds = [*kinds.split(), "bool_", "character", "flexible"]
    below = [kind for kind in kinds if dtypes.issubdtype(dtype, getattr(np, kind))]
    assert below == facts["subtype_of"]
    assert dtypes.to_numeric_dtype(dtype).name == facts["to_numeric"]
    if name not in WITHOUT_FLOATING_DTYPE:
        assert dtypes.to_inexact_dtype(dtype).name == facts["to_inexact"]
        assert dtypes.to_floating_dtype(dtype).name == facts["to_floating"]
        assert dtypes.to_complex_dtype(dtype).name == facts["to_complex"]


@pytest.mark.parametrize("name", sorted(WITHOUT_FLOATING_DTYPE & set(DTYPES)))
def test_the_smallest_integers_are_computed_in_float32(name):
    assert dtypes.to_inexact_dtype(name) == np.float32


@pytest.mark.parametrize("dtype", dtypes.numeric_dtypes, ids=str)
def test_limits_equal_ml_dtypes(dtype):
    if dtypes.issubdtype(dtype, np.integer):
        assert dtypes.iinfo(dtype).max == ml_dtypes.iinfo(dtype).max
        dtypes.check_integer_fits(int(ml_dtypes.iinfo(dtype).max), dtype)
        with pytest.raises(OverflowError, match=f"too large to convert to {dtype.name}"):
            dtypes.check_integer_fits(int(ml_dtypes.iinfo(dtype).max) + 1, dtype)
        with pytest.raises(OverflowError):
            dtypes.check_integer_fits(int(ml_dtypes.iinfo(dtype).min) - 1, dtype)
    elif dtypes.issubdtype(dtype, np.floating):
        assert dtypes.finfo(dtype).max == ml_dtypes.finfo(dtype).max
        assert dtypes.itemsize_bits(dtype) == ml_dtypes.finfo(dtype).bits


def test_64_bit_types_are_canonical_only_where_enabled():
    assert dtypes.canonicalize_dtype(float) == np.float32
    assert dtypes.canonicalize_dtype("int64") == np.int32
    assert dtypes.canonicalize_dtype(None) == np.float32
    assert dtypes.canonicalize_dtype(bool) == np.bool_
    with enable_x64(True):
        assert dtypes.canonicalize_dtype(float) == np.float64
        assert dtypes.canonicalize_dtype(complex) == np.complex128
        assert dtypes.default_uint_dtype() == np.uint64
    assert dtypes.default_complex_dtype() == np.complex64


def test_equal_dtypes_have_one_representative():
    with enable_x64(True):
        assert dtypes.canonicalize_dtype(np.longlong) is dtypes.canonicalize_dtype("int64")
        assert dtypes.dtype(np.zeros(1, np.longlong)) is np.dtype("int64")


def test_unknown_dtypes_are_refused():
    with pytest.raises(TypeError):
        dtypes.canonicalize_dtype("no such dtype")
    with pytest.raises(ValueError, match="key<test>"):
        dtypes.canonicalize_dtype(key_dtype)
    assert dtypes.canonicalize_dtype(key_dtype, allow_extended_dtype=True) is key_dtype


def test_explicit_64_bit_dtype_warns():
    message = "Explicitly requested dtype float64 requested in zeros is not available, and will be"
    with pytest.warns(UserWarning, match=message) as caught:
        result = dtypes.check_and_canonicalize_user_dtype("float64", "zeros")
    assert result == np.float32
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.check_and_canonicalize_user_dtype(float, "zeros") == np.float32
        assert dtypes.check_and_canonicalize_user_dtype(np.int32, "zeros") == np.int32
        with enable_x64(True):
            assert dtypes.check_and_canonicalize_user_dtype("float64", "zeros") == np.float64


def test_explicit_64_bit_dtype_follows_the_flag():
    try:
        config.update("olympus_explicit_x64_dtypes", "allow")
        assert dtypes.check_and_canonicalize_user_dtype("float64") == np.float64
        config.update("olympus_explicit_x64_dtypes", "error")
        with pytest.raises(ValueError, match="int64 requested in arange is not available"):
            dtypes.check_and_canonicalize_user_dtype(np.int64, "arange")
    finally:
        config.update("olympus_explicit_x64_dtypes", "warn")


@pytest.mark.parametrize("dtype", [object, "S3", "datetime64[s]", np.longdouble, ">f4"])
def test_invalid_array_dtypes_raise(dtype):
    assert not dtypes.is_valid_dtype(np.dtype(dtype))
    with pytest.raises(TypeError, match="zeros"):
        dtypes.check_and_canonicalize_user_dtype(dtype, "zeros")
    with pytest.raises(TypeError, match="not supported"):
        dtypes.check_valid_dtype(np.dtype(dtype))


def test_byte_order_error_suggests_astype():
    with pytest.raises(TypeError, match=r"x\.astype\('float32'\)"):
        dtypes.check_valid_dtype(np.dtype(">f4"))


def test_valid_array_dtypes():
    for dtype in (*dtypes.numeric_dtypes, float0, key_dtype):
        dtypes.check_valid_dtype(dtype)
        assert dtypes.is_valid_dtype(dtype)


def test_dtype_of_values():
    assert dtypes.dtype(1) == np.int64
    assert dtypes.dtype(1, canonicalize=True) == np.int32
    assert dtypes.dtype(True) == np.bool_
    assert dtypes.dtype(1j, canonicalize=True) == np.complex64
    assert dtypes.dtype(np.float64(1)) == np.float64
    assert dtypes.dtype(np.zeros(2, np.int8)) == np.int8
    assert dtypes.dtype(int) == np.int64
    assert dtypes.dtype("bfloat16") == ml_dtypes.bfloat16
    assert dtypes.dtype(key_dtype) is key_dtype

    class Count(int):
        pass

    assert dtypes.dtype(Count(3)) == np.int64


@pytest.mark.parametrize("value", [[1], object(), {}])
def test_values_without_dtype(value):
    with pytest.raises(TypeError, match="Cannot determine the dtype"):
        dtypes.dtype(value)


def test_none_as_dtype_raises():
    with pytest.raises(ValueError, match="None"):
        dtypes.dtype(None)
    with pytest.raises(ValueError, match="needs a dtype"):
        dtypes.itemsize_bits(None)


def test_strings_have_no_scalar_type():
    with pytest.raises(TypeError):
        dtypes.scalar_type_of(np.array("text"))
    with pytest.raises(TypeError):
        dtypes.scalar_type_of("text")


def test_hierarchy_of_extended_dtypes():
    assert dtypes.issubdtype(key_dtype, prng_key)
    assert dtypes.issubdtype(key_dtype, extended)
    assert dtypes.issubdtype(key_dtype, np.generic)
    assert dtypes.issubdtype(key_dtype, key_dtype)
    assert dtypes.issubdtype(prng_key, extended)
    assert not dtypes.issubdtype(key_dtype, np.number)
    assert not dtypes.issubdtype(np.float32, extended)
    assert not dtypes.issubdtype(np.float32, key_dtype)
    for scalar_type in (extended, prng_key):
        with pytest.raises(TypeError):
            scalar_type()
    assert repr(key_dtype) == "key<test>"
    assert dtypes.short_name(key_dtype) == dtypes.name_of(key_dtype) == "key<test>"


def test_subtypes_of_types_and_names():
    assert dtypes.issubdtype(int, np.integer)
    assert not dtypes.issubdtype(None, np.integer)
    assert dtypes.issubdtype(np.float64, float)
    assert not dtypes.issubdtype(np.float32, float)
    assert dtypes.issubdtype(np.floating, np.number)
    assert dtypes.issubdtype(ml_dtypes.bfloat16, ml_dtypes.bfloat16)
    assert dtypes.issubdtype(float0, np.void)
    assert not dtypes.issubdtype(float0, np.number)
    with pytest.raises(TypeError):
        dtypes.issubdtype("no such dtype", np.integer)
    with pytest.raises(TypeError):
        dtypes.issubdtype(3.0, np.integer)


def test_integers_have_float0_tangents():
    assert dtypes.tangent_dtype(np.dtype("float32")) == np.float32
    assert dtypes.tangent_dtype(np.dtype(ml_dtypes.bfloat16)) == ml_dtypes.bfloat16
    assert dtypes.tangent_dtype(np.dtype("complex64")) == np.complex64
    for dtype in (np.dtype("int8"), np.dtype("bool"), np.dtype("int4"), float0, key_dtype):
        assert dtypes.tangent_dtype(dtype) == float0
    assert np.zeros(3, float0).nbytes == 0
    assert dtypes.short_name(float0) == dtypes.name_of(float0) == "float0"


def test_isdtype_accepts_names_of_kinds():
    assert dtypes.isdtype("float32", "real floating")
    assert dtypes.isdtype(ml_dtypes.bfloat16, "real floating")
    assert dtypes.isdtype("int4", ("bool", "integral"))
    assert not dtypes.isdtype("bool", "numeric")
    assert dtypes.isdtype("int64", int)
    assert not dtypes.isdtype("int32", int)
    assert dtypes.isdtype(key_dtype, key_dtype)
    with pytest.raises(ValueError, match="real floating"):
        dtypes.isdtype("float32", "no such kind")


def test_only_some_small_floats_have_infinities():
    assert dtypes.supports_inf("float8_e5m2")
    assert dtypes.supports_inf("bfloat16")
    assert dtypes.supports_inf("complex64")
    assert not dtypes.supports_inf("float8_e4m3fn")


def test_python_scalars_have_default_dtypes():
    assert dtypes.is_python_scalar(1.0)
    assert not dtypes.is_python_scalar(np.float64(1))
    assert dtypes.python_scalar_dtype(int) == np.int32
    assert np.float64 in dtypes.numpy_scalar_types
    assert ml_dtypes.bfloat16 in dtypes.numpy_scalar_types
