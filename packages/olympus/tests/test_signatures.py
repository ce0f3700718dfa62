# SPDX-License-Identifier: Apache-2.0
"""Signatures: default arguments, use as decorators, and results of `inspect.signature`."""

from __future__ import annotations

import importlib
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


# The options of functions of JAX that only this library has. All other parameters are those of JAX.
_OWN_OPTIONS = {
    "custom_derivatives.linear_call": ["smooth"],
    "distributed.initialize": ["coordinator_secret"],
    "export.deserialize": ["untrusted"],
    "hessian": ["chunk_size"],
    "jacfwd": ["chunk_size"],
    "jacobian": ["chunk_size"],
    "jacrev": ["chunk_size"],
    "jit": ["control_flow", "max_traces", "compile_budget", "cache", "tiers"],
    "lax.cond": ["batch"],
    "lax.fori_loop": ["checkpoints", "inverse", "progress"],
    "lax.map": ["progress"],
    "lax.scan": ["checkpoints", "progress"],
    "lax.while_loop": ["checkpoints", "max_steps", "inverse", "progress", "batch"],
    "vmap": ["chunk_size"],
}


@pytest.mark.parametrize("name", _OWN_OPTIONS)
def test_own_options_come_last_and_have_defaults(name: str) -> None:
    module, _, function = name.rpartition(".")
    owner = importlib.import_module(f"olympus.{module}" if module else "olympus")
    found = inspect.signature(getattr(owner, function)).parameters
    own = _OWN_OPTIONS[name]
    assert list(found)[-len(own) :] == own
    assert all(found[option].default is not inspect.Parameter.empty for option in own)


def test_constructors_of_parts_of_programs() -> None:
    core = olympus.extend.core
    assert parameters(core.Primitive) == parameters(core.CallPrimitive) == ["name"]
    assert parameters(core.OlympusprEqn)[4:] == ["effs", "source_info", "ctx"]
    assert parameters(core.Literal) == ["val", "aval"] and parameters(core.DropVar) == ["aval"]
    assert parameters(olympus.core.ShapedArray)[3:] == [
        "sharding", "manual_axis_type", "memory_space",
    ]  # fmt: skip
    for made in (core.Literal, core.ClosedOlympuspr, core.DebugInfo):
        with pytest.raises(TypeError, match="missing"):
            made(1.0)


def test_types_of_values_that_vary_over_mesh_axes() -> None:
    variation = olympus.sharding.ManualAxisType(varying={"i"})
    aval = olympus.core.ShapedArray((2,), np.float32, manual_axis_type=variation)
    assert aval.manual_axis_type.varying == {"i"}
    assert aval.update(shape=(3,)).manual_axis_type.varying == {"i"}
    same = olympus.core.ShapedArray((2,), np.float32).update(manual_axis_type=variation)
    assert same is aval
