# SPDX-License-Identifier: Apache-2.0
"""The current mesh, set by `set_mesh` and `use_abstract_mesh`."""

from __future__ import annotations

import threading
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.settings import config_states
from olympus_ir.settings.config_flags import disallow_mesh_context_manager
from olympus_ir.types.placement import AbstractMesh, AxisType, NamedSharding, empty_abstract_mesh

from .mesh import Mesh, empty_mesh

__all__ = ["get_abstract_mesh", "get_mesh", "set_mesh", "use_abstract_mesh"]

_abstract_mesh = config_states.abstract_mesh
_concrete_mesh = config_states.concrete_mesh


def get_abstract_mesh() -> AbstractMesh:
    """Returns the current abstract mesh, or an empty one.

    `set_mesh` and `use_abstract_mesh` set it.

    Returns:
      An `AbstractMesh`.

    Example:
      >>> get_abstract_mesh().empty
      True
    """
    mesh = _abstract_mesh.value
    return empty_abstract_mesh if mesh is None else mesh


def get_mesh() -> Mesh:
    """Returns the mesh of devices in force; an empty one outside of `set_mesh`.

    Returns:
      A `Mesh`.

    Raises:
      ValueError: a function is being traced, since the function may run on another mesh.

    Example:
      >>> import olympus
      >>> with olympus.set_mesh(olympus.make_mesh((1,), ("i",))):
      ...     get_mesh().axis_names
      ('i',)
    """
    _check_not_tracing("get_mesh", " Maybe you want `get_abstract_mesh()`?")
    mesh = _concrete_mesh.value
    return empty_mesh if mesh is None else mesh


def with_axis_types(mesh: Mesh, axis_types: tuple) -> Mesh:
    """Returns a mesh of the same devices whose axes have the given types."""
    return mesh if mesh.axis_types == axis_types else mesh.update(axis_types=axis_types)


def concrete_mesh_in_force() -> Mesh | None:
    """Returns the mesh of devices in force, with the axis types in force; None if there is none."""
    mesh, abstract = _concrete_mesh.value, _abstract_mesh.value
    if mesh is None or abstract is None or abstract.size != mesh.size:
        return mesh
    if AxisType.Manual in abstract.axis_types:  # set while a `shard_map` is being traced
        return mesh
    return mesh_like(mesh, abstract)


def mesh_like(mesh: Mesh, abstract: AbstractMesh) -> Mesh:
    """Returns a mesh of the same devices with the axes of an abstract mesh of equal size."""
    if mesh.shape_tuple == abstract.shape_tuple:
        return with_axis_types(mesh, abstract.axis_types)
    devices = mesh.devices.reshape(abstract.axis_sizes)
    return mesh.update(devices, abstract.axis_names, abstract.axis_types)


def concrete_sharding(sharding: Any, mesh: Any = None) -> Any:
    """Replaces the abstract mesh of a sharding by a mesh of devices, if one is known.

    Args:
      sharding: any sharding.
      mesh: a mesh of devices with the axes of the abstract mesh; the mesh in force if None.

    Returns:
      The sharding over devices, or ``sharding`` itself.
    """
    if type(sharding) is not NamedSharding or type(sharding.mesh) is not AbstractMesh:
        return sharding
    if mesh is None:
        mesh = _concrete_mesh.value
    if mesh is None or mesh.size != sharding.mesh.size:
        return sharding
    mesh = mesh_like(mesh, sharding.mesh)
    return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)


@boundary_class
class set_mesh:
    """Sets the current mesh in this thread, for a ``with`` block or, as a call, permanently.

    Args:
      mesh: the mesh; None removes the current mesh.

    Raises:
      ValueError: ``mesh`` is not a `Mesh`, or has manual axes.

    Example:
      >>> import olympus
      >>> with set_mesh(olympus.make_mesh((1,), ("data",))):
      ...     get_abstract_mesh().axis_names
      ('data',)
    """

    # The meshes that were in force before, which the end of the block restores.
    __slots__ = ("prev_abstract_mesh", "prev_mesh")

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(
                f"Expected mesh of type `olympus.sharding.Mesh`. Got {type(mesh)}. "
                "Use `use_abstract_mesh` for an AbstractMesh."
            )
        if mesh is not None and mesh.manual_axes:
            raise ValueError(
                f"mesh {mesh} contains manual axes which is not allowed when using "
                "`olympus.set_mesh`. Please use `olympus.shard_map` to enter into manual mode."
            )
        _check_not_tracing("set_mesh")
        # The constructor sets the mesh, so that a call without `with` has an effect.
        self.prev_mesh = _concrete_mesh.swap_local(mesh)
        abstract_mesh = None if mesh is None else mesh.abstract_mesh
        self.prev_abstract_mesh = _abstract_mesh.swap_local(abstract_mesh)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        _concrete_mesh.set_local(self.prev_mesh)
        _abstract_mesh.set_local(self.prev_abstract_mesh)


@boundary_class
class use_abstract_mesh:
    """Context manager that sets the current abstract mesh in the current thread.

    Args:
      mesh: an `AbstractMesh`.

    Raises:
      ValueError: ``mesh`` is not an `AbstractMesh`, or differs in size from the current mesh.
    """

    __slots__ = ("mesh", "prev")

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                f"Expected mesh of type `olympus.sharding.AbstractMesh`. Got type: {type(mesh)}"
            )
        self.mesh = mesh

    def __enter__(self) -> AbstractMesh:
        around = _abstract_mesh.value
        if around is not None and not (around.empty or self.mesh.empty):
            if around.size != self.mesh.size:
                raise ValueError(
                    "use_abstract_mesh cannot change the size of the mesh. Got new mesh: "
                    f"{self.mesh} with size={self.mesh.size} and prev mesh: {around} with "
                    f"size={around.size}"
                )
        self.prev = _abstract_mesh.swap_local(self.mesh)
        return self.mesh

    def __exit__(self, *exception: object) -> None:
        _abstract_mesh.set_local(self.prev)


def _check_not_tracing(name: str, hint: str = "") -> None:
    if config_states.tracing_state.value:
        raise ValueError(f"`{name}` can only be used outside of `olympus.jit`.{hint}")


# ---- `with mesh:`, the older form ----


class _Entered(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Any] = []


_entered = _Entered()


def _enter_mesh(mesh: Mesh) -> Mesh:
    message = (
        "`with mesh:` context manager has been deprecated. "
        "Please use `with olympus.set_mesh(mesh):` instead."
    )
    if disallow_mesh_context_manager.value:
        raise RuntimeError(message)
    warn_user(message, DeprecationWarning)
    scope = config_states.scope("mesh", mesh)
    scope.__enter__()
    _entered.scopes.append(scope)
    return mesh


def _exit_mesh(mesh: Mesh, *exception: object) -> None:
    _entered.scopes.pop().__exit__(*exception)


Mesh.__enter__ = _enter_mesh  # type: ignore[attr-defined]
Mesh.__exit__ = _exit_mesh  # type: ignore[attr-defined]
