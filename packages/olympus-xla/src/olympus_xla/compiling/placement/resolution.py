# SPDX-License-Identifier: Apache-2.0
"""Resolution of a program's placement.

The user's options, the committed operands and the program's mesh determine the placement of a call.
Uncommitted operands are moved to the devices of the placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.extended_arrays import plain_array
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace, space_of_kind
from olympus_ir.types.placement import PartitionSpec
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding.meshes.context import concrete_sharding, mesh_like
from olympus_sharding.meshes.mesh import Mesh

from ..._jaxlib import ArrayImpl, NamedSharding
from ...arrays.spec_search import spec_of_hlo
from ...platforms import backends
from ...platforms.backends import default_device_for
from .checks import (
    check_divisible,
    check_fits_one_device,
    check_memories,
    check_ranks,
    name_of_operand,
)
from .placements import Placement, on_one_device
from .program_meshes import incompatible_devices, mesh_of
from .requests import flat_layouts, flat_shardings, requested_device

__all__ = ["committed_sharding", "resolve_placement"]


def committed_sharding(value: Any) -> Any:
    """Returns the sharding of a committed operand; None for uncommitted operands."""
    if type(value) is ArrayImpl:
        return value._sharding if value._committed else None
    value = plain_array(getattr(value, "_array", value))  # a reference stands for its array
    if type(value) is ArrayImpl:
        return value._sharding if value._committed else None
    # In ahead-of-time compilation, the value may be only the type of an array.
    if type(value) is ShapeDtypeStruct:
        sharding = concrete_sharding(value.sharding)
        if type(sharding) is NamedSharding and not isinstance(sharding.mesh, Mesh):
            return _over_devices(sharding)
        return sharding
    return None


def _over_devices(sharding: NamedSharding) -> NamedSharding:
    """Converts a sharding over an abstract mesh, as in exported programs, to real devices.

    Raises:
      ValueError: there are too few devices.
    """
    mesh, devices = sharding.mesh, backends.devices()
    if mesh.size > len(devices):
        raise ValueError(
            f"a sharding over {mesh} needs {mesh.size} devices to lower for, and there are "
            f"{len(devices)}; pass jax_num_cpu_devices or a concrete mesh"
        )
    arranged = np.array(devices[: mesh.size]).reshape(mesh.axis_sizes)
    concrete = Mesh(arranged, mesh.axis_names, axis_types=mesh.axis_types)
    return NamedSharding(concrete, sharding.spec, memory_kind=sharding.memory_kind)


def _used_inputs(closed: ClosedOlympuspr) -> Sequence[bool]:
    """Returns for each input of a program whether its results or effects depend on it."""
    used: Sequence[bool] | None = closed.memo.get(_used_inputs)
    if used is None:
        outputs = [True] * len(closed.out_avals)
        used = closed.memo[_used_inputs] = dce_olympuspr(closed.jaxpr, outputs)[1]
    return used


def resolve_placement(options: JitOptions, program: Any, shardings: Sequence[Any]) -> Placement:
    """Returns the placement of a call.

    Operands that the program does not use have no influence, unless ``keep_unused`` is set. Donated
    operands count as used, because a result may reuse their memory. References are donated in this
    way.

    Args:
      options: the user's options.
      program: the traced program.
      shardings: the shardings of committed operands; see `committed_sharding`.

    Raises:
      ValueError: committed operands are on different devices, or contradict the user's options.
    """
    if not options.keep_unused and any(sharding is not None for sharding in shardings):
        shardings = _of_used_operands(program, shardings)
    requested = dict(options.placement)
    mesh, origin = mesh_of(program.closed)
    if mesh is None and "in_shardings" not in requested and "out_shardings" not in requested:
        device = requested_device(requested)
        if device is not None:
            return on_one_device(device, True)
        if not _uses_several_devices(program, shardings):
            device = _common_device(program, shardings)
            if device is not None:
                return on_one_device(device, True)
            check_fits_one_device(program)
            return on_one_device(default_device_for(None), False)
    if "device" in requested or "backend" in requested:
        raise ValueError(
            "jit's arguments `device` and `backend` choose one device, but a mesh or shardings "
            f"over several devices are in use: {mesh or 'the shardings given to jit'}. Leave the "
            "arguments out."
        )
    placement = _resolve_shardings(requested, program, shardings, mesh, origin)
    return _with_requested_layouts(placement, requested, program, len(shardings))


def _of_used_operands(program: Any, shardings: Sequence[Any]) -> list[Any]:
    """Replaces the shardings of unused operands by None."""
    first = len(program.closed.in_avals) - len(shardings)  # after the hoisted values
    used, donated = _used_inputs(program.closed), program.params["donated_invars"]
    return [
        sharding if used[position] or donated[position] else None
        for position, sharding in enumerate(shardings, first)
    ]


def _uses_several_devices(program: Any, shardings: Sequence[Any]) -> bool:
    """Returns whether an operand or constant is committed to a mesh or to several devices."""
    return (
        any(type(sharding) is NamedSharding for sharding in shardings)
        or any(sharding is not None and sharding.num_devices > 1 for sharding in shardings)
        or any(map(_is_over_mesh, program.closed.consts))
    )


def _with_requested_layouts(
    placement: Placement, requested: dict[str, Any], program: Any, num_operands: int
) -> Placement:
    """Adds the layouts of the user's formats to a placement.

    Raises:
      ValueError: a layout does not fit the rank of its operand or result.
    """
    in_avals, out_avals = program.closed.in_avals, program.closed.out_avals
    in_layouts = flat_layouts(requested, "in_shardings", program.in_tree, num_operands)
    out_layouts = flat_layouts(requested, "out_shardings", program.out_tree, len(out_avals))
    if not in_layouts and not out_layouts:
        return placement
    check_ranks("arguments", in_layouts, in_avals[len(in_avals) - num_operands :])
    check_ranks("outputs", out_layouts, out_avals)
    return placement.with_layouts(in_layouts, out_layouts)


def _is_over_mesh(value: Any) -> bool:
    return type(value) is ArrayImpl and value._committed and value._sharding.num_devices > 1


def _common_device(program: Any, shardings: Sequence[Any]) -> Any:
    """Returns the common device of all committed operands, or None."""
    common, first = None, 0
    for position, sharding in enumerate(shardings):
        if sharding is not None:
            device = sharding._internal_device_list[0]
            if common is None:
                common, first = device, position
            elif device != common:
                raise incompatible_devices(
                    f"{_argument(program, first, len(shardings))} and",
                    (common,),
                    f"{_argument(program, position, len(shardings))} and",
                    (device,),
                )
    return common


def _argument(program: Any, position: int, count: int) -> str:
    """Returns an operand's name, function and shape, for error messages."""
    avals, name = program.closed.in_avals, program.params["name"]
    shape = avals[len(avals) - count + position].str_short()
    return f"argument {name_of_operand(program, position)} of {name} with shape {shape}"


class _Constraint(NamedTuple):
    """A sharding that a call must respect.

    Attributes:
      origin: the value or option with this sharding, for error messages.
      sharding: the sharding.
    """

    origin: str
    sharding: Any


def _resolve_shardings(
    requested: dict[str, Any], program: Any, shardings: Sequence[Any], mesh: Any, origin: str
) -> Placement:
    """Returns the placement of a call over a mesh, or with shardings from the user.

    Args:
      requested: the user's options of placement, by name.
      program: the traced program.
      shardings: the shardings of committed operands.
      mesh: the mesh that the program or its context requires, or None.
      origin: the origin of ``mesh``, for error messages.

    Raises:
      ValueError: the shardings are on different devices, or do not fit their values.
    """
    closed, count = program.closed, len(shardings)
    avals_in, avals_out = closed.in_avals[len(closed.in_avals) - count :], closed.out_avals
    in_requested = flat_shardings(requested, "in_shardings", program.in_tree, count)
    out_requested = flat_shardings(requested, "out_shardings", program.out_tree, len(avals_out))
    in_shardings = [
        committed if wanted is None else wanted
        for committed, wanted in zip(shardings, in_requested, strict=True)
    ]
    check_memories(in_requested, avals_in)
    check_divisible(program, "arguments", in_shardings, avals_in)
    constraints = _constraints(program, shardings, in_requested, out_requested)
    mesh, devices = _common_devices(mesh, origin, constraints)
    if len(devices) == 1 and (mesh is None or mesh.is_scalar):
        kinds = [sharding.memory_kind for sharding in out_requested if sharding is not None]
        if all(space_of_kind(kind) is MemorySpace.Device for kind in kinds):
            return on_one_device(devices[0], True)
        return Placement(devices, None, (), tuple(out_requested), True)
    if mesh is None:
        raise ValueError(
            f"the operands lie on {len(devices)} devices without a mesh, in "
            f"{constraints[0].sharding}; put one of them in a NamedSharding with device_put"
        )
    placed_in = [
        _operand_in_mesh(sharding, mesh, aval)
        for sharding, aval in zip(in_shardings, avals_in, strict=True)
    ]
    placed_out = [
        _result_in_mesh(sharding, mesh, aval)
        for sharding, aval in zip(out_requested, avals_out, strict=True)
    ]
    check_divisible(program, "outputs", placed_out, avals_out)
    return Placement(devices, mesh, tuple(placed_in), tuple(placed_out), True)


def _operand_in_mesh(sharding: Any, mesh: Any, aval: Any) -> Any:
    """Returns the sharding over a mesh with which a call takes an operand."""
    placed = _in_mesh(sharding, mesh, aval)
    if placed is None or _is_over_devices_of(placed, mesh):
        return placed
    return NamedSharding(mesh, PartitionSpec())  # the call moves the operand to the mesh


def _result_in_mesh(sharding: Any, mesh: Any, aval: Any) -> Any:
    """Returns the sharding of a result over a mesh; None if the compiler chooses."""
    if sharding is None and mesh.are_all_axes_explicit:
        return _typed_sharding(mesh, aval)  # with explicit axes, types include shardings
    return _in_mesh(sharding, mesh, aval)


def _constraints(
    program: Any,
    shardings: Sequence[Any],
    in_requested: Sequence[Any],
    out_requested: Sequence[Any],
) -> list[_Constraint]:
    """Returns all shardings that a call must respect.

    Args:
      program: the traced program.
      shardings: the shardings of committed operands.
      in_requested: the user's shardings of operands.
      out_requested: the user's shardings of results.

    Raises:
      ValueError: the shards of an operand differ from those that the user's sharding requires.
    """
    avals, count = program.closed.in_avals[-len(shardings) :], len(shardings)
    constraints: list[_Constraint] = []
    for position, (committed, requested) in enumerate(zip(shardings, in_requested, strict=True)):
        if committed is not None:
            argument = _argument(program, position, count)
            ndim = avals[position].ndim
            if requested is not None and not _have_same_parts(committed, requested, ndim):
                raise ValueError(
                    "Sharding passed to jit does not match the sharding on the respective arg. "
                    f"Got jit sharding: {requested},\narg sharding: {committed} for "
                    f"{argument}. Put the array there with device_put before the call."
                )
            if requested is None or committed.is_equivalent_to(requested, ndim):
                constraints.append(_Constraint(f"{argument} and", committed))
            else:  # the call moves the operand
                constraints.append(_Constraint("in_shardings", requested))
        elif requested is not None:
            constraints.append(_Constraint("in_shardings", requested))
    constraints += [
        _Constraint("explicit output sharding", requested)
        for requested in out_requested
        if requested is not None
    ]
    constraints += [
        _Constraint(f"a constant {constant.aval.str_short()}", constant._sharding)
        for constant in program.closed.consts
        if _is_over_mesh(constant)
    ]
    return constraints


def _have_same_parts(own: Any, other: Any, ndim: int) -> bool:
    """Returns whether two shardings have the same shards, on the same or other devices.

    A call moves the shards of an operand to the devices of ``in_shardings``.
    """
    if own == other or own.is_equivalent_to(other, ndim):
        return True
    if own.memory_kind != other.memory_kind:
        return False
    return own._to_xla_hlo_sharding(ndim) == other._to_xla_hlo_sharding(ndim)


def _common_devices(
    mesh: Any, origin: str, constraints: Sequence[_Constraint]
) -> tuple[Any, tuple]:
    """Returns the mesh and the devices that all constraints have in common.

    Args:
      mesh: the mesh that the program or its context requires, or None.
      origin: the origin of ``mesh``, for error messages.
      constraints: the shardings that the call must respect.

    Raises:
      ValueError: the devices differ.
    """
    devices = None if mesh is None else mesh._flat_devices
    has_required_mesh = devices is not None
    for constraint in constraints:
        sharding = constraint.sharding
        own_devices = tuple(sharding._internal_device_list)
        if devices is None:
            origin, devices = constraint.origin, own_devices
        elif own_devices != devices and set(own_devices) != set(devices):
            if has_required_mesh:
                raise incompatible_devices(constraint.origin, own_devices, origin, devices)
            raise incompatible_devices(origin, devices, constraint.origin, own_devices)
        if mesh is None and type(sharding) is NamedSharding:
            mesh = sharding.mesh
            devices = own_devices  # partitions are numbered in the order of the mesh
    if devices is None:  # all shardings are None
        devices = (default_device_for(None),)
    return mesh, devices


def _in_mesh(sharding: Any, mesh: Any, aval: Any) -> Any:
    """Converts a sharding to this mesh, because all annotations must refer to one mesh."""
    if sharding is None or (type(sharding) is NamedSharding and sharding.mesh == mesh):
        return sharding
    ndim = getattr(aval, "ndim", 0)
    if tuple(sharding._internal_device_list) != mesh._flat_devices:
        return sharding
    spec = spec_of_hlo(sharding._to_xla_hlo_sharding(ndim), mesh, ndim)
    return sharding if spec is None else NamedSharding(mesh, spec)


def _is_over_devices_of(sharding: Any, mesh: Any) -> bool:
    """Returns whether a sharding is over a mesh of the same devices, in the same order."""
    return type(sharding) is NamedSharding and (
        sharding.mesh == mesh or sharding.mesh._flat_devices == mesh._flat_devices
    )


def _typed_sharding(mesh: Any, aval: Any) -> Any:
    layout = aval.layout
    if layout is not None:
        mesh = mesh_like(mesh, layout.mesh)
    spec = PartitionSpec(*(None,) * getattr(aval, "ndim", 0)) if layout is None else layout.spec
    space = getattr(aval, "memory_space", MemorySpace.Device)
    kind = None if space is MemorySpace.Device else MEMORY_KINDS[space]
    return NamedSharding(mesh, spec, memory_kind=kind)
