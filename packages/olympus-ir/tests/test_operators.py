# SPDX-License-Identifier: Apache-2.0
"""Operators of arrays without olympus-numpy."""

from __future__ import annotations

import operator
import subprocess
import sys

import numpy as np
import pytest

from olympus_ir import lax, operators
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.types.arrays import ArrayBase

# In a process that has imported olympus-numpy the operators are NumPy's, which need not be strict.
pytestmark = pytest.mark.skipif(
    ArrayBase.__getitem__ is not operators._getitem, reason="olympus-numpy has replaced them"
)

X = lax.iota(np.float32, 4)
I = lax.iota(np.int32, 4)


@pytest.mark.parametrize(
    "operation",
    [operator.add, operator.sub, operator.mul, operator.lt, operator.ge, operator.eq, operator.ne],
)
def test_binary_operators_equal_those_of_numpy(operation):
    expected = operation(np.asarray(X), np.asarray(X)[::-1])
    assert np.asarray(operation(X, X[::-1])).tolist() == expected.tolist()
    assert np.asarray(operation(X, 2)).tolist() == operation(np.asarray(X), 2).tolist()
    assert np.asarray(operation(2, X)).tolist() == operation(2, np.asarray(X)).tolist()


def test_division_power_and_matrix_product():
    assert (1 / (X + 1)).tolist() == [1, 0.5, np.float32(1 / 3), 0.25]
    assert (X**2).tolist() == [0, 1, 4, 9]
    assert ((X + 1) ** 0.5).tolist() == np.sqrt(np.arange(1, 5, dtype=np.float32)).tolist()
    assert (2.0**X).tolist() == [1, 2, 4, 8]
    assert float(X @ X) == 14


def test_operators_of_bits_equal_those_of_integers():
    assert (I & 1).tolist() == [0, 1, 0, 1]
    assert (I | 4).tolist() == [4, 5, 6, 7]
    assert (I ^ I).tolist() == [0] * 4
    assert (~I).tolist() == [-1, -2, -3, -4]
    assert (I << 1).tolist() == [0, 2, 4, 6]
    assert (-I >> 1).tolist() == [0, -1, -1, -2]


def test_unary_operators_and_methods():
    assert (-X).tolist() == [0, -1, -2, -3]
    assert abs(-X).tolist() == (+X).tolist() == [0, 1, 2, 3]
    matrix = X.reshape(2, 2)
    assert matrix.T.tolist() == [[0, 2], [1, 3]]
    assert (float(matrix.sum()), matrix.sum(-1).tolist()) == (6, [1, 5])
    assert X.astype(np.int8).dtype == np.int8


def test_python_scalars_take_dtype_of_array():
    x = lax.full((2,), 1, np.float16)
    assert (x + 1).dtype == (2.5 * x).dtype == np.float16
    assert (I + 1).dtype == np.int32
    assert (lax.full((2,), 1, np.int8) + 1).dtype == np.int8


@pytest.mark.parametrize("other", [2.5, 1j, np.float32(1), lax.iota(np.uint8, 4)])
def test_dtypes_are_not_promoted(other):
    with pytest.raises(TypeError, match=r"lax\.add requires arguments to have the same dtypes"):
        I + other


@pytest.mark.parametrize("other", ["a", [1, 2, 3, 4], None])
def test_unsupported_operands_raise(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        X + other
    assert (other == X) is False


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(2, 2), None, ..., (..., 1)],
)
def test_indexing_a_vector(index):
    assert np.asarray(X[index]).tolist() == np.asarray(X)[index].tolist()


@pytest.mark.parametrize(
    "index",
    [
        1,
        (1, 2),
        (slice(None), -1),
        (0, slice(0, 3, 2)),
        (..., 0),
        (None, 1, ..., None),
        (1, ..., 2),
    ],
)
def test_indexing_a_matrix(index):
    x = np.arange(12).reshape(3, 4)
    assert np.asarray(lax.add(x, 0)[index]).tolist() == x[index].tolist()


def test_indexing_by_a_traced_scalar():
    program = make_olympuspr(lambda x, i: x[i])(X, 1)
    assert program.out_avals[0].shape == ()


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (4, IndexError, "index 4 is out of bounds for axis 0 with size 4"),
        ((0, 0), IndexError, "array is 1-dimensional, but 2 were indexed"),
        ((..., ...), IndexError, "single ellipsis"),
        (1.5, TypeError, "indices must be integers, slices, None or the ellipsis, got 1.5"),
        (I, TypeError, "olympus-numpy adds NumPy's indexing by arrays"),
    ],
)
def test_invalid_indices_raise(index, error, message):
    with pytest.raises(error, match=message):
        X[index]


def test_tracers_have_the_operators():
    program = make_olympuspr(lambda x: (x * 2 + 1)[0])(X)
    names = [equation.primitive.name for equation in program.eqns]
    assert names == ["mul", "add", "slice", "squeeze"]


def test_importing_olympus_ir_attaches_them():
    code = (
        "import olympus_ir; from olympus_ir import lax; print((lax.iota('int32', 2) + 1).tolist())"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[1, 2]"
