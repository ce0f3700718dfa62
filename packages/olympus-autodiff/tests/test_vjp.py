# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import fwd_and_bwd, grad, jvp, linearize, value_and_grad, vjp
from olympus_batching import vmap
from olympus_ir import Array, lax
from olympus_ir.programs.jit import jit
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes


def product(x, y):
    return lax.mul(x, y)


def test_pullback_is_linear_in_the_cotangent():
    value, pullback = vjp(product, 3.0, 2.0)
    assert value == 6.0
    assert pullback(1.0) == (2.0, 3.0)
    assert pullback(10.0) == (20.0, 30.0)


def test_cotangents_have_the_structure_of_the_result():
    def f(tree):
        return {"sum": lax.add(tree[0], tree[1]), "first": tree[0], "constant": 1.0}

    value, pullback = vjp(f, (1.0, 2.0))
    assert value == {"sum": 3.0, "first": 1.0, "constant": 1.0}
    assert pullback({"sum": 1.0, "first": 10.0, "constant": 5.0}) == ((11.0, 1.0),)


def test_integers_have_float0_cotangents():
    def f(x, n):
        return lax.mul(x, lax.convert_element_type(n, np.float32)), n

    value, pullback = vjp(f, 2.0, 3)
    assert value == (6.0, 3)
    by_x, by_n = pullback((1.0, np.zeros((), dtypes.float0)))
    assert by_x == 3.0
    assert by_n.dtype == dtypes.float0
    assert pullback((1.0, 3))[0] == 3.0  # what is given for an integer has no effect


def test_auxiliary_results_are_returned_unchanged():
    value, pullback, aux = vjp(lambda x: (product(x, x), [x]), 3.0, has_aux=True)
    assert (value, pullback(1.0), aux) == (9.0, (6.0,), [3.0])


def test_cotangents_of_repeated_results_are_added():
    assert vjp(lambda x: (x, x), 1.0)[1]((2.0, 3.0)) == (5.0,)


def test_pullback_is_a_pytree():
    f = lambda x: lax.reduce_sum(lax.mul(x, lax.exp(x)), (0,))  # noqa: E731
    x = np.ones(3, np.float32)
    _, pullback = jit(lambda x: vjp(f, x))(x)
    expected = vjp(f, x)[1](np.float32(1))
    np.testing.assert_allclose(pullback(np.float32(1)), expected)
    applied = jit(lambda pullback, ct: pullback(ct))(pullback, np.float32(1))
    np.testing.assert_allclose(applied, expected)
    leaves, tree = pytrees.tree_flatten(pullback)
    again = pytrees.tree_unflatten(tree, leaves)
    np.testing.assert_allclose(again(np.float32(1)), expected)
    assert pytrees.tree_structure(again) == tree


def test_pullback_can_be_mapped_and_differentiated():
    x = np.arange(3, dtype=np.float32)
    _, pullback = vjp(lax.sin, x)
    rows = vmap(pullback)(np.eye(3, dtype=np.float32))[0]
    np.testing.assert_allclose(rows, np.diag(np.cos(x)), rtol=1e-6)
    second = grad(lambda x: vjp(lax.sin, x)[1](1.0)[0])(0.5)
    np.testing.assert_allclose(second, -np.sin(0.5), rtol=1e-6)


def test_attributes_and_text_of_a_pullback():
    _, pullback = vjp(lax.sin, 0.0)
    assert str(pullback.jaxpr) == "{ lambda a:f32[]; b:f32[]. let c:f32[] = mul b a in (c,) }"
    assert pullback.opaque_residuals == [1.0]
    assert repr(pullback).startswith("VJP(jaxpr={ lambda a:f32[]; b:f32[].")


@pytest.mark.parametrize(
    "cotangent, message",
    [
        ((1.0,), "unexpected tree structure.*result of sin"),
        (np.ones(3, np.float32), r"got float32\[3\], but expected float32\[\]"),
        (1, "argument to VJP function: got int32.*, but expected float32"),
    ],
)
def test_invalid_cotangents_raise(cotangent, message):
    _, pullback = vjp(lax.sin, 1.0)
    with pytest.raises(ValueError, match=message):
        pullback(cotangent)


def test_unpacked_cotangents_raise():
    _, pullback = vjp(lambda x: (x, x), 1.0)
    with pytest.raises(
        TypeError, match=r"returned by `olympus.vjp` must be called with a single argument"
    ):
        pullback(1.0, 2.0)


def test_invalid_functions_raise():
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        vjp(3, 1.0)
    with pytest.raises(TypeError, match="not a valid"):
        vjp(lambda x: "a", 1.0)
    with pytest.raises(NotImplementedError, match="reduce_axes"):
        vjp(lax.sin, 1.0, reduce_axes=("i",))


@pytest.mark.parametrize("jitted", [True, False])
def test_forward_and_backward(jitted):
    forward, backward = fwd_and_bwd(product, argnums=0, jitted=jitted)
    value, residuals = forward(3.0, 2.0)
    assert value == 6.0
    assert backward(residuals, 1.0) == 2.0
    forward, backward = fwd_and_bwd(product, argnums=(1, 0), jitted=jitted)
    assert backward(forward(3.0, 2.0)[1], 1.0) == (3.0, 2.0)


def test_derivatives_are_arrays_where_they_are_constant():
    _, pullback = vjp(lambda x: (1.0 * x, 3.0), 1.0)
    results = [
        *pullback((2.0, 1.0)),
        jvp(lambda x: 3.0, (1.0,), (1.0,))[1],
        linearize(lambda x: (x, 3.0), 1.0)[1](1.0)[1],
        *grad(lambda x, y: 2.0 * y, (0, 1))(1.0, 1.0),
    ]
    for result in results:
        assert isinstance(result, Array)
    assert results == [2.0, 0.0, 0.0, 0.0, 2.0]


def test_python_numbers_passed_through_have_a_dtype():
    value, pullback = vjp(lambda x, n: (x, n), 1.5, 2)
    assert value == (1.5, 2)
    assert [leaf.dtype for leaf in value] == ["float32", "int32"]
    assert isinstance(value[0], float) and isinstance(value[1], int)
    assert pullback((1.0, np.zeros((), dtypes.float0)))[0] == 1.0
    (value, aux), gradient = value_and_grad(lambda x: (x, x), has_aux=True)(3.0)
    assert value.dtype == aux.dtype == "float32" and (value, gradient) == (3.0, 1.0)
