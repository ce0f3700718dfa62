# SPDX-License-Identifier: Apache-2.0
"""`shard_map`: a function of one device's part of the arrays, run on all devices of a mesh.

The function becomes a program of local shapes; specs say how its operands are cut into parts and
its results put together. Collectives over the mesh's axes are how the parts communicate.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_ir import pytrees
from olympus_ir.avals import ShapedArray, get_aval
from olympus_ir.effects import NamedAxisEffect
from olympus_ir.flattening import FlatFunction, debug_info_of_tree, function_name
from olympus_ir.olympuspr import ClosedOlympuspr
from olympus_ir.placement import AbstractMesh, BaseMesh, PartitionSpec
from olympus_ir.primitives import Primitive
from olympus_ir.pytree_prefix import spread_prefix
from olympus_ir.resharding import mesh_scope
from olympus_ir.staging import separate_constants, trace_to_olympuspr
from olympus_ir.tracing import current, extend_axes

from .agreement import check_collectives_agree
from .context import _abstract_mesh, concrete_mesh_in_force
from .manual_layouts import (
    check_layouts,
    check_result_layouts,
    global_layout,
    local_layout,
    manual_part,
    mesh_inside,
)
from .shardings import NamedSharding
from .tiling import axes_of_dimensions

__all__ = ["shard_map", "shard_map_p", "smap"]

# Parameters: ``mesh``; ``in_specs`` and ``out_specs``, one a operand and a result; ``jaxpr``, a
# closed program of local shapes; ``newly_manual_axes``, the axes the function sees one by one;
# ``check_vma``, whether its types say over which axes values vary.
shard_map_p = Primitive("shard_map", multiple_results=True, cache_inference=False)
shard_map_p.spreads_varying = False
# The mesh that an equation's computation runs on, for whoever compiles it.
shard_map_p.placement_mesh = lambda params: params["mesh"]  # type: ignore[attr-defined]


class Infer:
    """The default of ``in_specs``: the specs are those of the arguments' shardings."""

    def __repr__(self) -> str:
        return "Infer"


_INFER = Infer()


@shard_map_p.def_effectful_abstract_eval
def _shard_map_types(
    *avals: ShapedArray,
    mesh: BaseMesh,
    out_specs: tuple,
    jaxpr: ClosedOlympuspr,
    newly_manual_axes: frozenset,
    **params: Any,
) -> Any:
    own_axes = set(mesh.axis_names)
    effects = frozenset(
        effect
        for effect in jaxpr.effects
        if not (isinstance(effect, NamedAxisEffect) and effect.name in own_axes)
    )
    return [
        global_aval(mesh, tuple(newly_manual_axes), spec, aval)
        for spec, aval in zip(out_specs, jaxpr.out_avals, strict=True)
    ], effects


def _extents(mesh: BaseMesh, spec: PartitionSpec, ndim: int) -> list[int]:
    """Into how many parts each dimension is cut."""
    sizes = mesh.shape
    return [math.prod(sizes[axis] for axis in axes) for axes in axes_of_dimensions(spec, ndim)]


def local_aval(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: ShapedArray, *, varying: bool
) -> ShapedArray:
    """The type of one device's part of an operand."""
    if aval.is_ref:
        part = local_aval(mesh, manual, spec, aval.inner_aval, varying=varying)  # type: ignore[attr-defined]
        return aval.update(inner_aval=part)
    extents = _extents(mesh, spec, aval.ndim)
    shape = tuple(size // extent for size, extent in zip(aval.shape, extents, strict=True))
    vma = frozenset(mentioned_axes(spec)) if varying else frozenset()
    layout = None
    if aval.layout is not None or spec.unreduced or spec.reduced:
        layout = local_layout(mesh, manual, spec, aval)
    return ShapedArray(shape, aval.dtype, aval.weak_type, vma=aval.vma | vma, sharding=layout)


def global_aval(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: ShapedArray
) -> ShapedArray:
    """The type of a result put together from the devices' parts."""
    extents = _extents(mesh, spec, aval.ndim)
    shape = tuple(size * extent for size, extent in zip(aval.shape, extents, strict=True))
    layout = (
        None if aval.layout is None and not mesh.explicit_axes else global_layout(mesh, spec, aval)
    )
    return ShapedArray(
        shape, aval.dtype, aval.weak_type, vma=aval.vma.difference(manual), sharding=layout
    )


def mentioned_axes(spec: PartitionSpec) -> list[Any]:
    """The mesh axes in a spec, in order."""
    axes: list[Any] = []
    for entry in spec:
        if entry is None or entry is PartitionSpec.UNCONSTRAINED:
            continue
        axes += entry if isinstance(entry, tuple) else [entry]
    return axes


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = _INFER,
    mesh: BaseMesh | None = None,
    axis_names: set | frozenset = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Maps a function over the parts of arrays on the devices of a mesh.

    Inside ``f`` arrays have the shapes of one device's parts, and collectives such as `lax.psum`
    work across the devices by the names of the mesh's axes.

    Args:
      f: a function of arrays or pytrees of arrays. Left out, a decorator is returned.
      out_specs: a pytree of partition specs that is a prefix of the result: how the parts of each
        result are put together. An axis that a spec does not mention must hold equal values.
      in_specs: likewise for the arguments: how each is cut. By default as they are sharded.
      mesh: the mesh; the one in force (`set_mesh`) by default.
      axis_names: the axes that ``f`` handles itself; all axes of the mesh by default.
      check_vma: whether types keep track of the axes over which values vary, which makes wrong
        ``out_specs`` errors and derivatives efficient.

    Returns:
      A function of whole arrays.

    Raises:
      ValueError: where specs do not fit the arguments, the results or the mesh.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus import lax
      >>> from olympus.sharding import PartitionSpec as P
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> total = shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
      >>> total(np.arange(3.0, dtype=np.float32))
      Array([0., 1., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    if not callable(f):
        raise TypeError(f"shard_map requires a callable, got {f!r} of type {type(f).__name__}")

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        return apply_shard_map(
            f, args, _mesh_in_force(mesh), in_specs, out_specs, frozenset(axis_names), check_vma
        )

    return mapped


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = _INFER,
    out_axes: Any,
    axis_name: Any,
) -> Any:
    """Maps a function over the parts of arrays along one axis of the mesh in force.

    Args:
      f: the function; left out, a decorator is returned.
      in_axes: for each argument the dimension that is cut along the axis, or None.
      out_axes: likewise for the results.
      axis_name: the mesh axis.
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(dimension: Any) -> PartitionSpec:
        if dimension is None:
            return PartitionSpec()
        return PartitionSpec(*(None,) * dimension, axis_name)

    def specs(dimensions: Any) -> Any:
        return pytrees.tree_map(spec, dimensions, is_leaf=lambda value: value is None)

    return shard_map(
        f,
        in_specs=_INFER if in_axes is _INFER else specs(in_axes),
        out_specs=specs(out_axes),
        axis_names={axis_name},
    )


def _mesh_in_force(mesh: BaseMesh | None) -> BaseMesh:
    found = mesh
    if found is None or isinstance(found, AbstractMesh):
        concrete = concrete_mesh_in_force()
        if concrete is not None and (found is None or concrete.abstract_mesh == found):
            found = concrete
    if found is None:
        found = _abstract_mesh.value
    if found is None or found.empty:
        raise ValueError(
            "The context mesh cannot be empty: shard_map needs a mesh. Pass `mesh=`, or use "
            "`olympus.set_mesh(mesh)` to enter into a mesh context."
        )
    if not isinstance(found, BaseMesh):
        raise TypeError(f"shard_map requires a Mesh or an AbstractMesh, got {type(found).__name__}")
    around = _abstract_mesh.value
    if around is not None and around.manual_axes and around.shape_tuple == found.shape_tuple:
        # Inside of another shard_map.
        found = found.update(axis_types=around.axis_types)  # type: ignore[attr-defined]
    return found


def apply_shard_map(
    f: Callable[..., Any],
    args: tuple,
    mesh: BaseMesh,
    in_specs: Any,
    out_specs: Any,
    axis_names: frozenset,
    check_vma: bool,
) -> Any:
    """Calls a function as `shard_map` does.

    Args:
      f: the function.
      args: its arguments.
      mesh: the mesh.
      in_specs: as for `shard_map`.
      out_specs: as for `shard_map`, or a function from the types of the results to that.
      axis_names: as for `shard_map`.
      check_vma: as for `shard_map`.
    """
    name = function_name(f)
    unknown = axis_names.difference(mesh.axis_names)
    if unknown:
        raise ValueError(
            f"axis_names {sorted(map(str, unknown))} of shard_map are not axes of the mesh, which "
            f"has {mesh.axis_names}"
        )
    manual = tuple(axis for axis in mesh.axis_names if not axis_names or axis in axis_names)
    leaves, in_tree = pytrees.tree_flatten((args, {}))
    avals = [get_aval(leaf) for leaf in leaves]
    if in_specs is _INFER:
        specs = [
            _spec_of_value(leaf) if aval.layout is None else manual_part(aval, manual)
            for leaf, aval in zip(leaves, avals, strict=True)
        ]
    else:
        specs = _flat_specs("in", in_specs, args)
    _check_axes("in", specs, mesh, manual)
    info = debug_info_of_tree("shard_map", f, in_tree)
    _check_operands(name, info, mesh, specs, avals)
    check_layouts(specs, avals, manual)

    local_avals = [
        local_aval(mesh, manual, spec, aval, varying=check_vma)
        for spec, aval in zip(specs, avals, strict=True)
    ]
    flat = FlatFunction(f, in_tree)
    with inside_of(mesh, manual, check_vma):
        olympuspr, constants = trace_to_olympuspr(flat, local_avals, info)
    closed_over, closed = separate_constants(ClosedOlympuspr(olympuspr, constants))
    out_tree = flat.out_tree
    out_example = pytrees.tree_unflatten(out_tree, olympuspr.out_avals)
    if callable(out_specs):
        out_specs = out_specs(out_example)
    flat_out_specs = _flat_specs("out", out_specs, out_example)
    _check_axes("out", flat_out_specs, mesh, manual)
    if check_vma:
        check_collectives_agree(olympuspr)
    _check_results(name, mesh, manual, flat_out_specs, olympuspr.out_avals, check_vma)
    if check_vma:
        check_result_layouts(flat_out_specs, olympuspr.out_avals, manual)
    results = current.trace.process_primitive(
        shard_map_p,
        [*closed_over, *leaves],
        {
            "mesh": mesh,
            "in_specs": (PartitionSpec(),) * len(closed_over) + tuple(specs),
            "out_specs": tuple(flat_out_specs),
            "jaxpr": closed,
            "check_vma": check_vma,
            "newly_manual_axes": frozenset(manual),
        },
    )
    return pytrees.tree_unflatten(out_tree, results)


def _spec_of_value(value: Any) -> PartitionSpec:
    sharding: Any = getattr(value, "sharding", None)
    return sharding.spec if isinstance(sharding, NamedSharding) else PartitionSpec()


def _flat_specs(what: str, specs: Any, target: Any) -> list[PartitionSpec]:
    """One spec a leaf, from a prefix of the structure."""
    if what == "in" and isinstance(specs, list):
        specs = tuple(specs)

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, PartitionSpec)

    for leaf in pytrees.tree_leaves(specs, is_leaf=is_leaf):
        if not isinstance(leaf, PartitionSpec) and leaf is not None:
            raise TypeError(
                f"shard_map {what}_specs must be a pytree of PartitionSpec instances, but it "
                f"contains {leaf!r} of type {type(leaf).__name__}"
            )
    if specs is None:
        raise TypeError(
            f"shard_map {what}_specs argument must be a pytree of PartitionSpec instances, but it "
            "was None. Instead of None, did you mean to use `P()`?"
        )
    try:
        flat = spread_prefix(specs, target, is_leaf)
    except ValueError as error:
        raise ValueError(
            f"shard_map {what}_specs must be a prefix of the structure of the "
            f"{'arguments' if what == 'in' else 'result'}: {error}"
        ) from None
    return [PartitionSpec() if spec is None else spec for spec in flat]


def _check_axes(what: str, specs: Sequence[PartitionSpec], mesh: BaseMesh, manual: tuple) -> None:
    for spec in specs:
        for axis in mentioned_axes(spec):
            if axis not in manual:
                raise ValueError(
                    f"shard_map {what}_specs argument must refer to an axis marked as manual "
                    f"({', '.join(map(repr, manual))}), but {what}_specs refers to {axis!r}. The "
                    f"mesh has the axes {mesh.axis_names}; check the values passed to shard_map."
                )
        axes = mentioned_axes(spec)
        if len(set(axes)) != len(axes):
            raise ValueError(
                f"shard_map {what}_specs has {spec}, which mentions a mesh axis more than once"
            )


def _check_operands(
    name: str, info: Any, mesh: BaseMesh, specs: Sequence[PartitionSpec], avals: Sequence[Any]
) -> None:
    for position, (spec, aval) in enumerate(zip(specs, avals, strict=True)):

        def shown(position: int = position, aval: Any = aval) -> str:
            names = info.arg_names or ()
            label = names[position] if position < len(names) else f"argument {position}"
            return f"{label} of shape {aval.str_short()}"

        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {name!r} was given an in_specs entry which is "
                f"too long: {spec} has {len(spec)} entries, and {shown()} has {aval.ndim} "
                "dimensions"
            )
        for dimension, (size, extent) in enumerate(
            zip(aval.shape, _extents(mesh, spec, aval.ndim), strict=True)
        ):
            if size % extent:
                raise ValueError(
                    f"shard_map applied to the function {name!r} was given argument arrays with "
                    "axis sizes that are not evenly divisible by the corresponding mesh axis "
                    f"sizes: {shown()} has the spec {spec}, which cuts dimension {dimension} (of "
                    f"size {size}) into {extent} parts. The mesh has the shape {dict(mesh.shape)}. "
                    "Pad the argument, or change the spec or the mesh."
                )


def _check_results(
    name: str,
    mesh: BaseMesh,
    manual: tuple,
    specs: Sequence[PartitionSpec],
    avals: Sequence[Any],
    check_vma: bool,
) -> None:
    for spec, aval in zip(specs, avals, strict=True):
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {name!r} was given an out_specs entry which is "
                f"too long to be compatible with the corresponding output value: {spec} has "
                f"{len(spec)} entries, and the output has shape {aval.str_short()}, which has rank "
                f"{aval.ndim}. A scalar that differs between devices needs a dimension to be put "
                "together along; a scalar that does not has the spec P()."
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


def manual_axes(params: dict[str, Any]) -> dict[Any, int]:
    """The axes that the function of an equation sees, with their sizes."""
    mesh, newly_manual = params["mesh"], params["newly_manual_axes"]
    return {axis: mesh.shape[axis] for axis in mesh.axis_names if axis in newly_manual}


def inside(params: dict[str, Any]) -> Any:
    """Context manager: the axes are bound, as they are while the function is traced."""
    return inside_of(params["mesh"], tuple(manual_axes(params)), params["check_vma"])


@contextlib.contextmanager
def inside_of(mesh: BaseMesh, manual: Sequence[Any], check_vma: bool) -> Iterator[None]:
    """Context manager: the axes are bound, and manual ones of the mesh in force."""
    sizes = {axis: mesh.shape[axis] for axis in manual}
    varying = frozenset(manual) if check_vma else frozenset()
    with extend_axes(sizes, varying=varying), mesh_scope(mesh_inside(mesh, manual)):
        yield


from . import manual_map_references as manual_map_references  # noqa: E402 - as well
from . import manual_map_rules as manual_map_rules  # noqa: E402 - the rules are made of the above
from . import partial_sums as partial_sums  # noqa: E402 - casts and sums for the inside
