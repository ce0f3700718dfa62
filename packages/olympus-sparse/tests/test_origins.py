# SPDX-License-Identifier: Apache-2.0
"""Origins of values, compared with the values, and the entries that are picked from sources."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config_states
from olympus_sparse import plan
from olympus_sparse.jacobians.origins import origins_of
from olympus_sparse.jacobians.views import view_at

rng = np.random.default_rng(0)
KERNEL = rng.normal(size=(3, 3))
PAIRS = rng.integers(0, 30, (100, 2))  # neither sorted nor distinct
WEIGHTS = rng.normal(size=100)


@pytest.fixture(autouse=True)
def _double():
    with config_states.enable_x64(True):
        yield


def point(*shape):
    return rng.uniform(0.5, 1.5, shape)


# For each name a function, and the number of sources of its result.
MOVED = {
    "slice": (lambda x: x[1:, ::2], 1),
    "transposed": (lambda x: 3 * x.T, 1),
    "reversed": (lambda x: -x[::-1], 1),
    "padded": (lambda x: jnp.pad(x, 1, constant_values=2.0) * 0.5, 1),
    "joined": (lambda x: jnp.concatenate([x * 2, np.ones((1, 4)), jnp.sin(x)]), 2),
    "stacked": (lambda x: jnp.stack([x, 2 / (1 + x)], axis=1), 2),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (3, 5, 4)) * np.arange(5.0)[:, None], 1),
    "gathered": (lambda x: x.ravel()[np.array([[3, 1], [0, 3]])] / 7, 1),
    "divisor": (lambda x: 2 / x, 1),
    "sum": (lambda x: x + 1, 1),
    "constant": (lambda x: jnp.ones(3) * 2, 0),
}


@pytest.mark.parametrize("name", MOVED)
def test_values_are_factors_times_elements_of_sources(name):
    function, count = MOVED[name]
    x = point(3, 4)
    closed = make_olympuspr(function)(x)
    found = origins_of(closed)
    program = closed.olympuspr.replace(outvars=[*closed.outvars, *found.sources])
    value, *sources = eval_olympuspr(program, closed.consts, x)
    elements = np.concatenate([np.ones(1), *(np.ravel(source) for source in sources)])
    (numbers, factors) = found.results[0]
    assert len({np.searchsorted(found.starts, n, "right") for n in numbers[numbers >= 0]}) == count
    np.testing.assert_allclose(factors * elements[numbers + 1], value, rtol=1e-15)
    np.testing.assert_allclose(value, function(x), rtol=1e-15)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-160])
def test_extreme_factors_are_not_joined(scale):
    x = np.full(5, 1 / scale)
    closed = make_olympuspr(lambda x: (x * scale) * (scale * np.array([1.0, 0, 1, 1, 1])))(x)
    found = origins_of(closed)
    (numbers, factors) = found.results[0]
    program = closed.olympuspr.replace(outvars=found.sources)
    elements = np.concatenate(eval_olympuspr(program, closed.consts, x))
    np.testing.assert_allclose(factors * elements[numbers], scale * np.array([1.0, 0, 1, 1, 1]))


FUNCTIONS = {
    "image filter": (
        lambda x: lax.conv(x[None, None] ** 2, KERNEL[None, None].astype(x.dtype), (1, 1), "SAME"),
        (6, 5),
    ),
    "two layers": (
        lambda x: jnp.tanh(jnp.convolve(jnp.sin(x), KERNEL[0].astype(x.dtype), "same")),
        (12,),
    ),
    "random": (
        lambda x: jnp.zeros(30, x.dtype).at[PAIRS[:, 0]].add(
            WEIGHTS.astype(x.dtype) * x[PAIRS[:, 1]] ** 2
        ),
        (30,),
    ),
    "random rows": (
        lambda x: x[PAIRS[:, 0]] * WEIGHTS.astype(x.dtype) * jnp.sin(x)[PAIRS[:, 1]],
        (30,),
    ),
    "collocation": (
        lambda y: jnp.concatenate([
            y[:1],
            y[1:] - y[:-1] - jnp.stack([y[1:, 1], -jnp.sin(y[:-1, 0])], axis=1) / 20,
        ]),
        (9, 2),
    ),
    "batched products": (
        lambda x: x[:, :6].reshape(-1, 2, 3) @ x[:, 6:].reshape(-1, 3, 2),
        (5, 12),
    ),
    "far apart": (lambda x: jnp.stack([x[3], x[5000] ** 2, x[9000] * x[1]]), (9001,)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_have_the_dtype_of_the_argument(name, dtype):
    function, shape = FUNCTIONS[name]
    x = point(*shape).astype(jnp.dtype(dtype))
    made = plan(function, x)
    assert made.evaluation == "terms"
    entries = made(x).data
    assert entries.dtype == x.dtype
    wide = x.astype(np.float64)
    dense = np.asarray(autodiff.jacfwd(function)(wide)).reshape(made.shape)
    pattern = made.pattern.tocoo()
    tolerance = 40 * float(jnp.finfo(x.dtype).eps)
    np.testing.assert_allclose(
        entries.astype(np.float64), dense[pattern.row, pattern.col], rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "far apart"])
def test_plans_can_be_compiled_and_batched(name):
    function, shape = FUNCTIONS[name]
    x = point(*shape)
    made, dense = plan(function, x), autodiff.jacfwd(function)
    np.testing.assert_allclose(jit(lambda x: made(x).todense())(x), dense(x), rtol=1e-12)
    batch = np.stack([x, x + 1])
    mapped = vmap(lambda x: made(x, format="dense"))(batch)
    np.testing.assert_allclose(mapped, vmap(dense)(batch), rtol=1e-12)
    gradient = autodiff.grad(lambda x: jnp.sum(jnp.sin(made(x, format="dense"))))(x)
    expected = autodiff.grad(lambda x: jnp.sum(jnp.sin(dense(x))))(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-13)
    pushed = autodiff.jvp(lambda x: made(x, format="dense"), (x,), (x,))[1]
    np.testing.assert_allclose(pushed, autodiff.jvp(dense, (x,), (x,))[1], rtol=1e-11, atol=1e-13)


def test_entries_are_gathered_once():
    function, shape = FUNCTIONS["image filter"]
    x = point(*shape)
    (call,) = make_olympuspr(lambda x: plan(function, x)(x).data)(x).eqns
    names = [equation.primitive.name for equation in call.params["jaxpr"].eqns]
    assert names.count("gather") == 1
    assert not {"pad", "concatenate", "scatter-add", "scatter"} & set(names)


# For each name the places of a view of 60 elements; None for places that are no view.
VIEWS = {
    "slice": np.arange(7, 19),
    "steps": np.arange(1, 60, 4),
    "matrix": 3 + 12 * np.arange(4)[:, None] + np.arange(5),
    "transposed": 12 * np.arange(4) + np.arange(5)[:, None],
    "repeated": np.repeat(np.arange(5, 25), 3),
    "tiled": np.tile(np.arange(5, 25), 3),
    "products": (
        12 * np.arange(5)[:, None, None, None] + 6
        + 2 * np.arange(3)[:, None] + np.arange(2)[:, None, None] * 0 + np.arange(2)
    ),
    "one place": np.full((3, 4), 59),
    "to the end": 1 + 20 * np.arange(3)[:, None] + np.arange(19),
}  # fmt: skip
OTHERS = {
    "overlapping": np.arange(9)[:, None] + np.arange(3),
    "falling": np.arange(9)[::-1],
    "irregular": np.array([0, 1, 2, 5, 6, 7, 9, 10, 11]),
    "beyond the end": np.arange(0, 60, 7)[:, None] + np.arange(4),
}


@pytest.mark.parametrize("name", [*VIEWS, *OTHERS])
def test_regular_indices_become_views(name):
    source = jnp.asarray(rng.normal(size=60))
    places = (VIEWS | OTHERS)[name]
    found = view_at(source, places)
    assert (found is None) == (name in OTHERS)
    if found is not None:
        np.testing.assert_array_equal(found, np.asarray(source)[places])


def test_columns_of_view_are_computed_at_once():
    function, shape = FUNCTIONS["batched products"]
    x = point(*shape)
    (call,) = make_olympuspr(lambda x: plan(function, x)(x).data)(x).eqns
    names = [equation.primitive.name for equation in call.params["jaxpr"].eqns]
    (joined,) = [each for each in call.params["jaxpr"].eqns if each.primitive.name == "concatenate"]
    assert [atom.aval.shape for atom in joined.invars] == [(20, 3), (20, 3)]
    assert "gather" not in names
