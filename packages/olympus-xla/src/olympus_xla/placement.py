# SPDX-License-Identifier: Apache-2.0
"""Where a computation runs, and how its operands and results lie over the devices.

Resolved for each call from what the user asked for and from where the operands are: committed
operands decide, the others follow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from olympus_ir import pytrees
from olympus_ir.extended_arrays import plain_array
from olympus_ir.jit import JitOptions
from olympus_ir.olympuspr import olympusprs_in_params
from olympus_ir.placement import PartitionSpec
from olympus_ir.pytree_prefix import broadcast_prefix
from olympus_ir.tracing import Tracer, escaped_tracer_error
from olympus_sharding.context import get_mesh
from olympus_sharding.mesh import Mesh

from ._jaxlib import ArrayImpl, GSPMDSharding, HloSharding, NamedSharding, Sharding
from .backends import default_device_for, device_sharding
from .hlo_shardings import mesh_hlo_sharding


class Placement:
    """The place of one compiled computation; compared by value.

    Attributes:
      devices: in the order of the partitions.
      mesh: the mesh that the shardings refer to; None for a single device.
      in_shardings: one an operand; None for "wherever, replicated where there are several devices".
      out_shardings: one a result; None to leave it to the compiler.
      committed: whether results stay there whatever they are combined with.
    """

    __slots__ = ("_hash", "committed", "devices", "in_shardings", "mesh", "out_shardings")

    def __init__(
        self,
        devices: tuple,
        mesh: Any,
        in_shardings: tuple,
        out_shardings: tuple,
        committed: bool,
    ) -> None:
        self.devices = devices
        self.mesh = mesh
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.committed = committed
        self._hash = hash((devices, mesh, in_shardings, out_shardings, committed))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Placement)
            and self._hash == other._hash
            and self.devices == other.devices
            and self.mesh == other.mesh
            and self.in_shardings == other.in_shardings
            and self.out_shardings == other.out_shardings
            and self.committed == other.committed
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def single_device(self) -> Any:
        """The only device, or None."""
        return self.devices[0] if len(self.devices) == 1 else None

    def operand_sharding(self, position: int) -> Any:
        """Where an operand must lie."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return self.in_shardings[position] or self.replicated

    @property
    def replicated(self) -> Any:
        """The sharding of what is the same everywhere."""
        if self.mesh is None:
            return device_sharding(self.devices[0])
        return NamedSharding(self.mesh, PartitionSpec())


_single_device_placements: dict[Any, Placement] = {}


def on_one_device(device: Any, committed: bool) -> Placement:
    """The placement on a single device."""
    key = (device, committed)
    found = _single_device_placements.get(key)
    if found is None:
        found = _single_device_placements[key] = Placement((device,), None, (), (), committed)
    return found


def resolve_placement(
    options: JitOptions, program: Any, leaves: Sequence[Any], num_outputs: int
) -> Placement:
    """The placement of a call.

    Raises:
      ValueError: where committed operands lie on different devices, or contradict what the user
        asked for.
    """
    leaves = [plain_array(leaf) for leaf in leaves]
    found = several = None
    for leaf in leaves:
        if type(leaf) is ArrayImpl:
            if leaf._committed:
                devices = leaf._sharding._internal_device_list
                if len(devices) > 1:
                    several = leaf
                elif found is None:
                    found = devices[0]
                elif devices[0] != found:
                    _raise_incompatible(leaf, found)
        elif isinstance(leaf, Tracer):
            raise escaped_tracer_error(leaf, "was passed to a jitted function")
    asked = dict(options.placement)
    program_mesh = mesh_of(program.closed)
    if program_mesh is None and several is None and "in_shardings" not in asked and "out_shardings" not in asked:
        if "device" in asked:
            return on_one_device(asked["device"], True)
        if "backend" in asked:
            return on_one_device(default_device_for(asked["backend"]), True)
        if found is not None:
            return on_one_device(found, True)
        return on_one_device(default_device_for(None), False)
    return _resolve_shardings(asked, program, leaves, num_outputs, program_mesh)


def mesh_of(closed: Any) -> Any:
    """The mesh of devices that equations of a program ask for, anywhere in it; else None.

    A primitive asks through its attribute ``placement_mesh``, a function of its parameters.
    """
    found = closed.memo.get("mesh", closed)
    if found is closed:
        found = closed.memo["mesh"] = _find_mesh(closed.jaxpr)
    return found


def _find_mesh(olympuspr: Any) -> Any:
    for equation in olympuspr.eqns:
        asks = getattr(equation.primitive, "placement_mesh", None)
        if asks is not None:
            mesh = asks(equation.params)
            if isinstance(mesh, Mesh) and not mesh.empty:
                return mesh
        for inner in olympusprs_in_params(equation.params):
            mesh = _find_mesh(inner)
            if mesh is not None:
                return mesh
    return None


def _raise_incompatible(leaf: Any, other: Any) -> None:
    raise ValueError(
        "Received incompatible devices for jitted computation. Got an argument "
        f"{leaf.aval.str_short()} on {leaf._sharding} and another one on {other}. Move them to the "
        "same devices with device_put."
    )


def _resolve_shardings(
    asked: dict[str, Any],
    program: Any,
    leaves: Sequence[Any],
    num_outputs: int,
    program_mesh: Any,
) -> Placement:
    in_given = _flat_shardings(asked.get("in_shardings"), program.in_tree, len(leaves), "in")
    out_given = _flat_shardings(asked.get("out_shardings"), program.out_tree, num_outputs, "out")
    in_shardings: list[Any] = []
    for position, (leaf, given) in enumerate(zip(leaves, in_given, strict=True)):
        own = leaf._sharding if type(leaf) is ArrayImpl and leaf._committed else None
        if own is not None and given is None and program_mesh is not None and own.num_devices == 1:
            # What lies on one of the mesh's devices is sent to the others.
            own = None
        if given is not None and own is not None and own != given:
            ndim = leaf.aval.ndim
            if not own.is_equivalent_to(given, ndim):
                raise ValueError(
                    "Received incompatible shardings for jitted computation: operand "
                    f"{position}, {leaf.aval.str_short()}, lies in {own}, and in_shardings asks "
                    f"for {given}. Put it there with device_put before the call."
                )
        in_shardings.append(given if given is not None else own)
    known = [each for each in (*in_shardings, *out_given) if each is not None]
    mesh, devices = program_mesh, None
    if mesh is not None:
        devices = tuple(mesh.devices.flat)
        if mesh.size == 1:
            return on_one_device(devices[0], True)
    for each in known:
        own_devices = tuple(each._internal_device_list)
        if devices is None:
            devices = own_devices
        elif set(own_devices) != set(devices):
            raise ValueError(
                "Received incompatible devices for jitted computation: shardings over "
                f"{_shown(devices)} and over {_shown(own_devices)}. All operands and results of "
                "one computation lie on the same devices."
            )
        if mesh is None and type(each) is NamedSharding:
            mesh = each.mesh
            devices = own_devices  # partitions are numbered as in the mesh
    if devices is None:
        return on_one_device(default_device_for(None), False)
    if len(devices) == 1:
        return on_one_device(devices[0], True)
    if mesh is None:
        raise ValueError(
            f"the operands lie on {len(devices)} devices without a mesh, in {known[0]}; put one of "
            "them in a NamedSharding with device_put"
        )

    def in_mesh(sharding: Any, ndim: int) -> Any:
        """The sharding as one of this mesh, so that all annotations speak of one mesh."""
        if sharding is None or (type(sharding) is NamedSharding and sharding.mesh == mesh):
            return sharding
        hlo = sharding._to_xla_hlo_sharding(ndim)
        same_order = tuple(sharding._internal_device_list) == devices
        spec = spec_of_hlo(hlo, mesh, ndim) if same_order else None
        return sharding if spec is None else NamedSharding(mesh, spec)

    avals_in, avals_out = program.closed.in_avals[-len(leaves) or None :], program.closed.out_avals
    placed_in = []
    for sharding, aval in zip(in_shardings, avals_in if leaves else (), strict=True):
        placed = in_mesh(sharding, getattr(aval, "ndim", 0))
        if placed is not None and (type(placed) is not NamedSharding or placed.mesh != mesh):
            placed = NamedSharding(mesh, PartitionSpec())  # moved there before the call
        placed_in.append(placed)
    placed_out = tuple(
        in_mesh(sharding, getattr(aval, "ndim", 0))
        for sharding, aval in zip(out_given, avals_out, strict=True)
    )
    for sharding, aval, what in (
        *((s, a, "operand") for s, a in zip(placed_in, avals_in, strict=False)),
        *((s, a, "result") for s, a in zip(placed_out, avals_out, strict=True)),
    ):
        if sharding is not None:
            try:
                sharding.check_compatible_aval(aval.shape)
            except ValueError as error:
                raise ValueError(f"an {what} of the jitted function: {error}") from None
            sharding.shard_shape(aval.shape)
    return Placement(devices, mesh, tuple(placed_in), placed_out, True)


def _shown(devices: Sequence[Any]) -> str:
    return f"devices {[device.id for device in devices]}"


def _flat_shardings(given: Any, tree: Any, count: int, what: str) -> list[Any]:
    """The user's shardings, a prefix of the operands' or results' structure, one a leaf."""
    if given is None:
        return [None] * count
    prefix_tree, prefix_leaves = given
    prefix = pytrees.tree_unflatten(prefix_tree, prefix_leaves)
    if what == "in":
        args_tree, kwargs_tree = tree.children()
        target = pytrees.tree_unflatten(args_tree, [0] * args_tree.num_leaves)
        if isinstance(prefix, list):
            prefix = tuple(prefix)
    else:
        kwargs_tree = None
        target = pytrees.tree_unflatten(tree, [0] * tree.num_leaves)

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, Sharding | PartitionSpec)

    try:
        flat = broadcast_prefix(prefix, target, is_leaf)
    except ValueError as error:
        raise ValueError(
            f"{what}_shardings must be a prefix of the structure of the function's "
            f"{'arguments' if what == 'in' else 'result'}: {error}"
        ) from None
    if kwargs_tree is not None:
        flat = [*flat, *[None] * kwargs_tree.num_leaves]
    return [_concrete_sharding(each, what) for each in flat]


def _concrete_sharding(given: Any, what: str) -> Any:
    if given is None or isinstance(given, Sharding):
        return given
    if isinstance(given, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            raise ValueError(
                f"{what}_shardings has the PartitionSpec {given}, and no mesh is in force. Set one "
                "with olympus.set_mesh, or use NamedSharding."
            )
        return NamedSharding(mesh, given)
    raise ValueError(
        f"{what}_shardings takes shardings, partition specs and None, got {given!r} of type "
        f"{type(given).__name__}"
    )


# ---- what the compiler chose ----


def result_sharding(hlo: Any, placement: Placement, aval: Any) -> Any:
    """The sharding that an executable gave a result: in terms of the mesh where possible."""
    if placement.mesh is None:
        return device_sharding(placement.devices[0])
    spec = spec_of_hlo(hlo, placement.mesh, aval.ndim)
    if spec is not None:
        return NamedSharding(placement.mesh, spec)
    return GSPMDSharding(placement.replicated._internal_device_list, hlo)


_specs: dict[Any, PartitionSpec | None] = {}


def spec_of_hlo(hlo: Any, mesh: Any, ndim: int) -> PartitionSpec | None:
    """The spec over a mesh that means an `HloSharding`; None where none does.

    Tries the ways to write each dimension's number of tiles as a product of mesh axes.
    """
    key = (hlo, mesh, ndim)
    if key not in _specs:
        if len(_specs) > 4096:
            _specs.clear()
        _specs[key] = _search_spec(hlo, mesh, ndim)
    return _specs[key]


def _search_spec(hlo: Any, mesh: Any, ndim: int) -> PartitionSpec | None:
    if hlo.is_replicated():
        return PartitionSpec()
    tiles = list(hlo.tile_assignment_dimensions())[:ndim]
    if len(tiles) < ndim:
        return None
    names = [name for name, size in mesh.shape.items() if size > 1]
    sizes = mesh.shape

    def choices(count: int, free: Sequence[Any]) -> Any:
        if count == 1:
            yield ()
            return
        for length in range(1, len(free) + 1):
            for axes in itertools.permutations(free, length):
                if math.prod(sizes[axis] for axis in axes) == count:
                    yield axes

    def search(position: int, free: list[Any], chosen: list[Any]) -> PartitionSpec | None:
        if position == ndim:
            entries = [None if not c else c[0] if len(c) == 1 else c for c in chosen]
            while entries and entries[-1] is None:
                entries.pop()
            spec = PartitionSpec(*entries)
            return spec if mesh_hlo_sharding(mesh, spec, ndim) == hlo else None
        for axes in choices(tiles[position], free):
            rest = [axis for axis in free if axis not in axes]
            found = search(position + 1, rest, [*chosen, axes])
            if found is not None:
                return found
        return None

    return search(0, names, [])


def hlo_from_proto(proto: Any) -> Any:
    """An `HloSharding` from the form in which executables report theirs."""
    return HloSharding.from_proto(proto)
