# SPDX-License-Identifier: Apache-2.0
"""Explicit mesh axes on eight emulated devices: values, types and shardings."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax, nn, random, reshard, shard_map
from olympus.errors import ShardingTypeError
from olympus.sharding import AxisType, NamedSharding, auto_axes

pytestmark = pytest.mark.usefixtures("eight_devices")

X = np.arange(64, dtype=np.float32).reshape(8, 8) % 7 - 3
W = np.linspace(-1, 1, 8 * 16, dtype=np.float32).reshape(8, 16)


@pytest.fixture
def mesh():
    made = olympus.make_mesh((2, 4), ("x", "y"))
    assert made.axis_types == (AxisType.Explicit,) * 2
    with olympus.set_mesh(made):
        yield made


def type_of(x):
    return olympus.typeof(x).str_short(True)


def loss(w, x, targets):
    scores = nn.log_softmax(nn.relu(x @ w))
    return -jnp.mean(jnp.sum(scores * targets, axis=-1))


# From arrays that lie over the mesh (the first two as `ROWS` and `COLUMNS`) to the type expected.
ROWS, COLUMNS = P("x", None), P(None, "y")
PROGRAMS = {
    "elementwise": (lambda x, w: jnp.sin(x) * 2 + 1, "f32[8@x,8]"),
    "product": (lambda x, w: x @ w, "f32[8@x,16@y]"),
    "contracted": (
        lambda x, w: jnp.dot(w.T, jnp.dot(x.T, x, out_sharding=P()), out_sharding=P("y", None)),
        "f32[16@y,8]",
    ),
    "sum": (lambda x, w: jnp.sum(x, 0), "f32[8]"),
    "update at a mask": (
        lambda x, w: x.at[x > 1].add(1.0, out_sharding=P(None, "y")),
        "f32[8,8@y]",
    ),
    "function at a mask": (
        lambda x, w: x.at[x > 1].apply(jnp.sin, out_sharding=P("y", None)),
        "f32[8@y,8]",
    ),
    "moments": (
        lambda x, w: (x - x.mean(1, keepdims=True)) / (x.std(1) + 1)[:, None],
        "f32[8@x,8]",
    ),
    "softmax": (lambda x, w: nn.softmax(x), "f32[8@x,8]"),
    "reshape": (lambda x, w: x.reshape(2, 4, 8), "f32[2@x,4,8]"),
    "flat": (lambda x, w: jnp.reshape(w, -1, out_sharding=P("x")), "f32[128@x]"),
    "sorted": (lambda x, w: jnp.argsort(x, 1), "i32[8@x,8]"),
    "indexed": (lambda x, w: x[:, 2:5], "f32[8@x,3]"),
    "gathered": (
        lambda x, w: x.at[jnp.array([1, 0, 5, 5])].get(out_sharding=P("x", None)),
        "f32[4@x,8]",
    ),
    "updated": (lambda x, w: x.at[:, 0].set(1.0), "f32[8@x,8]"),
    "scattered": (
        lambda x, w: x.at[jnp.array([1, 1])].add(1.0, out_sharding=P("x", None)),
        "f32[8@x,8]",
    ),
    "einsum": (lambda x, w: jnp.einsum("ij,jk->ki", x, w), "f32[16@y,8@x]"),
    "einsum as asked": (
        lambda x, w: jnp.einsum("ij,kj->ik", x.T, x.T, out_sharding=P(None, "x")),
        "f32[8,8@x]",
    ),
    "joined": (lambda x, w: jnp.concatenate([x, x], 1), "f32[8@x,16]"),
    "scan": (
        lambda x, w: lax.scan(lambda c, i: (jnp.tanh(c @ X), c.sum()), x, jnp.arange(3))[0],
        "f32[8@x,8]",
    ),
    "cond": (lambda x, w: lax.cond(x[:, 0].sum() > 0, jnp.sin, jnp.cos, x), "f32[8@x,8]"),
    "mapped": (lambda x, w: olympus.vmap(lambda r: (r @ W).max())(x), "f32[8@x]"),
    "auto axes": (auto_axes(lambda x, w: (x @ w).reshape(-1), out_sharding=P("y")), "f32[128@y]"),
    "partial sums": (
        lambda x, w: reshard(
            jnp.dot(x.T, x, out_sharding=P(None, None, unreduced={"x"})), P("x", None)
        ),
        "f32[8@x,8]",
    ),
    "gradient": (olympus.grad(lambda x, w: ((x @ w) ** 2).sum()), "f32[8@x,8]"),
    "gradient of weights": (
        olympus.grad(lambda x, w: (nn.relu(x @ w) ** 2).sum(), 1),
        "f32[8,16@y]",
    ),
    "gradient of recomputed": (
        olympus.grad(lambda x, w: olympus.checkpoint(lambda v: jnp.sin(v @ w))(x).sum()),
        "f32[8@x,8]",
    ),
    "gradient through scan": (
        olympus.grad(
            lambda x, w: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=2)[0].sum()
        ),
        "f32[8@x,8]",
    ),
    "second derivatives": (
        lambda x, w: olympus.jvp(olympus.grad(lambda v: (v**3).sum()), (x,), (x,))[1],
        "f32[8@x,8]",
    ),
    "parts": (
        shard_map(lambda x, w: x @ w, in_specs=(ROWS, COLUMNS), out_specs=P("x", "y")),
        "f32[8@x,16@y]",
    ),
    "parts along one axis": (
        lambda x, w: shard_map(
            lambda x, w: x @ w, in_specs=(ROWS, P()), out_specs=ROWS, axis_names={"x"}
        )(x, w),
        "f32[8@x,16@y]",
    ),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_sharding_types(mesh, name, compiled):
    fun, expected = PROGRAMS[name]
    x, w = reshard(X, ROWS), reshard(W, COLUMNS)
    result = (olympus.jit(fun) if compiled else fun)(x, w)
    assert type_of(result) == expected
    assert result.sharding == NamedSharding(mesh, olympus.typeof(result).sharding.spec)
    with olympus.set_mesh(None):
        if name.startswith("parts"):
            reference = X @ W
        elif name in ("auto axes", "flat", "contracted", "einsum as asked", "partial sums"):
            reference = {
                "auto axes": (X @ W).reshape(-1),
                "flat": W.reshape(-1),
                "contracted": W.T @ (X.T @ X),
                "einsum as asked": X.T @ X,
                "partial sums": X.T @ X,
            }[name]
        elif name == "gathered":
            reference = X[[1, 0, 5, 5]]
        elif name == "scattered":
            reference = X + 2 * (np.arange(8) == 1)[:, None]
        elif name == "update at a mask":
            reference = np.where(X > 1, X + 1, X)
        elif name == "function at a mask":
            reference = np.where(X > 1, np.sin(X), X)
        else:
            reference = fun(jnp.asarray(X), jnp.asarray(W))
    np.testing.assert_allclose(np.asarray(result), reference, rtol=2e-5, atol=1e-5)


def test_new_arrays_have_the_requested_type(mesh):
    assert type_of(jnp.zeros((8, 2), out_sharding=P("x"))) == "f32[8@x,2]"
    assert type_of(jnp.full((8, 2), 3, out_sharding=P(None, "x"))) == "i32[8,2@x]"
    assert type_of(jnp.arange(8, out_sharding=P("y"))) == "i32[8@y]"
    assert type_of(jnp.ones_like(reshard(X, ROWS))) == "f32[8@x,8]"
    assert type_of(jnp.zeros(3)) == "f32[3]"
    assert type_of(olympus.device_put(X, P("y", "x"))) == "f32[8@y,8@x]"
    assert type_of(olympus.jit(lambda: olympus.device_put(X, P("x")))()) == "f32[8@x,8]"


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (lambda k, **asked: random.normal(k, (8, 2), **asked), "f32[8@x,2]"),
        (lambda k, **asked: random.randint(k, (8, 2), 0, 9, **asked), "i32[8@x,2]"),
        (lambda k, **asked: random.bernoulli(k, 0.3, (8, 2), **asked), "bool[8@x,2]"),
        (lambda k, **asked: random.gamma(k, 2.0, (8, 2), **asked), "f32[8@x,2]"),
        (lambda k, **asked: random.permutation(k, 8, **asked), "i32[8@x]"),
    ],
)
def test_sharded_random_numbers_equal_one_device(mesh, sampler, expected):
    key = random.key(3)
    asked = P("x") if expected.count(",") == 0 else P("x", None)
    laid_out = sampler(key, out_sharding=asked)
    assert type_of(laid_out) == expected
    np.testing.assert_array_equal(np.asarray(laid_out), np.asarray(sampler(key)))
    keys = reshard(random.split(key, 8), P("x"))
    draws = olympus.vmap(lambda k: random.uniform(k, (3,)))(keys)
    assert type_of(draws) == "f32[8@x,3]"


def test_training_steps_keep_shardings(mesh):
    x = reshard(X, ROWS)
    targets = reshard(nn.one_hot(jnp.arange(8), 16), ROWS)
    w = reshard(W, P(None, None))

    @olympus.jit
    def step(w):
        value, gradient = olympus.value_and_grad(loss)(w, x, targets)
        return value, w - 0.1 * gradient

    value, updated = step(w)
    assert type_of(value) == "f32[]"
    assert type_of(updated) == "f32[8,16]"
    with olympus.set_mesh(None):
        expected = loss(W, X, np.eye(8, 16, dtype=np.float32))
        gradient = olympus.grad(loss)(W, X, np.eye(8, 16, dtype=np.float32))
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    np.testing.assert_allclose(updated, W - 0.1 * gradient, rtol=1e-5, atol=1e-6)


def test_gradients_of_reduced_operands_are_unreduced(mesh):
    """The gradient is summed over devices only when the program reshards it."""
    q = reshard(X, P("y", None))
    w = reshard(W, P(None, None, reduced={"y"}))
    gradient = olympus.grad(lambda w: (q @ w).sum())(w)
    assert type_of(gradient) == "f32[8,16]{U:y}"
    total = reshard(gradient, P("y", None))
    assert type_of(total) == "f32[8@y,16]"
    np.testing.assert_allclose(total, np.repeat(X.sum(0)[:, None], 16, 1), rtol=1e-5, atol=1e-5)


def test_unreduced_results_of_shard_map(mesh):
    x = reshard(X, P("x", "y"))
    seen = []

    def terms(part):
        part = lax.pcast(part, "y", to="unreduced")
        seen.append(type_of(part))
        return part

    unreduced = shard_map(terms, in_specs=P("x", "y"), out_specs=P("x", None, unreduced={"y"}))(x)
    assert type_of(unreduced) == "f32[8@x,2]{U:y}"
    assert seen == ["f32[4,2]{V:x, U:y}"]
    expected = X.reshape(8, 4, 2).sum(1)
    np.testing.assert_allclose(reshard(unreduced, P("x", None)), expected)
    added = shard_map(
        lambda part: lax.psum(part, "y"),
        in_specs=P("x", None, unreduced={"y"}),
        out_specs=P("x", None),
    )(unreduced)
    np.testing.assert_allclose(added, expected)

    def gathered(part):
        whole = lax.all_gather(part, "x", tiled=True, to="reduced")
        seen.append(type_of(whole))
        return jnp.sin(lax.pcast(whole, "x", to="varying"))

    rows = reshard(X, ROWS)
    mapped = shard_map(gathered, in_specs=ROWS, out_specs=ROWS)
    gradient = olympus.grad(lambda x: mapped(x).sum())(rows)
    assert "f32[8,8]{R:x}" in seen
    assert type_of(gradient) == "f32[8@x,8]"
    np.testing.assert_allclose(gradient, 2 * np.cos(X), rtol=1e-5, atol=1e-5)


def test_context_mesh_inside_of_shard_map(mesh):
    seen = []

    def part(x):
        seen.append((olympus.sharding.get_abstract_mesh().axis_types, type_of(x)))
        return x

    x = reshard(X, P("x", "y"))
    shard_map(part, in_specs=ROWS, out_specs=ROWS, axis_names={"x"})(x)
    assert seen == [((AxisType.Manual, AxisType.Explicit), "f32[4,8@y]{V:x}")]
    with pytest.raises(ValueError, match="does not match the specs of the input"):
        shard_map(part, in_specs=P("y", None), out_specs=P("y", None))(x)


def test_sharding_type_errors(mesh):
    x = reshard(X, P("x", "y"))
    assert lax.with_sharding_constraint(x, P("x", "y")) is x
    with pytest.raises(AssertionError, match="acts as an assert"):
        lax.with_sharding_constraint(x, ROWS)
    with pytest.raises(ShardingTypeError, match="ambiguous"):
        x @ reshard(X, P("y", None))
    with pytest.raises(ShardingTypeError, match="incompatible shardings"):
        olympus.jit(jnp.add)(x, reshard(X, P("y", "x")))


def test_mesh_with_explicit_and_auto_axes():
    mesh = olympus.make_mesh((2, 4), ("x", "y"), (AxisType.Auto, AxisType.Explicit))
    with olympus.set_mesh(mesh):
        x = olympus.device_put(X, P("x", "y"))
        assert type_of(x) == "f32[8,8@y]"
        turned = olympus.jit(lambda x: jnp.sin(x).T)(x)
        assert type_of(turned) == "f32[8@y,8]"
        np.testing.assert_allclose(turned, np.sin(X).T, rtol=1e-6)


def test_lowered_programs_constrain_shardings_to_types(mesh):
    text = olympus.jit(lambda x: jnp.sin(x.T)).lower(reshard(X, ROWS)).as_text()
    assert text.count("sdy.sharding_constraint") == 2
    assert '<@mesh, [{}, {"x"}]>' in text


def test_abstract_results_have_shardings(mesh):
    result = olympus.eval_shape(jnp.sin, reshard(X, ROWS))
    assert result.sharding.spec == ROWS
    assert type_of(result) == "f32[8@x,8]"
    struct = olympus.ShapeDtypeStruct((8, 8), np.float32, sharding=P("x"))
    compiled = olympus.jit(lambda x: x.T).lower(struct).compile()
    assert type_of(compiled(reshard(X, ROWS))) == "f32[8,8@x]"


# A value of no mesh beside one that is sharded over a mesh. JAX 0.10.2 has the same types.
JOINED = {
    "concatenate": (jnp.concatenate, "f32[16@x]"),
    "stack": (jnp.stack, "f32[2,8@x]"),
    "hstack": (jnp.hstack, "f32[16@x]"),
    "compiled": (olympus.jit(lambda parts: jnp.concatenate(parts)), "f32[16@x]"),
}


@pytest.mark.parametrize("name", JOINED)
def test_value_of_no_mesh_is_sharded_as_those_it_is_joined_with(name):
    join, expected = JOINED[name]
    mesh = olympus.make_mesh((2,), ("x",))
    sharded = olympus.device_put(X[0], NamedSharding(mesh, P("x")))
    for parts in ([sharded, jnp.asarray(X[1])], [jnp.asarray(X[1]), sharded]):
        joined = join(parts)
        assert type_of(joined) == expected
        np.testing.assert_array_equal(joined, getattr(np, join.__name__, np.concatenate)(parts))


def test_joined_arrays_on_other_devices_are_refused():
    mesh = olympus.make_mesh((2,), ("x",), devices=olympus.devices()[:2])
    sharded = olympus.device_put(X[0], NamedSharding(mesh, P("x")))
    elsewhere = olympus.device_put(X[1], olympus.devices()[3])
    for join in (jnp.concatenate, jnp.stack):
        with pytest.raises(ValueError, match=r"incompatible devices.*device ids \[3\]"):
            join([sharded, elsewhere])
