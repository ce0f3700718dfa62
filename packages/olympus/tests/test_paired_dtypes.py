# SPDX-License-Identifier: Apache-2.0
"""Dtypes whose tangents have a dtype of one's choice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.core import ShapedArray
from olympus.experimental import EArray, cur_qdd, primal_tangent_dtype
from olympus.experimental.hijax import MutableHiType, register_hitype

PAIRED = primal_tangent_dtype("int8", "float32")


def test_dtypes():
    assert repr(PAIRED) == "PrimalTangentDType{i8/f32}"
    assert primal_tangent_dtype("int8", "float32", name="foo").name == "foo"
    assert primal_tangent_dtype("int8", "float32") == PAIRED
    assert primal_tangent_dtype("int8", "float32", name="foo") != PAIRED
    assert pickle.loads(pickle.dumps(PAIRED)) == PAIRED
    assert jnp.issubdtype(PAIRED, olympus.dtypes.extended)


def test_arrays():
    array = EArray(ShapedArray((2,), PAIRED), jnp.ones(2, np.int8))
    assert isinstance(array, EArray) and isinstance(array, olympus.Array)
    assert array.shape == (2,) and array.dtype == PAIRED
    assert isinstance(olympus.random.key(0), EArray) and not isinstance(jnp.ones(2), EArray)
    same = olympus.jit(lambda x: x)(array)
    np.testing.assert_array_equal(same.physical, array.physical)


def test_tangents():
    array = EArray(ShapedArray((2,), PAIRED), jnp.ones(2, np.int8))
    _, tangent = olympus.jvp(lambda x: x, (array,), (jnp.full(2, 3.0),))
    np.testing.assert_array_equal(tangent, [3, 3])
    _, pull = olympus.vjp(lambda x: x, array)
    np.testing.assert_array_equal(pull(jnp.full(2, 3.0))[0], [3, 3])


def test_state_of_mutable_values():
    class Box:
        content = 3

    class BoxType(MutableHiType):
        def type_state(self, box):
            return type(box.content)

    register_hitype(Box, lambda box: BoxType())

    class TalkingBox(Box):
        def cur_qdd(self):
            return "three"

    register_hitype(TalkingBox, lambda box: BoxType())
    assert cur_qdd(Box()) is int and cur_qdd(TalkingBox()) == "three"
    with pytest.raises(TypeError, match="does not change"):
        cur_qdd(1.0)
