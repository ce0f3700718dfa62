# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import closure_convert, custom_gradient, grad, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit


def test_custom_gradient_replaces_the_derivative():
    @custom_gradient
    def f(x):
        return lax.mul(x, x), lambda ct: (lax.mul(ct, lax.mul(x, 10.0)),)

    assert f(3.0) == 9.0
    assert grad(f)(3.0) == 30.0
    assert grad(jit(f))(3.0) == 30.0
    np.testing.assert_array_equal(vmap(grad(f))(np.ones(2, np.float32)), [10, 10])


def test_custom_gradient_of_several_arguments():
    @custom_gradient
    def f(x, y=2.0):
        return (lax.mul(x, y), x), lambda ct: (lax.mul(ct[0], y), lax.mul(ct[0], x))

    assert vjp(f, 3.0, 2.0)[1]((1.0, 0.0)) == (2.0, 3.0)
    assert grad(lambda x: f(x=x)[0])(3.0) == 2.0


def test_a_single_cotangent_needs_no_tuple():
    f = custom_gradient(lambda x: (lax.mul(x, x), lambda ct: lax.mul(ct, x)))
    assert grad(f)(3.0) == 3.0


def test_custom_gradient_must_return_a_function():
    with pytest.raises(TypeError, match="must return a pair of its result and a function"):
        custom_gradient(lambda x: (x, 3.0))(1.0)


def test_closure_convert_returns_closed_over_values():
    def outer(w):
        converted, values = closure_convert(lambda x: lax.mul(x, w), 1.0)
        assert len(values) == 1
        return converted(3.0, *[lax.mul(value, 2.0) for value in values])

    assert grad(outer)(5.0) == 6.0
    converted, values = closure_convert(lambda x: lax.mul(x, 2.0), 1.0)
    assert values == []
    assert converted(3.0) == 6.0
    with pytest.raises(TypeError, match="produced by closure_convert must be its 1 arguments"):
        converted(3.0, 4.0)
    with pytest.raises(TypeError, match="must have the same Pytree structure"):
        converted((3.0,))


def test_custom_gradient_refuses_what_is_no_function():
    with pytest.raises(TypeError, match="Expected a callable value, got None"):
        custom_gradient(None)
