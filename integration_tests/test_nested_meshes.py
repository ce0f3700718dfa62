# SPDX-License-Identifier: Apache-2.0
"""Partly manual meshes, context meshes, and transfers between meshes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import io_callback
from olympus.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    reshard,
    use_abstract_mesh,
)
from olympus.sharding import PartitionSpec as P
from olympus_xla.calls.copies import copy_between_devices
from olympus_xla.calls.pjit import pjit

pytestmark = pytest.mark.usefixtures("eight_devices")

X = np.arange(16, dtype=np.float32).reshape(8, 2)
ROW = np.arange(8, dtype=np.float32)
EAGER_AND_JIT = pytest.mark.parametrize("jit", [lambda f: f, olympus.jit], ids=["eager", "jit"])


@pytest.fixture
def mesh():
    return Mesh(np.array(olympus.devices()).reshape(4, 2), ("x", "y"))


def line(devices=None):
    return Mesh(np.array(olympus.devices() if devices is None else devices), ("x",))


def reversed_line():
    return line(olympus.devices()[::-1])


def _append_lowering(lowered, event, seconds, **kwargs):
    if event.endswith("to_mlir_module_duration"):
        lowered.append(event)


class TestPartlyManual:
    @EAGER_AND_JIT
    @pytest.mark.parametrize("axis", ["x", "y"])
    def test_axis_index_of_the_manual_axis(self, mesh, jit, axis):
        spec, dimension = (P("x"), 0) if axis == "x" else (P(None, "y"), 1)
        f = olympus.shard_map(
            lambda x: x + lax.axis_index(axis),
            mesh=mesh,
            in_specs=spec,
            out_specs=spec,
            axis_names={axis},
        )
        size = X.shape[dimension] // mesh.shape[axis]
        index = np.arange(X.shape[dimension]) // size
        expected = X + (index[:, None] if dimension == 0 else index)
        np.testing.assert_array_equal(jit(f)(X), expected)

    def test_axis_index_in_inner_functions(self, mesh):
        def f(x):
            x = olympus.jit(lambda x: x + lax.axis_index("x"))(x)
            x = lax.scan(lambda c, _: (c + lax.axis_index("x"), None), x, None, length=2)[0]
            return lax.cond(lax.axis_index("x") == 0, lambda x: -x, lambda x: x, x)

        mapped = olympus.shard_map(
            f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )
        expected = X + 3 * (np.arange(8) // 2)[:, None]
        expected[:2] *= -1
        np.testing.assert_array_equal(olympus.jit(mapped)(X), expected)

    @EAGER_AND_JIT
    @pytest.mark.parametrize("named", [True, False])
    @pytest.mark.parametrize("check_vma", [True, False])
    def test_nested_shard_map_inherits_the_mesh(self, mesh, jit, named, check_vma):
        def inner(x):
            return x * lax.axis_index("y") + 10 * lax.axis_index("x")

        def outer(x):
            names = {"axis_names": {"y"}} if named else {}
            spec = P(None, "y")
            return olympus.shard_map(
                inner, in_specs=spec, out_specs=spec, check_vma=check_vma, **names
            )(x)

        f = olympus.shard_map(
            outer,
            mesh=mesh,
            in_specs=P("x"),
            out_specs=P("x"),
            axis_names={"x"},
            check_vma=check_vma,
        )
        expected = X * np.arange(2) + 10 * (np.arange(8) // 2)[:, None]
        np.testing.assert_array_equal(jit(f)(X), expected)

    def test_three_nested_shard_maps(self):
        mesh = Mesh(np.array(olympus.devices()).reshape(2, 2, 2), ("a", "b", "c"))

        def region(axis, position, inside):
            spec = P(*(None,) * position, axis)
            around = {"mesh": mesh} if position == 0 else {}
            return olympus.shard_map(
                inside, in_specs=spec, out_specs=spec, axis_names={axis}, **around
            )

        def index(x):
            return x * 100 * lax.axis_index("a") + 10 * lax.axis_index("b") + lax.axis_index("c")

        f = region("a", 0, region("b", 1, region("c", 2, index)))
        a, b, c = np.ogrid[:2, :2, :2]
        expected = 100 * a + 10 * b + c
        np.testing.assert_array_equal(olympus.jit(f)(np.ones((2, 2, 2), np.float32)), expected)

    def test_nested_shard_map_without_remaining_auto_axes(self, mesh):
        def outer(x):
            return olympus.shard_map(lambda x: 2 * x, in_specs=P(), out_specs=P())(x)

        f = olympus.shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        np.testing.assert_array_equal(olympus.jit(f)(X), 2 * X)

    def test_nested_shard_map_over_another_mesh_raises(self, mesh):
        def outer(x):
            return olympus.shard_map(lambda x: x, mesh=line(), in_specs=P(), out_specs=P())(x)

        f = olympus.shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
        with pytest.raises(ValueError, match=r"The context mesh .* should match the mesh passed"):
            f(X)

    def test_gradient_of_nested_regions(self, mesh):
        def inner(x):
            return lax.psum(x**2, "y")

        def outer(x):
            spec = P(None, "y")
            part = olympus.shard_map(inner, in_specs=spec, out_specs=P(), axis_names={"y"})(x)
            return lax.psum(part, "x")

        f = olympus.shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
        np.testing.assert_array_equal(olympus.jit(olympus.grad(lambda x: f(x).sum()))(X), 2 * X)


@pytest.mark.parametrize("make", ["shard_map", "pmap", "jit of pmap"])
def test_ordered_callback_on_each_device(make):
    seen = []

    def f(x):
        for step in (0, 100):
            io_callback(lambda v: seen.append(v.item()), None, x[0] + step, ordered=True)
        return x

    if make == "shard_map":
        olympus.jit(olympus.shard_map(f, mesh=line(), in_specs=P("x"), out_specs=P("x")))(ROW)
    else:
        mapped = olympus.pmap(f)
        (olympus.jit(mapped) if make == "jit of pmap" else mapped)(ROW[:, None])
    olympus.effects_barrier()
    assert sorted(seen) == [*ROW, *(ROW + 100)]
    for value in ROW:  # on each device
        assert seen.index(value) < seen.index(value + 100)


def test_scan_over_weights_sums_devices_once():
    mesh = olympus.make_mesh((4,), ("x",), (AxisType.Explicit,))
    weights, x = np.ones((3, 2, 3), np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)

    def loss(weights, x):
        weights = reshard(weights, P(reduced={"x"}))
        return lax.scan(lambda c, w: (c + jnp.sum((x @ w) ** 2), None), 0.0, weights)[0]

    with olympus.set_mesh(mesh):
        operands = olympus.device_put(weights, P()), olympus.device_put(x, P("x"))
        gradient = olympus.jit(olympus.grad(loss))
        # d/dw sum((x @ w)^2) = 2 x^T (x @ w)
        expected = 2 * np.einsum("bi,bj,sjk->sik", x, x, weights)
        np.testing.assert_allclose(gradient(*operands), expected, rtol=1e-6)
        assert gradient.lower(*operands).compile().as_text().count(" all-reduce(") == 1


class TestMeshInForce:
    def test_pjit_uses_the_context_mesh(self, mesh):
        f = pjit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P("y"))
        with pytest.warns(DeprecationWarning), mesh:
            result = f(ROW)
            inside = olympus.jit(lambda x: f(x) + 1)(ROW)
            lowered = f.lower(olympus.ShapeDtypeStruct((8,), np.float32)).compile()
        np.testing.assert_array_equal(result, 2 * ROW)
        np.testing.assert_array_equal(inside, 2 * ROW + 1)
        assert result.sharding == inside.sharding == NamedSharding(mesh, P("y"))
        assert lowered.input_shardings == ((NamedSharding(mesh, P("x")),), {})

    def test_pjit_of_none_replicates_on_each_mesh(self, mesh):
        f = pjit(lambda x, y: (x, y), in_shardings=(P("x"), None), out_shardings=(None, P("x")))
        for other in (mesh, line()):
            with pytest.warns(DeprecationWarning), other:
                first, second = f(ROW, ROW)
            assert first.sharding == NamedSharding(other, P())
            assert second.sharding == NamedSharding(other, P("x"))
        assert pjit(lambda x: x, in_shardings=None)(ROW).sharding.num_devices == 1

    @pytest.mark.parametrize("which", ["in_shardings", "out_shardings"])
    def test_specs_without_a_mesh_raise(self, mesh, which):
        f = olympus.jit(lambda x: x, **{which: P("x")})
        with pytest.raises(RuntimeError, match=f"requires a non-empty mesh .* to {which}"):
            f(ROW)
        with pytest.warns(DeprecationWarning), mesh, pytest.raises(RuntimeError, match="set_mesh"):
            f(ROW)

    def test_keyword_arguments_with_in_shardings_raise(self):
        f = olympus.jit(lambda x: x, in_shardings=NamedSharding(line(), P("x")))
        with pytest.raises(ValueError, match="does not support kwargs when in_shardings"):
            f(x=ROW)

    def test_an_abstract_mesh_renames_axes(self):
        mesh = olympus.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
        renamed = AbstractMesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)

        @olympus.jit
        def f(x):
            with use_abstract_mesh(renamed):
                return reshard(x, P("b", "a")), jnp.zeros((8,), out_sharding=P("a"))

        with olympus.set_mesh(mesh):
            moved, zeros = f(olympus.device_put(X[:, [0, 1, 0, 1]], P("x")))
        assert moved.sharding.spec == P("b", "a")
        assert moved.sharding.mesh.axis_names == ("a", "b")
        assert moved.addressable_shards[1].data.shape == (4, 1)
        assert zeros.sharding.spec == P("a")
        np.testing.assert_array_equal(moved, X[:, [0, 1, 0, 1]])


class TestMoves:
    @pytest.mark.parametrize(
        ("own", "asked"),
        [
            (
                lambda: olympus.devices()[7],
                lambda: SingleDeviceSharding(olympus.devices()[0]),
            ),
            (lambda: olympus.devices()[3], lambda: NamedSharding(line(), P())),
            (lambda: NamedSharding(reversed_line(), P("x")), lambda: NamedSharding(line(), P("x"))),
        ],
        ids=["device", "replicated", "other order"],
    )
    def test_in_shardings_move_arrays_with_equal_shards(self, own, asked):
        f = olympus.jit(lambda x: x * 2, in_shardings=asked())
        result = f(olympus.device_put(ROW, own()))
        np.testing.assert_array_equal(result, 2 * ROW)
        assert result.sharding == asked()

    @pytest.mark.parametrize(
        "own",
        [
            lambda: olympus.devices()[0],
            lambda: NamedSharding(line(), P()),
            lambda: NamedSharding(line(olympus.devices()[:4]), P("x")),
        ],
        ids=["device", "replicated", "fewer devices"],
    )
    def test_in_shardings_that_would_reshard_raise(self, own):
        f = olympus.jit(lambda x: x, in_shardings=NamedSharding(line(), P("x")))
        with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
            f(olympus.device_put(ROW, own()))

    def test_donated_array_is_deleted_when_it_is_moved(self):
        asked = NamedSharding(line(), P())
        x = olympus.device_put(ROW, olympus.devices()[3])
        f = olympus.jit(lambda x: x * 2, in_shardings=asked, donate_argnums=0)
        np.testing.assert_array_equal(f(x), 2 * ROW)
        assert x.is_deleted()

    def test_donating_an_array_twice_raises(self):
        x = olympus.device_put(ROW, NamedSharding(line(), P("x")))
        with pytest.raises(ValueError, match="donate the same buffer twice: operands 0 and 1"):
            olympus.jit(lambda x, y: x + y, donate_argnums=0)(x, x)

    def test_device_put_donates_to_another_device_order(self):
        x = olympus.device_put(ROW, NamedSharding(line(), P("x")))
        moved = olympus.device_put(x, NamedSharding(reversed_line(), P("x")), donate=True)
        assert x.is_deleted()
        np.testing.assert_array_equal(moved, ROW)

    @pytest.mark.parametrize("source", [lambda: None, lambda: NamedSharding(line(), P("x"))])
    @pytest.mark.parametrize(
        "target",
        [
            lambda: NamedSharding(line(olympus.devices()[2:6]), P("x")),
            lambda: NamedSharding(line(olympus.devices()[6:]), P()),
            lambda: SingleDeviceSharding(olympus.devices()[5]),
            lambda: NamedSharding(Mesh(line().devices.reshape(4, 2), ("a", "b")), P("b")),
        ],
    )
    def test_resharding_is_done_by_the_devices(self, source, target):
        array = olympus.device_put(ROW, source())
        with olympus.transfer_guard_device_to_host("disallow_explicit"):
            moved = copy_between_devices(array, target())
        assert moved.sharding == target()
        np.testing.assert_array_equal(moved, ROW)

    @pytest.mark.parametrize("names", [("x",), ("a", "b")])
    def test_program_is_lowered_once_for_all_devices(self, names):
        lowered = []
        record = functools.partial(_append_lowering, lowered)
        olympus.monitoring.register_event_duration_secs_listener(record)
        f = olympus.jit(lambda x: jnp.sin(x) * 2)
        try:
            for devices in (olympus.devices()[:4], olympus.devices()[4:]):
                mesh = Mesh(np.array(devices).reshape((4,) if len(names) == 1 else (2, 2)), names)
                result = f(olympus.device_put(ROW, NamedSharding(mesh, P(names[0]))))
                assert result.sharding.device_set == set(devices)
                np.testing.assert_allclose(result, 2 * np.sin(ROW), rtol=1e-6)
        finally:
            olympus.monitoring.unregister_event_duration_listener(record)
        assert len(lowered) == 1
