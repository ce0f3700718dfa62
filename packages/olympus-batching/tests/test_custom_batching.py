# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import custom_vmap, sequential_vmap, vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit

X = np.arange(1, 4, dtype=np.float32)


@pytest.fixture
def product():
    calls = []

    @custom_vmap
    def fun(x, y):
        return lax.add(x, y)

    @fun.def_vmap
    def rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched, np.shape(x), np.shape(y)))
        return lax.mul(x, y), True

    return fun, calls


def test_rule_is_called_for_batched_arguments(product):
    fun, calls = product
    assert fun(np.float32(2), np.float32(3)) == 5
    assert calls == []
    np.testing.assert_array_equal(vmap(fun)(X, X), X * X)
    np.testing.assert_array_equal(vmap(fun, in_axes=(0, None))(X, np.float32(2)), 2 * X)
    assert calls == [(3, [True, True], (3,), (3,)), (3, [True, False], (3,), ())]


def test_rule_gets_batch_dimension_0(product):
    fun, calls = product
    vmap(fun, in_axes=(1, None))(np.ones((2, 3), np.float32), np.float32(1))
    assert calls == [(3, [True, False], (3, 2), ())]


def test_keywords_and_compiled_functions(product):
    fun, _ = product
    np.testing.assert_array_equal(vmap(lambda x: fun(x, y=x))(X), X * X)
    np.testing.assert_array_equal(vmap(jit(fun))(X, X), X * X)
    np.testing.assert_array_equal(jit(vmap(fun))(X, X), X * X)


def test_the_rule_is_called_for_each_level(product):
    fun, calls = product
    m = np.ones((4, 3), np.float32)
    assert vmap(vmap(fun))(m, m).shape == (4, 3)
    assert calls == [(3, [True, True], (3,), (3,))]


def test_results_and_arguments_may_be_trees():
    @custom_vmap
    def fun(d):
        return {"a": d["x"], "b": np.float32(1)}

    @fun.def_vmap
    def rule(axis_size, in_batched, d):
        assert in_batched == [{"x": True, "y": False}]
        return {"a": d["x"], "b": np.float32(2)}, {"a": True, "b": False}

    out = vmap(fun, in_axes=({"x": 0, "y": None},), out_axes={"a": 0, "b": None})(
        {"x": X, "y": 2.0}
    )
    np.testing.assert_array_equal(out["a"], X)
    assert out["b"] == 2


def test_rule_results_of_wrong_structure_raise():
    @custom_vmap
    def fun(x):
        return {"a": x}

    def mapped(rule):
        fun.def_vmap(rule)
        return vmap(fun)(X)

    with pytest.raises(
        ValueError, match=r"batching specification .* rule \(<lambda>\) do not match"
    ):
        mapped(lambda size, batched, x: ({"a": x}, True))
    with pytest.raises(ValueError, match="does not match that of original custom-vmapped function"):
        mapped(lambda size, batched, x: (x, True))
    with pytest.raises(TypeError, match="must return a pair"):
        mapped(lambda size, batched, x: x)


def test_missing_rule_and_keyword_only_arguments_raise():
    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function"):
        custom_vmap(lambda x: x)(X)
    with pytest.raises(TypeError, match="could not be resolved to positions: k"):
        custom_vmap(lambda x, *, k: x)(X, k=1)


def test_closing_over_batched_values():
    def outer(z):
        fun = custom_vmap(lambda x: lax.add(x, z))
        fun.def_vmap(lambda size, batched, x: (x, batched[0]))
        return fun(np.float32(1))

    assert jit(outer)(np.float32(2)) == 3
    with pytest.raises(ValueError, match="closes over a value that differs"):
        vmap(outer)(X)


def test_sequential_vmap_calls_function_for_each_example():
    seen = []

    @sequential_vmap
    def fun(x, y):
        seen.append((x.shape, np.shape(y)))
        return lax.mul(lax.reduce_sum(x, (0,)), y)

    m = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(vmap(fun, in_axes=(0, None))(m, np.float32(2)), [4, 4, 4])
    assert set(seen) == {((2,), ())}
