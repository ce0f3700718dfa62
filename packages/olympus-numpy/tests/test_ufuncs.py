# SPDX-License-Identifier: Apache-2.0
"""Methods of ufuncs (reduce, accumulate, at, outer, reduceat), and ufuncs made from functions."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir.programs.jit import jit
from olympus_ir.settings.config import enable_x64

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
def test_reduce_equals_numpy(name, axis):
    x = operand(name)
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.reduce(x, axis=axis), theirs.reduce(x, axis=axis))
    close(ours.reduce(x, axis=axis, keepdims=True), theirs.reduce(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("name", NUMERIC)
def test_reduce_over_all_axes_equals_numpy(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.reduce(FLOATS, axis=None), theirs.reduce(FLOATS, axis=None))
    close(ours.reduce(FLOATS, axis=(0, 1)), theirs.reduce(FLOATS, axis=(0, 1)))
    close(ours.reduce(FLOATS, initial=2.0), theirs.reduce(FLOATS, initial=np.float32(2)))
    where = FLOATS > 1
    close(
        ours.reduce(FLOATS, where=where, initial=1.0),
        theirs.reduce(FLOATS, where=where, initial=np.float32(1)),
    )


def test_reduce_of_an_empty_array():
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
def test_accumulate_equals_numpy(name, axis):
    x = operand(name)
    close(getattr(jnp, name).accumulate(x, axis=axis), getattr(np, name).accumulate(x, axis=axis))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_at_updates_as_in_numpy(name):
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
def test_outer_equals_numpy(name):
    x, y = FLOATS, FLOATS[0]
    close(getattr(jnp, name).outer(x, y), getattr(np, name).outer(x, y))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "subtract"])
@pytest.mark.parametrize("indices", [[0, 2], [1, 0], [2, 2], [0]])
def test_reduceat_equals_numpy(name, indices):
    indices = np.array(indices)
    close(
        getattr(jnp, name).reduceat(FLOATS, indices, axis=1),
        getattr(np, name).reduceat(FLOATS, indices, axis=1),
    )


def test_attributes_are_those_of_numpy():
    assert (jnp.add.nin, jnp.add.nout, jnp.add.identity) == (2, 1, 0)
    assert jnp.maximum.identity is None
    assert jnp.add.__name__ == "add"
    assert "'add'" in repr(jnp.add)
    assert "elementwise" in jnp.add.__doc__
    assert jnp.add == jnp.add and hash(jnp.add) == hash(jnp.add)


def test_unsupported_arguments_of_ufuncs():
    with pytest.raises(NotImplementedError, match="where"):
        jnp.add(1, 2, where=True)
    with pytest.raises(NotImplementedError, match="out"):
        jnp.add(1, 2, out=jnp.zeros(()))
    assert int(jnp.add(1, 2, out=None, where=None)) == 3
    with pytest.raises(TypeError):
        jnp.add(1)


def test_frompyfunc_makes_a_ufunc():
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


def test_reduction_starts_from_the_identity():
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


# ---- dtypes that differ from those of the operands ----


@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize("x", [INTEGERS, FLOATS])
def test_logical_accumulations_are_truth_values(name, x):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    for result, expected in (
        (ours.accumulate(x), theirs.accumulate(x)),
        (ours.reduce(x), theirs.reduce(x)),
    ):
        assert result.dtype == np.bool_
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_of_integers_are_floats(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.reduce(INTEGERS), theirs.reduce(INTEGERS.astype(np.float32)))
    close(ours.accumulate(INTEGERS), theirs.accumulate(INTEGERS.astype(np.float32)))
    expected = INTEGERS.astype(np.float32)
    theirs.at(expected, [0, 0], np.float32(2))
    close(ours.at(jnp.asarray(INTEGERS), np.array([0, 0]), 2, inplace=False), expected)


@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
def test_logical_reductions_start_from_initial(name):
    where = np.array([True, False, True])
    for initial in (True, False):
        expected = getattr(np, name).reduce(INTEGERS > 2, where=where, initial=initial)
        result = getattr(jnp, name).reduce(INTEGERS > 2, where=where, initial=initial)
        np.testing.assert_array_equal(result, expected)
    assert getattr(jnp, name).reduce(INTEGERS, dtype="int32").dtype == np.int32


@pytest.mark.parametrize("name", BITWISE)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_bitwise_reductions_equal_numpy(name, dtype):
    x, where = INTEGERS.astype(dtype), np.array([True, False, True])
    ours, theirs = getattr(jnp, name), getattr(np, name)
    np.testing.assert_array_equal(ours.reduce(x, axis=None), theirs.reduce(x, axis=None))
    np.testing.assert_array_equal(ours.reduce(x, where=where), theirs.reduce(x, where=where))
    start = x.dtype.type(1)
    expected = theirs.reduce(x, initial=start, keepdims=True)
    np.testing.assert_array_equal(ours.reduce(x, initial=start, keepdims=True), expected)
    with pytest.raises(ValueError, match="integer argument required; got dtype=float32"):
        ours.reduce(FLOATS)


def test_updates_of_truth_values():
    x = np.array([True, False, False])
    np.testing.assert_array_equal(jnp.add.at(x, np.array([1, 1]), 2, inplace=False), x | [0, 1, 0])
    np.testing.assert_array_equal(
        jnp.multiply.at(x, np.array([0]), 0, inplace=False), np.zeros(3, bool)
    )
    assert jnp.maximum.at(x, np.array([0]), 2, inplace=False).dtype == np.int32


def test_numbers_of_operands():
    assert (jnp.add.nargs, jnp.negative.nargs) == (2, 1)
    assert repr(jnp.add) == "<jnp.ufunc 'add'>"
    x = jnp.zeros(3)
    with pytest.raises(TypeError, match="2 positional arguments, but 1"):
        jnp.add.at(x, 0, inplace=False)
    with pytest.raises(TypeError, match="1 positional argument, but 2"):
        jnp.negative.at(x, 0, 1, inplace=False)
    with pytest.raises(ValueError, match="returning a single value"):
        jnp.frompyfunc(lambda x, y: (x, y), 2, 2).outer(x, x)
    with pytest.raises(TypeError, match="integer"):
        jnp.frompyfunc(abs, 1.5, 1)
    with pytest.raises(TypeError, match="ndarray or scalar"):
        jnp.frompyfunc(abs, 1, 1)([1])


def test_indices_of_reduceat():
    for indices, match in [
        (np.array([0.0]), "integer type"),
        (np.array([[0]]), "one-dimensional"),
    ]:
        with pytest.raises(ValueError, match=match):
            jnp.add.reduceat(FLOATS, indices)


# ---- vectorize ----


def test_vectorize_takes_lists_and_none():
    np.testing.assert_array_equal(jnp.vectorize(lambda x: x + 1)([1, 2]), [2, 3])
    result = jnp.vectorize(lambda x, y: x if y is None else y)(np.arange(3), None)
    np.testing.assert_array_equal(result, [0, 1, 2])
    with pytest.raises(ValueError, match=r"Cannot pass None at locations \{1\}"):
        jnp.vectorize(jnp.dot, signature="(n),(n)->()")(np.arange(3), None)


def test_vectorize_dimension_mismatch_raises():
    dot = jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")
    where = r"on vectorized function with excluded=frozenset\(\) and signature='\(n,m\),\(m\)->"
    with pytest.raises(ValueError, match=rf"inconsistent size for core dimension 'm': .* {where}"):
        dot(np.ones((2, 3)), np.ones(4))
    with pytest.raises(ValueError, match=rf"does not have enough dimensions .* {where}"):
        dot(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="output must be a tuple"):
        jnp.vectorize(lambda x: x, signature="()->(),()")(1.0)
    with pytest.raises(ValueError, match=r"excluded=\{1\} is invalid for 1 argument"):
        jnp.vectorize(lambda x: x, excluded={1})(1.0)


def test_ufuncs_of_equal_functions_are_equal():
    def join(x, y):
        return x + 2 * y

    first, second = (jnp.frompyfunc(join, 2, 1) for _ in range(2))
    assert first == second and hash(first) == hash(second)
    assert first != jnp.frompyfunc(join, 2, 1, identity=0)


def test_reduceat_of_empty_arrays():
    assert jnp.add.reduceat(jnp.arange(6), jnp.array([], int)).tolist() == []
    with pytest.raises(IndexError, match="from an empty axis"):
        jnp.add.reduceat(jnp.arange(0), jnp.array([0]))


def test_missing_arguments_are_named():
    with pytest.raises(TypeError, match=r"add\(\) missing 1 required positional argument: 'y'"):
        jnp.add(1)
    with pytest.raises(TypeError, match=r"add\(\) takes 2 positional arguments but 3 were given"):
        jnp.add(1, 2, 3)


def test_inplace_at_error_suggests_inplace_false():
    with pytest.raises(NotImplementedError, match=r"arr = jnp.multiply.at\(arr, ind, val, inplace"):
        jnp.multiply.at(jnp.arange(3), 0, 1)


def test_errors_of_reductions_and_vectorize_name_argument():
    x = jnp.ones(3)
    with pytest.raises(ValueError, match="where must be None or a boolean array; got where.dtype"):
        jnp.mean(x, where=1)
    with pytest.raises(ValueError, match=r"initial value must be a scalar. Got array of shape"):
        jnp.sum(x, initial=x)
    with pytest.raises(TypeError, match="positional arguments: expected 1, got 2 on vectorized"):
        jnp.vectorize(lambda a: a, signature="(n)->()")(x, 1)
    with pytest.raises(TypeError, match="output must be a tuple when multiple outputs are expect"):
        jnp.vectorize(lambda a: a, signature="()->(),()")(x)


def test_slices_and_sets_with_numbers_of_64_bits():
    with enable_x64():
        x = jnp.asarray([3, 1, 1, 2], np.float32)
        np.testing.assert_array_equal(jnp.add.reduceat(x, jnp.asarray([0, 2])), [4, 3])
        options = {"return_index": True, "return_inverse": True, "return_counts": True}
        results = jnp.unique(x, **options)
        for found, expected in zip(results, np.unique(np.asarray(x), **options), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        results = jnp.intersect1d(x, x[:2], return_indices=True)
        assert [each.dtype for each in results] == [np.float32, np.int64, np.int64]
