# SPDX-License-Identifier: Apache-2.0
"""`with_sharding_constraint` and `reshard`: programs, transformations, errors."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, linear_transpose
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import ShapeDtypeStruct, make_olympuspr
from olympus_sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    reshard,
    set_mesh,
    use_abstract_mesh,
    with_sharding_constraint,
)

P = PartitionSpec
MATRIX = ShapeDtypeStruct((8, 4), np.float32)


@pytest.fixture
def explicit(devices):
    return Mesh([devices[:2], devices[2:4]], ("x", "y"), (AxisType.Explicit,) * 2)


def constraint_of(fun, *args):
    """Returns the only equation of a function's program."""
    (equation,) = make_olympuspr(fun)(*args).jaxpr.eqns
    return equation


def test_constraint_equation_and_its_text(mesh):
    sharding = NamedSharding(mesh, P("x"))
    program = make_olympuspr(lambda x: with_sharding_constraint(x, sharding))(MATRIX)
    (equation,) = program.jaxpr.eqns
    assert equation.primitive.name == "sharding_constraint"
    assert equation.params["sharding"] == sharding
    assert equation.params["layout"] is None
    assert equation.params["unconstrained_dims"] == frozenset()
    assert str(program) == (
        "{ lambda ; a:f32[8,4]. let\n"
        "    b:f32[8,4] = sharding_constraint[\n"
        "      context_mesh=Mesh()\n"
        "      layout=None\n"
        "      sharding=NamedSharding(mesh=Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto)), "
        "spec=P('x',), memory_kind=device)\n"
        "      unconstrained_dims=frozenset({})\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_trees_and_prefixes(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))

    def fun(x):
        return with_sharding_constraint({"a": (x, x), "b": x}, {"a": rows, "b": columns})

    program = make_olympuspr(fun)(MATRIX)
    assert [e.params["sharding"] for e in program.jaxpr.eqns] == [rows, rows, columns]


def test_specs_use_the_context_mesh(mesh):
    with set_mesh(mesh):
        equation = constraint_of(lambda x: with_sharding_constraint(x, P("x")), MATRIX)
    assert equation.params["sharding"] == NamedSharding(mesh.abstract_mesh, P("x"))
    assert equation.params["context_mesh"] is mesh.abstract_mesh
    abstract = AbstractMesh((4,), ("z",))
    with use_abstract_mesh(abstract):
        equation = constraint_of(lambda x: with_sharding_constraint(x, P("z")), MATRIX)
    assert equation.params["sharding"].mesh is abstract
    with pytest.warns(DeprecationWarning), mesh:
        equation = constraint_of(lambda x: with_sharding_constraint(x, P("x")), MATRIX)
    assert equation.params["sharding"] == NamedSharding(mesh, P("x"))
    assert equation.params["context_mesh"] is mesh


def test_unconstrained_dimensions_are_recorded(mesh):
    sharding = NamedSharding(mesh, P("x", P.UNCONSTRAINED))
    equation = constraint_of(lambda x: with_sharding_constraint(x, sharding), MATRIX)
    assert equation.params["unconstrained_dims"] == {1}


def test_evaluation_by_numpy_is_the_identity(mesh):
    from olympus_ir.reference.tables import reference_rules
    from olympus_sharding.annotations.constraints import reshard_p, sharding_constraint_p

    x = np.arange(3.0)
    for primitive in (sharding_constraint_p, reshard_p):
        assert reference_rules[primitive](x, sharding=None) is x


def test_derivatives_are_constrained_too(mesh):
    sharding = NamedSharding(mesh, P("x"))

    def fun(x):
        return with_sharding_constraint(x, sharding)

    forward = make_olympuspr(lambda x, t: jvp(fun, (x,), (t,)))(MATRIX, MATRIX)
    assert [e.params["sharding"] for e in forward.jaxpr.eqns] == [sharding] * 2
    assert forward.jaxpr.eqns[1].invars == forward.jaxpr.invars[1:]

    backward = make_olympuspr(lambda ct: linear_transpose(fun, MATRIX)(ct))(MATRIX)
    assert [e.params["sharding"] for e in backward.jaxpr.eqns] == [sharding]

    squared = make_olympuspr(grad(lambda x: lax.reduce_sum(fun(lax.mul(x, x)), (0, 1))))(MATRIX)
    names = [e.primitive.name for e in squared.jaxpr.eqns]
    assert names.count("sharding_constraint") == 2


@pytest.mark.parametrize(
    ("in_axes", "options", "spec", "unconstrained"),
    [
        (0, {}, (P.UNCONSTRAINED, "x"), {0}),
        (1, {}, ("x", P.UNCONSTRAINED), {1}),
        (0, {"spmd_axis_name": "y"}, ("y", "x"), set()),
        (0, {"spmd_axis_name": ("y",)}, ("y", "x"), set()),
    ],
)
def test_batched_constraints_name_the_batch_dimension(mesh, in_axes, options, spec, unconstrained):
    sharding = NamedSharding(mesh, P("x"))
    batched = vmap(
        lambda x: with_sharding_constraint(x, sharding),
        in_axes=in_axes,
        out_axes=in_axes,
        **options,
    )
    params = constraint_of(batched, MATRIX).params
    assert params["sharding"] == NamedSharding(mesh, P(*spec))
    assert params["unconstrained_dims"] == unconstrained


def test_batching_moves_unconstrained_dimensions(mesh):
    sharding = NamedSharding(mesh, P("x", P.UNCONSTRAINED))
    cube = ShapeDtypeStruct((2, 8, 4), np.float32)
    batched = vmap(lambda x: with_sharding_constraint(x, sharding))
    params = constraint_of(batched, cube).params
    assert params["unconstrained_dims"] == {0, 2}


def test_batching_of_unmapped_values_and_one_device(mesh, devices):
    rows = NamedSharding(mesh, P("x"))
    unmapped = vmap(
        lambda x, y: with_sharding_constraint(y, rows),
        in_axes=(0, None),
        out_axes=None,
        axis_size=8,
        axis_name="i",
    )
    assert constraint_of(unmapped, MATRIX, MATRIX).params["sharding"] == rows
    device = SingleDeviceSharding(devices[1])
    batched = vmap(lambda x: with_sharding_constraint(x, device))
    assert constraint_of(batched, MATRIX).params["sharding"] == device


def test_batching_refuses_axes_in_use(mesh):
    sharding = NamedSharding(mesh, P("x"))
    batched = vmap(lambda x: with_sharding_constraint(x, sharding), spmd_axis_name="x")
    with pytest.raises(ValueError, match="spmd_axis_name .* cannot appear"):
        make_olympuspr(batched)(MATRIX)
    unknown = vmap(lambda x: with_sharding_constraint(x, sharding), spmd_axis_name="q")
    with pytest.raises(ValueError, match="q of P.* is not found in mesh"):
        make_olympuspr(unknown)(MATRIX)


@pytest.mark.parametrize(
    ("shardings", "error", "message"),
    [
        (None, ValueError, "is None, which is not allowed"),
        ("x", TypeError, "takes shardings and PartitionSpecs.* got 'x'"),
        (P("x"), RuntimeError, "requires a non-empty mesh in context"),
        ((P(),), ValueError, "tree prefix"),
    ],
)
def test_invalid_arguments_raise(shardings, error, message):
    x = np.zeros((8, 4), np.float32)
    with pytest.raises(error, match=message):
        with_sharding_constraint(x if not isinstance(shardings, tuple) else (x, x), shardings)


def test_invalid_specs_raise(mesh, explicit):
    with pytest.raises(ValueError, match="only valid for values of rank at least 3"):
        make_olympuspr(
            lambda x: with_sharding_constraint(x, NamedSharding(mesh, P("x", None, "y")))
        )(MATRIX)
    with set_mesh(mesh), pytest.raises(ValueError, match="z of P.* is not found in mesh"):
        make_olympuspr(lambda x: with_sharding_constraint(x, P("z")))(MATRIX)
    with pytest.raises(ValueError, match=r"can only refer to Auto axes.*`reshard`"):
        with_sharding_constraint(np.zeros(4), NamedSharding(explicit, P("x")))


def test_resharding_changes_the_type(explicit):
    with set_mesh(explicit):
        program = make_olympuspr(lambda x: reshard(x, P("x")))(MATRIX)
    assert str(program) == "{ lambda ; a:f32[8,4]. let b:f32[8@x,4] = reshard a in (b,) }"
    (equation,) = program.jaxpr.eqns
    assert equation.params["dst_sharding"] == NamedSharding(explicit.abstract_mesh, P("x", None))
    assert equation.params["concrete_mesh"] is None
    sharding = NamedSharding(explicit, P("x"))
    equation = constraint_of(lambda x: reshard(x, sharding), MATRIX)
    assert equation.params["concrete_mesh"] is explicit
    batched = constraint_of(vmap(lambda x: reshard(x, sharding)), MATRIX)
    assert batched.params["dst_sharding"].spec == P(None, "x")


def test_invalid_reshards_raise(mesh, explicit, devices):
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(ValueError, match="not under a mesh context"):
        reshard(x, P("x"))
    with pytest.raises(ValueError, match="cannot contain axis names that are of type Auto"):
        reshard(x, NamedSharding(mesh, P("x")))
    with pytest.raises(TypeError, match="only supports instances of `NamedSharding`"):
        reshard(x, SingleDeviceSharding(devices[0]))
    with pytest.raises(ValueError, match="does not evenly divide the dimension size 3"):
        reshard(x, NamedSharding(explicit, P("x")))
    with pytest.raises(ValueError, match="rank at least 3"):
        reshard(x, NamedSharding(explicit, P(None, None, "x")))
