# SPDX-License-Identifier: Apache-2.0
"""Arguments of `shard_map`: axes, specs and operands, checked and flattened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_batching.dimensions import examples
from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import spread_prefix, structure_mismatch
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import mesh_in_force
from olympus_ir.types.placement import AbstractMesh, AxisType, BaseMesh, PartitionSpec

from ..shardings.behavior import NamedSharding, check_no_duplicates
from ..shardings.tiling import axes_of_dimensions

__all__ = [
    "INFER",
    "INFER_AXIS",
    "Infer",
    "as_spec_says",
    "check_axes",
    "check_devices_known",
    "check_may_infer",
    "check_operands",
    "check_results",
    "contents",
    "extents",
    "flat_specs",
    "manual_axes_of",
    "mentioned_axes",
    "specs_in",
    "without_static",
]


class Infer:
    """Default of ``in_specs``: infers the specs from the arguments' types."""

    def __repr__(self) -> str:
        return "Infer"


INFER = Infer()
INFER_AXIS = Infer()  # the default of `in_axes` of `smap`


def extents(mesh: BaseMesh, spec: PartitionSpec, ndim: int) -> list[int]:
    """Returns the number of parts into which a spec splits each dimension."""
    sizes = mesh.shape
    return [math.prod(sizes[axis] for axis in axes) for axes in axes_of_dimensions(spec, ndim)]


def mentioned_axes(spec: PartitionSpec) -> list[Any]:
    """Returns the mesh axes in a spec, in order."""
    axes: list[Any] = []
    for entry in spec:
        if entry is None or entry is PartitionSpec.UNCONSTRAINED:
            continue
        axes += entry if isinstance(entry, tuple) else [entry]
    return axes


def manual_axes_of(mesh: BaseMesh, axis_names: frozenset) -> tuple:
    """Returns the given axes; by default, all axes not yet manual nor used by `vmap`."""
    own = [axis for axis in mesh.axis_names if axis not in examples.axes]
    unknown = axis_names.difference(own)
    if unknown:
        raise ValueError(
            f"olympus.shard_map requires axis_names={set(axis_names)} to be a subset of "
            f"mesh.axis_names={tuple(own)}"
        )
    if axis_names:
        return tuple(axis for axis in own if axis in axis_names)
    return tuple(axis for axis in own if axis not in mesh.manual_axes)  # type: ignore[attr-defined]


def contents(aval: Any) -> Any:
    """Returns the type of a value, or of the contents of a reference."""
    return aval.inner_aval if aval.is_ref else aval


def check_may_infer(mesh: BaseMesh, manual: tuple, is_smap: bool) -> None:
    """Checks that all manual axes are explicit, so that types contain the specs.

    Raises:
      TypeError: an axis is not explicit.
    """
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    others = [axis for axis in manual if types[axis] is not AxisType.Explicit]
    if others and is_smap:
        raise TypeError(
            f"in_axes was not specified when axis_name={others[0]!r} was of type "
            f"AxisType.{types[others[0]].name}: types contain specs over explicit axes only"
        )
    if others:
        raise TypeError(
            "shard_map in_specs argument must be a pytree of `olympus.sharding.PartitionSpec` "
            f"instances, but it was `None` when axis_names={set(manual)} are of type "
            f"{', '.join(f'AxisType.{types[axis].name}' for axis in manual)}: types "
            "contain specs over explicit axes only"
        )


def check_devices_known(leaves: Sequence[Any], mesh: AbstractMesh) -> None:
    """Checks that arguments determine the devices of an abstract mesh.

    Raises:
      ValueError: no argument has a `NamedSharding` over a mesh of the same shape.
    """
    shardings = [getattr(leaf, "sharding", None) for leaf in leaves]
    named = [sharding for sharding in shardings if type(sharding) is NamedSharding]
    if not named:
        raise ValueError(
            "Please pass `olympus.Array`s with a `NamedSharding` as input to `shard_map` when "
            "passing `AbstractMesh` to the mesh argument, and no mesh is in force."
        )
    for sharding in named:
        shape = sharding.mesh.shape_tuple  # type: ignore[attr-defined]
        if shape != mesh.shape_tuple:
            raise ValueError(
                f"Mesh shape of the input {shape} does not match the mesh shape passed to "
                f"shard_map {mesh.shape_tuple}"
            )


def without_static(leaves: Sequence[Any], specs: Sequence[Any], call: Any, info: Any) -> tuple:
    """Removes static arguments from a call: arguments with the spec None that are not arrays."""
    static = [
        spec is None and not (hasattr(leaf, "dtype") or isinstance(leaf, int | float | complex))
        for leaf, spec in zip(leaves, specs, strict=True)
    ]
    specs = [PartitionSpec() if spec is None else spec for spec in specs]
    if not any(static):
        return leaves, specs, call, info

    class WithStatic:
        out_tree: Any = None

        def __call__(self, *dynamic: Any) -> Any:
            remaining = iter(dynamic)
            results = call(
                *(
                    leaf if fixed else next(remaining)
                    for leaf, fixed in zip(leaves, static, strict=True)
                )
            )
            self.out_tree = call.out_tree
            return results

    kept = [position for position, fixed in enumerate(static) if not fixed]
    info = DebugInfo.of(info.traced_for, info.origin)
    return [leaves[n] for n in kept], [specs[n] for n in kept], WithStatic(), info


def as_spec_says(result: Any, spec: PartitionSpec) -> Any:
    """Casts a result to vary over the axes that split it, and to be unreduced as its spec says.

    Raises:
      ValueError: the spec says that the result is unreduced over axes over which it does not vary.
    """
    if not (hasattr(result, "dtype") or isinstance(result, int | float | complex)):
        return result
    aval = get_aval(result)
    missing = tuple(axis for axis in mentioned_axes(spec) if axis not in aval.vma)
    if missing:
        result = lax.pcast(result, missing, to="varying")
    own = frozenset() if aval.layout is None else aval.layout.spec.unreduced
    same = [axis for axis in spec.unreduced - own if axis not in aval.vma]
    if same:
        raise ValueError(
            "vary_unreduced_cast is a Varying->Unreduced collective. This means that the axes that "
            f"the out_specs entry {spec} says are unreduced must be such that the result varies "
            f"over them. Got {aval.str_short(True)}, the same everywhere along {same}"
        )
    terms = tuple(axis for axis in current_axes(spec.unreduced) if axis not in own)
    return lax.pcast(result, terms, to="unreduced") if terms else result


def current_axes(axes: frozenset) -> list[Any]:
    """Returns axes in the order of the current mesh."""
    return [axis for axis in mesh_in_force().axis_names if axis in axes]


def specs_in(specs: Any) -> list[PartitionSpec]:
    """Returns the partition specs in a tree of specs."""
    leaves = pytrees.tree_leaves(specs, is_leaf=lambda value: isinstance(value, PartitionSpec))
    return [leaf for leaf in leaves if isinstance(leaf, PartitionSpec)]


def flat_specs(option: str, specs: Any, target: Any) -> list[Any]:
    """Returns one spec for each leaf, from a prefix of the structure.

    Raises:
      TypeError: the tree contains objects other than specs, or is None.
      ValueError: the tree is not a prefix of the structure of ``target``.
    """
    if option == "in" and isinstance(specs, list):
        specs = tuple(specs)

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, PartitionSpec)

    for leaf in pytrees.tree_leaves(specs, is_leaf=is_leaf):
        if not isinstance(leaf, PartitionSpec) and leaf is not None:
            raise TypeError(
                f"shard_map {option}_specs must be a pytree of PartitionSpec instances, but it "
                f"contains {leaf!r} of type {type(leaf).__name__}"
            )
    if specs is None and option == "out" and pytrees.tree_leaves(target):
        raise TypeError(
            "shard_map out_specs argument must be a pytree of PartitionSpec instances, but it was "
            "None. Instead of None, did you mean to use `P()`?"
        )
    try:
        flat = spread_prefix(specs, target, is_leaf)
    except ValueError as error:
        found = structure_mismatch(f"shard_map {option}_specs", specs, target, is_leaf, error)
        raise ValueError(
            f"shard_map {option}_specs must be a prefix of the structure of the "
            f"{'arguments' if option == 'in' else 'result'}: {found}"
        ) from None
    if option == "in":
        return flat
    return [PartitionSpec() if spec is None else spec for spec in flat]


def check_axes(option: str, specs: Sequence[PartitionSpec], mesh: BaseMesh, manual: tuple) -> None:
    """Checks that specs mention manual axes only, each once.

    Raises:
      ValueError: a spec mentions another axis, or an axis twice.
    """
    for spec in specs:
        for axis in mentioned_axes(spec):
            if axis not in manual:
                raise ValueError(
                    f"shard_map {option}_specs argument must refer to an axis marked as manual "
                    f"({', '.join(map(repr, manual))}), but {option}_specs refers to {axis!r}. The "
                    f"mesh has the axes {mesh.axis_names}; check the values passed to shard_map."
                )
        check_no_duplicates(spec, f"shard_map {option}_specs")


def check_operands(
    name: str, info: Any, mesh: BaseMesh, specs: Sequence[PartitionSpec], avals: Sequence[Any]
) -> None:
    """Checks that operands can be split as their specs say.

    Raises:
      ValueError: a spec is too long, or a dimension is not divisible.
    """
    for position, (spec, aval) in enumerate(zip(specs, avals, strict=True)):

        def shown(position: int = position, aval: Any = aval) -> str:
            names = info.arg_names or ()
            label = names[position] if position < len(names) else f"argument {position}"
            return f"{label} of shape {aval.str_short()}"

        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {name!r} was given an in_specs entry which is "
                "too long to be compatible with the corresponding input value from the function: "
                f"{spec} has {len(spec)} entries, and {shown()} has {aval.ndim} dimensions. An "
                "entry of in_specs has at most one element for each dimension of its argument: "
                f"write {PartitionSpec(*spec[: aval.ndim])}, or pass an array with {len(spec)} "
                "dimensions."
            )
        for dimension, (size, extent) in enumerate(
            zip(aval.shape, extents(mesh, spec, aval.ndim), strict=True)
        ):
            if size % extent:
                raise ValueError(
                    f"shard_map applied to the function {name!r} was given argument arrays with "
                    "axis sizes that are not evenly divisible by the corresponding mesh axis "
                    f"sizes: {shown()} has the spec {spec}, which cuts dimension {dimension} (of "
                    f"size {size}) into {extent} parts. The mesh has the shape {dict(mesh.shape)}. "
                    "Pad the argument, or change the spec or the mesh."
                )


def check_results(
    name: str,
    mesh: BaseMesh,
    manual: tuple,
    specs: Sequence[PartitionSpec],
    avals: Sequence[Any],
    check_vma: bool,
) -> None:
    """Checks that results can be concatenated as their specs say.

    Raises:
      ValueError: a spec is too long, or a result may vary over an axis that its spec omits.
    """
    for spec, aval in zip(specs, avals, strict=True):
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {name!r} was given an out_specs entry which is "
                f"too long to be compatible with the corresponding output value: {spec} has "
                f"{len(spec)} entries, and the output has shape {aval.str_short()}, which has rank "
                f"{aval.ndim}. A scalar that differs between devices needs a new dimension, along "
                "which the results are concatenated; a scalar that is the same on all devices has "
                "the spec P()."
            )
        if not check_vma:
            continue
        extra = [axis for axis in manual if axis in aval.vma and axis not in mentioned_axes(spec)]
        if extra:
            raise ValueError(
                f"shard_map applied to the function {name!r} was given out_specs which require "
                "replication which can't be statically inferred given the mesh: the out_specs "
                f"entry {spec} implies that the output value {aval.str_short(True)} is the same "
                f"along {', '.join(map(repr, extra))}, but it may vary. The mesh has the shape "
                f"{dict(mesh.shape)}. Mention the axis in out_specs, reduce over it (lax.psum), or "
                "pass check_vma=False to shard_map if you know that the values are equal."
            )
