# SPDX-License-Identifier: Apache-2.0
"""Python numbers with a dtype."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings import config
from olympus_ir.types.avals import get_aval
from olympus_ir.types.typed_scalars import TypedComplex, TypedFloat, TypedInt, typed


@pytest.mark.parametrize(
    ("number", "kind", "dtype"),
    [(3, TypedInt, "int32"), (1.5, TypedFloat, "float32"), (2j, TypedComplex, "complex64")],
)
def test_typed_numbers_are_python_numbers(number, kind, dtype):
    value = typed(number)
    assert type(value) is kind and isinstance(value, type(number))
    assert value == number and hash(value) == hash(number) and str(value) == str(number)
    assert value.dtype == dtype
    assert get_aval(value) == get_aval(number) == value.aval
    assert repr(value) == f"{kind.__name__}({number}, dtype={dtype})"
    for other in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(other) is kind and other == number and other.dtype == dtype


def test_wide_types_follow_the_flag():
    with config.enable_x64(True):
        assert typed(1.5).dtype == "float64" and typed(2**40).dtype == "int64"
    with pytest.raises(OverflowError, match="too large"):
        typed(2**40)


def test_other_values_are_returned_unchanged():
    array = np.arange(3, dtype=np.int32)
    for value in (True, array, "text", None):
        assert typed(value) is value


def test_scalars_of_numpy_become_arrays_without_dimensions():
    for value, dtype in ((np.float32(1), np.float32), (np.float64(1), np.float32)):
        made = typed(value)
        assert made.__class__ is np.ndarray and made.shape == () and made.dtype == dtype
    assert typed(np.arange(3.0)).dtype == "float32"


def test_stop_gradient_keeps_values():
    array = lax.iota(np.int32, 3)
    assert lax.stop_gradient(array) is array
    assert type(lax.stop_gradient(2)) is TypedInt
