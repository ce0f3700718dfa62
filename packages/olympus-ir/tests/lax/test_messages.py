# SPDX-License-Identifier: Apache-2.0
"""What messages of wrong operations say: the operation, what was given, what to do."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.errors import OlympusError, ShapeError
from olympus_ir.make import make_olympuspr

X = np.ones((3, 4), np.float32)
V = np.ones(3, np.float32)
I = np.ones(3, np.int32)
ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (
            lambda: lax.add(V, I),
            TypeError,
            r"lax\.add requires .* got float32, int32\. \(Tip: olympus\.numpy\.add is a similar",
        ),
        (
            lambda: lax.add(X, V),
            ShapeError,
            r"number of dimensions, got \{1, 2\} \(operands f32\[3,4\], f32\[3\]\)",
        ),
        (
            lambda: lax.add(V, np.ones(4, np.float32)),
            ShapeError,
            r"add: got incompatible shapes for broadcasting: \(3,\), \(4,\)",
        ),
        (
            lambda: lax.exp(1),
            TypeError,
            r"exp does not accept dtype int32\. Accepted dtypes are subtypes of floating, complexf",
        ),
        (
            lambda: lax.add(V > 0, V > 0),
            TypeError,
            r"add does not accept dtype bool at position 0\. Accepted dtypes at position 0 are",
        ),
        (
            lambda: lax.integer_pow(I, -1),
            TypeError,
            r"Integers cannot .* negative powers, got integer_pow\(i32\[3\], -1\)\. Convert",
        ),
        (
            lambda: lax.pow(V, np.ones(3, np.complex64)),
            TypeError,
            r"got float32 and complex64\. Use olympus\.numpy\.power",
        ),
        (
            lambda: lax.clamp(V, X, 1.0),
            ShapeError,
            r"got min: f32\[3\] and x: f32\[3,4\]\. olympus\.numpy\.clip broadcasts",
        ),
        (
            lambda: lax.select(V > 0, V, X),
            ShapeError,
            r"select cases must have the same shapes, got .* olympus\.numpy\.where broadcasts",
        ),
        (
            lambda: lax.broadcast_in_dim(X, (4, 3), (1, 0)),
            ShapeError,
            r"must increase strictly, got \(1, 0\); use lax\.transpose",
        ),
        (
            lambda: lax.reshape(X, (5,)),
            ShapeError,
            r"got new_sizes \(5,\) \(of 5 elements\) for shape \(3, 4\) \(of 12\)",
        ),
        (
            lambda: lax.reshape(X, (-1,)),
            TypeError,
            r"non-negative sizes, got -1",
        ),
        (
            lambda: lax.reduce_sum(X, (-1,)),
            ValueError,
            r"reduce_sum: axes \(-1,\) contain out-of-bounds indices for f32\[3,4\]; lax axes",
        ),
        (
            lambda: lax.cumsum(X, axis=-1),
            ValueError,
            r"axis -1 is negative; lax axes count from 0",
        ),
        (
            lambda: lax.argmax(X[:0], 0, np.int32),
            ValueError,
            r"argmax requires a non-empty reduced dimension, got axis=0 of f32\[0,4\]",
        ),
        (
            lambda: lax.full((2,), V),
            TypeError,
            r"scalar fill_value, got fill_value.shape \(3,\)\. olympus\.numpy\.full broadcasts",
        ),
        (
            lambda: lax.dynamic_slice(X, (0,), (1, 1)),
            ValueError,
            r"\(1 vs 2 of operand shape \(3, 4\)\)",
        ),
        (
            lambda: lax.slice(X, (0, 0), (4, 4)),
            ShapeError,
            r"start_indices \(0, 0\) and limit_indices \(4, 4\) for operand shape \(3, 4\)",
        ),
        (
            lambda: lax.slice(X, (0, 0), (3, 4), (1, 0)),
            ShapeError,
            r"slice strides must be positive, got strides \(1, 0\)",
        ),
        (
            lambda: lax.gather(X, V[:, None], ROWS, (1, 4)),
            ValueError,
            r"gather indices must have an integer type, got float32",
        ),
        (
            lambda: lax.gather(X, I[:, None], ROWS, (1, 4), mode="wrap"),
            ValueError,
            r"Unknown gather mode 'wrap'; the modes are 'clip', 'fill'",
        ),
        (
            lambda: lax.dot(X, X),
            ValueError,
            r"dimension_numbers must be specified .* got lhs_shape=\(3, 4\) rhs_shape=\(3, 4\)",
        ),
        (
            lambda: lax.dot_general(X, X, (((0,), (1,)), ((), ()))),
            ShapeError,
            r"contracting dimensions to have the same shape, got \(3,\) and \(4,\) \(lhs f32",
        ),
        (
            lambda: lax.dot_general(X, X, (((0,), (0,)), ((), ())), precision="exact"),
            ValueError,
            r"Precision argument must be None, a string in \['highest', .* but got 'exact'",
        ),
        (
            lambda: lax.sort((X, X), num_keys=3),
            ValueError,
            r"num_keys=3 must be between 1 and len\(operand\)=2",
        ),
        (
            lambda: lax.top_k(X, 5),
            ValueError,
            r"k=5 with shape=\[3, 4\] and axis=1",
        ),
        (
            lambda: lax.reduce(X, np.float32(1), lambda x, y: lax.lt(x, y), (0,)),
            TypeError,
            r"must return .* types of its arguments, \['float32\[\]'\], got \['bool\[\]'\]",
        ),
        (
            lambda: lax.Tolerance(),
            ValueError,
            "At least one of atol, rtol and ulps must be set",
        ),
        (
            lambda: lax.Tolerance(atol=-1.0),
            ValueError,
            "Tolerances must be non-negative",
        ),
    ],
)  # fmt: skip
def test_message(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


def test_shape_errors_are_type_errors_and_ours():
    assert issubclass(ShapeError, TypeError)
    assert issubclass(ShapeError, OlympusError)


def test_reduce_refuses_closed_over_tracers():
    with pytest.raises(NotImplementedError, match="pass it as an operand"):
        make_olympuspr(
            lambda x, y: lax.reduce(x, 1.0, lambda a, b: lax.mul(lax.add(a, b), y), (0,))
        )(V, np.float32(2))


def test_parameters_must_be_hashable():
    with pytest.raises(TypeError, match="parameter `axes` of `reduce_sum` must be hashable"):
        lax.reduce_sum_p.bind(X, axes=[0], out_sharding=None)
