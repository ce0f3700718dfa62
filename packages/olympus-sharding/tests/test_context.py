# SPDX-License-Identifier: Apache-2.0
"""The current mesh, set by `set_mesh`, `use_abstract_mesh` and the older `with mesh:`."""

import threading

import pytest

from olympus_ir.settings import config_states
from olympus_sharding import (
    AbstractMesh,
    AxisType,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)


def test_context_mesh_is_empty_by_default():
    assert get_mesh().empty
    assert get_abstract_mesh().empty


def test_set_mesh_in_a_block(mesh):
    with set_mesh(mesh):
        assert get_mesh() is mesh
        assert get_abstract_mesh() is mesh.abstract_mesh
        other = mesh.update(axis_names=("a", "b"))
        with set_mesh(other):
            assert get_mesh() is other
        assert get_mesh() is mesh
    assert get_mesh().empty


def test_set_mesh_as_call_holds_for_thread(mesh):
    set_mesh(mesh)
    try:
        assert get_mesh() is mesh
        seen = []
        thread = threading.Thread(target=lambda: seen.append(get_mesh().empty))
        thread.start()
        thread.join()
        assert seen == [True]
    finally:
        set_mesh(None)
    assert get_mesh().empty
    assert get_abstract_mesh().empty


def test_use_abstract_mesh(mesh):
    abstract = AbstractMesh((4,), ("z",))
    with set_mesh(mesh), use_abstract_mesh(abstract) as entered:
        assert entered is abstract
        assert get_abstract_mesh() is abstract
        assert get_mesh() is mesh
    assert get_abstract_mesh().empty


def test_use_abstract_mesh_keeps_number_of_devices(mesh):
    other = use_abstract_mesh(AbstractMesh((8,), ("z",)))
    with set_mesh(mesh), pytest.raises(ValueError, match="cannot change the size of the mesh"):
        other.__enter__()


def test_mesh_with_manual_axes_is_not_set(mesh):
    manual = mesh.update(axis_types=(AxisType.Manual,) * 2)
    with pytest.raises(ValueError, match="contains manual axes"):
        set_mesh(manual)


def test_mesh_as_context_manager_is_deprecated(mesh):
    with pytest.warns(DeprecationWarning, match=r"use `with olympus\.set_mesh\(mesh\):`"):
        entered = mesh.__enter__()
    assert entered is mesh
    assert config_states.current_scope("mesh") is mesh
    assert get_abstract_mesh().empty
    mesh.__exit__(None, None, None)
    assert config_states.current_scope("mesh") is None


@pytest.mark.parametrize("enter", [set_mesh, use_abstract_mesh])
def test_only_meshes_are_accepted(enter):
    with pytest.raises(ValueError, match="Expected mesh of type"):
        enter(3)


def test_devices_are_out_of_reach_while_tracing(mesh):
    previous = config_states.tracing_state.swap_local(True)
    try:
        with pytest.raises(ValueError, match="only be used outside"):
            get_mesh()
        with pytest.raises(ValueError, match="only be used outside"):
            set_mesh(mesh)
        assert get_abstract_mesh().empty
    finally:
        config_states.tracing_state.set_local(previous)
