# SPDX-License-Identifier: Apache-2.0
"""`pmap` on four emulated devices."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from olympus_autodiff import grad, jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_sharding import IndivisibleError, NamedSharding, PartitionSpec, pmap
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import jit

P = PartitionSpec
X = np.arange(12, dtype=np.float32).reshape(4, 3)
V = X[:, 0]


@pytest.fixture(autouse=True)
def four_devices(devices):
    return devices[:4]


def doubled(x):
    return lax.mul(x, 2.0)


def total(x):
    return lax.psum(x, "i")


def test_results_and_devices(four_devices):
    result = pmap(doubled)(X)
    np.testing.assert_array_equal(result, 2 * X)
    assert [shard.device for shard in result.addressable_shards] == four_devices
    assert [shard.data.shape for shard in result.addressable_shards] == [(1, 3)] * 4
    assert len(pmap(doubled)(X[:2]).sharding.device_set) == 2


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        (lambda x: lax.psum(x, "i"), np.full(4, V.sum())),
        (lambda x: lax.pmean(x, "i"), np.full(4, V.mean())),
        (lambda x: lax.pmax(x, "i"), np.full(4, V.max())),
        (lambda x: lax.all_gather(x, "i"), np.tile(V, (4, 1))),
        (lambda x: lax.ppermute(x, "i", [(n, (n + 1) % 4) for n in range(4)]), np.roll(V, 1)),
        (lambda x: lax.add(lax.axis_index("i"), 0), np.arange(4)),
    ],
)
def test_collectives_combine_the_devices(collective, expected):
    np.testing.assert_allclose(pmap(collective, axis_name="i")(V), expected)


def test_axes_choose_the_mapped_dimension():
    np.testing.assert_array_equal(pmap(doubled, in_axes=1)(X.T), 2 * X)
    np.testing.assert_array_equal(pmap(doubled, in_axes=-1)(X.T), 2 * X)
    np.testing.assert_array_equal(pmap(doubled, out_axes=1)(X), 2 * X.T)
    np.testing.assert_array_equal(pmap(doubled, out_axes=-1)(X), 2 * X.T)
    shared = pmap(lambda x, y: lax.add(x, y), in_axes=(0, None))
    np.testing.assert_array_equal(shared(V, np.float32(1)), V + 1)
    same = pmap(total, "i", out_axes=None)(X)
    np.testing.assert_array_equal(same, X.sum(0))
    assert same.sharding.is_fully_replicated
    results = pmap(lambda x: {"a": x, "b": (x, total(x))}, "i", out_axes={"a": 1, "b": (0, None)})
    result = results(X)
    np.testing.assert_array_equal(result["a"], X.T)
    np.testing.assert_array_equal(result["b"][1], X.sum(0))


def test_trees_and_keywords():
    fun = pmap(lambda d, *, y: lax.add(lax.add(d["a"], d["b"]), y), in_axes=({"a": 0, "b": None},))
    np.testing.assert_array_equal(fun({"a": V, "b": 1.0}, y=V), 2 * V + 1)
    listed = pmap(lambda x, y: lax.add(x, y), in_axes=[0, None])
    np.testing.assert_array_equal(listed(V, 1.0), V + 1)


def test_static_and_donated_arguments():
    traced = []

    def power(x, n):
        traced.append(n)
        return lax.integer_pow(x, n)

    fun = pmap(power, static_broadcasted_argnums=1)
    for n in (2, 3, 2):
        np.testing.assert_allclose(fun(V, n), V**n)
    assert traced == [2, 3]
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        fun(V, [2])
    with pytest.raises(ValueError, match=r"static_broadcasted_argnums=\(1,\) but was called with"):
        fun(V)
    donating = pmap(lambda x, y: lax.add(x, y), donate_argnums=0)
    first, second = pmap(doubled)(X), pmap(doubled)(X)
    donating(first, second)
    assert first.is_deleted()
    assert not second.is_deleted()


def test_constants_and_results_without_arguments():
    constant = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(pmap(lambda x: lax.add(x, constant))(X), X + constant)
    np.testing.assert_array_equal(pmap(lambda x: 1.0)(V), np.ones(4))


def test_chosen_devices_hold_the_shards(four_devices):
    chosen = four_devices[2:]
    result = pmap(doubled, devices=chosen)(X[:2])
    assert [shard.device for shard in result.addressable_shards] == chosen
    with pytest.raises(IndivisibleError, match="axis of size 4, but there are only 2 devices"):
        pmap(doubled, devices=chosen)(X)
    assert pmap(doubled, backend="cpu")(X).shape == (4, 3)


def test_composition_with_other_transformations():
    mapped = pmap(doubled)
    np.testing.assert_array_equal(jit(mapped)(X), 2 * X)
    np.testing.assert_array_equal(jit(lambda x: lax.neg(mapped(x)))(X), -2 * X)
    squared = pmap(lambda x: total(lax.mul(x, x)), "i")
    gradient = grad(lambda x: lax.reduce_sum(squared(x), (0,)))(V)
    np.testing.assert_allclose(gradient, 8 * V)
    _, tangent = jvp(squared, (V,), (np.ones_like(V),))
    np.testing.assert_allclose(tangent, np.full(4, 2 * V.sum()))
    np.testing.assert_array_equal(vmap(mapped)(np.stack([X, X + 1])), 2 * np.stack([X, X + 1]))
    np.testing.assert_array_equal(vmap(mapped, in_axes=1, out_axes=1)(X), 2 * X)
    inside = pmap(grad(lambda w, x: lax.mul(w, x)), in_axes=(None, 0))
    np.testing.assert_array_equal(inside(np.float32(2), V), V)
    np.testing.assert_array_equal(pmap(vmap(doubled))(X), 2 * X)


def test_programs_show_the_mapped_call():
    text = str(make_olympuspr(pmap(total, "i"))(V))
    assert "name=_fun" in text
    assert "in_specs=(P('i',),)" in text
    assert "psum" in text
    assert "sdy.manual_computation" in pmap(doubled).lower(X).as_text()


def test_compiled_ahead_of_time_for_trees():
    def fun(tree, *, factor):
        return {"sum": lax.add(tree["x"], tree["rest"][0]), "product": lax.mul(tree["x"], factor)}

    arguments = {"x": X, "rest": [2 * X]}
    lowered = pmap(fun).lower(arguments, factor=X)
    assert lowered.in_tree == pytrees.tree_structure(((arguments,), {"factor": X}))
    assert set(lowered.in_avals[0][0]) == {"x", "rest"}
    placed = lowered.out_info["sum"].sharding
    assert placed.spec == P(*placed.mesh.axis_names)
    results = lowered.compile()(arguments, factor=X)
    np.testing.assert_array_equal(results["sum"], 3 * X)
    np.testing.assert_array_equal(results["product"], X * X)
    with pytest.raises(TypeError, match="pytree"):
        lowered.compile()(X, factor=X)


def test_calls_are_traced_once_for_each_kind():
    traced = []

    def fun(x):
        traced.append(x.shape)
        return lax.neg(x)

    mapped = pmap(fun)
    for _ in range(3):
        mapped(X)
    mapped(X[:, :2])
    mapped(X[:2])
    assert traced == [(3,), (2,), (3,)]


def test_many_collectives_in_a_row():
    """Unbounded, some tens of them in flight end the process on jaxlib 0.10."""
    average = pmap(lambda x: lax.pmean(x, "i"), "i")
    result = X
    for _ in range(200):
        result = average(result)
    np.testing.assert_allclose(result, np.tile(X.mean(0), (4, 1)))


def test_data_parallel_training_equals_that_on_one_device():
    random = np.random.default_rng(0)
    inputs = random.normal(size=(16, 3)).astype(np.float32)
    targets = np.sin(inputs.sum(1, keepdims=True)).astype(np.float32)
    weights = random.normal(size=(3, 1)).astype(np.float32)

    def loss(weights, inputs, targets):
        difference = lax.sub(lax.tanh(lax.dot(inputs, weights)), targets)
        squares = lax.mul(difference, difference)
        return lax.div(lax.reduce_sum(squares, (0, 1)), float(len(inputs)))

    def step(average):
        def update(weights, inputs, targets):
            value = average(loss(weights, inputs, targets))
            gradient = average(grad(loss)(weights, inputs, targets))
            return lax.sub(weights, lax.mul(gradient, 0.1)), value

        return update

    alone = jit(step(lambda x: x))
    together = pmap(
        step(lambda x: lax.pmean(x, "batch")), "batch", in_axes=(None, 0, 0), out_axes=(None, None)
    )
    divided = inputs.reshape(4, 4, 3), targets.reshape(4, 4, 1)
    ours, theirs = weights, weights
    for _ in range(20):
        ours, value = together(ours, *divided)
        theirs, expected = alone(theirs, inputs, targets)
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "args", "message"),
    [
        ({}, (np.zeros((9, 2)),), "maps over an axis of size 9, but there are only"),
        ({}, (V, V[:2]), r"inconsistent sizes .* x: 4, y: 2"),
        ({}, (V, 1.0), "maps over axis 0 of argument y, which has the shape"),
        ({"in_axes": 2}, (X,), "maps over axis 2 of argument x"),
        ({"in_axes": None}, (V,), "at least one argument with a mapped axis"),
        ({"in_axes": (0, 0)}, (V,), "pmap in_axes must be a tree prefix"),
        ({"out_axes": 3}, (X,), "out of bounds for a result of dimension 2"),
        ({"out_axes": (0, 0)}, (X,), "pmap out_axes must be a tree prefix"),
        ({"axis_size": 3}, (V,), "Specified axis_size 3 doesn't match received axis_size 4"),
        ({}, (np.zeros((0, 2)),), "at least one example"),
    ],
)
def test_invalid_calls_raise(options, args, message):
    with pytest.raises(ValueError, match=message):
        pmap(lambda x, y=None: x, **options)(*args)


def test_differing_sizes_do_not_divide():
    with pytest.raises(IndivisibleError, match="inconsistent sizes"):
        pmap(lambda x, y: x)(V, V[:2])


def test_invalid_options_raise():
    with pytest.raises(TypeError, match="Expected a callable"):
        pmap(3)
    with pytest.raises(TypeError, match="pmap in_axes must be an int, None"):
        pmap(doubled, in_axes="a")
    with pytest.raises(ValueError, match="must be non-empty"):
        pmap(doubled, devices=[])
    with pytest.raises(ValueError, match="pmap inside pmap is not possible"):
        pmap(pmap(doubled))(np.zeros((2, 2)))
    with pytest.raises(NameError, match="unbound axis name: j"):
        pmap(lambda x: lax.psum(x, "j"), "i")(V)


def test_arrays_with_another_sharding_raise(four_devices):
    with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
        pmap(doubled)(device_put(X, four_devices[1]))


def test_functions_are_not_kept_alive():
    import weakref

    def fun(x):
        return lax.neg(x)

    reference = weakref.ref(fun)
    mapped = pmap(fun)
    mapped(X)
    del mapped, fun
    gc.collect()
    assert reference() is None


def test_results_feed_programs_over_the_same_devices():
    result = pmap(doubled, "i")(X)
    assert isinstance(result.sharding, NamedSharding)
    np.testing.assert_array_equal(jit(lambda x: lax.reduce_sum(x, (0, 1)))(result), 2 * X.sum())


def test_debug_nans_over_several_devices():
    x = np.array([1, -1], np.float32)
    with config.debug_nans(True):
        np.testing.assert_array_equal(pmap(lambda x: lax.add(x, x))(x), [2, -2])
        with pytest.raises(FloatingPointError, match=r"\(nan\) encountered in sharded computation"):
            pmap(lambda x: lax.log(x))(x)
