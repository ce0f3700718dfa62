# SPDX-License-Identifier: Apache-2.0
"""A primitive with an expansion as its only rule works under every interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
from olympus import lax
from olympus.experimental.jet import jet
from olympus_ir import Primitive
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.reference import reference_evaluator

squared_distance_p = Primitive("squared_distance")
halves_p = Primitive.declare("halves", multiple_results=True)


@expansion_rules.define(squared_distance_p)
def _squared_distance(x, y, *, scale):
    return lax.mul(lax.square(lax.sub(x, y)), lax.full_like(x, scale))


@expansion_rules.define(halves_p)
def _halves(x):
    size = x.shape[0] // 2
    return [lax.slice(x, (0,), (size,)), lax.slice(x, (size,), (2 * size,))]


def squared_distance(x, y):
    return squared_distance_p.bind(x, y, scale=2.0)


def expected(x, y):
    return 2 * (x - y) ** 2


X, Y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)


def test_types_follow_from_the_expansion():
    assert olympus.eval_shape(squared_distance, X, Y).shape == (4,)
    first, second = olympus.eval_shape(halves_p.bind, X)
    assert first.shape == second.shape == (2,)


def test_evaluation_and_lowering():
    np.testing.assert_allclose(squared_distance(X, Y), expected(X, Y))
    np.testing.assert_allclose(olympus.jit(squared_distance)(X, Y), expected(X, Y))
    result = reference_evaluator.evaluate(squared_distance_p, (X, Y), {"scale": 2.0})
    np.testing.assert_allclose(np.asarray(result), expected(X, Y))
    first, second = olympus.jit(halves_p.bind)(X)
    np.testing.assert_array_equal(np.concatenate([first, second]), X)


def test_batches_equal_the_formula():
    table = olympus.vmap(olympus.vmap(squared_distance, (None, 0)), (0, None))(X, Y)
    np.testing.assert_allclose(table, expected(X[:, None], Y))


def test_derivatives_follow_from_the_expansion():
    np.testing.assert_allclose(olympus.vmap(olympus.grad(squared_distance))(X, Y), 4 * (X - Y))
    tangent = olympus.jvp(squared_distance, (X, Y), (Y, Y))[1]
    np.testing.assert_allclose(tangent, 0)
    _, terms = jet(lambda x: squared_distance(x, Y), (X,), [[Y, 0 * Y]])
    np.testing.assert_allclose(terms[1], 4 * Y)


def test_transposition_follows_from_the_expansion():
    (back,) = olympus.linear_transpose(halves_p.bind, X)([Y[:2], 2 * Y[:2]])
    np.testing.assert_array_equal(back, [1, 1, 2, 2])


def test_shardings_propagate_through_the_expansion():
    mesh = olympus.make_mesh((1,), ("x",), axis_types=(olympus.sharding.AxisType.Explicit,))
    with olympus.set_mesh(mesh):
        x = olympus.device_put(X, olympus.P("x"))
        assert str(olympus.typeof(olympus.jit(squared_distance)(x, x))) == "float32[4@x]"


def test_missing_rule_error_mentions_expansion_rules():
    unknown_p = Primitive("unknown")
    unknown_p.def_abstract_eval(lambda x: x)
    for function in (olympus.jit(unknown_p.bind), olympus.grad(unknown_p.bind)):
        with pytest.raises(MissingRuleError, match=r"expansion_rules\.define"):
            function(1.0)
    with pytest.raises(MissingRuleError, match=r"expansion_rules\.define"):
        olympus.vmap(unknown_p.bind)(X)
