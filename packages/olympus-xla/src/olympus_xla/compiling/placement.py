# SPDX-License-Identifier: Apache-2.0
"""Placement of computations: their devices, and the shardings of operands and results.

The user's options and the committed operands determine the placement of a call. Uncommitted
operands are moved to the devices of the placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import result_paths
from olympus_ir.trees.pytree_prefix import spread_prefix, structure_mismatch
from olympus_ir.types import dtypes
from olympus_ir.types.extended_arrays import plain_array
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace, space_of_kind
from olympus_ir.types.placement import PartitionSpec
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding.meshes.context import concrete_sharding, get_mesh, mesh_like
from olympus_sharding.meshes.mesh import Mesh
from olympus_sharding.shardings.behavior import check_no_duplicates

from .._jaxlib import ArrayImpl, NamedSharding, Sharding
from ..arrays.layouts import Format, Layout
from ..arrays.spec_search import spec_of_hlo
from ..platforms import backends
from ..platforms.backends import default_device_for, device_sharding, on_clear_backends
from .program_meshes import incompatible_devices, mesh_of


class Placement:
    """Placement of one compiled computation; compared by value.

    Attributes:
      devices: the devices in the order of the partitions.
      mesh: the mesh of the shardings; None for a single device without a mesh.
      in_shardings: the sharding of each operand. None accepts an operand on any device, or
        replicated over several devices.
      out_shardings: the sharding of each result; if None, the compiler chooses.
      committed: whether the results are committed.
      in_layouts: the layout of each operand: a `Layout`, `Layout.AUTO`, or None for the default;
        empty if all are None.
      out_layouts: the same for the results.
    """

    __slots__ = (
        "_hash",
        "committed",
        "devices",
        "in_layouts",
        "in_shardings",
        "mesh",
        "out_layouts",
        "out_shardings",
    )

    def __init__(
        self,
        devices: tuple,
        mesh: Any,
        in_shardings: tuple,
        out_shardings: tuple,
        committed: bool,
        in_layouts: tuple = (),
        out_layouts: tuple = (),
    ) -> None:
        self.devices = devices
        self.mesh = mesh
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.committed = committed
        self.in_layouts = in_layouts
        self.out_layouts = out_layouts
        self._hash = hash(
            (devices, mesh, in_shardings, out_shardings, committed, in_layouts, out_layouts)
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Placement)
            and self._hash == other._hash
            and self.devices == other.devices
            and self.mesh == other.mesh
            and self.in_shardings == other.in_shardings
            and self.out_shardings == other.out_shardings
            and self.committed == other.committed
            and self.in_layouts == other.in_layouts
            and self.out_layouts == other.out_layouts
        )

    def __hash__(self) -> int:
        return self._hash

    def with_layouts(self, in_layouts: tuple, out_layouts: tuple) -> Placement:
        """Returns the placement with other layouts of operands and results."""
        return Placement(
            self.devices,
            self.mesh,
            self.in_shardings,
            self.out_shardings,
            self.committed,
            in_layouts,
            out_layouts,
        )

    def key_of_module(self) -> tuple:
        """Returns the part of the placement on which a module depends.

        This is everything except the specific devices.
        """
        return (
            len(self.devices),
            None if self.mesh is None else (self.mesh.shape_tuple, self.mesh.axis_types),
            tuple(map(_without_devices, self.in_shardings)),
            tuple(map(_without_devices, self.out_shardings)),
            self.in_layouts,
            self.out_layouts,
        )

    @property
    def single_device(self) -> Any:
        """The device, if there is only one, else None."""
        return self.devices[0] if len(self.devices) == 1 else None

    def operand_sharding(self, position: int) -> Any:
        """Returns the sharding that an operand has when the program is called."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return self.in_shardings[position] or self.replicated

    def constant_sharding(self, value: Any) -> Any:
        """Returns the sharding that a constant has when the program is called.

        A constant that is already on this mesh keeps its sharding.
        """
        sharding: Any = getattr(value, "sharding", None)
        if type(sharding) is NamedSharding and sharding.mesh == self.mesh:
            return sharding
        return self.replicated

    @property
    def replicated(self) -> Any:
        """The replicated sharding."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return NamedSharding(self.mesh, PartitionSpec())


def _without_devices(sharding: Any) -> Any:
    """Returns the properties of a sharding on which a module depends."""
    if type(sharding) is NamedSharding:
        return sharding.mesh.shape_tuple, sharding.spec, sharding.memory_kind
    return sharding


_single_device_placements: dict[Any, Placement] = {}
on_clear_backends(_single_device_placements.clear)


def on_one_device(device: Any, committed: bool) -> Placement:
    """Returns the placement on a single device."""
    key = (device, committed)
    found = _single_device_placements.get(key)
    if found is None:
        found = _single_device_placements[key] = Placement((device,), None, (), (), committed)
    return found


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


def used_inputs(closed: ClosedOlympuspr) -> Sequence[bool]:
    """Returns for each input of a program whether its results or effects depend on it."""
    used: Sequence[bool] | None = closed.memo.get(used_inputs)
    if used is None:
        outputs = [True] * len(closed.out_avals)
        used = closed.memo[used_inputs] = dce_olympuspr(closed.jaxpr, outputs)[1]
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
        device = asked_device(requested)
        if device is not None:
            return on_one_device(device, True)
        if not _uses_several_devices(program, shardings):
            device = _common_device(program, shardings)
            if device is not None:
                return on_one_device(device, True)
            _check_fits_one_device(program)
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
    used, donated = used_inputs(program.closed), program.params["donated_invars"]
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
    in_layouts = _flat_layouts(requested, "in_shardings", program.in_tree, num_operands)
    out_layouts = _flat_layouts(requested, "out_shardings", program.out_tree, len(out_avals))
    if not in_layouts and not out_layouts:
        return placement
    _check_ranks("arguments", in_layouts, in_avals[len(in_avals) - num_operands :])
    _check_ranks("outputs", out_layouts, out_avals)
    return placement.with_layouts(in_layouts, out_layouts)


def _check_fits_one_device(program: Any) -> None:
    """Raises if a result is sharded over a mesh whose devices are unknown."""
    for aval in program.closed.out_avals:
        layout = getattr(aval, "layout", None)
        if layout is not None and layout.mesh.size > 1:
            raise ValueError(
                "Length of device assignment 1 is not equal to the size of the mesh "
                f"{layout.mesh.size} of aval {aval.str_short(True, True)}. Please enter your `jit` "
                "into a mesh context via `olympus.set_mesh`."
            )


def _is_over_mesh(value: Any) -> bool:
    return type(value) is ArrayImpl and value._committed and value._sharding.num_devices > 1


def _common_device(program: Any, shardings: Sequence[Any]) -> Any:
    """Returns the common device of all committed operands, or None."""
    found, first = None, 0
    for position, sharding in enumerate(shardings):
        if sharding is not None:
            device = sharding._internal_device_list[0]
            if found is None:
                found, first = device, position
            elif device != found:
                raise incompatible_devices(
                    _argument(program, first, len(shardings)),
                    (found,),
                    _argument(program, position, len(shardings)),
                    (device,),
                )
    return found


def name_of_operand(program: Any, position: int) -> str:
    """Returns the name of an operand, with its path in an argument that is a pytree."""
    info = program.closed.jaxpr.debug_info
    names = (info.arg_names if info is not None else None) or ()
    return names[position] if position < len(names) else f"number {position}"


def _argument(program: Any, position: int, count: int) -> str:
    avals, name = program.closed.in_avals, program.params["name"]
    shape = avals[len(avals) - count + position].str_short()
    return f"argument {name_of_operand(program, position)} of {name} with shape {shape} and"


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
    in_requested = _flat_shardings(requested, "in_shardings", program.in_tree, count)
    out_requested = _flat_shardings(requested, "out_shardings", program.out_tree, len(avals_out))
    in_shardings = [
        own if sharding is None else sharding
        for own, sharding in zip(shardings, in_requested, strict=True)
    ]
    _check_memories(in_requested, avals_in)
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
    for position, (own, requested) in enumerate(zip(shardings, in_requested, strict=True)):
        if own is not None:
            argument = _argument(program, position, count)
            ndim = avals[position].ndim
            if requested is not None and not _have_same_parts(own, requested, ndim):
                raise ValueError(
                    "Sharding passed to jit does not match the sharding on the respective arg. "
                    f"Got jit sharding: {requested},\narg sharding: {own} for {argument[:-4]}. Put "
                    "the array there with device_put before the call."
                )
            if requested is None or own.is_equivalent_to(requested, ndim):
                constraints.append(_Constraint(argument, own))
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


def _check_memories(in_given: Sequence[Any], avals: Sequence[Any]) -> None:
    """Raises ValueError if an operand is not in the memory of its requested sharding."""
    for sharding, aval in zip(in_given, avals, strict=True):
        space = getattr(aval, "memory_space", MemorySpace.Device)
        if sharding is not None and space_of_kind(sharding.memory_kind) is not space:
            raise ValueError(
                "Memory kinds passed to olympus.jit does not match memory kind on the respective "
                f"arg. Got jit memory kind: {sharding.memory_kind}, arg memory kind: "
                f"{MEMORY_KINDS[space]} for arg type: {aval.str_short()}. Move it with device_put."
            )


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


def check_divisible(
    program: Any, role: str, shardings: Sequence[Any], avals: Sequence[Any]
) -> None:
    """Checks that shardings fit the ranks and sizes of the arguments or results of a program.

    Args:
      program: the traced program, whose trees name the values in errors.
      role: "arguments" or "outputs".
      shardings: for each value a sharding, or None.
      avals: the types of the values.

    Raises:
      ValueError: a sharding has more dimensions than its value.
      IndivisibleError: the size of a dimension is not divisible by the number of its parts.
    """
    for position, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
        if sharding is not None and not dtypes.is_extended(getattr(aval, "dtype", None)):
            try:
                sharding.check_compatible_aval(aval.shape)
            except ValueError as error:
                is_result = role == "outputs"
                paths = result_paths(program.out_tree) if is_result else ()
                name = paths[position] if is_result else name_of_operand(program, position)
                raise ValueError(
                    f"One of pjit {role} with pytree key path {name} is incompatible with its "
                    f"sharding annotation {sharding}: {error}"
                ) from None
            sharding.shard_shape(aval.shape)


def _flat_shardings(requested: dict[str, Any], option: str, tree: Any, count: int) -> list[Any]:
    """Expands the user's shardings, a prefix of a tree structure, to one sharding for each leaf.

    Args:
      requested: the user's options of placement, by name.
      option: ``"in_shardings"`` or ``"out_shardings"``.
      tree: the structure of the arguments or of the result.
      count: the number of leaves.
    """
    prefix = requested.get(option)
    if prefix is None:
        return [None] * count
    if option == "in_shardings":
        tree, _ = tree.children()
    flat = [
        leaf.sharding if type(leaf) is Format else leaf
        for leaf in prefix_of_shardings(prefix, pytrees.Structure(tree), option)
    ]
    if option == "in_shardings" and count > len(flat):
        raise ValueError(
            "pjit does not support kwargs when in_shardings is specified: pass the arguments by "
            "position."
        )
    return [_concrete_sharding(sharding, option) for sharding in flat]


def asked_device(requested: dict[str, Any]) -> Any:
    """Returns the device that the options `device` or `backend` of `jit` choose, or None."""
    if "backend" in requested:
        return default_device_for(requested["backend"])
    return requested.get("device")


def asked_out_shardings(options: JitOptions, program: Any) -> list[Any]:
    """Returns the requested shardings: one, or None, for each leaf of the result."""
    requested = dict(options.placement)
    device = asked_device(requested)
    if device is not None:
        return [device_sharding(device)] * program.out_tree.num_leaves
    return _flat_shardings(
        requested, "out_shardings", program.out_tree, program.out_tree.num_leaves
    )


def _flat_layouts(requested: dict[str, Any], option: str, tree: Any, count: int) -> tuple:
    """Returns the requested layouts, one for each leaf; an empty tuple if there are none.

    The arguments are those of `_flat_shardings`.
    """
    prefix = requested.get(option)
    if prefix is None or not any(type(leaf) is Format for leaf in prefix[1]):
        return ()
    if option == "in_shardings":
        tree, _ = tree.children()
    flat = [
        leaf.layout if type(leaf) is Format else None
        for leaf in prefix_of_shardings(prefix, pytrees.Structure(tree), option)
    ]
    flat += [None] * (count - len(flat))
    return tuple(flat) if any(layout is not None for layout in flat) else ()


def _check_ranks(role: str, layouts: Sequence[Any], avals: Sequence[Any]) -> None:
    for layout, aval in zip(layouts, avals, strict=False):
        if isinstance(layout, Layout):
            try:
                layout.check_compatible_aval(aval.shape)
            except ValueError as error:
                raise ValueError(
                    f"One of jit {role} is incompatible with its layout annotation {layout}: "
                    f"{error}"
                ) from None


def prefix_of_shardings(
    shardings: tuple[Any, Sequence[Any]], target: Any, option: str
) -> list[Any]:
    """Expands a tree of shardings to the leaves of a target, of which the tree is a prefix.

    Args:
      shardings: the tree of shardings, as a pair of structure and leaves.
      target: the positional arguments, or the result.
      option: the name of the tree, ``"in_shardings"`` or ``"out_shardings"``.

    Raises:
      ValueError: the tree is not a prefix of the target.
    """
    prefix = pytrees.tree_unflatten(*shardings)
    is_of_arguments = option == "in_shardings"
    if is_of_arguments and isinstance(prefix, list):
        prefix = tuple(prefix)

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, Sharding | PartitionSpec | Format)

    try:
        return spread_prefix(prefix, target, is_leaf)
    except ValueError as error:
        name = f"pjit {option}"
        number = _number_of_arguments(target)
        if is_of_arguments and isinstance(prefix, tuple) and len(prefix) != number:
            raise ValueError(
                f"{name} specification must be a tree prefix of the positional arguments tuple. In "
                f"particular, {name} must either be a Sharding, a PartitionSpec, or a tuple of "
                f"length equal to the number of positional arguments. But {name} is the wrong "
                f"length: got a tuple or list of length {len(prefix)} for an args tuple of length "
                f"{number}."
            ) from None
        values = "positional arguments tuple" if is_of_arguments else "result"
        found = structure_mismatch(name, prefix, target, is_leaf, error)
        raise ValueError(
            f"{name} specification must be a tree prefix of the {values}: {found}"
        ) from None


def _number_of_arguments(target: Any) -> int:
    """Returns the length of a tuple, or of the structure of one."""
    level = target.one_level() if isinstance(target, pytrees.Structure) else ((), target)
    return 0 if level is None else len(level[1])


def check_shardings(option: str, shardings: Sequence[Any]) -> None:
    """Checks the shardings that `jit` is given for operands or results.

    Args:
      option: the argument of `jit`, ``"in_shardings"`` or ``"out_shardings"``.
      shardings: the leaves of the argument.

    Raises:
      TypeError: one of them is not a sharding, partition spec or format.
      ValueError: one of them has an unconstrained dimension or an axis twice, or is a layout
        without a sharding.
    """
    for leaf in shardings:
        sharding: Any = leaf.sharding if isinstance(leaf, Format) else leaf
        if sharding is not None and not isinstance(sharding, Sharding | PartitionSpec):
            raise _not_a_sharding(option, leaf)
        if isinstance(sharding, PartitionSpec):
            check_no_duplicates(sharding, option)
        spec = getattr(sharding, "spec", sharding)
        if isinstance(spec, PartitionSpec) and PartitionSpec.UNCONSTRAINED in spec:
            raise ValueError(
                f"Unconstrained dims are not allowed when passed to {option}: {sharding}. Leave "
                "the sharding away, or constrain values inside the function."
            )


def _not_a_sharding(option: str, value: Any) -> TypeError | ValueError:
    """Returns the error for a value that `jit` does not take as a sharding."""
    if isinstance(value, Layout):
        return ValueError(
            "`olympus.jit` does not accept device-local layouts directly. Create a `Format` "
            "instance wrapping this device-local layout and pass that to `jit` instead. Got "
            f"{value}"
        )
    return TypeError(
        f"{option} leaf specifications are expected to be PartitionSpec instances or None, but got "
        f"{value} of type {type(value).__name__}; shardings and formats are taken too."
    )


def _concrete_sharding(sharding: Any, option: str) -> Any:
    if isinstance(sharding, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            raise spec_without_mesh(sharding, option)
        return NamedSharding(mesh, sharding)
    return sharding


def spec_without_mesh(spec: PartitionSpec, option: str) -> RuntimeError:
    """Returns the error for a partition spec in an argument of `jit` where no mesh is in force."""
    return RuntimeError(
        "jit requires a non-empty mesh in context if you are passing `PartitionSpec`s to "
        f"{option}, got {spec}. You can define a context mesh via `olympus.set_mesh(mesh)`. "
        f"Alternatively, provide `Sharding`s to {option} and then the mesh context manager is not "
        "required."
    )


_PLATFORM_OF_BACKEND = {"cpu": "cpu", "cuda": "cuda", "gpu": "cuda", "rocm": "rocm", "tpu": "tpu"}


def platform_of(device: Any) -> str:
    """Returns the platform of a device, under the name that lowering rules use."""
    platform: str = device.platform
    return _PLATFORM_OF_BACKEND.get(platform, platform)
