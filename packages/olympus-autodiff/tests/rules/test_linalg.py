# SPDX-License-Identifier: Apache-2.0
"""Derivatives of decompositions: Hermitian matrices, and functions invariant under phases."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jvp, vjp
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.linalg.matrices import adjoint, matmul
from olympus_ir.settings import config
from olympus_testing import check_grads


def draw(shape, kind):
    generator = np.random.default_rng(3)
    x = generator.standard_normal(shape)
    return x + 1j * generator.standard_normal(shape) if kind == "complex" else x


def hermitian(x):
    """A positive definite matrix with the eigenvalues well apart, of any matrix nearby."""
    size = x.shape[-1]
    apart = np.diag(np.arange(4.0, 4 + size)).astype(x.dtype)
    return lax.add(lax.add(x, adjoint(x)), apart)


def scaled_columns(vectors, values):
    """The sum of projections onto the columns with weights, in which phases cancel."""
    spread = lax.broadcast_in_dim(
        lax.convert_element_type(values, vectors.dtype), vectors.shape, (vectors.ndim - 1,)
    )
    return matmul(lax.mul(vectors, spread), adjoint(vectors))


def by_eigenvectors(x):
    vectors, values = linalg.eigh(hermitian(x))
    return scaled_columns(vectors, lax.log(values))


def by_singular_vectors(x):
    left, values, right = linalg.svd(x, full_matrices=False)
    weights = lax.mul(values, values)
    return scaled_columns(left, weights), scaled_columns(adjoint(right), weights), values


def product_of_singular_vectors(x):
    left, _, right = linalg.svd(x, full_matrices=False)
    return matmul(left, right)


def by_general_eigenvectors(x):
    values, vectors = linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return values, scaled_columns(vectors, values)


FUNCTIONS = {
    "cholesky": lambda x: linalg.cholesky(hermitian(x)),
    "eigh": by_eigenvectors,
    "svd": by_singular_vectors,
    "unitary factor": product_of_singular_vectors,
    "eig": by_general_eigenvectors,
    "eigenvalues": lambda x: linalg.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )[0],
    "qr": lambda x: matmul(*linalg.qr(x, full_matrices=False)),
}


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_equal_finite_differences(name, kind):
    with config.enable_x64(True):
        x = draw((3, 3), kind) + np.diag([0.0, 3, 6])
        check_grads(FUNCTIONS[name], [x], order=2, jvp=jvp, vjp=vjp)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 3, 3)])
def test_svd_derivatives_for_each_shape(shape, kind):
    with config.enable_x64(True):
        fun = product_of_singular_vectors
        check_grads(fun, [draw(shape, kind)], order=2, jvp=jvp, vjp=vjp)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 4, 3)])
def test_qr_derivatives_for_each_shape(shape, full_matrices, pivoting, kind):
    def factors(x):
        return linalg.qr(x, full_matrices=full_matrices, pivoting=pivoting)[:2]

    with config.enable_x64(True):
        check_grads(factors, [draw(shape, kind)], order=2, jvp=jvp, vjp=vjp)


def test_undefined_derivatives_raise():
    x, tangent = np.zeros((3, 2), np.float32), np.ones((3, 2), np.float32)
    with pytest.raises(NotImplementedError, match="not implemented for full matrices"):
        jvp(linalg.svd, (x,), (tangent,))
    square = np.eye(3, dtype=np.float32)
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs=True"):
        jvp(linalg.eig, (square,), (square,))
    with pytest.raises(NotImplementedError, match="partial eigen decomposition"):
        jvp(lambda x: linalg.eigh(x, subset_by_index=(0, 1)), (square,), (square,))
    with pytest.raises(NotImplementedError, match="partial singular value"):
        jvp(
            lambda x: linalg.svd(x, full_matrices=False, subset_by_index=(0, 1)),
            (square,),
            (square,),
        )
    with pytest.raises(NotImplementedError, match="schur"):
        jvp(linalg.schur, (square,), (square,))


def test_unsupported_dtypes_raise_in_derivatives():
    matrix, vector = np.eye(2, dtype=np.complex64), np.ones(2, np.complex64)
    with pytest.raises(TypeError, match="cholesky_update does not accept dtype complex64"):
        jvp(linalg.cholesky_update, (matrix, vector), (matrix, vector))
