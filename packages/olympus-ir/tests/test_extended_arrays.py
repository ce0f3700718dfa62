# SPDX-License-Identifier: Apache-2.0
"""Arrays of extended dtypes; the example is a dtype of pairs of numbers."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

from olympus_ir import Array, ShapedArray, get_aval, lax, make_olympuspr
from olympus_ir.types.extended_arrays import (
    ExtendedArray,
    array_of_type,
    logical_aval,
    physical_aval,
    plain_array,
    plain_aval,
)
from olympus_ir.types.extended_dtypes import ExtendedDType, extended


class PairType(ExtendedDType):
    type = extended
    name = "pair"
    itemsize = 8

    def physical_element_aval(self):
        return ShapedArray((2,), np.float32)

    def __eq__(self, other):
        return type(other) is PairType

    def __hash__(self):
        return hash(PairType)


PAIR = PairType()
WORDS = np.arange(12, dtype=np.float32).reshape(3, 2, 2)


@pytest.fixture
def pairs():
    return lax.to_edtype(WORDS, PAIR)


def test_logical_and_physical_types_correspond():
    aval = ShapedArray((3, 2), PAIR)
    assert physical_aval(aval) is plain_aval(aval) is ShapedArray((3, 2, 2), np.float32)
    assert logical_aval(ShapedArray((3, 2, 2), np.float32), PAIR) is aval
    assert plain_aval(ShapedArray((3,), np.float32)) is ShapedArray((3,), np.float32)
    with pytest.raises(TypeError, match=r"stored in arrays of float32\[2\].*got float32\[3\]"):
        logical_aval(ShapedArray((3,), np.float32), PAIR)


def test_extended_array_and_its_base_array(pairs):
    assert isinstance(pairs, ExtendedArray)
    assert get_aval(pairs) is ShapedArray((3, 2), PAIR)
    assert (pairs.shape, pairs.ndim, pairs.size, pairs.nbytes, len(pairs)) == ((3, 2), 2, 6, 48, 3)
    np.testing.assert_array_equal(lax.from_edtype(pairs), WORDS)
    np.testing.assert_array_equal(plain_array(pairs), WORDS)
    assert array_of_type(pairs.physical, pairs.aval).aval is pairs.aval
    assert array_of_type(3.0, get_aval(3.0)) == 3.0
    assert repr(pairs).startswith("Array((3, 2), dtype=pair) overlaying:\n[[[ 0.")


def test_classes_of_concrete_arrays_count_as_subclasses(pairs):
    """As the class of JAX's typed keys does. The class of tracers does not, in JAX either."""
    assert issubclass(type(pairs), Array) and isinstance(pairs, Array)
    assert issubclass(Array, Array) and not issubclass(int, Array)
    kinds = []
    make_olympuspr(lambda x: kinds.append(type(x)) or x)(pairs)
    assert not issubclass(kinds[0], Array)
    assert not issubclass(type(pairs), type("Other", (), {}))

    @functools.singledispatch
    def describe(x):
        return "other"

    describe.register(Array)(lambda x: "array")
    assert (describe(pairs), describe(1)) == ("array", "other")


def test_iteration_yields_rows(pairs):
    rows = list(pairs)
    assert [row.shape for row in rows] == [(2,)] * 3
    np.testing.assert_array_equal(lax.from_edtype(rows[1]), WORDS[1])
    (scalar, _) = rows[0]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(scalar)
    with pytest.raises(TypeError, match=r"len\(\) of unsized object"):
        len(scalar)


def test_structural_operations_move_whole_elements(pairs):
    np.testing.assert_array_equal(
        lax.from_edtype(lax.transpose(pairs, (1, 0))), WORDS.swapaxes(0, 1)
    )
    np.testing.assert_array_equal(lax.eq(pairs, lax.rev(pairs, (0,)))[1], [True, True])


def test_conversion_to_numbers_raises(pairs):
    for convert in (np.asarray, bool, int, float, complex):
        with pytest.raises(TypeError, match="array with pair dtype cannot be converted to"):
            convert(pairs)
    with pytest.raises(TypeError, match="immutable"):
        pairs[0] = 1
    with pytest.raises(AttributeError, match="no attribute 'color'"):
        pairs.color  # noqa: B018 - the access is what is tested


def test_pickles_keep_dtype_and_elements(pairs):
    again = pickle.loads(pickle.dumps(pairs))
    assert again.dtype == PAIR
    np.testing.assert_array_equal(plain_array(again), WORDS)
