# SPDX-License-Identifier: Apache-2.0
"""Extended dtypes with a chosen dtype of tangents, and with rules."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.core import ShapedArray
from olympus.experimental import EArray, cur_qdd, primal_tangent_dtype
from olympus.experimental.hijax import MutableHiType, register_hitype
from olympus_ir.types.extended_dtypes import ExtendedDType

PAIRED = primal_tangent_dtype("int8", "float32")


def test_dtypes_are_equal_by_name_and_parts():
    assert repr(PAIRED) == "PrimalTangentDType{i8/f32}"
    assert primal_tangent_dtype("int8", "float32", name="foo").name == "foo"
    assert primal_tangent_dtype("int8", "float32") == PAIRED
    assert primal_tangent_dtype("int8", "float32", name="foo") != PAIRED
    assert pickle.loads(pickle.dumps(PAIRED)) == PAIRED
    assert jnp.issubdtype(PAIRED, olympus.dtypes.extended)


def test_arrays_are_instances_of_the_public_class():
    array = EArray(ShapedArray((2,), PAIRED), jnp.ones(2, np.int8))
    assert isinstance(array, EArray) and isinstance(array, olympus.Array)
    assert array.shape == (2,) and array.dtype == PAIRED
    assert isinstance(olympus.random.key(0), EArray) and not isinstance(jnp.ones(2), EArray)
    same = olympus.jit(lambda x: x)(array)
    np.testing.assert_array_equal(same.physical, array.physical)


def test_tangents_have_the_paired_dtype():
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


class MaximumRules:
    """Rules of a dtype whose cotangents are combined by their maximum."""

    @staticmethod
    def physical_element_aval(dtype):
        return ShapedArray((), np.dtype("float32"))

    @staticmethod
    def convert_from(dtype, other):
        return other == np.dtype("float32")

    @staticmethod
    def convert_to(other, dtype):
        return other == np.dtype("float32")

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def add(dtype, x, y):
        numbers = [lax.convert_element_type(value, np.float32) for value in (x, y)]
        return lax.convert_element_type(lax.max(*numbers), dtype)

    @staticmethod
    def zero(dtype):
        return lax.convert_element_type(np.float32(-np.inf), dtype)


class maximum_scalar(olympus.dtypes.extended):
    pass


@dataclasses.dataclass(frozen=True)
class MaximumDType(ExtendedDType):
    _rules: type = MaximumRules
    type: type = maximum_scalar
    name: str = "maximum"


MAXIMUM = MaximumDType()


@olympus.custom_vjp
def statistic(x, state):
    """Returns ``x``; the cotangent of ``state`` is ``x`` itself."""
    return x


statistic.defvjp(
    lambda x, state: (x, x),
    lambda x, cotangent: (cotangent, lax.convert_element_type(x, MAXIMUM)),
)


def plain(x):
    return lax.convert_element_type(x, np.float32)


def test_conversions_of_dtypes_of_libraries():
    state = lax.convert_element_type(jnp.arange(2.0), MAXIMUM)
    assert state.dtype == MAXIMUM and state.shape == (2,)
    assert jnp.asarray(np.arange(2.0, dtype=np.float32), MAXIMUM).dtype == MAXIMUM
    for fun in (plain, olympus.jit(plain), olympus.vmap(plain), olympus.checkpoint(plain)):
        np.testing.assert_array_equal(fun(state), [0, 1])
    np.testing.assert_array_equal(plain(jnp.full(2, 3.0, MAXIMUM)), [3, 3])
    with pytest.raises(ValueError, match="Cannot convert_element_type from maximum to float16"):
        lax.convert_element_type(state, np.float16)


def both(x, state):
    return statistic(x, state) + statistic(3 * x, state)


def in_loop(x, state):
    return lax.fori_loop(0, 3, lambda _, y: statistic(2 * y, state), x)


def in_branch(x, state):
    return lax.cond(x > 0, both, lambda x, state: x, x, state)


@pytest.mark.parametrize(
    ("fun", "largest"),
    [
        (both, 6.0),
        (in_loop, 16.0),
        (in_branch, 6.0),
        (olympus.checkpoint(both), 6.0),
        (lambda x, state: x, -np.inf),
    ],
)
def test_cotangents_are_summed_by_rules_of_dtype(fun, largest):
    state = lax.convert_element_type(jnp.float32(0), MAXIMUM)
    gradient = olympus.grad(fun, argnums=1, allow_int=True)
    assert plain(gradient(2.0, state)) == largest
    assert plain(olympus.jit(gradient)(2.0, state)) == largest
