# SPDX-License-Identifier: Apache-2.0
"""Error messages of operations: the operation, the given value, the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.diagnostics.errors import OlympusError, ShapeError
from olympus_ir.programs.make import make_olympuspr

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
            lambda: lax.dot(X.T, V, precision=[[1], [2, 3]]),
            ValueError,
            r"Precision argument must be one of: None, a string in",
        ),
        (
            lambda: lax.bitcast_convert_type(V, None),
            ValueError,
            r"bitcast_convert_type: dtype must be specified\.",
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
            r"got min\.shape=\(3,\), operand\.shape=\(3, 4\)\. olympus\.numpy\.clip broadcasts",
        ),
        (
            lambda: lax.select(V > 0, V, X),
            ShapeError,
            r"select cases must have the same shapes, got .* olympus\.numpy\.where broadcasts",
        ),
        (
            lambda: lax.broadcast_in_dim(X, (4, 3), (1, 1)),
            ShapeError,
            r"must not contain duplicates, got \(1, 1\)",
        ),
        (
            lambda: lax.broadcast_in_dim(X, (4,), (0, 1)),
            ShapeError,
            "target broadcast shape must have equal or higher rank to the operand shape",
        ),
        (
            lambda: lax.squeeze(np.ones((1, 1)), (0, -2)),
            ValueError,
            "dimensions are not unique",
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
            r"reduction axes \(-1,\) contains out-of-bounds indices for float32\[3,4\]; lax acc",
        ),
        (
            lambda: lax.cumsum(X, axis=-1),
            ValueError,
            r"axis -1 is negative; lax accepts axes from 0.*XLA operations do not allow negative",
        ),
        (
            lambda: lax.reduce(X, V, lax.add, (0,)),
            ValueError,
            r"reduce found non-scalar initial value: shape \(3,\)",
        ),
        (
            lambda: lax.argmax(X[:0], 0, np.int32),
            ValueError,
            r"require non-empty reduced dimension; argmax got axis=0 of f32\[0,4\]",
        ),
        (
            lambda: lax.full((2,), V),
            TypeError,
            r"scalar fill_value, got fill_value.shape \(3,\)\. olympus\.numpy\.full broadcasts",
        ),
        (
            lambda: lax.dynamic_slice(X, (0,), (1, 1)),
            ValueError,
            r"Length of slice indices must match .* \(1 vs 2 of operand shape \(3, 4\)\)",
        ),
        (
            lambda: lax.slice(X, (0, 0), (4, 4)),
            ShapeError,
            r"limit_indices must be less than or equal to operand shape, got limit_indices",
        ),
        (
            lambda: lax.slice(X, (-1, 0), (3, 4)),
            ShapeError,
            r"start_indices must have every element be nonnegative, got \(-1, 0\); slice_in_dim",
        ),
        (
            lambda: lax.slice(X, (0, 2), (3, 1)),
            ShapeError,
            r"greater than or equal to start_indices, got start_indices \(0, 2\) and limit_indices",
        ),
        (
            lambda: lax.slice(X, (0, 0), (3, 4), (1, 0)),
            ShapeError,
            r"slice strides must have every element be positive, got strides \(1, 0\); lax\.rev",
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
            r"Precision argument must be one of: None, a string in \['highest', .* but got 'exact'",
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
def test_messages_state_the_mistake(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


GATHER = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset_dims": (2,)}, "Offset dimension 0 in gather op is out of bounds"),
        ({"offset_dims": (1, 0)}, "offset_dims in gather op must be sorted"),
        ({"offset_dims": (1, 1)}, "offset_dims in gather op must not repeat"),
        ({"offset_dims": ()}, "must either be a offset dimension or explicitly collapsed"),
        ({"collapsed_slice_dims": (3,)}, "Invalid collapsed_slice_dims set in gather op"),
        ({"start_index_map": (0, 1)}, "has 2 elements in start_index_map and the bound of dim"),
        ({"start_index_map": (5,)}, "Invalid start_index_map mapping in gather op"),
        ({"operand_batching_dims": (0,)}, "collapsed_slice_dims and operand_batching_dims .* disj"),
        (
            {"collapsed_slice_dims": (), "operand_batching_dims": (0,)},
            "start_index_map and operand_batching_dims in gather op must be disjoint",
        ),
        (
            {"start_indices_batching_dims": (1,)},
            "Gather op cannot have the index vector dimension as a batching dimension",
        ),
        (
            {"operand_batching_dims": (1,), "offset_dims": ()},
            "Gather op requires equal numbers of operand_batching_dims and start_indices_b",
        ),
        (
            {"operand_batching_dims": (1,), "start_indices_batching_dims": (0,), "offset_dims": ()},
            r"batching dimensions to have the same shape, got \[4\] and \[2\]",
        ),
    ],
)
def test_dimension_numbers_of_gather(changes, message):
    numbers = lax.GatherDimensionNumbers(**(GATHER | changes))
    with pytest.raises(TypeError, match=message):
        lax.gather(X, np.zeros((2, 1), np.int32), numbers, (1, 4))


def test_windows_of_gather():
    with pytest.raises(TypeError, match="one slice size for every input dimension"):
        lax.gather(X, np.zeros((2, 1), np.int32), ROWS, (4,))
    with pytest.raises(TypeError, match="bound 1, but bound is 2 for index 0 at position 0"):
        lax.gather(X, np.zeros((2, 1), np.int32), ROWS, (2, 4))


SCATTER = {
    "update_window_dims": (1,),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
}


@pytest.mark.parametrize("operation", [lax.scatter, lax.scatter_add])
@pytest.mark.parametrize(
    ("shape", "changes", "message"),
    [
        ((2, 5), {}, r"Bounds of the window dimensions .* got \[5\] and \[4\]"),
        ((1, 4), {}, r"Bounds of the scatter dimensions .* got \[1\] and \[2\]"),
        ((2, 4, 1), {}, "Updates tensor must be of rank 2; got 3"),
        ((2, 4), {"inserted_window_dims": ()}, "window of size 1; doesn't match operand of rank 2"),
        ((2, 4), {"update_window_dims": (2,)}, "Invalid update_window_dims set in scatter op"),
        (
            (2, 4),
            {"scatter_dims_to_operand_dims": (0, 1)},
            "Scatter op has 2 elements in scatter_dims_to_operand_dims and the bound of dimension",
        ),
        (
            (2, 4),
            {"operand_batching_dims": (0,)},
            "inserted_window_dims and operand_batching_dims in scatter op must be disjoint",
        ),
    ],
)
def test_dimension_numbers_of_scatter(operation, shape, changes, message):
    numbers = lax.ScatterDimensionNumbers(**(SCATTER | changes))
    with pytest.raises(TypeError, match=message):
        operation(X, np.zeros((2, 1), np.int32), np.ones(shape, np.float32), numbers)


def test_top_k_index_overflow_raises():
    huge = ShapeDtypeStruct((2**31,), np.int8)
    with pytest.raises(ValueError, match="int32 indices, which will overflow"):
        make_olympuspr(lambda x: lax.top_k(x, 2))(huge)


def test_kinds_of_shape_errors():
    assert issubclass(ShapeError, TypeError)
    assert issubclass(ShapeError, ValueError)
    assert issubclass(ShapeError, OlympusError)


def test_reduce_refuses_closed_over_tracers():
    with pytest.raises(NotImplementedError, match="pass the value as an operand"):
        make_olympuspr(
            lambda x, y: lax.reduce(x, 1.0, lambda a, b: lax.mul(lax.add(a, b), y), (0,))
        )(V, np.float32(2))


def test_parameters_must_be_hashable():
    with pytest.raises(TypeError, match="parameter `axes` of `reduce_sum` must be hashable"):
        make_olympuspr(lambda x: lax.reduce_sum_p.bind(x, axes=[0], out_sharding=None))(X)


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (
            lambda: lax.select_n(True, 1.0, 2.0, 3.0),
            TypeError,
            "select with boolean `which` cannot",
        ),
        (lambda: lax.rev(V, (1,)), TypeError, "must all be less than operand ndim, got dimensions"),
        (lambda: lax.sort([]), TypeError, "Sort requires at least one operand"),
        (lambda: lax.batch_matmul(V, X), ValueError, "must be at least 2D"),
        (lambda: lax.batch_matmul(X[None], X), ValueError, "must have same ndim"),
        (
            lambda: lax.dynamic_slice(V, (0,), (9,)),
            TypeError,
            "slice_sizes must be less than or equal to operand shape",
        ),
        (lambda: lax.convert_element_type(1j, np.float32), TypeError, "convert its real part"),
        (
            lambda: lax.ragged_all_to_all(X, X, V, I, I, I, axis_name="i"),
            ValueError,
            "ragged_all_to_all input_offsets must be integer type",
        ),
    ],
)
def test_messages_match_patterns_for_jax(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


def test_casts_of_complex_arrays_warn():
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        lax.convert_element_type(np.ones(2, np.complex64), np.float32)


def test_shape_as_value_is_concrete():
    result = lax.shape_as_value((2, 3))
    assert type(result) is np.ndarray
    assert result.tolist() == [2, 3]
