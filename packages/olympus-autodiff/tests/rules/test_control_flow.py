# SPDX-License-Identifier: Apache-2.0
"""Residuals and programs of derivatives of control flow. test_against_jax compares values."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, linearize, vjp
from olympus_batching import vmap
from olympus_ir import ShapedArray, lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees

F32 = ShapedArray((), np.float32)
X = np.linspace(0.1, 0.9, 5, dtype=np.float32)


def program(fun, *avals):
    return trace_to_closed(lambda *args: pytrees.tree_leaves(fun(*args)), avals)


def equations(closed, primitive):
    return [equation for equation in closed.eqns if equation.primitive is primitive]


def loop(step, length=5):
    return lambda x, w: lax.scan(lambda c, _: (step(c, w), None), x, None, length=length)[0]


# ---- scan ----


def test_loop_invariant_operations_are_hoisted():
    step = lambda c, w: lax.mul(lax.sin(lax.mul(c, lax.exp(w))), lax.cos(w))  # noqa: E731
    closed = program(grad(loop(step), argnums=(0, 1)), F32, F32)
    outside = [e.primitive.name for e in closed.eqns]
    assert {"exp", "cos", "sin"} <= set(outside)
    for scan in equations(closed, lax.scan_p):
        inside = [e.primitive.name for e in scan.params["jaxpr"].eqns]
        assert "exp" not in inside
    forward, backward = equations(closed, lax.scan_p)
    # Stacked are the carry, the sine and the cosine; exp(w) and the like are constants.
    assert len(forward.outvars) == 1 + 3
    assert backward.params["num_consts"] >= 2


def test_scan_inputs_and_outputs_are_reused_as_residuals():
    def f(x, xs):
        return lax.scan(lambda c, a: (lax.mul(c, a), lax.exp(a)), x, xs)

    closed = program(lambda x, xs: vjp(f, x, xs)[1]((x, xs)), F32, ShapedArray((5,), np.float32))
    forward, _ = equations(closed, lax.scan_p)
    # The carry at the end, the results exp(a), and stacked the carry; `a` and exp(a) are there.
    assert len(forward.outvars) == 3


def test_scan_without_tangents_is_not_differentiated():
    def f(x):
        counts, _ = lax.scan(lambda c, _: (lax.add(c, 1), None), 0, None, length=3)
        return lax.mul(x, lax.convert_element_type(counts, np.float32))

    closed = program(grad(f), F32)
    assert len(equations(closed, lax.scan_p)) == 1
    assert grad(f)(2.0) == 3.0


def test_zero_cotangents_are_not_carried():
    def f(x, y):
        (a, _), _ = lax.scan(
            lambda c, _: ((lax.sin(c[0]), lax.sin(c[1])), None), (x, y), None, length=3
        )
        return a

    closed = program(lambda x, y: vjp(f, x, y)[1](x), F32, F32)
    backward = equations(closed, lax.scan_p)[1]
    assert backward.params["num_carry"] == 1


def test_loop_is_linearized_once():
    traced = []

    def step(c, w):
        traced.append(c)
        return lax.sin(lax.mul(c, w))

    body = lambda c, w: (step(c, w), None)  # noqa: E731
    f = lambda x: lax.scan(body, x, X)[0]  # noqa: E731
    first = program(grad(f), F32)
    second = program(grad(f), F32)
    assert len(traced) == 1
    for one, other in zip(equations(first, lax.scan_p), equations(second, lax.scan_p), strict=True):
        assert one.params["jaxpr"] is other.params["jaxpr"]


def test_loops_of_length_zero():
    f = loop(lambda c, w: lax.sin(lax.mul(c, w)), length=0)
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (1.0, 0.0)


def test_gradients_of_mapped_loops_equal_single_ones():
    f = loop(lambda c, w: lax.sin(lax.mul(c, w)))
    expected = [grad(f, argnums=1)(x, 2.0) for x in X]
    found = vmap(lambda x: grad(f, argnums=1)(x, 2.0))(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    total = lambda x: lax.reduce_sum(vmap(lambda x: f(x, 2.0))(x), (0,))  # noqa: E731
    np.testing.assert_allclose(grad(total)(X), [grad(f)(x, 2.0) for x in X], rtol=1e-5)


def test_constants_of_rules_become_operands():
    table = np.arange(5, dtype=np.float32)

    def step(c, _):
        return lax.reduce_sum(lax.cumprod(lax.mul(lax.sin(table), c)), (0,)), None

    closed = program(grad(lambda x: lax.scan(step, x, None, length=2)[0]), F32)
    for scan in equations(closed, lax.scan_p):
        assert scan.params["jaxpr"].consts == []


# ---- cond ----


def test_branches_share_residuals_of_equal_type():
    def f(x, p):
        return lax.cond(p, lambda x: lax.sin(x), lambda x: lax.mul(lax.exp(x), x), x)

    closed = program(lambda x, p: grad(f)(x, p), F32, ShapedArray((), np.bool_))
    forward, _ = equations(closed, lax.cond_p)
    # cos(x) of one branch and exp(x) of the other take one place; x itself is an operand.
    assert len(forward.outvars) == 2


def test_only_one_branch_has_a_tangent():
    f = lambda x, p: lax.cond(p, lambda x: lax.sin(x), lambda x: np.float32(2), x)  # noqa: E731
    assert jvp(lambda x: f(x, False), (0.0,), (1.0,))[1] == 0.0
    assert jvp(lambda x: f(x, True), (0.0,), (1.0,))[1] == 1.0
    assert grad(f)(0.0, True) == 1.0
    assert grad(f)(0.0, False) == 0.0
    assert grad(jit(f))(0.0, False) == 0.0


def test_cond_of_arrays_with_zero_cotangents():
    def f(x, y, p):
        return lax.cond(p, lambda x, y: (lax.mul(x, y), x), lambda x, y: (x, y), x, y)

    by_x, by_y, _ = vjp(lambda x, y, p: f(x, y, p)[0], X, X, True)[1](X)
    np.testing.assert_allclose(by_x, X * X)
    by_x, by_y, _ = vjp(lambda x, y, p: f(x, y, p)[0], X, X, False)[1](X)
    np.testing.assert_allclose(by_x, X)
    np.testing.assert_allclose(by_y, 0 * X)


# ---- while ----


def powers_below_ten(x, w):
    return lax.while_loop(lambda c: lax.lt(c, 10.0), lambda c: lax.mul(c, w), x)


def test_while_in_forward_mode():
    assert jvp(powers_below_ten, (1.0, 2.0), (1.0, 0.0)) == (16.0, 16.0)
    assert jvp(powers_below_ten, (1.0, 2.0), (0.0, 1.0)) == (16.0, 32.0)
    assert jvp(jit(powers_below_ten), (1.0, 2.0), (1.0, 1.0)) == (16.0, 48.0)


def test_while_loops_are_linearized():
    value, derivative = linearize(powers_below_ten, 1.0, 2.0)
    assert value == 16.0
    assert derivative(1.0, 0.0) == 16.0
    assert derivative(0.0, 1.0) == 32.0


def test_while_in_reverse_mode():
    with pytest.raises(ValueError, match=r"Reverse-mode differentiation does not work .*lax\.scan"):
        grad(powers_below_ten)(1.0, 2.0)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        grad(jit(powers_below_ten))(1.0, 2.0)


def test_reverse_mode_over_integer_while_loop():
    def f(x):
        count = lax.while_loop(lambda n: lax.lt(n, 10), lambda n: lax.mul(n, 2), 1)
        return lax.mul(x, lax.convert_element_type(count, np.float32))

    assert grad(f)(3.0) == 16.0


def test_loops_with_fixed_bounds_have_gradients():
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, x), x)  # noqa: E731
    assert grad(f)(2.0) == 32.0


def test_known_array_bounds_are_static():
    def power(x, n):
        return lax.fori_loop(0, n, lambda _, y: lax.mul(y, x), 1.0)

    assert grad(power)(2.0, np.asarray(3, np.int32)) == 12.0
    with pytest.raises(ValueError, match="Reverse-mode"):
        trace_to_closed(lambda n: grad(power)(2.0, n), [ShapedArray((), np.int32)])
