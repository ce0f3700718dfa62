# SPDX-License-Identifier: Apache-2.0
"""BCSR, COO, CSR and CSC; constructors; random arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
from sparse_layouts import dense, same, scattered

import olympus_numpy as jnp
import olympus_random as random
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_sparse import (
    BCOO,
    BCSR,
    COO,
    CSC,
    CSR,
    OLYMPUSSparse,
    bcoo_eliminate_zeros,
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
    bcsr_eliminate_zeros,
    bcsr_extract,
    bcsr_fromdense,
    broadcasting_vmap,
    coo_matmat,
    coo_matvec,
    csr_matmat,
    csr_matvec,
    empty,
    eye,
    nfold_vmap,
    random_bcoo,
    todense,
)

MATRICES = [COO, CSR, CSC, BCSR, BCOO]
each_format = pytest.mark.parametrize("kind", MATRICES, ids=lambda kind: kind.__name__)


# ---- matrices of all formats ----


@each_format
@pytest.mark.parametrize("extra", [0, 3])
def test_dense_matrices_survive_the_round_trip(kind, extra):
    expected = dense((3, 4))
    nse = np.count_nonzero(expected)
    mat = kind.fromdense(expected, nse=nse + extra)
    assert (mat.nse, mat.shape, mat.ndim, mat.size) == (nse + extra, (3, 4), 2, 12)
    assert repr(mat) == f"{kind.__name__}(float32[3, 4], nse={mat.nse})"
    np.testing.assert_array_equal(mat.todense(), expected)
    np.testing.assert_array_equal(jit(lambda m: m.todense())(mat), expected)
    np.testing.assert_array_equal(todense(mat), expected)
    assert kind.fromdense(expected).nse == nse
    assert isinstance(mat, OLYMPUSSparse)


@each_format
def test_matrix_products_equal_dense_ones(kind):
    expected = dense((3, 4))
    mat = kind.fromdense(expected, nse=12)
    vector, matrix = np.arange(4.0, dtype=np.float32), dense((4, 2), seed=1)
    np.testing.assert_allclose(mat @ vector, expected @ vector)
    np.testing.assert_allclose(mat @ matrix, expected @ matrix)
    np.testing.assert_allclose(mat @ matrix.astype(int), expected @ matrix)
    with pytest.raises(TypeError):
        mat @ np.ones((3, 2), np.float32)
    if kind is not BCSR:
        np.testing.assert_allclose(mat.T.todense(), expected.T)
        np.testing.assert_allclose(mat.T @ expected, expected.T @ expected)
        np.testing.assert_allclose(mat.transpose().T.todense(), expected)


@each_format
def test_matrices_do_not_become_dense_silently(kind):
    mat = kind.fromdense(dense((3, 4)))
    for fun in (np.asarray, jnp.asarray, jnp.sin, np.sin, lambda m: jnp.dot(m, np.ones(4))):
        with pytest.raises(TypeError):
            fun(mat)


@each_format
def test_pytrees_restore_the_matrix(kind):
    mat = kind.fromdense(dense((3, 4)))
    leaves, tree = pytrees.tree_flatten(mat)
    again = pytrees.tree_unflatten(tree, leaves)
    assert type(again) is kind and again.shape == mat.shape
    np.testing.assert_array_equal(again.todense(), mat.todense())
    buffers, description = mat.tree_flatten()
    np.testing.assert_array_equal(
        kind.tree_unflatten(description, buffers).todense(), mat.todense()
    )
    assert repr(kind.tree_unflatten(description, [None] * len(buffers))).endswith("(<invalid>)")


@each_format
def test_gradients_with_respect_to_values(kind):
    expected = dense((3, 4))
    mat = kind.fromdense(expected)
    x = np.arange(4.0, dtype=np.float32)

    def loss(data: Any) -> Any:
        buffers, tree = pytrees.tree_flatten(mat)
        return jnp.sum((pytrees.tree_unflatten(tree, [data, *buffers[1:]]) @ x) ** 2)

    full = np.asarray(grad(lambda m: jnp.sum((m @ x) ** 2))(expected))
    gradient = pytrees.tree_unflatten(
        pytrees.tree_structure(mat), [grad(loss)(mat.data), *pytrees.tree_leaves(mat)[1:]]
    )
    np.testing.assert_allclose(gradient.todense(), np.where(expected != 0, full, 0), rtol=1e-6)


@pytest.mark.parametrize("kind", [COO, CSR, CSC])
def test_unsupported_operations_of_simple_formats_raise(kind):
    mat = kind.fromdense(dense((3, 4)))
    for fun in (
        lambda: mat + mat,
        lambda: mat * 2,
        lambda: 2 * mat,
        lambda: -mat,
        lambda: mat[0],
        lambda: mat.sum(),
        lambda: mat @ mat,
        lambda: mat.transpose((0, 1)),
    ):
        with pytest.raises(NotImplementedError):
            fun()


@pytest.mark.parametrize("matvec, matmat, kind", [(coo_matvec, coo_matmat, COO),
                                                  (csr_matvec, csr_matmat, CSR)])  # fmt: skip
def test_transposed_products_equal_dense_ones(matvec, matmat, kind):
    expected = dense((3, 4))
    mat = kind.fromdense(expected)
    ones = np.ones(3, np.float32)
    np.testing.assert_allclose(matvec(mat, ones, transpose=True), expected.T @ ones)
    np.testing.assert_allclose(matmat(mat, expected, transpose=True), expected.T @ expected)


def test_coo_sorts_its_entries():
    mat = COO((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 3])), shape=(3, 4))
    assert np.asarray(mat._sort_indices().row).tolist() == [0, 2]
    np.testing.assert_array_equal(mat._sort_indices().todense(), mat.todense())


# ---- BCSR ----


@pytest.mark.parametrize("shape, n_batch, n_dense", [
    ((3, 4), 0, 0), ((2, 3, 4), 1, 0), ((3, 4, 2), 0, 1), ((2, 3, 4, 2), 1, 1), ((2, 2, 3, 4), 2, 0)
])  # fmt: skip
def test_batches_of_compressed_rows(shape, n_batch, n_dense):
    expected = dense(shape)
    mat = BCSR.fromdense(expected, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_sparse, mat.n_dense) == (n_batch, 2, n_dense)
    assert mat.indptr.shape == (*shape[:n_batch], shape[n_batch] + 1)
    same(mat.todense(), expected)
    same(mat.to_bcoo(), expected)
    same(BCSR.from_bcoo(mat.to_bcoo()).todense(), expected)
    out = bcsr_extract(mat.indices, mat.indptr, 2 * expected)
    same(mat._with_data(out).todense(), 2 * expected)
    if not n_dense:
        numbers = (([n_batch + 1], [0]), ([], []))
        rhs = dense((4, 2), seed=5)
        same(bcsr_dot_general(mat, rhs, dimension_numbers=numbers), expected @ rhs)


def test_rows_without_entries_and_padding():
    expected = np.zeros((4, 3), np.float32)
    expected[2] = [1, 0, 2]
    mat = BCSR.fromdense(expected, nse=5)
    assert np.asarray(mat.indptr).tolist() == [0, 0, 0, 2, 2]
    same(mat.todense(), expected)
    same(mat @ np.ones(3, np.float32), expected.sum(1))
    for kind in (CSR, CSC):
        np.testing.assert_array_equal(kind.fromdense(expected, nse=5).todense(), expected)


def test_compressed_rows_of_scattered_entries():
    for n_batch, n_dense in ((0, 0), (1, 0), (0, 1)):
        shape = (2, 3, 4)[1 - n_batch : 3 - n_batch - n_dense] if n_dense else (3, 4)
        shape = (*(2,) * n_batch, 3, 4, *(2,) * n_dense)
        mat, expected = scattered(shape, n_batch, n_dense, nse=9)
        rows = BCSR.from_bcoo(mat)
        same(rows.todense(), expected)
        same(rows.sum_duplicates().todense(), expected)
        same(rows.sum_duplicates(nse=12).todense(), expected)


def test_bcsr_concatenate_and_broadcast():
    expected = dense((3, 4))
    mat = BCSR.fromdense(expected)
    same(bcsr_concatenate([mat, mat], dimension=0).todense(), np.concatenate([expected] * 2))
    same(bcsr_concatenate([mat, mat], dimension=1).todense(), np.concatenate([expected] * 2, 1))
    out = bcsr_broadcast_in_dim(mat, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
    same(out.todense(), np.broadcast_to(expected, (2, 3, 4)))


def test_bcsr_under_vmap_and_slicing():
    expected = dense((2, 3, 4))
    mat = BCSR.fromdense(expected, n_batch=1)
    ones = np.ones(4, np.float32)
    same(vmap(lambda m: m @ ones)(mat), expected @ ones)
    assert isinstance(vmap(lambda m: m)(mat), BCSR)
    same(mat[1], expected[1])
    with pytest.raises(NotImplementedError, match="Transpose is not implemented"):
        _ = mat.T


def test_iteration_over_compressed_rows():
    matrix = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    rows = iter(BCSR.fromdense(matrix))
    for expected in matrix:
        np.testing.assert_array_equal(next(rows).todense(), expected)
    assert next(rows, None) is None


@pytest.mark.parametrize("shapes, message", [
    (((3,), (4,), (4,)), "Invalid data.shape"),
    (((3,), (3,), (5,)), "indptr shape must match the matrix shape plus 1"),
    (((3, 1), (3,), (4,)), "Invalid data.shape"),
])  # fmt: skip
def test_inconsistent_bcsr_buffers_raise(shapes, message):
    data, indices, indptr = shapes
    with pytest.raises(ValueError, match=message):
        BCSR((np.ones(data), np.ones(indices, int), np.ones(indptr, int)), shape=(3, 4))


def test_compressed_rows_need_two_sparse_dimensions():
    with pytest.raises(ValueError, match="must have 2 sparse dimensions"):
        bcsr_fromdense(dense((2, 3, 4)))
    with pytest.raises(NotImplementedError, match="n_sparse=2"):
        BCSR.from_bcoo(BCOO.fromdense(dense((2, 3, 4))))


def test_scipy_matrices_are_converted():
    expected = dense((3, 4))
    same(BCSR.from_scipy_sparse(scipy_sparse.coo_matrix(expected)).todense(), expected)
    with pytest.raises(NotImplementedError, match="nonzero n_dense/n_batch"):
        BCSR.from_scipy_sparse(scipy_sparse.csr_matrix(expected), n_dense=1)


# ---- constructors ----

FORMATS = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [(3, None), (3, 5), (5, 3)], ids=str)
@pytest.mark.parametrize("k", [0, 1, -1, 2, -4, 9])
def test_eye_has_ones_on_the_diagonal(name, size, k):
    mat = eye(*size, k=k, sparse_format=name, dtype=np.int32, index_dtype=np.int16)
    assert isinstance(mat, FORMATS[name]) and mat.dtype == np.int32
    np.testing.assert_array_equal(mat.todense(), np.eye(*size, k=k))
    assert mat.nse == np.count_nonzero(np.eye(*size, k=k))


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1)])
@pytest.mark.parametrize("k", [0, 1, -2])
def test_diagonals_in_layouts(n_batch, n_dense, k):
    mat = eye(3, 4, k=k, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_dense) == (n_batch, n_dense)
    same(mat, np.eye(3, 4, k=k))


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_without_entries(name):
    mat = empty((2, 3), np.int32, sparse_format=name)
    assert isinstance(mat, FORMATS[name]) and mat.dtype == np.int32 and mat.nse == 0
    np.testing.assert_array_equal(mat.todense(), np.zeros((2, 3)))


def test_arrays_of_padding_entries_only():
    mat = empty((2, 3, 4), n_batch=1, n_dense=1, nse=2)
    assert (mat.data.shape, mat.indices.shape) == ((2, 2, 4), (2, 2, 1))
    same(mat, np.zeros((2, 3, 4)))
    rows = empty((2, 3, 4), sparse_format="bcsr", n_batch=1, nse=2)
    same(rows.todense(), np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="not recognized; must be one of"):
        empty((2, 3), sparse_format="dok")
    with pytest.raises(ValueError, match="must have ndim=2"):
        empty((2, 3, 4), sparse_format="coo")


# ---- random arrays ----


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)])
@pytest.mark.parametrize("nse, count", [(3, 3), (0.5, None), (0, 0)])
def test_random_arrays_have_the_requested_entries(n_batch, n_dense, nse, count):
    shape = (4, 5, 6)
    mat = random_bcoo(random.key(0), shape, nse=nse, n_batch=n_batch, n_dense=n_dense)
    sparse = shape[n_batch : 3 - n_dense]
    assert (mat.shape, mat.n_batch, mat.n_dense) == (shape, n_batch, n_dense)
    assert mat.nse == (int(np.ceil(np.prod(sparse) / 2)) if count is None else count)
    indices = np.asarray(mat.indices)
    for each in (indices[place] for place in np.ndindex(*indices.shape[:-2])):
        assert len(set(map(tuple, each))) == mat.nse
        assert (each < np.array(sparse)).all()


def test_coordinates_of_random_bcoo_have_default_integer_dtype():
    for enabled, expected in ((False, np.int32), (True, np.int64)):
        with config.enable_x64(enabled):
            assert random_bcoo(random.key(0), (3, 4), nse=4).indices.dtype == expected


def test_random_bcoo_equals_jax():
    mat = random_bcoo(random.key(0), (3, 4), nse=4, dtype=np.float32)
    assert np.asarray(mat.indices).tolist() == RANDOM_PLACES
    np.testing.assert_allclose(mat.data, RANDOM_VALUES, rtol=1e-6)


def test_options_of_random_arrays_are_checked():
    with pytest.warns(UserWarning, match="float64 .* truncated to dtype float32"):
        assert random_bcoo(random.key(0), (3, 4), nse=4, dtype=np.float64).dtype == np.float32
    mat = random_bcoo(random.key(1), (3, 4), nse=9, unique_indices=False, sorted_indices=True)
    rows = [*map(tuple, np.asarray(mat.indices))]
    assert rows == sorted(rows) and mat.indices_sorted
    whole = random_bcoo(
        random.key(1), (3, 4), dtype=np.int32, generator=random.randint, minval=5, maxval=9
    )
    assert whole.dtype == np.int32 and (np.asarray(whole.data) >= 5).all()
    for nse in (13, -1):
        with pytest.raises(ValueError, match="expected to be between 0 and 12"):
            random_bcoo(random.key(0), (3, 4), nse=nse)
    with pytest.raises(ValueError, match="Invalid n_batch=3"):
        random_bcoo(random.key(0), (3, 4), n_batch=3)


RANDOM_PLACES = [[0, 0], [0, 3], [2, 1], [1, 1]]
RANDOM_VALUES = [0.8423141, 0.18237865, 0.2271781, 0.12072563]


# ---- maps over several dimensions ----


def test_nfold_vmap_broadcasts_dimensions_of_size_one():
    ones = np.ones
    add = nfold_vmap(lambda x, y: x + y, 2)
    assert add(ones((2, 3)), ones((2, 3))).shape == (2, 3)
    assert add(ones((2, 1)), ones((1, 3))).shape == (2, 3)
    assert add(ones((1, 1)), ones((1, 1))).shape == (1, 1)
    assert nfold_vmap(lambda x, y: x + y, 1, in_axes=(0, None))(ones(4), ones(())).shape == (4,)
    assert broadcasting_vmap(lambda x: x * 2, in_axes=1, out_axes=0)(ones((3, 2))).shape == (2, 3)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        nfold_vmap(lambda x, y: x + y, 1, broadcasted=False)(ones(1), ones(3))


def test_zeros_are_eliminated():
    mat = BCSR((np.array([0, 2]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    assert bcsr_eliminate_zeros(mat).nse == 1
    assert bcoo_eliminate_zeros(mat.to_bcoo(), nse=4).nse == 4
    same(bcsr_eliminate_zeros(mat).todense(), mat.todense())
