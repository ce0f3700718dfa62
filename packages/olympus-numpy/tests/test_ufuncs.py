# SPDX-License-Identifier: Apache-2.0
"""The methods of ufuncs: reduce, accumulate, at, outer, reduceat; and ufuncs made of functions."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir.jit import jit

FLOATS = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 1.5]], np.float32)
INTEGERS = np.array([[3, 1, 2], [7, 4, 1]], np.int32)
NUMERIC = ["add", "multiply", "maximum", "minimum"]
WITHOUT_FAST_PATH = ["subtract", "logaddexp", "logaddexp2"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]


def close(result, expected):
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5)


def operand(name):
    return INTEGERS if name in BITWISE or name in LOGICAL else FLOATS


@pytest.mark.parametrize("name", NUMERIC + WITHOUT_FAST_PATH + BITWISE + LOGICAL)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reduce(name, axis):
    x = operand(name)
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.reduce(x, axis=axis), theirs.reduce(x, axis=axis))
    close(ours.reduce(x, axis=axis, keepdims=True), theirs.reduce(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("name", NUMERIC)
def test_reduce_all(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.reduce(FLOATS, axis=None), theirs.reduce(FLOATS, axis=None))
    close(ours.reduce(FLOATS, axis=(0, 1)), theirs.reduce(FLOATS, axis=(0, 1)))
    close(ours.reduce(FLOATS, initial=2.0), theirs.reduce(FLOATS, initial=np.float32(2)))
    where = FLOATS > 1
    close(
        ours.reduce(FLOATS, where=where, initial=1.0),
        theirs.reduce(FLOATS, where=where, initial=np.float32(1)),
    )


def test_reduce_of_nothing():
    close(jnp.add.reduce(jnp.zeros((0, 2))), np.zeros(2))
    close(jnp.multiply.reduce(jnp.zeros((0, 2))), np.ones(2))
    with pytest.raises(ValueError, match="zero-size"):
        jnp.maximum.reduce(jnp.zeros((0, 2)))
    with pytest.raises(ValueError, match="identity"):
        jnp.maximum.reduce(FLOATS, where=FLOATS > 1)
    with pytest.raises(NotImplementedError, match="out"):
        jnp.add.reduce(FLOATS, out=FLOATS)


@pytest.mark.parametrize("name", NUMERIC + WITHOUT_FAST_PATH + BITWISE)
@pytest.mark.parametrize("axis", [0, 1])
def test_accumulate(name, axis):
    x = operand(name)
    close(getattr(jnp, name).accumulate(x, axis=axis), getattr(np, name).accumulate(x, axis=axis))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_at(name):
    indices = np.array([0, 1, 0])
    updates = np.array([5.0, -2.0, 3.0], np.float32)
    expected = FLOATS[0].copy()
    getattr(np, name).at(expected, indices, updates)
    x = jnp.asarray(FLOATS[0])
    close(getattr(jnp, name).at(x, indices, updates, inplace=False), expected)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        getattr(jnp, name).at(x, indices, updates)


def test_at_of_unary_functions():
    expected = FLOATS[0].copy()
    np.negative.at(expected, [1])
    close(jnp.negative.at(jnp.asarray(FLOATS[0]), np.array([1]), inplace=False), expected)


@pytest.mark.parametrize("name", NUMERIC + WITHOUT_FAST_PATH)
def test_outer(name):
    x, y = FLOATS, FLOATS[0]
    close(getattr(jnp, name).outer(x, y), getattr(np, name).outer(x, y))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "subtract"])
@pytest.mark.parametrize("indices", [[0, 2], [1, 0], [2, 2], [0]])
def test_reduceat(name, indices):
    indices = np.array(indices)
    close(
        getattr(jnp, name).reduceat(FLOATS, indices, axis=1),
        getattr(np, name).reduceat(FLOATS, indices, axis=1),
    )


def test_attributes():
    assert (jnp.add.nin, jnp.add.nout, jnp.add.identity) == (2, 1, 0)
    assert jnp.maximum.identity is None
    assert jnp.add.__name__ == "add"
    assert "'add'" in repr(jnp.add)
    assert "elementwise" in jnp.add.__doc__
    assert jnp.add == jnp.add and hash(jnp.add) == hash(jnp.add)


def test_what_a_call_refuses():
    with pytest.raises(NotImplementedError, match="where"):
        jnp.add(1, 2, where=True)
    with pytest.raises(NotImplementedError, match="out"):
        jnp.add(1, 2, out=jnp.zeros(()))
    assert int(jnp.add(1, 2, out=None, where=None)) == 3
    with pytest.raises(TypeError):
        jnp.add(1)


def test_made_of_a_function():
    horner = jnp.frompyfunc(lambda x, y: 10 * x + y, 2, 1)
    digits = jnp.array([1, 2, 3])
    close(horner(digits, 5), np.array([15, 25, 35]))
    close(horner.reduce(digits), np.array(123))
    close(horner.accumulate(digits), np.array([1, 12, 123]))
    close(horner.outer(digits, digits[:2]), np.array([[11, 12], [21, 22], [31, 32]]))
    close(horner.at(digits, np.array([0, 0]), 7, inplace=False), np.array([177, 2, 3]))
    close(horner.reduceat(digits, np.array([0, 1])), np.array([1, 23]))
    with pytest.raises(ValueError, match="zero-size"):
        horner.reduce(digits[:0])
    successor = jnp.frompyfunc(lambda x: x + 1, 1, 1)
    close(successor(digits), np.array([2, 3, 4]))
    with pytest.raises(ValueError, match="binary"):
        successor.reduce(digits)


def test_an_identity_is_where_a_reduction_begins():
    poly = jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1, identity=0)
    close(poly.reduce(jnp.array([0, 1, 2, 3])), np.array(16))
    close(poly.reduce(jnp.zeros((0,), int)), np.array(0))


def test_methods_under_jit():
    def functions(x, index):
        return (
            jnp.add.reduce(x),
            jnp.subtract.reduce(x, axis=1),
            jnp.multiply.accumulate(x),
            jnp.add.at(x, index, 1.0, inplace=False),
            jnp.maximum.outer(x, x),
        )

    for one, other in zip(jit(functions)(FLOATS, 1), functions(FLOATS, 1), strict=True):
        close(one, np.asarray(other))
