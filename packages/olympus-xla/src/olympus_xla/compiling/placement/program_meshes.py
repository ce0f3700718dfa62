# SPDX-License-Identifier: Apache-2.0
"""The mesh of a program: the mesh that its equations require, or else the mesh in `set_mesh`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, olympusprs_in_params
from olympus_sharding.meshes.context import concrete_mesh_in_force
from olympus_sharding.meshes.mesh import Mesh

__all__ = ["incompatible_devices", "mesh_of"]


def mesh_of(closed: ClosedOlympuspr) -> tuple[Mesh | None, str]:
    """Returns the mesh that a program requires, and a description of the mesh's origin.

    Equations of the program take precedence over `set_mesh`. A primitive that needs a mesh has an
    attribute ``placement_meshes``, a function that returns the meshes for an equation's parameters.

    Returns:
      The mesh or None, and the description, for error messages.

    Raises:
      ValueError: parts of the program require different devices.
    """
    requirement = closed.memo.get("mesh")
    if requirement is None:
        requirement = closed.memo["mesh"] = _find_mesh(closed.jaxpr)
    mesh, origin = requirement
    around = concrete_mesh_in_force()
    if around is None or not around.size:
        return requirement
    if mesh is None:
        return around, "jit's context mesh"
    _check_same_devices(mesh, origin, around, "jit's context mesh")
    return requirement


def _find_mesh(olympuspr: Olympuspr) -> tuple[Mesh | None, str]:
    required, origin = None, ""
    if next(_meshes_in(olympuspr, set()), None) is None:
        return required, origin
    # What nothing reads does not run, on any devices.
    olympuspr, _ = dce_olympuspr(olympuspr, [True] * len(olympuspr.outvars))
    for equation, mesh in _meshes_in(olympuspr, set()):
        inside = f"{equation.primitive} inside jit"
        if required is None:
            required, origin = mesh, inside
        else:
            _check_same_devices(required, origin, mesh, inside)
    return required, origin


def _check_same_devices(mesh: Mesh, origin: str, other: Mesh, other_origin: str) -> None:
    if mesh._flat_devices != other._flat_devices:
        raise incompatible_devices(origin, mesh._flat_devices, other_origin, other._flat_devices)


def incompatible_devices(
    origin: str, devices: Sequence[Any], other_origin: str, other_devices: Sequence[Any]
) -> ValueError:
    """Returns the error for a computation with parts on different devices."""
    return ValueError(
        "Received incompatible devices for jitted computation. Got "
        f"{origin} with {_shown(devices)} and {other_origin} with {_shown(other_devices)}. All "
        "parts of one computation run on the same devices, and meshes have them in the same order; "
        "arrays are moved with device_put."
    )


def _meshes_in(olympuspr: Olympuspr, seen: set[int]) -> Iterator[tuple[Equation, Mesh]]:
    for equation in olympuspr.eqns:
        asks = getattr(equation.primitive, "placement_meshes", None)
        for mesh in () if asks is None else asks(equation.params):
            if isinstance(mesh, Mesh) and mesh.size:
                yield equation, mesh
        for inner in olympusprs_in_params(equation.params):
            if id(inner) not in seen:  # each called program is checked once
                seen.add(id(inner))
                yield from _meshes_in(inner, seen)


def _shown(devices: Sequence[Any]) -> str:
    platform = devices[0].platform.upper()
    return f"device ids {[device.id for device in devices]} on platform {platform}"
