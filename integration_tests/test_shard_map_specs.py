# SPDX-License-Identifier: Apache-2.0
"""Specs, axis names and abstract meshes in `shard_map`."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax, shard_map
from olympus.sharding import AxisType, NamedSharding

pytestmark = pytest.mark.usefixtures("eight_devices")

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def mesh():
    return olympus.make_mesh((4,), ("x",), (AxisType.Auto,))


@pytest.fixture
def square():
    return olympus.make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2)


@pytest.fixture
def explicit():
    return olympus.make_mesh((2,), ("x",), (AxisType.Explicit,))


def test_gradients_of_replicated_operands_are_summed(mesh):
    copies = shard_map(lambda x: x, mesh=mesh, in_specs=P(), out_specs=P("x"))
    weights = np.arange(4, dtype=np.float32)
    derived = olympus.grad(lambda x: jnp.sum(copies(x) * weights))
    for function in (derived, olympus.jit(derived)):
        np.testing.assert_array_equal(function(jnp.ones(1)), [6.0])
    assert "pvary" in str(olympus.make_olympuspr(copies)(X))


@pytest.mark.parametrize("spec", [P(), P(None), P(None, None), P("x", None), P(None, "x")], ids=str)
def test_eager_results_keep_the_exact_out_specs(spec, mesh):
    mapped = shard_map(lambda x: x, mesh=mesh, in_specs=P(), out_specs=spec, check_vma=False)
    assert tuple(mapped(np.ones((4, 4))).sharding.spec) == tuple(spec)


def test_arguments_over_explicit_axes_must_match_in_specs(explicit):
    def mapped(spec):
        return shard_map(lambda x: x, mesh=explicit, in_specs=spec, out_specs=P("x"))

    with pytest.raises(ValueError, match="does not match the specs of the input"):
        mapped(P("x"))(jnp.asarray(X))
    with pytest.raises(ValueError, match="does not match the specs of the input"):
        mapped(P())(olympus.device_put(X, NamedSharding(explicit, P("x"))))
    np.testing.assert_array_equal(mapped(P())(jnp.asarray(X)), np.concatenate([X, X]))


def test_closed_over_sharded_arrays_raise(explicit):
    with olympus.set_mesh(explicit):
        split = olympus.device_put(X, P("x"))
        mapped = shard_map(lambda x: (split * 2, x)[1], in_specs=P("x"), out_specs=P("x"))
        with pytest.raises(NotImplementedError, match="Closing over inputs to shard_map"):
            mapped(split)


def test_non_array_arguments_with_spec_none(mesh):
    class Opaque:
        pass

    given = Opaque()
    mapped = shard_map(
        lambda o, x: x if o is given else None, mesh=mesh, in_specs=(None, P("x")), out_specs=P("x")
    )
    np.testing.assert_array_equal(mapped(given, X), X)
    assert shard_map(lambda x: None, mesh=mesh, in_specs=P("x"), out_specs=None)(X) is None
    whole = shard_map(lambda x: x, mesh=mesh, in_specs=None, out_specs=P())
    np.testing.assert_array_equal(whole(X), X)
    with pytest.raises(ValueError, match="shard_map in_specs has a tuple of length 2"):
        shard_map(lambda x: x, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))(X)


def test_vmap_with_spmd_axis_name(square):
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    mapped = shard_map(
        lambda x: jnp.sin(x.sum()), mesh=square, in_specs=P("y"), out_specs=P(), check_vma=False
    )
    plain = olympus.vmap(olympus.grad(mapped))(x)
    laid_out = olympus.vmap(olympus.grad(mapped), spmd_axis_name="x")(x)
    np.testing.assert_allclose(laid_out, plain, rtol=1e-6)
    with pytest.raises(ValueError, match="vmap spmd_axis_name cannot appear in shard_map in_specs"):
        olympus.vmap(mapped, spmd_axis_name="y")(x)
    # Without the check, the two uses of the axis are found later.
    olympus.config.update("olympus_disable_vmap_shmap_error", True)
    try:
        with pytest.raises(Exception, match="duplicate"):
            olympus.vmap(mapped, spmd_axis_name="y")(x)
    finally:
        olympus.config.update("olympus_disable_vmap_shmap_error", False)


def test_vmap_along_an_explicit_mesh_axis():
    mesh = olympus.make_mesh((2, 2), ("x", "y"))
    x = olympus.device_put(np.arange(16.0).reshape(4, 4), NamedSharding(mesh, P("x", "y")))
    mapped = shard_map(lambda x: x, mesh=mesh, in_specs=P("y"), out_specs=P("y"))
    assert olympus.jit(olympus.vmap(mapped))(x).sharding.spec == P("x", "y")
    both = shard_map(
        lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x", "y"}
    )
    with pytest.raises(ValueError, match="requires axis_names=.* to be a subset of"):
        olympus.vmap(both)(x)


def test_shard_map_over_an_abstract_mesh(explicit, mesh):
    mapped = shard_map(lambda x: x, mesh=mesh.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    there = olympus.device_put(X, NamedSharding(mesh, P("x")))
    np.testing.assert_array_equal(mapped(there), X)
    with pytest.raises(ValueError, match="with a `NamedSharding` as input to `shard_map`"):
        mapped(X)
    with pytest.raises(ValueError, match="does not match the mesh shape passed to shard_map"):
        mapped(olympus.device_put(X, NamedSharding(explicit, P("x"))))


def test_inferred_specs_need_sharded_types(mesh):
    with olympus.set_mesh(mesh):
        with pytest.raises(TypeError, match="argument must be a pytree of"):
            shard_map(lambda x: x, out_specs=P("x"))(X)
        with pytest.raises(TypeError, match="in_axes was not specified"):
            olympus.smap(lambda x: x, out_axes=0, axis_name="x")(X)
    with pytest.raises(TypeError, match="axis_name should be a `str`"):
        olympus.smap(lambda x: x, out_axes=0, axis_name=("x",))
    with pytest.raises(TypeError, match="smap in_axes must be an int"):
        olympus.smap(lambda x: x, in_axes="x", out_axes=0, axis_name="x")


def test_unreduced_specs_need_explicit_axes(mesh, square):
    def mapped(on, **keywords):
        specs = {"in_specs": P(unreduced={"x"}), "out_specs": P()}
        return shard_map(lambda x: x, mesh=on, **specs, **keywords)

    with pytest.raises(ValueError, match="can only be used when the mesh"):
        mapped(mesh)(X)
    with pytest.raises(NotImplementedError, match="full manual mode"):
        mapped(square, axis_names={"x"})(X)


def test_unreduced_out_specs_return_partial_sums(explicit):
    with olympus.set_mesh(explicit):
        x = olympus.device_put(X, P("x"))
        summed = shard_map(lambda x: x, out_specs=P(unreduced={"x"}))(x)
        np.testing.assert_array_equal(olympus.reshard(summed, P()), X[:4] + X[4:])
        with pytest.raises(ValueError, match="Varying->Unreduced collective"):
            shard_map(lambda x: lax.psum(x, "x"), out_specs=P(unreduced={"x"}))(x)


def test_constants_like_varying_values_vary(mesh):
    def counted(x):
        return jnp.histogram(x, bins=2, range=(0.0, 8.0))[0] + jnp.zeros_like(x).astype(int).sum()

    mapped = shard_map(counted, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_array_equal(mapped(X), [2, 0, 2, 0, 0, 2, 0, 2])


def test_references_are_sharded_by_specs(explicit):
    def fill(ref):
        ref[...] += lax.axis_index("x").astype(np.float32)

    with olympus.set_mesh(explicit):
        ref = olympus.new_ref(jnp.zeros(4, np.float32, out_sharding=P("x")))
        olympus.jit(shard_map(fill, out_specs=None))(ref)
        np.testing.assert_array_equal(ref[...], [0, 0, 1, 1])


def test_tangents_varying_more_than_the_primal_raise(mesh):
    def derived(t):
        return olympus.linearize(jnp.sin, jnp.ones(2))[1](t)

    with pytest.raises(ValueError, match=r"applying `olympus\.lax\.pcast\(\.\.\., \('x',\)"):
        shard_map(derived, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(X)


def test_constraints_inside_do_not_name_manual_axes(square):
    def constrained(x):
        return lax.with_sharding_constraint(x, NamedSharding(square, P("x", "y")))

    mapped = shard_map(
        constrained, mesh=square, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    with pytest.raises(ValueError, match="contains a manual axes"):
        olympus.jit(mapped)(np.ones((4, 4)))


def test_types_of_axes_are_not_changed_inside(square):
    def inside(x):
        return olympus.sharding.auto_axes(lambda a: a, out_sharding=P("x", "y"))(x)

    with olympus.set_mesh(square):
        mapped = shard_map(inside, in_specs=P("x", "y"), out_specs=P("x", "y"))
        with pytest.raises(NotImplementedError, match="Going from `Manual`"):
            mapped(np.ones((4, 4)))
