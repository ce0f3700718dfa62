# SPDX-License-Identifier: Apache-2.0
"""Meshes: construction, identity, text, errors."""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import numpy as np
import pytest

from olympus_sharding import AbstractDevice, AbstractMesh, AxisType, Mesh, make_mesh
from olympus_sharding.meshes import mesh as mesh_module

Auto, Explicit, Manual = AxisType.Auto, AxisType.Explicit, AxisType.Manual


def test_mesh_describes_its_devices(mesh, devices):
    assert mesh.axis_names == ("x", "y")
    assert mesh.axis_sizes == (2, 2)
    assert mesh.axis_types == (Auto, Auto)
    assert mesh.shape == OrderedDict(x=2, y=2)
    assert mesh.shape_tuple == (("x", 2), ("y", 2))
    assert mesh.size == 4
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3]]
    assert mesh.devices[1, 0] is devices[2]
    assert not mesh.devices.flags.writeable
    assert mesh.local_devices == devices[:4]
    assert mesh.local_mesh is mesh
    assert not mesh.is_multi_process
    assert not mesh.empty
    assert not mesh.is_scalar
    assert mesh.abstract_mesh is AbstractMesh(
        (2, 2), ("x", "y"), abstract_device=AbstractDevice("cpu", None, "cpu")
    )


def test_equal_meshes_are_one_object(mesh, devices):
    array = np.array(devices[:4]).reshape(2, 2)
    assert Mesh(array, ("x", "y")) is mesh
    assert Mesh(array.T, ("x", "y")) is not mesh
    assert Mesh(array.T, ("x", "y")) != mesh
    assert Mesh(array, ("x", "y"), (Explicit, Auto)) is not mesh
    assert copy.copy(mesh) is mesh
    assert copy.deepcopy(mesh) is mesh
    assert mesh.update() is mesh
    assert mesh.update(axis_names=("a", "b")).axis_names == ("a", "b")
    assert mesh.update(devices=array.T).device_ids.tolist() == [[0, 2], [1, 3]]
    assert mesh.update(axis_types=(Manual, Auto)).manual_axes == ("x",)


def test_unused_meshes_are_forgotten(devices):
    reference = weakref.ref(Mesh(devices[:1], ("an axis of this test alone",)))
    gc.collect()
    assert reference() is None


def test_mesh_prints_as_jax_prints_it(mesh, devices):
    text = "Mesh(axis_sizes=(2, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert repr(mesh) == text
    assert str(mesh) == "Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"
    assert repr(Mesh(devices[:2], "x")).startswith("Mesh(axis_sizes=(2,), axis_names=('x',)")
    assert repr(Mesh([], ("x",))) == "Mesh(axis_sizes=(), axis_names=())"


def test_scalar_and_empty_meshes(devices):
    scalar = Mesh(devices[0], ())
    assert scalar.is_scalar
    assert scalar.size == 1
    assert not scalar.empty
    empty = Mesh(np.array([]), ("x",))
    assert empty.empty
    assert empty.size == 0
    assert empty.abstract_mesh.empty


def test_make_mesh_takes_devices_in_order(devices, monkeypatch):
    mesh = make_mesh((2, 3), ("x", "y"), devices=devices)
    assert mesh.device_ids.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mesh.axis_types == (Explicit, Explicit)
    assert make_mesh((2,), ("x",), (Auto,), devices=devices[4:]).device_ids.tolist() == [4, 5]
    monkeypatch.setattr(mesh_module, "_default_devices", lambda: devices[:2])
    assert make_mesh((2,), ("x",)).device_ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda d: Mesh(d, ("x", "y")),
            ValueError,
            r"devices.ndim == 1 and len\(axis_names\) == 2",
        ),
        (lambda d: Mesh(d, (None,)), ValueError, "Mesh axis names cannot be None"),
        (lambda d: Mesh(d, ("x",), (Auto, Auto)), ValueError, "Number of axis names"),
        (lambda d: Mesh(d, ("x",), ("Auto",)), TypeError, "axis_types passed to Mesh"),
        (lambda d: Mesh([1, 2], ("x",)), TypeError, "array of devices"),
        (lambda d: setattr(Mesh(d, "x"), "size", 1), AttributeError, "cannot assign to field"),
        (lambda d: make_mesh((9,), ("x",), devices=d), ValueError, "Number of devices 8 must be"),
        (lambda d: make_mesh((0,), ("x",), devices=d), ValueError, "must be positive"),
        (lambda d: make_mesh((2.5,), ("x",), devices=d), ValueError, "sequence of ints"),
        (lambda d: type("M", (Mesh,), {}), TypeError, "cannot be subclassed"),
    ],
)
def test_unsuitable_meshes_raise(devices, make, error, message):
    with pytest.raises(error, match=message):
        make(devices)


def test_make_mesh_without_devices_raises(monkeypatch):
    monkeypatch.setattr(mesh_module, "_default_devices", None)
    with pytest.raises(RuntimeError, match="pass `devices=`, or install"):
        make_mesh((1,), ("x",))


def test_the_empty_mesh_is_copied_to_itself():
    empty = Mesh(np.array([]), ("x",))
    assert copy.deepcopy(empty) is empty
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(empty, protocol)) is empty
