# SPDX-License-Identifier: Apache-2.0
"""Signatures: default arguments, use as decorators, and results of `inspect.signature`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import ad_checkpoint


def parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_methods_of_arrays_are_shown_as_methods() -> None:
    assert parameters(olympus.Array.std) == [
        "self", "axis", "dtype", "out", "ddof", "keepdims", "where", "correction",
    ]  # fmt: skip
    assert parameters(olympus.Array.dot) == ["self", "b", "precision", "preferred_element_type"]
    x = jnp.array([1.0, 2.0, 4.0])
    assert olympus.Array.sum(x) == x.sum() == 7
    assert parameters(x.sum)[:3] == ["axis", "dtype", "out"]
    assert olympus.jit(lambda x: x.sum(axis=0))(x) == 7


def test_universal_functions_show_their_calls() -> None:
    assert parameters(jnp.add) == ["args", "out", "where"]
    assert parameters(jnp.ufunc)[:3] == ["func", "nin", "nout"]


def test_arguments_of_array_by_position_are_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="positionally"):
        assert jnp.array([1, 2], None, True, "K", 2).shape == (1, 2)
    with pytest.raises(TypeError, match="from 1 to 5 positional arguments but 6"):
        jnp.array([1, 2], None, True, "K", 2, None)


def test_debugging_functions_take_their_options_first(capsys) -> None:
    olympus.debug.print(ordered=True)("x = {}", 3)
    olympus.debug.callback(ordered=True)(lambda x: print("called with", x), 4)
    olympus.effects_barrier()
    assert capsys.readouterr().out == "x = 3\ncalled with 4\n"


def test_shard_computes_its_index() -> None:
    sharding = jnp.ones(3).sharding
    (device,) = sharding.device_set
    data = jnp.zeros(3)
    shard = olympus.Shard(device, sharding, (3,), data)
    assert shard.index == (slice(None),) and shard.replica_id == 0 and shard.data is data
    assert olympus.Shard(device, sharding, (3,)).data is None


def test_set_mesh_has_the_previous_mesh() -> None:
    mesh = olympus.make_mesh((1,), ("rows",))
    with olympus.set_mesh(mesh):
        inner = olympus.set_mesh(olympus.make_mesh((1,), ("columns",)))
        with inner:
            assert inner.prev_mesh == mesh and inner.prev_abstract_mesh == mesh.abstract_mesh


def test_policies_accept_any_arguments() -> None:
    policies = olympus.checkpoint_policies
    assert policies.everything_saveable() is True and policies.nothing_saveable(1, x=2) is False
    assert parameters(policies.dots_saveable) == ["prim", "args", "params"]
    decision = ad_checkpoint.Offloadable(src="device", dst="pinned_host")
    assert decision.src == "device" and not hasattr(decision, "__dict__")


def test_remat_is_checkpoint() -> None:
    f = olympus.remat(lambda x, n: jnp.sin(x) ** n, static_argnums=1)
    np.testing.assert_allclose(olympus.grad(f)(0.5, 2), np.sin(1.0), rtol=1e-6)
    assert "static_argnames" not in parameters(olympus.remat)


def test_groups_of_names() -> None:
    assert olympus.memory.Space.Host.name == "Host"
    assert sorted(vars(olympus.ad)) == ["DidntWant", "DontWant", "GradRef", "GradValue"]


def test_errors_need_a_message() -> None:
    with pytest.raises(TypeError, match="message"):
        olympus.errors.JAXTypeError()
