# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import pathlib
import warnings

import ml_dtypes
import numpy as np
import pytest

from olympus_ir.diagnostics.errors import OlympusError, TypePromotionError
from olympus_ir.settings.config import config, enable_x64, numpy_dtype_promotion
from olympus_ir.types import dtypes
from olympus_ir.types.extended_dtypes import float0
from olympus_ir.types.promotion import (
    is_weakly_typed,
    lattice_result_type,
    promote,
    promote_types,
    result_type,
)

# Made by data/record_promotion.py, which explains the format.
RECORD = json.loads((pathlib.Path(__file__).parent / "data" / "promotion.json").read_text("utf-8"))
OPERANDS = RECORD["operands"]
DTYPES = {dtype.name: dtype for dtype in dtypes.numeric_dtypes}
MODES = list(RECORD["pairs"])


class Operand:
    """The attributes of an array that promotion uses."""

    def __init__(self, name):
        self.dtype = dtypes.canonicalize_dtype(DTYPES[name.rstrip("*")])
        self.weak_type = name.endswith("*")


def known(*names):
    return all(name.rstrip("*") in DTYPES for name in names)


def outcome(function, *args):
    """The result in the record's format."""
    try:
        dtype, weak = function(*args)
    except TypePromotionError:
        return -1
    return OPERANDS.index(dtype.name + "*" * weak)


@pytest.fixture(params=MODES)
def mode(request):
    x64, promotion = request.param.split("-")
    with enable_x64(x64 == "x64"), numpy_dtype_promotion(promotion):
        yield request.param


def test_pairs_of_dtypes_promote_as_in_jax(mode):
    wrong = []
    rows = [(a, b) for i, a in enumerate(OPERANDS) for b in OPERANDS[: i + 1]]
    for (a, b), expected in zip(rows, RECORD["pairs"][mode], strict=True):
        if known(a, b):
            x, y = Operand(a), Operand(b)
            # Twice, because the second answer comes from a table.
            got = [
                outcome(promote, x.dtype, x.weak_type, y.dtype, y.weak_type),
                outcome(promote, x.dtype, x.weak_type, y.dtype, y.weak_type),
                outcome(lattice_result_type, y, x),
            ]
            wrong += [(a, b, expected, got)] if got != 3 * [expected] else []
    assert not wrong


def test_more_than_two_operands(mode):
    wrong = []
    for *indices, expected in RECORD["triples"][mode]:
        names = [OPERANDS[index] for index in indices]
        if known(*names):
            got = outcome(lattice_result_type, *map(Operand, names))
            wrong += [(names, expected, got)] if got != expected else []
    assert not wrong


def test_pairs_of_strong_dtypes_promote_as_in_jax(mode):
    wrong = []
    strong = [name for name in OPERANDS if not name.endswith("*")]
    rows = [(a, b) for i, a in enumerate(strong) for b in strong[: i + 1]]
    for (a, b), expected in zip(rows, RECORD["promote_types"][mode], strict=True):
        if known(a, b):
            got = outcome(lambda *names: (promote_types(*names), False), a, b)
            wrong += [(a, b, expected, got)] if got != expected else []
    assert not wrong


def test_promotion_is_commutative_and_associative_among_common_dtypes():
    names = ["bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32"]
    with enable_x64(True):
        for a, b, c in itertools.product([DTYPES[name] for name in names], repeat=3):
            assert result_type(a, b) == result_type(b, a)
            assert result_type(a, b, c) == result_type(result_type(a, b), c)


def test_python_scalars_are_weak():
    assert lattice_result_type(1) == (np.int32, True)
    assert lattice_result_type(1.0) == (np.float32, True)
    assert lattice_result_type(True) == (np.bool_, False)
    assert lattice_result_type(1, 2.0) == (np.float32, True)
    assert lattice_result_type(np.int8(1), 1) == (np.int8, False)
    assert lattice_result_type(np.int8(1), 1.0) == (np.float32, True)
    assert lattice_result_type(float, np.float16) == (np.float16, False)
    assert lattice_result_type(np.ones(2), 1j) == (np.complex64, False)
    assert is_weakly_typed(1)
    assert not is_weakly_typed(True)
    assert not is_weakly_typed(np.float32(1))
    assert not is_weakly_typed(np.ones(1))
    with enable_x64(True):
        assert lattice_result_type(1, 2.0) == (np.float64, True)


def test_result_type_canonicalizes_wide_dtypes():
    assert result_type(np.float64(1)) == np.float32
    assert result_type(None) == np.float32
    assert result_type(None, np.float16) == np.float32
    assert result_type(2**40) == np.int32
    assert result_type("uint8", "int8") == np.int16
    assert result_type(1, 2.0, return_weak_type_flag=True) == (np.float32, True)
    assert result_type(float0, float0) == float0
    with pytest.raises(ValueError, match="at least one"):
        result_type()
    with pytest.raises(ValueError, match="float0"):
        result_type(float0, np.float32)
    with pytest.raises(TypeError, match="Cannot determine the dtype"):
        result_type([1, 2])
    with pytest.raises(TypeError, match="not supported"):
        result_type(np.array(["a"]))
    with pytest.raises(TypeError):
        result_type("no such dtype")
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64"):
        assert result_type("float64") == np.float32


def test_explicit_64_bit_dtypes_are_kept():
    wide, narrow = np.dtype("int64"), np.dtype("int32")
    assert promote(wide, False, narrow, False) == (np.int32, False)
    config.update("olympus_explicit_x64_dtypes", "allow")
    try:
        assert promote(wide, False, narrow, False) == (np.int64, False)
        assert promote(np.dtype("float64"), False, np.dtype("complex64"), False)[0] == np.complex128
        assert promote(np.dtype("uint32"), False, np.dtype("int8"), False)[0] == np.int32
        assert result_type("float64", "float32") == np.float64
    finally:
        config.update("olympus_explicit_x64_dtypes", "warn")
    assert promote(wide, False, narrow, False) == (np.int32, False)


def test_promote_types_of_python_types():
    assert promote_types(int, "float32") == np.float32
    assert promote_types(float, "float16") == np.float16
    assert promote_types("int64", "uint64") == np.float64
    with numpy_dtype_promotion("strict"):
        assert promote_types(int, "float32") == np.float32


def test_promotion_errors_suggest_astype():
    with pytest.raises(TypePromotionError, match=r"float8_e4m3fn and float32.*astype") as caught:
        result_type(ml_dtypes.float8_e4m3fn, np.float32)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, OlympusError)
    with (
        numpy_dtype_promotion("strict"),
        pytest.raises(TypePromotionError, match=r"int32 and float32.*=strict.*'standard'"),
    ):
        result_type(np.int32, np.float32)
    with (
        numpy_dtype_promotion("strict"),
        pytest.raises(TypePromotionError, match=r"int32 and float .a Python scalar"),
    ):
        result_type(np.int32, 1.0)


def test_values_of_few_bits_are_named():
    with pytest.raises(TypePromotionError, match="Input dtypes .* 8-bit floats do not support"):
        promote_types("float8_e4m3fn", "float16")
    with pytest.raises(TypePromotionError, match="4-bit floats do not support"):
        promote_types("float32", "float4_e2m1fn")
    with pytest.raises(TypePromotionError, match="2-bit and 4-bit integers do not support"):
        promote_types("int4", "int8")


def test_strict_promotion_context_is_thread_local():
    with numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError):
        result_type(np.int8, np.int16)
    assert result_type(np.int8, np.int16) == np.int16


def test_no_warnings_for_values():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result_type(np.ones(2), np.arange(3)) == np.float32
