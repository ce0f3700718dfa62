# SPDX-License-Identifier: Apache-2.0
"""Functions with derivative rules that close over mapped values; weak types of cotangents."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit

X = np.array([0.5, 1.0, -2.0], np.float32)


def with_jvp(y):
    @custom_jvp
    def scaled_sin(a):
        return lax.mul(lax.sin(a), y)

    # Twice the derivative, to tell that the rule is used.
    scaled_sin.defjvp(
        lambda primals, tangents: (
            scaled_sin(*primals),
            lax.mul(lax.mul(lax.mul(lax.cos(primals[0]), y), tangents[0]), 2.0),
        )
    )
    return scaled_sin


def with_vjp(y):
    @custom_vjp
    def scaled_sin(a):
        return lax.mul(lax.sin(a), y)

    def backward(a, cotangent):
        return (lax.mul(lax.mul(lax.mul(lax.cos(a), y), cotangent), 2.0),)

    scaled_sin.defvjp(lambda a: (scaled_sin(a), a), backward)
    return scaled_sin


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rule", [with_jvp, with_vjp])
class TestMappedClosures:
    def run(self, fun, compiled, *args):
        return (jit(fun) if compiled else fun)(*args)

    def test_values_equal_the_formula(self, rule, compiled):
        mapped = vmap(lambda y: rule(y)(lax.mul(y, 2.0)))
        np.testing.assert_allclose(self.run(mapped, compiled, X), np.sin(2 * X) * X, rtol=1e-6)

    def test_shared_arguments_are_not_batched(self, rule, compiled):
        mapped = vmap(lambda y: rule(y)(np.float32(1.5)))
        np.testing.assert_allclose(self.run(mapped, compiled, X), np.sin(1.5) * X, rtol=1e-6)

    def test_derivatives_inside_equal_the_formula(self, rule, compiled):
        mapped = vmap(lambda y: grad(rule(y))(lax.mul(y, 2.0)))
        expected = 2 * np.cos(2 * X) * X
        np.testing.assert_allclose(self.run(mapped, compiled, X), expected, rtol=1e-6)

    def test_derivatives_outside_equal_the_formula(self, rule, compiled):
        def total(a):
            return lax.reduce_sum(vmap(lambda y, a: rule(y)(a))(X, a), (0,))

        expected = 2 * np.cos(X) * X
        np.testing.assert_allclose(self.run(grad(total), compiled, X), expected, rtol=1e-6)

    def test_closures_may_depend_on_two_axes(self, rule, compiled):
        mapped = vmap(lambda x: vmap(lambda y: rule(lax.mul(x, y))(y))(X))
        expected = np.sin(X)[None, :] * X[:, None] * X[None, :]
        np.testing.assert_allclose(self.run(mapped, compiled, X), expected, rtol=1e-6)


TWO = np.float32(2.0)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda x: grad(lambda a: lax.mul(lax.convert_element_type(a, np.float32), TWO))(x),
        lambda x: jacrev(lambda a: lax.mul(lax.convert_element_type(a, np.float32), TWO))(x),
        lambda x: hessian(lambda a: lax.convert_element_type(lax.mul(a, a), np.float32))(x),
        lambda x: jacfwd(lambda a: lax.mul(a, 2.0))(x),
        lambda x: vjp(lambda a: lax.convert_element_type(a, np.float32), x)[1](TWO)[0],
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_by_python_scalars_are_weak(derivative, compiled):
    result = (jit(derivative) if compiled else derivative)(3.0)
    assert result.weak_type and result == 2.0
    assert not getattr(derivative(np.float32(3.0)), "weak_type", False)
