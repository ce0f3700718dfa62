# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import hessian, jacfwd, jacobian, jacrev
from olympus_ir import lax
from olympus_ir.programs.jit import jit

X = np.arange(1, 4, dtype=np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)

both = pytest.mark.parametrize("jacobian_of", [jacfwd, jacrev])


@both
def test_jacobians_of_vector_functions_equal_the_formula(jacobian_of):
    found = jacobian_of(lambda x: lax.dot(M, lax.mul(x, x)))(X)
    np.testing.assert_allclose(found, 2 * M * X)


@both
def test_shapes_join_those_of_result_and_argument(jacobian_of):
    found = jacobian_of(lambda m: lax.reduce_sum(lax.mul(m, m), (1,)))(M)
    assert found.shape == (2, 2, 3)
    np.testing.assert_allclose(found[0, 0], 2 * M[0])
    np.testing.assert_allclose(found[0, 1], 0)


@both
def test_jacobians_of_pytrees_are_trees_of_blocks(jacobian_of):
    def f(pair):
        return {"product": lax.mul(pair[0], pair[1]), "first": pair[0]}

    found = jacobian_of(f)((X, X + 1))
    np.testing.assert_allclose(found["product"][0], np.diag(X + 1))
    np.testing.assert_allclose(found["product"][1], np.diag(X))
    np.testing.assert_allclose(found["first"][0], np.eye(3))
    np.testing.assert_allclose(found["first"][1], np.zeros((3, 3)))


@both
def test_argnums_select_the_arguments(jacobian_of):
    def f(x, y):
        return lax.mul(x, y)

    np.testing.assert_allclose(jacobian_of(f, argnums=1)(X, X + 1), np.diag(X))
    by_both = jacobian_of(f, argnums=(0, 1))(X, X + 1)
    assert isinstance(by_both, tuple)
    np.testing.assert_allclose(by_both[0], np.diag(X + 1))


@both
def test_jacobians_of_scalars_are_scalars(jacobian_of):
    assert jacobian_of(lambda x: lax.mul(x, x))(3.0) == 6.0


@both
def test_auxiliary_results_are_returned_unchanged(jacobian_of):
    found, aux = jacobian_of(lambda x: (lax.mul(x, x), {"x": x}), has_aux=True)(X)
    np.testing.assert_allclose(found, 2 * np.diag(X))
    np.testing.assert_array_equal(aux["x"], X)


@both
def test_holomorphic_functions_have_complex_jacobians(jacobian_of):
    assert jacobian_of(lambda z: lax.mul(z, z), holomorphic=True)(3 + 1j) == 6 + 2j


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_jacobians_with_respect_to_integers_are_zeros_of_their_dtype(dtype):
    def function(n, x):
        return {"y": lax.mul(lax.convert_element_type(n, np.float32), x)}

    found = jacrev(function, (0, 1), allow_int=True)(np.arange(3).astype(dtype), X)["y"]
    assert found[0].dtype == dtype
    np.testing.assert_array_equal(found[0], np.zeros((3, 3)))
    np.testing.assert_allclose(found[1], np.diag(np.arange(3).astype(dtype)))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_forward_jacobians_of_integers_are_zeros_of_their_dtype(dtype):
    found, other = jacfwd(lambda x: (lax.convert_element_type(x, dtype), lax.neg(x)))(X)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.zeros((3, 3)))
    np.testing.assert_allclose(other, -np.eye(3))


def test_jacobian_is_reverse_mode():
    np.testing.assert_allclose(jacobian(lax.sin)(X), np.diag(np.cos(X)), rtol=1e-6)


def test_hessians_have_known_values():
    cubes = lambda x: lax.reduce_sum(lax.integer_pow(x, 3), (0,))  # noqa: E731
    np.testing.assert_allclose(hessian(cubes)(X), 6 * np.diag(X))
    np.testing.assert_allclose(jit(hessian(cubes))(X), 6 * np.diag(X))
    found, aux = hessian(lambda x: (cubes(x), x), has_aux=True)(X)
    np.testing.assert_allclose(found, 6 * np.diag(X))
    np.testing.assert_array_equal(aux, X)


def test_hessian_of_two_arguments():
    f = lambda x, y: lax.mul(lax.mul(x, x), y)  # noqa: E731
    assert hessian(f, argnums=(0, 1))(3.0, 2.0) == ((4.0, 6.0), (6.0, 0.0))


@pytest.mark.parametrize(
    "make, fun, argument, message",
    [
        (jacfwd, lambda x: x, 3, "jacfwd requires real-valued inputs.*got int32"),
        (jacfwd, lambda x: x, 3 + 1j, "jacfwd requires real-valued inputs.*got complex64"),
        (jacfwd, lambda x: x, "a", "not a valid"),
        (jacrev, lambda x: x, 3, "jacrev requires real- or complex-valued inputs.*got int32"),
        (jacrev, lambda x: 3, 3.0, "jacrev requires real-valued outputs.*got int32"),
        (jacrev, lambda x: x, 3 + 1j, "jacrev requires real-valued outputs.*got complex64"),
    ],
)
def test_invalid_types_raise(make, fun, argument, message):
    with pytest.raises(TypeError, match=message):
        make(fun)(argument)


def test_invalid_options_raise():
    with pytest.raises(TypeError, match="Expected a callable value"):
        jacfwd(3)
    with pytest.raises(TypeError, match="holomorphic=True requires inputs with complex dtype"):
        jacfwd(lax.sin, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True requires outputs with complex dtype"):
        jacfwd(lax.abs, holomorphic=True)(1 + 1j)
    with pytest.raises(ValueError, match=r"got value 1 for len\(args\) == 1"):
        jacrev(lax.sin, argnums=1)(1.0)
