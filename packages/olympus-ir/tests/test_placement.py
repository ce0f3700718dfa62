# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF005 - concatenation is what is tested
"""Partition specs and abstract meshes as data: normal form, identity, text, errors."""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

from olympus_ir.types.placement import (
    UNCONSTRAINED,
    AbstractDevice,
    AbstractMesh,
    AxisType,
    P,
    PartitionSpec,
    empty_abstract_mesh,
)

Auto, Explicit, Manual = AxisType.Auto, AxisType.Explicit, AxisType.Manual


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P("x", None), "P('x', None)"),
        (P(("x", "y"), "z"), "P(('x', 'y'), 'z')"),
        (P(UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')"),
        (P("x", unreduced={"z", "y"}), "P('x', unreduced={'y', 'z'})"),
        (P("x", reduced={"y"}), "P('x', reduced={'y'})"),
        (P(unreduced={"y"}, reduced={"z"}), "P(unreduced={'y'}, reduced={'z'})"),
    ],
)
def test_spec_prints_as_jax_prints_it(spec, text):
    assert repr(spec) == str(spec) == text


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        (("x",), "x"),
        ((), None),
        ((None,), None),
        ((UNCONSTRAINED,), UNCONSTRAINED),
        (["x", "y"], ("x", "y")),
        (1, 1),
    ],
)
def test_spec_entries_take_normal_form(given, normal):
    assert P(given).partitions == (normal,)


def test_equal_specs_are_one_object():
    assert P is PartitionSpec
    assert P("x", None) is P(("x",), None)
    assert P("x") != P("x", None)
    assert P("x") != ("x",)
    assert P("x") != P("x", unreduced={"y"})
    assert P("x", unreduced={"y"}) != P("x", reduced={"y"})
    assert len({P("x"), P(["x"]), P("y")}) == 2


def test_spec_is_a_sequence():
    spec = P("x", ("y", "z"), None)
    assert list(spec) == ["x", ("y", "z"), None]
    assert len(spec) == 3
    assert spec[0] == "x"
    assert spec[1:] == (("y", "z"), None)
    assert spec.index(None) == 2
    assert spec.count(("y", "z")) == 1
    assert not P()
    assert P(*spec) is spec


def test_specs_are_concatenated():
    assert P("x") + P("y") is P("x", "y")
    assert P("x") + ("y",) is P("x", "y")
    assert ("y",) + P("x") is P("y", "x")
    left, right = P("x", unreduced={"u"}), P("y", unreduced={"v"}, reduced={"r"})
    assert left + right is P("x", "y", unreduced={"u", "v"}, reduced={"r"})
    with pytest.raises(TypeError, match="has unreduced"):
        left + ("y",)
    with pytest.raises(TypeError, match="has reduced"):
        ("y",) + P("x", reduced={"r"})
    with pytest.raises(TypeError):
        P("x") + ["y"]


def test_spec_update_and_cotangent():
    spec = P("x", unreduced={"y"}, reduced={"z"})
    assert spec.update() is spec
    assert spec.update(partitions=["a"]) is P("a", unreduced={"y"}, reduced={"z"})
    assert spec.update(unreduced=frozenset()) is P("x", reduced={"z"})
    assert spec.to_ct_spec() is P("x", unreduced={"z"}, reduced={"y"})
    assert spec.to_tangent_spec() is spec
    assert spec.to_lo() == [spec]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: P("x", unreduced={"x"}), ValueError, "cannot overlap with unreduced axes"),
        (lambda: P(("a", "x"), reduced={"x"}), ValueError, "cannot overlap with reduced axes"),
        (lambda: P(unreduced={"y"}, reduced={"y"}), ValueError, "cannot overlap. Got unreduced"),
        (lambda: P(unreduced="y"), TypeError, "should be of type `frozenset` or `set`"),
        (lambda: P(reduced={None}), ValueError, "reduced cannot contain None"),
        (lambda: P(("x", ("y",))), ValueError, "cannot contain a nested tuple"),
        (lambda: P({"x"}), TypeError, "unhashable"),
        (lambda: type("Q", (P,), {}), TypeError, "cannot be subclassed"),
        (lambda: setattr(P("x"), "reduced", frozenset()), AttributeError, "cannot assign"),
        (lambda: delattr(P("x"), "reduced"), AttributeError, "cannot delete"),
    ],
)
def test_unsuitable_specs_raise(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "value",
    [
        P(),
        P(UNCONSTRAINED, ("x", "y"), unreduced={"u"}),
        UNCONSTRAINED,
        AbstractMesh((2, 4), ("x", "y"), (Explicit, Manual)),
        AbstractMesh((1,), ("x",), abstract_device=AbstractDevice("v5e", 1, "tpu")),
    ],
)
def test_copies_and_pickles_are_the_same_object(value):
    assert pickle.loads(pickle.dumps(value)) is value
    assert copy.copy(value) is value
    assert copy.deepcopy(value) is value


def test_unused_specs_are_forgotten():
    reference = weakref.ref(P("an axis of this test alone"))
    gc.collect()
    assert reference() is None


def test_abstract_mesh_describes_its_axes():
    mesh = AbstractMesh((2, 4), ("x", "y"), axis_types=(Explicit, Auto))
    assert mesh.shape == OrderedDict(x=2, y=4)
    assert mesh.shape_tuple == (("x", 2), ("y", 4))
    assert (mesh.axis_sizes, mesh.axis_names, mesh.size) == ((2, 4), ("x", "y"), 8)
    assert mesh.explicit_axes == ("x",)
    assert mesh.auto_axes == ("y",)
    assert mesh.manual_axes == ()
    assert not mesh.are_all_axes_auto
    assert AbstractMesh((2,), "x").are_all_axes_auto
    assert mesh.abstract_mesh is mesh
    assert not mesh.empty
    assert empty_abstract_mesh.empty
    assert empty_abstract_mesh.size == 0
    assert not empty_abstract_mesh.are_all_axes_auto


@pytest.mark.parametrize(
    ("mesh", "text"),
    [
        (AbstractMesh((2, 2), ("x", "y")), "AbstractMesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"),
        (AbstractMesh((2,), ("x",), Manual), "AbstractMesh('x': 2, axis_types=(Manual,))"),
        (empty_abstract_mesh, "AbstractMesh((), axis_types=())"),
        (
            AbstractMesh((1,), "x", abstract_device=AbstractDevice("v5e", 1, "tpu")),
            "AbstractMesh('x': 1, axis_types=(Auto,), device_kind=v5e, num_cores=1, platform=tpu)",
        ),
    ],
)
def test_abstract_mesh_prints_as_jax_prints_it(mesh, text):
    assert repr(mesh) == str(mesh) == text


def test_abstract_mesh_identity_and_update():
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert AbstractMesh((2, 4), ("x", "y"), (Auto, Auto)) is mesh
    assert mesh != AbstractMesh((2, 4), ("y", "x"))
    assert mesh.update() is mesh
    assert mesh.update(axis_names=("a", "b")) is AbstractMesh((2, 4), ("a", "b"))
    assert mesh.update_axis_types({"y": Manual}) is AbstractMesh((2, 4), ("x", "y"), (Auto, Manual))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: AbstractMesh((2,), ("x", "y")), ValueError, "as many axis sizes as axis names"),
        (lambda: AbstractMesh((2, 2), ("x", "y"), Auto), ValueError, "should match the number"),
        (lambda: AbstractMesh((2,), ("x",), ("Auto",)), TypeError, "must be of type"),
        (lambda: AbstractMesh((2,), "x").devices, ValueError, "does not implement devices"),
        (lambda: AbstractMesh((2,), "x").__enter__(), ValueError, "does not implement __enter__"),
        (lambda: setattr(AbstractMesh((2,), "x"), "size", 3), AttributeError, "cannot assign"),
    ],
)
def test_abstract_mesh_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_axis_types_print_their_names():
    assert list(AxisType) == [Auto, Explicit, Manual]
    assert repr(AxisType.Auto) == "Auto"
    assert str(AxisType.Auto) == "AxisType.Auto"
