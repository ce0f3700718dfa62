# SPDX-License-Identifier: Apache-2.0
"""Comparison of operations on BCOO in all layouts with NumPy on the dense arrays."""

from __future__ import annotations

import functools
import itertools
import operator
import warnings

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
from sparse_layouts import dense, layouts, same, scattered

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.lax.indexing.gathering import GatherDimensionNumbers
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.trees import pytrees
from olympus_sparse import (
    BCOO,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_fromdense,
    bcoo_gather,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_sort_indices,
    bcoo_squeeze,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
)
from olympus_sparse.core.entries import first_of_equals

SHAPE = (2, 3, 4)
LAYOUTS = list(layouts(3))
ids = {"ids": str}


# ---- from and to dense arrays ----


@pytest.mark.parametrize("n_batch, n_dense", [(b, d) for b, d, s in LAYOUTS if not any(s)])
@pytest.mark.parametrize("extra", [0, 3])
def test_dense_arrays_survive_the_round_trip(n_batch, n_dense, extra):
    expected = dense(SHAPE)
    mat = BCOO.fromdense(expected, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_dense, mat.n_sparse) == (n_batch, n_dense, 3 - n_batch - n_dense)
    assert mat.indices_sorted and mat.unique_indices
    same(mat, expected)
    same(BCOO.fromdense(expected, n_batch=n_batch, n_dense=n_dense, nse=mat.nse + extra), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.complex64, np.bool_])
def test_values_keep_their_dtype(dtype):
    expected = dense((3, 4), dtype=dtype)
    mat = BCOO.fromdense(expected, index_dtype=np.int16)
    assert mat.dtype == dtype and mat.indices.dtype == np.int16
    assert mat.todense().dtype == dtype
    same(mat.todense().astype(np.complex64), expected.astype(np.complex64))


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
def test_duplicates_are_summed_and_padding_ignored(n_batch, n_dense, shared):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    same(mat, expected)
    same(jit(BCOO.todense)(mat), expected)


def test_fromdense_with_small_nse_keeps_first_entries():
    mat = BCOO.fromdense(np.array([1, 0, 2, 3]), nse=2)
    same(mat, [1, 0, 2, 0])


def test_traced_nse_raises():
    with pytest.raises(ConcretizationTypeError, match="nse"):
        jit(BCOO.fromdense)(dense((3, 4)))
    with pytest.raises(ValueError, match="nse must be specified"):
        jit(bcoo_sum_duplicates)(BCOO.fromdense(dense((3, 4))))


@pytest.mark.parametrize(
    "data, indices, shape, error, message",
    [
        ((3,), (4, 2), (3, 4), ValueError, "Invalid data.shape"),
        ((3, 2), (3, 2), (3, 4), ValueError, "Invalid data.shape"),
        ((), (3, 2), (3, 4), ValueError, "Invalid data.shape"),
        ((3,), (3,), (3,), ValueError, "n_sparse"),
        ((3,), (3, 3), (3, 4), ValueError, "cannot have 0 batch and 3 sparse"),
        ((2, 3), (3, 3, 1), (3, 4), ValueError, "data batch dimensions not compatible"),
        ((3, 3), (2, 3, 1), (3, 4), ValueError, "indices batch dimensions not compatible"),
    ],
)
def test_inconsistent_buffers_raise(data, indices, shape, error, message):
    with pytest.raises(error, match=message):
        BCOO((np.ones(data), np.ones(indices, int)), shape=shape)


def test_coordinates_are_integers():
    with pytest.raises(TypeError, match="must be integers"):
        BCOO((np.ones(3), np.ones((3, 1))), shape=(4,))


# ---- layout and order ----


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("target", [(b, d) for b, d, s in LAYOUTS if not any(s)], **ids)
def test_update_layout_keeps_the_array(n_batch, n_dense, shared, target):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    out = bcoo_update_layout(mat, n_batch=target[0], n_dense=target[1], on_inefficient=None)
    assert (out.n_batch, out.n_dense) == target
    same(out, expected)


def test_update_layout_reports_inefficiency():
    mat, _ = scattered((3, 4))
    with pytest.raises(SparseEfficiencyError, match="increasing n_batch from 0 to 1"):
        mat.update_layout(n_batch=1)
    with pytest.warns(SparseEfficiencyWarning, match="increasing n_dense from 0 to 1"):
        mat.update_layout(n_dense=1, on_inefficient="warn")
    with pytest.raises(ValueError, match="cannot be larger than mat.ndim=2"):
        mat.update_layout(n_batch=2, n_dense=1)
    with pytest.raises(ValueError, match="on_inefficient"):
        mat.update_layout(n_batch=1, on_inefficient="ignore")


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
def test_sorting_and_summing_duplicates_keep_the_array(n_batch, n_dense, shared):
    mat, expected = scattered(SHAPE, n_batch, n_dense, nse=9, shared=shared)
    ordered = bcoo_sort_indices(mat)
    assert ordered.indices_sorted
    same(ordered, expected)
    indices = np.asarray(ordered.indices)
    for each in (indices[place] for place in np.ndindex(*indices.shape[:-2])):
        assert [*map(tuple, each)] == sorted(map(tuple, each))
    for out in (mat.sum_duplicates(), mat.sum_duplicates(nse=12), mat.sum_duplicates(nse=9)):
        assert out.unique_indices and out.indices_sorted
        same(out, expected)
    same(mat.sum_duplicates(remove_zeros=False), expected)


def test_sum_duplicates_removes_zeros():
    mat = BCOO((np.array([1, -1, 0, 2]), np.array([[0], [0], [1], [2]])), shape=(4,))
    assert mat.sum_duplicates().nse == 2  # 1 - 1 is stored as an entry, the 0 is not
    assert mat.sum_duplicates(remove_zeros=False).nse == 3


def test_batches_keep_as_many_entries_as_their_largest_example_needs():
    indices = np.array([[[0], [0], [1]], [[1], [0], [3]], [[2], [2], [2]]])
    data = np.arange(1.0, 10).reshape(3, 3).astype(np.float32)

    def summed(data, indices):
        mat = BCOO((data, indices), shape=(4,)).sum_duplicates()
        return mat.data, mat.todense()

    expected = np.zeros((3, 4))
    np.add.at(expected, (np.arange(3)[:, None], indices[..., 0]), data)
    for fun in (vmap(summed), lambda *args: vmap(vmap(summed))(*[x[None] for x in args])):
        entries, found = fun(data, indices)
        assert entries.shape[-1] == 3
        np.testing.assert_array_equal(np.reshape(found, (3, 4)), expected)
    entries, _ = vmap(summed)(data[::2], indices[::2])
    assert entries.shape == (2, 2)
    with pytest.raises(ValueError, match="nse must be specified"):
        vmap(jit(summed))(data, indices)


# ---- shapes ----


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), **ids)
def test_transpositions_keep_the_kinds_of_dimensions(n_batch, n_dense, shared, order):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    parts = (order[:n_batch], order[3 - n_dense :])
    if set(parts[0]) != set(range(n_batch)) or set(parts[1]) != set(range(3 - n_dense, 3)):
        with pytest.raises(NotImplementedError, match="cannot permute"):
            bcoo_transpose(mat, permutation=order)
    else:
        same(bcoo_transpose(mat, permutation=order), expected.transpose(order))


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize(
    "shape, dims",
    [
        ((2, 3, 4, 1), (0, 1, 2)),
        ((5, 2, 3, 4), (1, 2, 3)),
        ((2, 5, 3, 4), (0, 2, 3)),
        ((2, 3, 4, 2), (0, 1, 2)),
        ((2, 1, 3, 1, 4, 1), (0, 2, 4)),
        ((2, 3, 4), (0, 1, 2)),
    ],
    **ids,
)
def test_broadcasts_equal_dense_ones(n_batch, n_dense, shared, shape, dims):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    inner = [1] * len(shape)
    for size, dim in zip(SHAPE, dims, strict=True):
        inner[dim] = size
    out = bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=dims)
    same(out, np.broadcast_to(expected.reshape(inner), shape))


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_dimensions_of_size_one_are_broadcast(n_batch, n_dense):
    mat, expected = scattered((1, 1, 1), n_batch, n_dense, nse=3)
    same(
        bcoo_broadcast_in_dim(mat, shape=(2, 3, 4), broadcast_dimensions=(0, 1, 2)),
        np.broadcast_to(expected, (2, 3, 4)),
    )


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("dimension", range(3))
def test_concatenations_equal_dense_ones(n_batch, n_dense, shared, dimension):
    shape = list(SHAPE)
    shape[dimension] = 3
    one, first = scattered(SHAPE, n_batch, n_dense, shared=shared)
    two, second = scattered(shape, n_batch, n_dense, nse=3, seed=1, shared=shared)
    out = bcoo_concatenate([one, two], dimension=dimension)
    same(out, np.concatenate([first, second], axis=dimension))


@pytest.mark.parametrize(
    "shape, n_batch, n_dense, new_shape",
    [
        ((12,), 0, 0, (3, 4)),
        ((3, 4), 0, 0, (12,)),
        ((3, 4), 0, 0, (2, 6)),
        ((3, 4), 0, 0, (3, 2, 2)),
        ((3, 4), 0, 0, (1, 3, 1, 4, 1)),
        ((2, 1, 6), 0, 0, (3, 4)),
        ((2, 3, 4), 1, 0, (2, 12)),
        ((2, 3, 4), 1, 0, (2, 1, 6, 2)),
        ((4, 3, 2), 1, 0, (2, 2, 6)),
        ((2, 3, 4), 0, 1, (6, 4)),
        ((2, 3, 4), 0, 1, (6, 2, 2)),
        ((2, 3, 4), 1, 1, (1, 2, 3, 4)),
        ((2, 3, 4), 1, 1, (2, 3, 1, 2, 2)),
        ((2, 3), 2, 0, (6,)),
        ((2, 3), 0, 2, (3, 2)),
        ((1, 1), 0, 0, ()),
    ],
    **ids,
)
def test_reshapes_equal_dense_ones(shape, n_batch, n_dense, new_shape):
    mat, expected = scattered(shape, n_batch, n_dense)
    same(bcoo_reshape(mat, new_sizes=new_shape), expected.reshape(new_shape))
    if len(shape) > 1 and n_batch == n_dense == 0 and math_equal(shape, new_shape):
        order = tuple(range(len(shape)))[::-1]
        out = bcoo_reshape(mat, new_sizes=new_shape, dimensions=order)
        same(out, expected.transpose(order).reshape(new_shape))


def math_equal(shape, new_shape):
    return np.prod(shape, dtype=int) == np.prod(new_shape, dtype=int)


def test_reshape_across_kinds_of_dimensions_raises():
    mat, _ = scattered((2, 3, 4), n_batch=1)
    with pytest.raises(ValueError, match="cannot mix batch and sparse dimensions"):
        bcoo_reshape(mat, new_sizes=(3, 8))
    mat, _ = scattered((2, 3, 4), n_dense=1)
    with pytest.raises(ValueError, match="cannot mix sparse and dense dimensions"):
        bcoo_reshape(mat, new_sizes=(2, 12))
    with pytest.raises(ValueError, match="cannot reshape"):
        bcoo_reshape(mat, new_sizes=(2, 13))


def test_large_arrays_are_reshaped_without_large_numbers():
    mat = BCOO((np.ones(1), np.array([[2**20, 2**19, 3]])), shape=(2**21, 2**20, 8))
    out = bcoo_reshape(mat, new_sizes=(2**21, 2, 2**19, 8))
    assert np.asarray(out.indices).tolist() == [[2**20, 1, 0, 3]]


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), ()], **ids)
def test_reversals_equal_dense_ones(n_batch, n_dense, shared, dims):
    mat, expected = scattered(SHAPE, n_batch, n_dense, shared=shared)
    same(bcoo_rev(mat, dims), np.flip(expected, dims))


@pytest.mark.parametrize("n_batch, n_dense", [(b, d) for b, d, s in LAYOUTS if not any(s)])
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()], **ids)
def test_squeezes_equal_dense_ones(n_batch, n_dense, dims):
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(SHAPE))
    mat, expected = scattered(shape, n_batch, n_dense)
    same(bcoo_squeeze(mat, dimensions=dims), expected.squeeze(dims))


def test_squeezed_dimensions_have_size_one():
    with pytest.raises(ValueError, match="size not equal to one"):
        bcoo_squeeze(scattered(SHAPE)[0], dimensions=(0,))


# ---- slices, gathers, concatenation ----

SLICES = [
    ((0, 0, 0), (2, 3, 4), None),
    ((0, 1, 1), (2, 3, 3), None),
    ((1, 0, 0), (2, 3, 4), (1, 2, 3)),
    ((0, 0, 0), (0, 3, 4), None),
    ((1, 1, 1), (2, 2, 2), None),
    ((0, 2, 3), (2, 2, 3), None),
]


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("starts, limits, strides", SLICES, **ids)
def test_slices_equal_dense_ones(n_batch, n_dense, shared, starts, limits, strides):
    mat, expected = scattered(SHAPE, n_batch, n_dense, nse=9, shared=shared)
    out = bcoo_slice(mat, start_indices=starts, limit_indices=limits, strides=strides)
    same(out, expected[tuple(map(slice, starts, limits, strides or (1, 1, 1)))])


@pytest.mark.parametrize("n_batch, n_dense, shared", LAYOUTS, **ids)
@pytest.mark.parametrize("starts", [(0, 0, 0), (1, 1, 1), (-1, 7, -2)], **ids)
def test_dynamic_slices_equal_dense_ones(n_batch, n_dense, shared, starts):
    mat, expected = scattered(SHAPE, n_batch, n_dense, nse=9, shared=shared)
    sizes = (1, 2, 3)
    out = bcoo_dynamic_slice(mat, [np.int32(each) for each in starts], sizes)
    same(out, lax.dynamic_slice(expected, starts, sizes))
    same(jit(lambda each, at: bcoo_dynamic_slice(each, at, sizes))(mat, starts), out.todense())


INDICES = [
    (0,),
    (-1, slice(None), 2),
    (slice(None, None, -1),),
    (Ellipsis, 0),
    (None, 1),
    (Ellipsis, None),
    (np.array([0, 1, 1]),),
    (slice(None), np.array([2, 0])),
    (slice(None), slice(None), np.array([[2, 0], [1, 1]])),
    (np.array([0, 1]), np.array([2, 1])),
    (np.array([1, 0]), slice(None), np.array([3, 1])),
    (slice(None), np.array([True, False, True])),
    (1, slice(1, None), slice(None, None, 2)),
    (slice(0, 0),),
]


@pytest.mark.parametrize("n_batch, n_dense", [(b, d) for b, d, s in LAYOUTS if not any(s)])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_equals_that_of_dense_arrays(n_batch, n_dense, index):
    mat, expected = scattered(SHAPE, n_batch, n_dense, nse=7)
    same(mat[index], expected[index])


def test_iteration_yields_rows():
    mat, expected = scattered((3, 4))
    for row, expected_row in zip(mat, expected, strict=True):
        same(row, expected_row)
    assert len(mat) == 3


def test_nse_of_slices_is_bounded_by_their_size():
    mat, expected = scattered((3, 4), n_batch=1, nse=9)
    numbers = GatherDimensionNumbers((1,), (0,), (0,))
    for out, values in (
        (mat[:2], expected[:2]),
        (mat[1], expected[1]),
        (bcoo_dynamic_slice(mat, (1, 0), (2, 4)), expected[1:]),
        (bcoo_gather(mat, np.array([[2], [0]]), numbers, (1, 4)), expected[[2, 0]]),
    ):
        assert out.nse == 4
        same(out, values)


def test_windows_are_gathered():
    mat, expected = scattered((5, 6), nse=12)
    numbers = GatherDimensionNumbers((0, 2), (), (0, 1))
    starts = np.array([[0, 1], [2, 3], [9, 9]])
    out = bcoo_gather(mat, starts, numbers, (2, 3), mode="clip")
    same(out, lax.gather(expected, starts, numbers, (2, 3), mode="clip"))


def test_windows_of_dense_dimensions_are_gathered():
    mat, expected = scattered((3, 4), n_dense=1)
    numbers = GatherDimensionNumbers((1,), (0,), (0,))
    same(bcoo_gather(mat, np.array([[0], [2]]), numbers, (1, 4)), expected[[0, 2]])


def test_gather_checks_its_dimension_numbers():
    mat = BCOO.fromdense(np.eye(3, dtype=np.float32))
    numbers = GatherDimensionNumbers((1,), (0,), (0,))
    with pytest.raises(TypeError, match="Offset dimension 0 in gather op is out of bounds"):
        bcoo_gather(mat, np.array([0, 1, 2]), numbers, (1, 3))


# ---- as pytrees, compiled, mapped ----


def test_pytrees_have_data_and_indices_as_leaves():
    mat, _ = scattered((3, 4))
    leaves, tree = pytrees.tree_flatten(mat)
    assert len(leaves) == 2
    again = pytrees.tree_unflatten(tree, leaves)
    assert repr(again) == repr(mat) == "BCOO(float32[3, 4], nse=5)"
    assert again._info == mat._info
    doubled = pytrees.tree_map(lambda leaf: leaf, mat)
    assert isinstance(doubled, BCOO)
    buffers, description = mat.tree_flatten()
    assert repr(BCOO.tree_unflatten(description, buffers)) == repr(mat)
    assert mat.block_until_ready() is mat
    assert (mat.size, mat.ndim, len(mat)) == (12, 2, 3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(mat)


def test_programs_show_sparse_operations():
    mat = BCOO.fromdense(dense((3, 4)), nse=3)
    text = str(make_olympuspr(lambda m: m.T @ np.ones(3, np.float32))(mat))
    assert "bcoo_transpose[" in text and "permutation=(1, 0)" in text
    assert "bcoo_dot_general[" in text and "dimension_numbers=(((1,), (0,)), ((), ()))" in text
    assert "lhs_spinfo=SparseInfo(shape=(4, 3), indices_sorted=False, unique_indices=True)" in text


@pytest.mark.parametrize("fun", [operator.neg, lambda m: m.T, lambda m: m @ np.ones((4, 2))])
def test_vmap_maps_batch_dimensions(fun):
    mat, expected = scattered((2, 3, 4), n_batch=1)
    out = vmap(fun)(mat)
    rows = [fun(mat[i]) for i in range(2)]
    dense_rows = [row.todense() if isinstance(row, BCOO) else row for row in rows]
    same(out, np.stack([np.asarray(row) for row in dense_rows]))
    del expected


def test_vmap_of_unbatched_sparse_arrays():
    for shared in ((True, False), (False, True), (True, True)):
        mat, expected = scattered((2, 3, 4), n_batch=1, shared=shared)
        same(vmap(lambda m: m * 2)(mat), 2 * expected)
    mat, expected = scattered((3, 4))
    factors = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    same(vmap(lambda f: mat * f)(factors), expected * factors)
    same(vmap(lambda m, f: m * f, in_axes=(None, 0))(mat, factors), expected * factors)
    same(vmap(functools.partial(BCOO.fromdense, nse=12))(factors), factors)


def test_vmap_over_sparse_dimensions_raises():
    mat, _ = scattered((2, 3, 4), n_batch=1)
    with pytest.raises(ValueError, match="Cannot map in_axis=1"):
        vmap(lambda m: m, in_axes=1)(mat)
    with pytest.raises(ValueError, match="cannot add out_axis=1"):
        vmap(lambda m: m, out_axes=1)(mat)


def test_batches_are_scanned_row_by_row():
    mat, expected = scattered((2, 3, 4), n_batch=2)
    total, _ = lax.scan(
        lambda c, d: (c + d.sum(), None), np.float32(0), (mat.data * (mat.indices[..., 0] < 4))
    )
    np.testing.assert_allclose(total, expected.sum())


def test_scipy_arrays_are_converted():
    expected = dense((3, 4))
    for kind in (scipy_sparse.csr_matrix, scipy_sparse.coo_array, scipy_sparse.csc_array):
        same(BCOO.from_scipy_sparse(kind(expected)), expected)
    with pytest.raises(NotImplementedError, match="nonzero n_dense/n_batch"):
        BCOO.from_scipy_sparse(scipy_sparse.csr_matrix(expected), n_batch=1)


def test_methods_equal_functions():
    expected = dense((3, 4))
    mat = bcoo_fromdense(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(mat.reshape(4, 3), expected.reshape(4, 3))
        same(mat.reshape((2, 6)), expected.reshape(2, 6))
        same(mat.reshape(-1), expected.reshape(-1))
        same(mat.transpose(), expected.T)
        same(mat.transpose((0, 1)), expected)
        same(mat.sum(), expected.sum())
        same(mat.sum(dtype=np.int32), expected.sum())


def test_padding_entries_are_not_first_of_equals():
    indices = np.array([[9], [0], [0]], np.int32)
    np.testing.assert_array_equal(first_of_equals(indices, (3,)), [False, True, False])


def test_shape_error_messages():
    mat = BCOO.fromdense(np.eye(2, 3, dtype=np.float32))
    with pytest.raises(TypeError, match="isn't a permutation of operand dimensions"):
        bcoo_transpose(mat, permutation=(0, 0))
    with pytest.raises(TypeError, match="in dimensions other than the one being concatenated"):
        bcoo_concatenate([mat, mat.T], dimension=0)
