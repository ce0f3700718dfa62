# SPDX-License-Identifier: Apache-2.0
"""Shardings: the parts on devices, equivalence, legality of specs, text."""

import copy
import pickle

import numpy as np
import pytest

from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import AbstractMesh
from olympus_sharding import (
    AxisType,
    DuplicateSpecError,
    IndivisibleError,
    Mesh,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from olympus_sharding import PartitionSpec as P
from olympus_sharding.shardings.behavior import shard_indices

EVERYTHING = slice(None)


@pytest.mark.parametrize(
    ("spec", "shape", "parts"),
    [
        (P("x"), (4, 4), ["[:2, :]", "[:2, :]", "[2:, :]", "[2:, :]"]),
        (P(None, "y"), (4, 4), ["[:, :2]", "[:, 2:]", "[:, :2]", "[:, 2:]"]),
        (P("x", "y"), (2, 4), ["[:1, :2]", "[:1, 2:]", "[1:, :2]", "[1:, 2:]"]),
        (P("y", "x"), (2, 4), ["[:1, :2]", "[1:, :2]", "[:1, 2:]", "[1:, 2:]"]),
        (P(("x", "y")), (8,), ["[0:2]", "[2:4]", "[4:6]", "[6:8]"]),
        (P(("y", "x")), (8,), ["[0:2]", "[4:6]", "[2:4]", "[6:8]"]),
        (P(), (3,), ["[:]"] * 4),
        (P(), (), ["[()]"] * 4),
        (P(P.UNCONSTRAINED), (3,), ["[:]"] * 4),
        (P("x"), (0, 2), ["[:0]"] * 4),
    ],
)
def test_named_sharding_shard_indices(mesh, spec, shape, parts):
    whole = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    sharding = NamedSharding(mesh, spec)
    indices = sharding.devices_indices_map(shape)
    assert list(indices) == list(mesh.devices.flat)
    for index, part in zip(indices.values(), parts, strict=True):
        expected = eval(f"whole{part}", {"whole": whole})
        np.testing.assert_array_equal(whole[index], expected)
        assert whole[index].shape == sharding.shard_shape(shape)
    assert shard_indices(sharding, shape) == tuple(indices.values())
    assert sharding.addressable_devices_indices_map(shape) == indices


def test_unsharded_dimensions_have_full_slices(mesh):
    first, *_ = NamedSharding(mesh, P("x")).devices_indices_map((4, 4)).values()
    assert first == (slice(0, 2, None), slice(None, None, None))


def test_named_sharding_attributes(mesh, devices):
    sharding = NamedSharding(mesh, P("x"))
    assert isinstance(sharding, Sharding)
    assert sharding.mesh is mesh
    assert sharding.spec is P("x")
    assert sharding.memory_kind == "device"
    assert sharding.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert sharding.num_devices == 4
    assert sharding.device_set == sharding.addressable_devices == set(devices[:4])
    assert sharding._device_assignment == tuple(devices[:4])
    assert sharding.is_fully_addressable
    assert sharding.has_addressable_devices
    assert not sharding.is_fully_replicated
    assert NamedSharding(mesh, P()).is_fully_replicated
    assert sharding.replicated_axes == {"y"}
    assert sharding.update(spec=P("y")) == NamedSharding(mesh, P("y"))


def test_axes_of_size_one_do_not_split(devices):
    mesh = Mesh([devices[:4]], ("one", "four"))
    sharding = NamedSharding(mesh, P("one"))
    assert sharding.is_fully_replicated
    assert sharding.is_equivalent_to(NamedSharding(mesh, P()), 1)
    assert sharding.devices_indices_map((3,))[devices[0]] == (EVERYTHING,)


def test_named_sharding_equality_and_copies(mesh):
    sharding = NamedSharding(mesh, P("x"))
    assert sharding == NamedSharding(mesh, P("x"))
    assert hash(sharding) == hash(NamedSharding(mesh, P("x")))
    assert sharding != NamedSharding(mesh, P("x", None))
    assert sharding != NamedSharding(mesh.abstract_mesh, P("x"))
    assert copy.copy(sharding) == sharding
    assert copy.deepcopy(sharding) == sharding
    abstract = NamedSharding(mesh.abstract_mesh, P("x"))
    assert pickle.loads(pickle.dumps(abstract)) == abstract


def test_equivalence_compares_placements(mesh, devices):
    sharding = NamedSharding(mesh, P("x"))
    assert sharding.is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    renamed = mesh.update(axis_names=("a", "b"))
    assert sharding.is_equivalent_to(NamedSharding(renamed, P("a")), 1)
    assert not sharding.is_equivalent_to(NamedSharding(mesh, P("y")), 1)
    assert not sharding.is_equivalent_to(sharding.with_memory_kind("pinned_host"), 1)
    assert not sharding.is_equivalent_to(NamedSharding(mesh.abstract_mesh, P("x")), 1)
    single = SingleDeviceSharding(devices[0])
    assert NamedSharding(Mesh(devices[:1], "x"), P("x")).is_equivalent_to(single, 1)
    assert not NamedSharding(mesh, P()).is_equivalent_to(single, 1)
    with pytest.raises(TypeError, match="expected a sharding"):
        sharding.is_equivalent_to(3, 1)


def test_unreduced_shardings_are_not_replicated(mesh):
    explicit = mesh.update(axis_types=(AxisType.Explicit,) * 2)
    partial = NamedSharding(explicit, P("x", unreduced={"y"}))
    assert not NamedSharding(explicit, P(unreduced={"y"})).is_fully_replicated
    assert partial.replicated_axes == frozenset()
    assert not partial.is_equivalent_to(NamedSharding(explicit, P("x")), 1)
    with pytest.raises(ValueError, match="unreduced axes"):
        partial.devices_indices_map((4,))


def test_single_device_sharding(devices):
    sharding = make_single_device_sharding(devices[1])
    assert sharding.device_set == {devices[1]}
    assert sharding.num_devices == 1
    assert sharding.is_fully_replicated
    assert sharding.is_fully_addressable
    assert sharding.memory_kind == "device"
    assert sharding.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert sharding.shard_shape((3, 2)) == (3, 2)
    assert sharding.devices_indices_map((3, 2)) == {devices[1]: (EVERYTHING, EVERYTHING)}
    assert shard_indices(sharding, (3,)) == ((EVERYTHING,),)
    assert sharding.is_equivalent_to(SingleDeviceSharding(devices[1]), 3)
    assert not sharding.is_equivalent_to(SingleDeviceSharding(devices[0]), 3)
    assert sharding.check_compatible_aval(()) is None
    assert sharding == SingleDeviceSharding(devices[1], memory_kind="device")
    assert hash(sharding) == hash(SingleDeviceSharding(devices[1]))
    assert sharding != SingleDeviceSharding(devices[0])
    assert sharding != sharding.with_memory_kind("pinned_host")
    assert sharding != devices[1]


def test_shardings_print_as_jax_prints_them(mesh, devices):
    assert repr(SingleDeviceSharding(devices[0])) == (
        "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"
    )
    mesh_text = "Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"
    assert repr(NamedSharding(mesh, P("x"), memory_kind="pinned_host")) == (
        f"NamedSharding(mesh={mesh_text}, spec=P('x',), memory_kind=pinned_host)"
    )
    abstract = NamedSharding(mesh.update(axis_names=("a", "b")).abstract_mesh, P())
    assert repr(abstract).endswith("platform=cpu), spec=P())")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda m: NamedSharding(m, P("z")), ValueError, "z of P.*is not found in mesh"),
        (lambda m: NamedSharding(m, P("x", "x")), DuplicateSpecError, "duplicate entries for `x`"),
        (lambda m: NamedSharding(m, P(("x", "x"))), DuplicateSpecError, "duplicate entries"),
        (lambda m: NamedSharding(m, ("x",)), TypeError, "requires a PartitionSpec"),
        (lambda m: NamedSharding(m, ["x"]), TypeError, "requires a PartitionSpec"),
        (lambda m: NamedSharding(m, P(unreduced={"x"})), ValueError, "of type `Explicit`"),
        (lambda m: NamedSharding(m, P(reduced={"z"})), ValueError, "Reduced axes z is not found"),
        (lambda m: NamedSharding(m, P(), memory_kind="attic"), ValueError, "memory kind: attic"),
        (lambda m: NamedSharding(m, P("x")).shard_shape((3,)), IndivisibleError, "partitioned 2"),
        (lambda m: shard_indices(NamedSharding(m, P("x")), (3,)), IndivisibleError, "size is 3"),
        (lambda m: NamedSharding(m, P("x")).shard_shape(()), ValueError, r"should be P\(\)"),
        (lambda m: NamedSharding(m, P("x", "y")).shard_shape((2,)), ValueError, "at least 2"),
        (lambda m: NamedSharding(m.abstract_mesh, P()).device_set, ValueError, "no devices"),
        (lambda m: Sharding().device_set, NotImplementedError, "_device_assignment"),
    ],
)
def test_unsuitable_shardings_raise(mesh, make, error, message):
    with pytest.raises(error, match=message):
        make(mesh)


def test_unconstrained_needs_an_automatic_axis(mesh):
    explicit = mesh.update(axis_types=(AxisType.Explicit,) * 2)
    NamedSharding(mesh, P(P.UNCONSTRAINED))
    with pytest.raises(ValueError, match="no mesh axis_types are `Auto`"):
        NamedSharding(explicit, P(P.UNCONSTRAINED))


def test_types_outside_of_meshes_are_fully_replicated():
    assert NamedSharding(AbstractMesh((), ()), P(None)).is_fully_replicated


def test_placement_is_part_of_the_type():
    mesh = AbstractMesh((2,), ("x",), (AxisType.Explicit,))
    rows = NamedSharding(mesh, P("x"))
    plain = ShapedArray((4, 2), np.float32)
    placed = ShapedArray((4, 2), np.float32, sharding=rows)
    assert placed is not plain
    assert placed is ShapedArray((4, 2), np.float32, sharding=rows)
    assert str(placed) == "float32[4@x,2]"
    assert placed.update(sharding=None) is plain
    assert ShapedArray((4, 2), np.float32, sharding=NamedSharding(mesh, P())) is plain
    assert placed.sharding.spec == P("x", None)
    assert plain.sharding.spec == P(None, None)
    assert plain.sharding.mesh.empty


def test_swapped_arguments_are_named():
    mesh = AbstractMesh((1,), ("x",))
    with pytest.raises(AttributeError, match="NamedSharding takes the mesh before the spec"):
        NamedSharding(P("x"), mesh)
    assert not hasattr(P("x"), "size")
