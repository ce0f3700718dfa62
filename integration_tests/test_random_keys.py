# SPDX-License-Identifier: Apache-2.0
"""Arrays of typed keys, compiled, on devices, and with NumPy's methods."""

from __future__ import annotations

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax, random
from olympus.experimental import checkify
from olympus_xla.calls import jit as jit_calls

KEY = random.key(0)
KEYS = random.split(KEY, 8)
WORDS = np.asarray(random.key_data(KEYS))


def data(keys):
    return np.asarray(random.key_data(keys))


def test_array_methods_of_keys():
    np.testing.assert_array_equal(data(KEYS[1]), WORDS[1])
    np.testing.assert_array_equal(data(KEYS[jnp.array([5, 2])]), WORDS[[5, 2]])
    np.testing.assert_array_equal(data(KEYS[2:6:2]), WORDS[2:6:2])
    np.testing.assert_array_equal(data(KEYS.reshape(2, 4).T), WORDS.reshape(2, 4, 2).swapaxes(0, 1))
    np.testing.assert_array_equal(data(KEYS.at[0].set(KEY)), [[0, 0], *WORDS[1:]])
    np.testing.assert_array_equal(data(jnp.stack([KEY, KEYS[3]])), [[0, 0], WORDS[3]])
    np.testing.assert_array_equal(data(jnp.concatenate([KEYS, KEYS[:1]])), [*WORDS, WORDS[0]])
    chosen = jnp.where(jnp.arange(8) < 3, KEYS, KEYS[::-1])
    np.testing.assert_array_equal(data(chosen), [*WORDS[:3], *WORDS[::-1][3:]])


def test_repeated_calls_with_keys_use_fast_path(monkeypatch):
    @olympus.jit
    def step(state):
        key, other = random.split(state["key"])
        return {"key": key, "x": state["x"] + random.uniform(other), "none": None}

    first = step({"key": KEY, "x": jnp.float32(1), "none": None})
    one = jnp.float32(1)
    with monkeypatch.context() as patched:
        patched.setattr(jit_calls, "trace_call", None)  # which each call in Python needs
        again = step({"key": KEY, "x": one, "none": None})
    assert olympus.tree.structure(again) == olympus.tree.structure(first)
    assert isinstance(again["key"], olympus.Array) and again["key"].dtype == KEY.dtype
    np.testing.assert_array_equal(data(again["key"]), data(first["key"]))
    assert float(again["x"]) == float(first["x"])
    chained = step(again)
    np.testing.assert_array_equal(data(chained["key"]), data(random.split(again["key"])[0]))


def test_keys_and_key_data_compile_separately():
    shape = olympus.jit(lambda x: x.shape)
    assert [tuple(map(int, shape(x))) for x in (KEY, random.key_data(KEY), KEYS)] == [
        (),
        (2,),
        (8,),
    ]
    name = olympus.jit(lambda key: random.bits(key))
    rbg = random.wrap_key_data(jnp.zeros(4, jnp.uint32), impl="rbg")
    assert [int(name(key)) for key in (KEY, rbg, KEY)] == [
        int(random.bits(key)) for key in (KEY, rbg, KEY)
    ]


def test_key_comparison_broadcasts_over_keys():
    np.testing.assert_array_equal(KEYS[3] == KEYS, np.arange(8) == 3)
    np.testing.assert_array_equal(KEYS[3] != KEYS, np.arange(8) != 3)
    assert bool(random.key(0) == KEY)


def test_keys_pass_through_compiled_functions():
    np.testing.assert_array_equal(data(olympus.jit(lambda index: KEYS[index])(3)), WORDS[3])
    np.testing.assert_array_equal(
        data(olympus.jit(random.split)(KEYS[0])), data(random.split(KEYS[0]))
    )
    assert olympus.eval_shape(random.split, KEY).dtype == KEY.dtype

    def step(state):
        key, count = state
        return random.split(key)[0], count + 1

    state = (KEY, 0)
    last, _ = lax.while_loop(lambda state: state[1] < 3, step, state)
    for _ in range(3):
        state = step(state)
    np.testing.assert_array_equal(data(last), data(state[0]))


def test_keys_pass_through_transformations():
    drawn = olympus.vmap(random.normal)(KEYS)
    np.testing.assert_array_equal(drawn, [random.normal(key) for key in KEYS])
    slope = olympus.grad(lambda x, key: x * random.normal(key))(2.0, KEY)
    np.testing.assert_array_equal(slope, random.normal(KEY))


def test_keys_on_devices(eight_devices):
    mesh = olympus.make_mesh((8,), ("x",), axis_types=(olympus.sharding.AxisType.Auto,))
    sharding = olympus.NamedSharding(mesh, olympus.P("x"))
    spread = olympus.device_put(KEYS, sharding)
    assert spread.sharding == sharding
    assert len(spread.devices()) == 8
    # The words of a key stay together: the specs are those of JAX 0.10.2.
    assert random.key_data(spread).sharding.spec == olympus.P("x", None)
    placed = olympus.jit(lambda keys: keys, out_shardings=sharding)(spread)
    assert random.key_data(placed).sharding.spec == olympus.P("x", None)
    assert spread.reshape(4, 2).sharding.spec == olympus.P(None, None)
    drawn = olympus.jit(olympus.vmap(random.bits))(spread)
    np.testing.assert_array_equal(drawn, olympus.vmap(random.bits)(KEYS))
    second = olympus.device_put(KEY, eight_devices[1])
    assert second.devices() == {eight_devices[1]}
    assert random.normal(second).devices() == {eight_devices[1]}


def test_key_comparison_in_compiled_functions():
    others = KEYS[::-1]
    np.testing.assert_array_equal(jnp.isclose(KEYS, KEYS), [True] * len(KEYS))
    assert jnp.allclose(KEYS, KEYS) and not jnp.allclose(KEYS, others)
    assert jnp.array_equal(KEYS, KEYS) and not jnp.array_equal(KEYS, others)


def test_messages_of_checks_show_keys():
    def check(key, fine):
        checkify.check(fine, "the key is {key}", key=key)

    error, _ = checkify.checkify(olympus.jit(check))(KEY, False)
    assert "the key is Array((), dtype=key<fry>)" in error.get()
    assert checkify.checkify(olympus.jit(check))(KEY, True)[0].get() is None


def test_out_sharding_without_mesh_has_no_effect():
    outside = olympus.typeof(jnp.ones(3)).sharding
    assert outside.mesh.empty
    drawn = random.bernoulli(KEY, 0.5, (3,), out_sharding=outside)
    np.testing.assert_array_equal(drawn, random.bernoulli(KEY, 0.5, (3,)))
    drawn = olympus.vmap(lambda key: random.normal(key, (3,), out_sharding=outside))(KEYS)
    np.testing.assert_array_equal(drawn, [random.normal(key, (3,)) for key in KEYS])


def test_references_to_keys():
    ref = olympus.new_ref(KEY)
    ref[...] = random.split(ref[...], 2)[1]
    assert ref[...].dtype == KEY.dtype
    np.testing.assert_array_equal(data(ref[...]), data(random.split(KEY, 2)[1]))


def test_keys_as_fill_values():
    keys = random.split(random.key(0), (2, 3))
    data = np.asarray(random.key_data(keys))
    taken = random.key_data(jnp.take(keys, jnp.array([2, 0]), axis=1))
    np.testing.assert_array_equal(taken, data[:, [2, 0]])
    outside = random.key_data(keys.at[5].get(mode="fill"))
    np.testing.assert_array_equal(outside, np.full((3, 2), 2**32 - 1, np.uint32))
    for filled in (jnp.full((4,), keys[0, 1]), jnp.full_like(keys[0], keys[0, 1])):
        assert filled.dtype == keys.dtype
        np.testing.assert_array_equal(
            random.key_data(filled), np.broadcast_to(data[0, 1], (*filled.shape, 2))
        )
    np.testing.assert_array_equal(random.key_data(jnp.full((2, 3), keys[0])), data[[0, 0]])


def test_shards_of_key_arrays():
    keys = random.split(random.key(0), (4, 3))
    assert olympus.device_get([keys])[0] is keys
    (shard,) = keys.addressable_shards
    assert shard.index == (slice(None), slice(None))
    np.testing.assert_array_equal(random.key_data(shard.data), random.key_data(keys))
    place = olympus.sharding.SingleDeviceSharding(olympus.devices()[0])
    parts = [
        olympus.make_array_from_single_device_arrays((4, 3), place, [keys]),
        olympus.make_array_from_callback((4, 3), place, lambda index: keys[index]),
    ]
    for whole in parts:
        assert whole.dtype == keys.dtype
        np.testing.assert_array_equal(random.key_data(whole), random.key_data(keys))
