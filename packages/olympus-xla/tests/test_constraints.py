# SPDX-License-Identifier: Apache-2.0
"""Constraints in compiled programs, and the devices on which programs run because of them."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.types.placement import UNSPECIFIED
from olympus_sharding import (
    AxisType,
    IndivisibleError,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    make_mesh,
    reshard,
    set_mesh,
    with_sharding_constraint,
)
from olympus_sharding.manual.shard_map import shard_map
from olympus_xla.arrays.layouts import Format, Layout
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import jit

P = PartitionSpec
X = np.arange(32, dtype=np.float32).reshape(8, 4)


def constrained(sharding):
    return lambda x: with_sharding_constraint(lax.mul(x, x), sharding)


@pytest.mark.parametrize("spec", [P("x"), P("x", "y"), P(None, "y"), P(("x", "y")), P()])
def test_results_have_the_constrained_sharding(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    result = jit(constrained(sharding))(X)
    assert result.sharding.is_equivalent_to(sharding, 2)
    assert result.committed
    np.testing.assert_array_equal(result, X * X)
    for shard in result.addressable_shards:
        np.testing.assert_array_equal(shard.data, (X * X)[shard.index])


def test_constraints_are_lowered_to_sdy(mesh):
    text = jit(constrained(NamedSharding(mesh, P("x", P.UNCONSTRAINED)))).lower(X).as_text()
    assert 'sdy.mesh @mesh = <["x"=2, "y"=2]>' in text
    assert 'sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]>' in text


def test_inside_control_flow_and_calls(mesh):
    sharding = NamedSharding(mesh, P("x"))
    step = jit(constrained(sharding))

    @jit
    def repeated(x):
        return lax.fori_loop(0, 2, lambda _, y: step(y), x)

    result = repeated(X)
    assert result.sharding.is_equivalent_to(sharding, 2)
    np.testing.assert_allclose(result, X**4, rtol=1e-6)


def test_derivatives_and_batching(mesh):
    sharding = NamedSharding(mesh, P("x"))
    gradient = jit(grad(lambda x: lax.reduce_sum(constrained(sharding)(x), (0, 1))))(X)
    assert gradient.sharding.is_equivalent_to(sharding, 2)
    np.testing.assert_array_equal(gradient, 2 * X)
    columns = jit(vmap(constrained(sharding), in_axes=1, out_axes=1, spmd_axis_name="y"))(X)
    assert columns.sharding.is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2)
    np.testing.assert_array_equal(columns, X * X)


def test_indivisible_sizes_are_padded_in_programs(mesh, devices):
    """As in JAX: inside a program the compiler pads; an array has to be divisible."""
    sharding = NamedSharding(mesh, P(None, ("x", "y")))
    odd = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(jit(constrained(sharding))(odd), odd * odd)
    with pytest.raises(IndivisibleError, match="dimension size is 6"):
        with_sharding_constraint(odd, sharding)


def test_constraints_outside_of_programs_move_arrays(mesh):
    sharding = NamedSharding(mesh, P("x"))
    a, b = with_sharding_constraint((X, X), (sharding, NamedSharding(mesh, P())))
    assert a.sharding == sharding
    assert b.sharding.is_fully_replicated
    np.testing.assert_array_equal(a, X)
    with set_mesh(mesh):
        assert with_sharding_constraint(X, P("y")).sharding == NamedSharding(mesh, P("y"))
    columns = device_put(X, NamedSharding(mesh, P(None, "y")))
    kept = with_sharding_constraint(columns, NamedSharding(mesh, P("x", P.UNCONSTRAINED)))
    assert kept.sharding == NamedSharding(mesh, P("x", "y"))


def test_transfers_in_programs_constrain_each_array(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))

    def put(x):
        return device_put((lax.neg(x), lax.slice(x, (0, 0), (2, 4))), (rows, columns))

    for result, sharding in zip(jit(put)(X), (rows, columns), strict=True):
        assert result.sharding.is_equivalent_to(sharding, 2)


def test_device_put_specs_use_the_context_mesh(mesh):
    with set_mesh(mesh):
        result = jit(lambda: lax.device_put(np.ones(8, np.float32), P("x")))()
    assert result.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 1)


def test_a_single_device_is_a_constraint(devices):
    place = SingleDeviceSharding(devices[3])
    assert jit(constrained(place))(X).devices() == {devices[3]}
    assert with_sharding_constraint(X, place).devices() == {devices[3]}
    single = make_mesh((1,), ("i",), (AxisType.Auto,), devices=devices[2:3])
    result = jit(constrained(NamedSharding(single, P("i"))))(X)
    assert result.sharding == NamedSharding(single, P())
    np.testing.assert_array_equal(result, X * X)


def test_two_meshes_over_the_same_devices(mesh, devices):
    other = Mesh(np.array(devices[:4]), ("z",))

    def fun(x):
        rows = with_sharding_constraint(x, NamedSharding(mesh, P("x")))
        columns = with_sharding_constraint(x, NamedSharding(other, P(None, "z")))
        return lax.add(rows, columns)

    np.testing.assert_array_equal(jit(fun)(X), X + X)
    assert 'sdy.mesh @mesh_0 = <["z"=4]>' in jit(fun).lower(X).as_text()


def test_incompatible_devices_raise(mesh, devices):
    sharding = NamedSharding(mesh, P("x"))
    reverse = Mesh(mesh.devices[::-1], ("x", "y"))
    half = Mesh(np.array(devices[:2]), ("z",))
    for other in (reverse, half):

        def fun(x, other=other):
            last = NamedSharding(other, P(other.axis_names[0]))
            return with_sharding_constraint(with_sharding_constraint(x, sharding), last)

        with pytest.raises(
            ValueError, match="incompatible devices.*sharding_constraint inside jit"
        ):
            jit(fun)(X)
    with pytest.raises(ValueError, match=r"argument x of <lambda> with shape float32\[8,4\]"):
        jit(constrained(sharding))(device_put(X, devices[1]))
    with pytest.raises(ValueError, match=r"in_shardings with device ids \[0, 1\]"):
        jit(constrained(sharding), in_shardings=NamedSharding(half, P("z")))(X)
    with pytest.raises(ValueError, match="jit's context mesh"), set_mesh(half):
        jit(constrained(sharding))(X)
    with pytest.raises(ValueError, match="`device` and `backend` choose one device"):
        on_device(constrained(sharding), devices[0])(X)


def on_device(fun, device):
    with pytest.warns(DeprecationWarning, match="backend and device argument on jit is deprecated"):
        return jit(fun, device=device)


def test_inner_device_becomes_device_of_program(devices):
    inner = on_device(lambda x: lax.add(x, np.float32(1)), devices[1])
    programs = {
        "jit": jit(inner),
        "vmap": vmap(inner),
        "grad": grad(lambda x: lax.reduce_sum(inner(x), (0, 1))),
        "scan": lambda x: lax.scan(lambda carry, row: (carry, inner(row)), 0.0, x)[1],
    }
    for name, program in programs.items():
        result = program(X)
        assert result.committed and result.devices() == {devices[1]}, name
    with pytest.warns(DeprecationWarning, match="backend and device"):
        assert jit(jit(lambda x: x, backend="cpu"))(X).committed
    assert inner.lower(X).out_info.sharding == SingleDeviceSharding(devices[1])
    other = on_device(lambda x: lax.neg(x), devices[2])
    with pytest.raises(ValueError, match=r"device ids \[1\].*device ids \[2\]"):
        jit(lambda x: lax.add(inner(x), other(x)))(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": 1, "backend": "cpu"}, "can't specify both a device and a backend"),
        ({"device": 1, "in_shardings": 0}, "then in_shardings should not be specified"),
        ({"backend": "cpu", "out_shardings": 0}, "then out_shardings should not be specified"),
    ],
)
def test_conflicting_device_options_raise(devices, options, message):
    places = {name: SingleDeviceSharding(devices[0]) for name in options if "shardings" in name}
    with (
        pytest.warns(DeprecationWarning, match="backend and device argument"),
        pytest.raises(ValueError, match=message),
    ):
        jit(lambda x: x, **{**options, **places})


def test_unused_operands_do_not_affect_the_placement(mesh, devices):
    on_mesh = device_put(X, NamedSharding(mesh, P("x")))
    on_device = device_put(X, devices[1])
    for unused in (on_mesh, on_device):
        for fun in (lambda x, y: x, lambda x, y: lax.neg(x), lambda x, y: 1.0):
            result = jit(fun)(X, unused)
            assert not result.committed and len(result.devices()) == 1
            np.testing.assert_array_equal(np.asarray(result), fun(X, X))
            kept = jit(fun, keep_unused=True)(X, unused)
            assert kept.committed and kept.devices() == unused.devices()
    first = jit(lambda x, y: x)
    assert first(on_device, on_mesh).devices() == {devices[1]}
    assert first(on_mesh, on_device).sharding == on_mesh.sharding
    with pytest.raises(ValueError, match="incompatible devices"):
        jit(lambda x, y: x, keep_unused=True)(on_device, on_mesh)
    compiled = first.lower(on_device, on_mesh).compile()
    assert compiled(on_device, X).devices() == {devices[1]}
    assert compiled(X, on_mesh).devices() == {devices[1]}


def test_uncommitted_operands_follow_the_context_mesh(mesh, devices):
    with set_mesh(mesh):
        assert jit(lambda x: lax.neg(x))(X).sharding == NamedSharding(mesh, P())
        assert lax.neg(X).sharding == NamedSharding(mesh, P())
        sharded = device_put(X, NamedSharding(mesh, P("x")))
        assert lax.neg(sharded).sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
        with pytest.raises(ValueError, match="incompatible devices"):
            lax.neg(device_put(X, devices[1]))
    assert len(lax.neg(X).devices()) == 1


def test_constants_keep_their_sharding(mesh):
    sharding = NamedSharding(mesh, P("x"))
    for count in (4, 4000):
        constant = device_put(np.ones((8, count), np.float32), sharding)
        result = jit(lambda x, constant=constant: lax.add(constant, x))(1.0)
        assert result.sharding.is_equivalent_to(sharding, 2)
        np.testing.assert_array_equal(result, np.full((8, count), 2.0))


def test_resharding_moves_arrays(devices):
    mesh = make_mesh((2, 2), ("x", "y"), devices=devices)
    assert mesh.axis_types == (AxisType.Explicit,) * 2
    rows = NamedSharding(mesh, P("x", None))
    assert reshard(X, rows).sharding == rows
    assert jit(lambda x: reshard(x, rows))(X).sharding == rows
    with set_mesh(mesh):
        assert reshard(X, P("x")).sharding == rows
        result = jit(lambda x: lax.neg(reshard(x, P("x", "y"))))(X)
    assert result.sharding == NamedSharding(mesh, P("x", "y"))
    np.testing.assert_array_equal(result, -X)


def test_shardings_of_functions_called_inside_others(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    inner = jit(
        lambda x, n, y: lax.add(lax.mul(x, n), y),
        static_argnums=1,
        in_shardings=(rows, None),
        out_shardings=columns,
    )
    outer = jit(lambda x: lax.neg(inner(x, 2.0, x)))
    result = outer(X)
    assert result.sharding.is_equivalent_to(columns, 2)
    np.testing.assert_array_equal(result, -3 * X)
    gradient = jit(grad(lambda x: lax.reduce_sum(inner(x, 2.0, x), (0, 1))))(X)
    np.testing.assert_array_equal(gradient, np.full_like(X, 3.0))
    batched = vmap(inner, in_axes=(0, None, 0))(X[None], 2.0, X[None])
    assert batched.sharding.is_equivalent_to(NamedSharding(mesh, P(None, None, "y")), 3)
    with pytest.raises(ValueError, match="in_shardings specification must be a tree prefix"):
        jit(lambda x: jit(lambda x: x, in_shardings=(rows, rows))(x))(X)
    with pytest.raises(RuntimeError, match="requires a non-empty mesh"):
        jit(lambda x: jit(lambda x: x, in_shardings=P("x"))(x))(X)
    with pytest.raises(ValueError, match="outputs with pytree key path .* is incompatible"):
        too_long = NamedSharding(mesh, P(None, None, "x"))
        jit(lambda x: jit(lambda x: x, out_shardings=too_long)(x))(X)
    for placement in ({"in_shardings": rows}, {"out_shardings": rows}):
        with pytest.raises(IndivisibleError, match="the dimension size is 3"):
            jit(lambda x, placement=placement: jit(lambda x: x, **placement)(x))(X[:3])


def test_shardings_are_parameters_of_calls(mesh):
    """Checked against the parameters that JAX 0.10.2 records."""
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    order = Layout((1, 0))
    fun = jit(
        lambda x, y: (lax.mul(lax.sin(x), y), y),
        in_shardings=(rows, None),
        out_shardings=(None, Format(order, whole)),
    )

    def params(transformed, *args):
        closed = make_olympuspr(transformed)(*args)
        check_olympuspr(closed)
        return [equation.params for equation in closed.eqns if equation.primitive is lax.jit_p]

    (call,) = params(fun, X, X)
    assert call["in_shardings"] == (rows, UNSPECIFIED)
    assert call["out_shardings"] == (UNSPECIFIED, whole)
    assert (call["in_layouts"], call["out_layouts"]) == ((None, None), (None, order))
    assert call["ctx_mesh"].empty and isinstance(call["ctx_mesh"], Mesh)
    assert [equation.primitive.name for equation in call["jaxpr"].eqns] == ["sin", "mul"]
    (pushed,) = params(lambda x: jvp(fun, (x, X), (x, X))[1], X)
    assert pushed["in_shardings"] == (rows, UNSPECIFIED) * 2
    assert pushed["out_shardings"][-1] == whole
    _, pulled = params(grad(lambda x: lax.reduce_sum(fun(x, X)[0], (0, 1))), X)
    assert pulled["out_shardings"] == (rows,)
    (batched,) = params(vmap(jit(lax.sin, in_shardings=rows), spmd_axis_name="y"), X[None])
    assert batched["in_shardings"] == (NamedSharding(mesh, P("y", "x")),)
    with set_mesh(mesh):
        (call,) = params(jit(lax.sin, inline=True, in_shardings=P("x")), X)
    assert call["in_shardings"] == (rows,)
    assert call["ctx_mesh"] == mesh


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda rows, open_: {"in_shardings": open_}, "not allowed when passed to in_shardings"),
        (lambda rows, open_: {"out_shardings": (open_,)}, "not allowed when passed to out_shard"),
        (lambda rows, open_: {"out_shardings": open_.spec}, "not allowed when passed to out_shard"),
        (
            lambda rows, open_: {"in_shardings": (rows, rows)},
            "wrong length: got a tuple or list of length 2 for an args tuple of length 1",
        ),
        (
            lambda rows, open_: {"out_shardings": (rows,)},
            "different types .*\n *pjit out_shardings",
        ),
        (
            lambda rows, open_: {"in_shardings": rows.update(spec=P("x", "y", None))},
            "One of pjit arguments with pytree key path x is incompatible with its sharding",
        ),
        (
            lambda rows, open_: {"out_shardings": rows.update(spec=P("x", "y", None))},
            "One of pjit outputs with pytree key path result is incompatible with its sharding",
        ),
    ],
)
def test_invalid_shardings_raise(mesh, asked, message):
    rows, open_ = (NamedSharding(mesh, spec) for spec in (P("x"), P("x", P.UNCONSTRAINED)))
    with pytest.raises(ValueError, match=message):
        jit(lambda x: x, **asked(rows, open_))(X)


def test_arguments_with_another_sharding_raise(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
        jit(lambda x: x, in_shardings=rows)(device_put(X, columns))


def test_constraints_inside_of_shard_map(mesh, devices):
    def over_x(part):
        part = with_sharding_constraint(lax.mul(part, 2.0), NamedSharding(mesh, P(None, "y")))
        return lax.psum(part, "x")

    partial = shard_map(over_x, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
    result = jit(partial)(X)
    assert result.sharding.is_equivalent_to(NamedSharding(mesh, P(None, "y")), 2)
    np.testing.assert_allclose(result, 2 * X.reshape(2, 4, 4).sum(0))

    other = Mesh(np.array(devices[:4]), ("z",))
    total = shard_map(lambda part: lax.psum(part, "z"), mesh=other, in_specs=P("z"), out_specs=P())
    constrained_first = jit(
        lambda x: total(with_sharding_constraint(x, NamedSharding(mesh, P("y"))))
    )
    np.testing.assert_allclose(constrained_first(X), X.reshape(4, 2, 4).sum(0))


def test_an_unknown_backend_is_reported_by_calls():
    with pytest.warns(DeprecationWarning, match="backend and device argument"):
        function = jit(lambda x: x, backend="abacus")
    for call in (function, jit(function), function.lower, function.trace):
        with pytest.raises(RuntimeError, match="Unknown backend abacus. Available backends are"):
            call(X)
