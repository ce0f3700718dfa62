# SPDX-License-Identifier: Apache-2.0
"""Comparison of derivatives with respect to sparse arrays with those for dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sparse_layouts import dense, same, scattered

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_sparse import (
    BCOO,
    BCSR,
    COO,
    CSR,
    grad,
    jacfwd,
    jacobian,
    jacrev,
    sparsify,
    value_and_grad,
)
from olympus_testing import check_grads

DENSE = dense((3, 4))
MATRIX = BCOO.fromdense(DENSE)
PLACES = DENSE != 0
OTHER = dense((4, 2), seed=1) + 0.5


def loss(matrix: Any, other: Any = OTHER) -> Any:
    return jnp.sum(jnp.sin(matrix @ other))


EXPECTED = np.asarray(autodiff.grad(loss)(DENSE))


@pytest.mark.parametrize("kind", [BCOO, BCSR, COO, CSR])
def test_gradients_have_the_indices_of_arguments(kind):
    matrix = kind.fromdense(DENSE)
    gradient = grad(loss)(matrix)
    assert type(gradient) is kind and gradient.nse == matrix.nse
    same(gradient.todense(), np.where(PLACES, EXPECTED, 0))
    same(jit(grad(loss))(matrix).todense(), gradient.todense())


def test_values_and_gradients():
    value, (first, second) = value_and_grad(loss, argnums=(0, 1))(MATRIX, OTHER)
    expected, (first_expected, second_expected) = autodiff.value_and_grad(loss, (0, 1))(
        DENSE, OTHER
    )
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    same(first, np.where(PLACES, first_expected, 0))
    same(second, second_expected)
    same(grad(loss, argnums=-1)(MATRIX, OTHER), second_expected)


def test_auxiliary_data_are_returned_unchanged():
    gradient, aux = grad(lambda m: (loss(m), m), has_aux=True)(MATRIX)
    same(gradient, np.where(PLACES, EXPECTED, 0))
    same(aux, DENSE)
    (value, aux), gradient = value_and_grad(lambda m: (loss(m), 3), has_aux=True)(MATRIX)
    assert aux == 3
    np.testing.assert_allclose(value, loss(DENSE), rtol=1e-5)


def test_trees_of_sparse_arrays():
    gradient = grad(lambda tree: loss(tree["a"]) * tree["b"])({"a": MATRIX, "b": 2.0})
    same(gradient["a"], np.where(PLACES, 2 * EXPECTED, 0))
    same(gradient["b"], loss(DENSE))


def test_gradients_of_duplicate_entries():
    matrix, expected = scattered((3, 4), nse=9)
    gradient = grad(loss)(matrix)
    full = np.asarray(autodiff.grad(loss)(expected))
    for value, place in zip(np.asarray(gradient.data), np.asarray(gradient.indices), strict=True):
        inside = (place < (3, 4)).all()
        np.testing.assert_allclose(value, full[tuple(place)] if inside else 0, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transform", [jacfwd, jacrev, jacobian])
@pytest.mark.parametrize("kind", [BCOO, BCSR])
def test_jacobians_hold_the_stored_entries(transform, kind):
    matrix = kind.fromdense(DENSE)
    out = transform(lambda m: jnp.sin(m @ OTHER))(matrix)
    expected = autodiff.jacfwd(lambda m: jnp.sin(m @ OTHER))(DENSE)
    assert (out.shape, out.n_batch, out.nse) == ((3, 2, 3, 4), 2, matrix.nse)
    same(out.todense(), np.where(PLACES, expected, 0))
    batched = BCOO.fromdense(dense((2, 3, 4)), n_batch=1)
    out = transform(lambda m: (m @ OTHER).sum((0, 2)))(batched)
    expected = autodiff.jacfwd(lambda m: (m @ OTHER).sum((0, 2)))(dense((2, 3, 4)))
    same(out.todense(), np.where(dense((2, 3, 4)) != 0, expected, 0))


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
def test_jacobians_of_trees(transform):
    out, aux = transform(lambda m, v: ({"a": m @ v, "b": v}, 1.0), argnums=(0, 1), has_aux=True)(
        MATRIX, OTHER[:, 0]
    )
    assert float(aux) == 1
    same(out["a"][0], np.where(PLACES, np.einsum("ij,k->ijk", np.eye(3), OTHER[:, 0]), 0))
    same(out["a"][1], DENSE)
    same(out["b"][0], np.zeros((4, 3, 4)))
    same(out["b"][1], np.eye(4))


def test_jacobians_that_are_not_supported():
    with pytest.raises(TypeError, match="sparse results are not supported"):
        jacfwd(lambda m: m * 2)(MATRIX)
    with pytest.raises(NotImplementedError, match="use BCOO or BCSR"):
        jacfwd(lambda m: m @ OTHER)(COO.fromdense(DENSE))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="argnums 2 is out of range for 1"):
        grad(loss, argnums=2)(MATRIX)
    with pytest.raises(TypeError, match="real- or complex-valued inputs"):
        grad(lambda m: m.sum())(BCOO.fromdense(DENSE.astype(int)))
    with pytest.raises(TypeError, match="scalar-output functions"):
        grad(lambda m: m @ OTHER)(MATRIX)


def test_derivatives_of_operations():
    operations = [
        lambda m: (m * m).sum(),
        lambda m: ((m @ m.T) * FACTORS).sum(),
        lambda m: (m.T @ OTHER[:3]).sum(),
        lambda m: (m[1:] * 3).sum(),
        lambda m: (m.reshape(2, 6) ** 2).sum(),
        lambda m: jnp.sum(m.sum(0).todense() ** 2),
        lambda m: sparsify(jnp.sin)(m).sum(),
        lambda m: jnp.sum((m + m.T.T).todense() ** 3),
        lambda m: jnp.sum(m.sum_duplicates(nse=12).todense() ** 2),
        lambda m: jnp.sum(m.sort_indices().data ** 2),
        lambda m: jnp.sum(m.update_layout(n_batch=1, on_inefficient=None).todense() ** 2),
    ]
    dense_operations = [
        lambda m: (m * m).sum(),
        lambda m: ((m @ m.T) * FACTORS).sum(),
        lambda m: (m.T @ OTHER[:3]).sum(),
        lambda m: (m[1:] * 3).sum(),
        lambda m: (m**2).sum(),
        lambda m: (m.sum(0) ** 2).sum(),
        lambda m: jnp.sin(m).sum(),
        lambda m: ((2 * m) ** 3).sum(),
        lambda m: (m**2).sum(),
        lambda m: (m**2).sum(),
        lambda m: (m**2).sum(),
    ]
    for sparse_fun, dense_fun in zip(operations, dense_operations, strict=True):
        expected = np.where(PLACES, autodiff.grad(dense_fun)(jnp.asarray(DENSE)), 0)
        same(grad(sparse_fun)(MATRIX), expected)


FACTORS = np.arange(9, dtype=np.float32).reshape(3, 3)


def test_batches_of_gradients():
    batched = BCOO.fromdense(dense((2, 3, 4)), n_batch=1)
    gradients = vmap(grad(loss))(batched)
    expected = vmap(autodiff.grad(loss))(dense((2, 3, 4)))
    same(gradients, np.where(dense((2, 3, 4)) != 0, expected, 0))


@pytest.mark.parametrize("dtype", [np.complex64, np.float16])
def test_derivatives_of_other_dtypes(dtype):
    matrix, expected = scattered((3, 4), nse=6, dtype=dtype)
    other = dense((4, 2), seed=3, dtype=dtype)

    def value(m: Any) -> Any:
        return jnp.sum(jnp.abs(m @ other) ** 2).astype(np.float32)

    gradient = grad(value)(matrix)
    assert gradient.dtype == dtype
    full = np.asarray(autodiff.grad(value)(expected))
    places = np.asarray(matrix.indices)
    inside = (places < (3, 4)).all(1)
    np.testing.assert_allclose(
        np.asarray(gradient.data)[inside], full[tuple(places[inside].T)], rtol=1e-2
    )
    if dtype == np.complex64:
        check_grads(
            lambda data, rhs: matrix._with_data(data) @ rhs,
            (np.asarray(matrix.data), other),
            jvp=autodiff.jvp,
            vjp=autodiff.vjp,
        )


def test_second_derivatives_equal_finite_differences():
    check_grads(
        lambda data, rhs: jnp.sin(MATRIX._with_data(data) @ rhs).sum(),
        (np.asarray(MATRIX.data), OTHER),
        order=2,
        jvp=autodiff.jvp,
        vjp=autodiff.vjp,
    )
