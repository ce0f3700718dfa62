# SPDX-License-Identifier: Apache-2.0
"""Values in the host's memory: in types, in programs, and under transformations."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.ad_checkpoint import checkpoint_name, checkpoint_policies
from olympus.sharding import SingleDeviceSharding

HOST, DEVICE = olympus.memory.Space.Host, olympus.memory.Space.Device
X = np.arange(3.0, dtype=np.float32)


def there():
    return SingleDeviceSharding(olympus.devices()[0], memory_kind="pinned_host")


def kind(array):
    return array.sharding.memory_kind


def test_device_put_moves_arrays_between_memory_spaces():
    for place in (HOST, there()):
        for value in (X, jnp.asarray(X)):
            moved = olympus.device_put(value, place)
            assert kind(moved) == "pinned_host"
            assert olympus.typeof(moved).str_short() == "float32<host>[3]"
            np.testing.assert_array_equal(moved, X)
    back = olympus.device_put(moved, DEVICE)
    assert kind(back) == "device" and olympus.typeof(back).str_short() == "float32[3]"


def test_results_have_memory_space_of_program():
    moved = olympus.jit(lambda x: olympus.device_put(jnp.sin(x), HOST))(X)
    assert kind(moved) == "pinned_host"
    assert olympus.typeof(moved).str_short() == "float32<host>[3]"
    np.testing.assert_allclose(moved, np.sin(X), rtol=1e-6)
    asked = olympus.jit(lambda x: x * 2, out_shardings=there())(jnp.asarray(X))
    assert kind(asked) == "pinned_host"
    np.testing.assert_array_equal(olympus.jit(lambda x: x)(moved), moved)
    assert kind(olympus.jit(lambda x: x)(moved)) == "pinned_host"
    text = olympus.jit(lambda x: olympus.device_put(x, HOST)).lower(X).as_text()
    assert 'mhlo.memory_kind = "pinned_host"' in text


def test_other_platforms_move_values_within_programs():
    def function(x):
        return olympus.device_put(olympus.device_put(x, HOST), DEVICE) * 2

    lowered = olympus.jit(function).trace(X).lower(lowering_platforms=("cuda",))
    text = lowered.as_text()
    assert '_xla_buffer_placement = "pinned_host"' in text
    assert '_xla_buffer_placement = "device"' in text


def test_types_have_the_memory_space_of_operands():
    moved = olympus.device_put(X, HOST)
    for function in (jnp.sin, lambda x: x * 2.0, lambda x: x[1:], lambda x: x.reshape(3, 1)):
        for wrap in (lambda f: f, olympus.jit):
            assert olympus.typeof(wrap(function)(moved)).memory_space is HOST
    with pytest.raises(ValueError, match="memory_space of all inputs passed to `add` must be"):
        moved + jnp.asarray(X)
    with pytest.raises(ValueError, match="Memory kinds passed to"):
        olympus.jit(lambda x: x, in_shardings=there())(jnp.asarray(X))


def test_transfers_between_spaces_are_transformed():
    def function(x):
        return olympus.device_put(olympus.device_put(jnp.sin(x), HOST), DEVICE) * 2

    found = olympus.grad(lambda x: function(x).sum())(X)
    np.testing.assert_allclose(found, 2 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(olympus.vmap(function)(X), 2 * np.sin(X), rtol=1e-6)
    stacked = olympus.device_put(X.reshape(3, 1), HOST)
    total = olympus.jit(
        lambda xs: olympus.lax.scan(
            lambda c, x: (c + olympus.device_put(x, DEVICE), None), jnp.zeros(1), xs
        )[0]
    )(stacked)
    np.testing.assert_array_equal(total, [3.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_checkpointed_values_are_moved_in_loops(compiled):
    policy = checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["kept"],
        names_which_can_be_offloaded=["moved"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def function(x):
        def step(carry, _):
            carry = jnp.sin(checkpoint_name(jnp.sin(carry), "kept"))
            return checkpoint_name(carry * 2, "moved"), None

        return olympus.lax.scan(step, x, None, length=3)[0]

    gradient = olympus.grad(olympus.checkpoint(function, policy=policy))
    text = str(olympus.make_jaxpr(gradient)(0.5))
    assert "f32<host>[3]" in text and "f32<host>[]" in text
    if compiled:
        gradient = olympus.jit(gradient)
    np.testing.assert_allclose(gradient(0.5), olympus.grad(function)(0.5), rtol=1e-5)


def test_recomputation_repeats_callbacks():
    calls = []

    def function(x):
        y = checkpoint_name(x + 1.0, "y")
        olympus.debug.callback(lambda value: calls.append(float(value)), y)
        return jnp.exp(y)

    counts = []
    for name in ("everything_saveable", "nothing_saveable"):
        policy = getattr(checkpoint_policies, name)
        calls.clear()
        olympus.grad(olympus.checkpoint(function, policy=policy))(1.0)
        olympus.effects_barrier()
        counts.append(calls[:])
    assert counts == [[2.0], [2.0, 2.0]]


def test_types_name_the_memory_of_devices():
    x = jnp.ones(3)
    space = DEVICE
    for value in (x, np.ones(3), 1.0, olympus.device_put(olympus.device_put(x, HOST), space)):
        assert olympus.typeof(value).memory_space is space
    assert olympus.typeof(x).update(memory_space=None) is olympus.typeof(x)
