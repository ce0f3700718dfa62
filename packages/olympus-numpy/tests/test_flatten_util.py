# SPDX-License-Identifier: Apache-2.0
"""Pytrees as vectors: promotion, the inverse function, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir import make_olympuspr
from olympus_ir.trees import pytrees
from olympus_numpy.arrays.flatten_util import ravel_pytree

TREES = {
    "one_dtype": [jnp.ones(2), jnp.zeros((1, 2))],
    "several_dtypes": {"a": jnp.ones((2, 2)), "b": [jnp.arange(3), jnp.float32(2)]},
    "complex": [jnp.ones(2), 1j * jnp.ones(2)],
    "bool": [jnp.ones(2), jnp.array([True, False])],
    "halves": [jnp.ones(2, "bfloat16"), jnp.ones(1, "float16")],
    "one_array": jnp.ones((2, 3)),
    "no_elements": [jnp.ones((0, 3)), jnp.arange(2)],
    "nothing": {"a": [], "b": None},
}
DTYPES = {"complex": np.complex64}


@pytest.mark.parametrize("name", TREES)
def test_ravel_and_unravel_round_trip(name):
    tree = TREES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vector, unravel = ravel_pytree(tree)
        restored = unravel(vector)
    leaves = pytrees.tree_leaves(tree)
    assert vector.dtype == DTYPES.get(name, np.float32)
    expected = [np.ravel(leaf).astype(vector.dtype) for leaf in leaves]
    np.testing.assert_array_equal(vector, np.concatenate([*expected, np.zeros(0)]))
    assert pytrees.tree_structure(restored) == pytrees.tree_structure(tree)
    for one, other in zip(pytrees.tree_leaves(restored), leaves, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)


def test_equal_weak_types_stay_weak():
    vector, _ = ravel_pytree([1, 2])
    assert vector.weak_type and vector.dtype == np.int32
    mixed, unravel = ravel_pytree([1, 2.0])
    assert not mixed.weak_type and mixed.dtype == np.float32
    assert [leaf.dtype for leaf in unravel(mixed)] == [np.int32, np.float32]


def test_raveling_traces_to_reshapes_and_concatenation():
    vector, unravel = ravel_pytree(TREES["several_dtypes"])
    there = make_olympuspr(lambda tree: ravel_pytree(tree)[0])(TREES["several_dtypes"])
    assert str(there) == (
        "{ lambda ; a:f32[2,2] b:i32[3] c:f32[]. let\n"
        "    d:f32[4] = reshape[dimensions=None new_sizes=(4,) sharding=None] a\n"
        "    e:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] b\n"
        "    f:f32[1] = reshape[dimensions=None new_sizes=(1,) sharding=None] c\n"
        "    g:f32[8] = concatenate[dimension=0] d e f\n"
        "  in (g,) }"
    )
    assert str(make_olympuspr(unravel)(vector)) == (
        "{ lambda ; a:f32[8]. let\n"
        "    b:f32[4] c:f32[3] d:f32[1] = split[axis=0 sizes=(4, 3, 1)] a\n"
        "    e:f32[2,2] = reshape[dimensions=None new_sizes=(2, 2) sharding=None] b\n"
        "    f:i32[3] = convert_element_type[new_dtype=int32 weak_type=False] c\n"
        "    g:f32[] = reshape[dimensions=None new_sizes=() sharding=None] d\n"
        "  in (e, f, g) }"
    )


def test_unravel_with_another_dtype():
    _, unravel = ravel_pytree(TREES["one_dtype"])
    assert unravel(jnp.arange(4))[1].dtype == np.int32
    vector, unravel = ravel_pytree(TREES["several_dtypes"])
    with pytest.raises(TypeError, match="given array of dtype int32, but expected dtype float32"):
        unravel(vector.astype(int))


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_python_numbers_have_the_default_dtype(narrow):
    vector, unravel = ravel_pytree([jnp.ones(2, narrow), jnp.arange(3), 2.0])
    assert vector.dtype == np.float32
    assert [leaf.dtype.name for leaf in unravel(vector)] == [narrow, "int32", "float32"]


def test_unravel_with_another_length_raises():
    vector, unravel = ravel_pytree(TREES["one_dtype"])
    with pytest.raises(ValueError, match="4"):
        unravel(vector[:3])


def test_unravel_functions_of_equal_structures_are_equal():
    (_, one), (_, same) = ravel_pytree([1.0, 2]), ravel_pytree([3.0, 4])
    _, other = ravel_pytree([1.0, 2.0])
    assert one == same and hash(one) == hash(same)
    assert one != other
