# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions with custom batching rules."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import custom_jvp, grad, jvp
from olympus_batching import vmap
from olympus_batching.custom_batching import custom_vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit

X = np.array([0.5, 1.0, 1.5], np.float32)


def sine_with_wrong_rule():
    """The sine, with ten times the sine as its rule for many examples, and the rule's calls."""
    calls = []

    @custom_vmap
    def f(x):
        return lax.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        calls.append((axis_size, in_batched))
        return lax.mul(lax.sin(x), 10.0), in_batched[0]

    return f, calls


@pytest.mark.parametrize("transformation", [lambda f: f, jit])
def test_vmap_of_jvp_uses_the_rule(transformation):
    f, calls = sine_with_wrong_rule()
    pushed = transformation(lambda x, t: jvp(f, (x,), (t,)))
    y, t = vmap(pushed)(X, X)
    np.testing.assert_allclose(y, 10 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(t, 10 * np.cos(X) * X, rtol=1e-6)
    assert calls == [(3, [True])]


def test_jvp_of_vmap_uses_the_rule():
    f, _ = sine_with_wrong_rule()
    y, t = jvp(vmap(f), (X,), (X,))
    np.testing.assert_allclose(y, 10 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(t, 10 * np.cos(X) * X, rtol=1e-6)


def test_batched_tangents_at_one_point():
    f, calls = sine_with_wrong_rule()
    y, t = vmap(lambda t: jvp(f, (np.float32(0.5),), (t,)), out_axes=0)(X)
    np.testing.assert_allclose(y, np.full(3, 10 * np.sin(0.5)), rtol=1e-6)
    np.testing.assert_allclose(t, 10 * np.cos(0.5) * X, rtol=1e-6)
    assert calls == [(3, [False])]


def test_integers_and_several_results():
    @custom_vmap
    def power(x, n):
        return {"power": lax.mul(x, lax.convert_element_type(n, np.float32)), "next": lax.add(n, 1)}

    @power.def_vmap
    def rule(axis_size, in_batched, x, n):
        scale = lax.convert_element_type(n, np.float32)
        result = {"power": lax.mul(lax.mul(x, scale), 2.0), "next": lax.add(n, 2)}
        return result, {"power": in_batched[0], "next": in_batched[1]}

    n = np.array([1, 2, 3], np.int32)
    y, t = vmap(lambda x, n: jvp(lambda x: power(x, n), (x,), (np.float32(1),)))(X, n)
    np.testing.assert_allclose(y["power"], 2 * X * n, rtol=1e-6)
    np.testing.assert_array_equal(y["next"], n + 2)
    np.testing.assert_allclose(t["power"], 2.0 * n, rtol=1e-6)


def test_reverse_mode_differentiates_the_function():
    f, calls = sine_with_wrong_rule()
    np.testing.assert_allclose(vmap(grad(f))(X), np.cos(X), rtol=1e-6)
    assert calls == []
    np.testing.assert_allclose(
        grad(lambda x: lax.reduce_sum(vmap(f)(x), (0,)))(X), 10 * np.cos(X), rtol=1e-6
    )


def test_batched_tangents_apply_rule_once():
    """If only tangents or only primals are batched, the rule gets unbatched arguments."""
    f, calls = sine_with_wrong_rule()
    one = np.float32(2)
    y, t = vmap(lambda t: jvp(f, (one,), (t,)), out_axes=(None, 0))(X)
    assert calls[-1] == (3, [False])
    np.testing.assert_allclose(y, 10 * np.sin(2.0), rtol=1e-6)
    np.testing.assert_allclose(t, 10 * np.cos(2.0) * X, rtol=1e-6)
    _, t = vmap(lambda x: jvp(f, (x,), (one,)))(X)
    assert calls[-1] == (3, [False])
    np.testing.assert_allclose(t, 20 * np.cos(X), rtol=1e-6)


def test_tangents_of_linear_rules_can_be_unbatched():
    @custom_vmap
    def f(x):
        return lax.mul(x, 7.0)

    f.def_vmap(lambda axis_size, in_batched, x: (lax.mul(x, 11.0), in_batched[0]))
    _, t = vmap(lambda x: jvp(f, (x,), (np.float32(4),)), out_axes=(0, None))(X)
    assert t.shape == () and t == 44.0


def test_rules_of_inner_decorators():
    @custom_vmap
    @custom_jvp
    def f(x):
        return lax.sin(x)

    f.defjvp(lambda primals, tangents: (f.fun(*primals), lax.mul(3.0, tangents[0])))
    f.def_vmap(lambda axis_size, in_batched, x: (f.fun(x), in_batched[0]))
    assert jvp(f, (1.0,), (2.0,))[1] == 6.0
    with pytest.raises(AttributeError, match="no attribute 'defjvp'"):
        custom_vmap(lax.sin).defjvp  # noqa: B018
