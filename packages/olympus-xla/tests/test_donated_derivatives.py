# SPDX-License-Identifier: Apache-2.0
"""Donated arguments of functions that are differentiated: which buffers are reused, which live."""

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, linearize, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_xla import device_put, jit


def scaled_sine(x, y):
    return lax.mul(lax.sin(x), y), lax.add(y, y)


def arrays(count):
    values = [np.arange(3, dtype=np.float32) + number for number in range(count)]
    return [device_put(value) for value in values], values


def flags(function, *args):
    """Returns the donated operands of each call in the program of a function."""
    equations = make_olympuspr(function)(*args).eqns
    return [each.params["donated_invars"] for each in equations if each.primitive.name == "jit"]


def test_forward_mode_donates_primals():
    fun = jit(scaled_sine, donate_argnums=0)
    (x, y, dx, dy), (x0, y0, dx0, dy0) = arrays(4)
    (value, _), (tangent, _) = jvp(fun, (x, y), (dx, dy))
    np.testing.assert_allclose(value, np.sin(x0) * y0, rtol=1e-6)
    np.testing.assert_allclose(tangent, np.cos(x0) * dx0 * y0 + np.sin(x0) * dy0, rtol=1e-6)
    assert [each.is_deleted() for each in (x, y, dx, dy)] == [True, False, False, False]
    four = flags(lambda *args: jvp(fun, args[:2], args[2:]), x0, y0, dx0, dy0)
    assert four == [(True, False, False, False)]


def test_tangents_of_several_values_live():
    fun = jit(lambda x: lax.sin(x), donate_argnums=0)
    (x, dx), (x0, dx0) = arrays(2)
    # The tangent of x + 1 is that of x.
    _, tangent = jvp(lambda x: lax.mul(fun(lax.add(x, np.float32(1))), x), (x,), (dx,))
    expected = np.cos(x0 + 1) * dx0 * x0 + np.sin(x0 + 1) * dx0
    np.testing.assert_allclose(tangent, expected, rtol=1e-6)
    assert not dx.is_deleted()


def test_primal_as_tangent():
    fun = jit(lambda x: lax.sin(x), donate_argnums=0)
    (x,), (x0,) = arrays(1)
    _, tangent = jvp(fun, (x,), (x,))
    assert not x.is_deleted()
    np.testing.assert_allclose(tangent, np.cos(x0) * x0, rtol=1e-6)


def test_reverse_mode_donates_unneeded_arrays():
    fun = jit(scaled_sine, donate_argnums=(0, 1))
    (x, y), (x0, y0) = arrays(2)
    gradient = grad(lambda x, y: lax.reduce_sum(fun(x, y)[0], (0,)))(x, y)
    np.testing.assert_allclose(gradient, np.cos(x0) * y0, rtol=1e-6)
    # The derivative multiplies by the cosine of x, and by y itself.
    assert [each.is_deleted() for each in (x, y)] == [True, False]
    primal, backward = flags(lambda x, y: vjp(fun, x, y)[1]((x, y)), x0, y0)
    assert primal == (True, False) and not any(backward)


@pytest.mark.parametrize("times", [1, 2])
def test_linear_functions_keep_their_tangents(times):
    fun = jit(lambda x: lax.sin(x), donate_argnums=0)
    (x, dx), (x0, dx0) = arrays(2)
    _, linear = linearize(fun, x)
    for _ in range(times):
        np.testing.assert_allclose(linear(dx), np.cos(x0) * dx0, rtol=1e-6)
    assert x.is_deleted() and not dx.is_deleted()


def test_batches_are_donated():
    fun = jit(scaled_sine, donate_argnums=0)
    (x, y), (x0, y0) = arrays(2)
    np.testing.assert_allclose(vmap(fun)(x, y)[0], np.sin(x0) * y0, rtol=1e-6)
    assert x.is_deleted() and not y.is_deleted()
    (x, y, dx), (x0, y0, dx0) = arrays(3)
    _, (tangent, _) = jvp(lambda x: vmap(fun)(x, y), (x,), (dx,))
    np.testing.assert_allclose(tangent, np.cos(x0) * dx0 * y0, rtol=1e-6)
    assert x.is_deleted() and not dx.is_deleted() and not y.is_deleted()
