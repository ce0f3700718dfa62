# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays of coordinates, beside the dense ones that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import pytrees
from olympus_ir.errors import ConcretizationTypeError
from olympus_ir.jit import jit
from olympus_ir.make import make_olympuspr
from olympus_numpy.coordinate_arrays import BCOO, empty, eye

DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], np.float32)
VECTOR = np.array([1.0, 2.0, 3.0], np.float32)


def test_dense_arrays_survive_the_round_trip():
    sparse = BCOO.fromdense(DENSE)
    assert (sparse.shape, sparse.nse, sparse.ndim, sparse.size) == ((2, 3), 3, 2, 6)
    assert repr(sparse) == "BCOO(float32[2, 3], nse=3)"
    np.testing.assert_array_equal(sparse.todense(), DENSE)
    np.testing.assert_array_equal(BCOO.fromdense(DENSE, nse=5).todense(), DENSE)
    np.testing.assert_array_equal(sparse.T.todense(), DENSE.T)
    assert sparse.astype(np.int32).dtype == np.int32


def test_products_are_those_of_dense_arrays():
    sparse = BCOO.fromdense(DENSE, nse=4)
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(sparse @ VECTOR, DENSE @ VECTOR)
    np.testing.assert_allclose(sparse @ matrix, DENSE @ matrix)
    np.testing.assert_allclose(matrix.T @ sparse.T, matrix.T @ DENSE.T)
    np.testing.assert_allclose(BCOO.fromdense(VECTOR) @ matrix, VECTOR @ matrix)
    np.testing.assert_allclose(sparse @ BCOO.fromdense(VECTOR), DENSE @ VECTOR)


def test_arithmetic_is_that_of_dense_arrays():
    sparse = BCOO.fromdense(DENSE, nse=4)
    np.testing.assert_allclose((2 * sparse).todense(), 2 * DENSE)
    np.testing.assert_allclose((sparse * DENSE).todense(), DENSE**2)
    np.testing.assert_allclose((-sparse).todense(), -DENSE)
    np.testing.assert_allclose((sparse / 2).todense(), DENSE / 2)
    np.testing.assert_allclose((sparse + sparse).todense(), 2 * DENSE)
    np.testing.assert_allclose((sparse - sparse).todense(), 0 * DENSE)
    np.testing.assert_allclose(sparse + DENSE, 2 * DENSE)
    assert sparse.sum() == 9
    np.testing.assert_allclose(sparse.sum(0).todense(), DENSE.sum(0))


def test_constructors():
    np.testing.assert_array_equal(eye(3, 4, k=1).todense(), np.eye(3, 4, k=1))
    np.testing.assert_array_equal(eye(4, 3, k=-2).todense(), np.eye(4, 3, k=-2))
    np.testing.assert_array_equal(empty((2, 3)).todense(), np.zeros((2, 3)))


def test_transformations():
    sparse = BCOO.fromdense(DENSE)
    assert len(pytrees.tree_leaves(sparse)) == 2
    np.testing.assert_allclose(jit(lambda s, v: s @ v)(sparse, VECTOR), DENSE @ VECTOR)
    np.testing.assert_allclose(grad(lambda v: onp.sum(sparse @ v))(VECTOR), DENSE.sum(0))
    by_values = grad(lambda d: onp.sum(BCOO((d, sparse.indices), shape=(2, 3)) @ VECTOR))
    np.testing.assert_allclose(by_values(sparse.data), [2, 1, 3])
    scaled = vmap(lambda factor: (sparse * factor) @ VECTOR)(np.array([1.0, 2.0], np.float32))
    np.testing.assert_allclose(scaled, [DENSE @ VECTOR, 2 * DENSE @ VECTOR])


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"values of shape \(nse,\)"):
        BCOO((np.ones((2, 2)), np.zeros((2, 2), int)), shape=(3, 3))
    with pytest.raises(ValueError, match="do not fit"):
        BCOO.fromdense(DENSE) @ np.ones(2)
    with pytest.raises(ValueError, match="cannot be added"):
        BCOO.fromdense(DENSE) + BCOO.fromdense(DENSE.T)
    with pytest.raises(ConcretizationTypeError):
        make_olympuspr(lambda x: BCOO.fromdense(x).data)(DENSE)
