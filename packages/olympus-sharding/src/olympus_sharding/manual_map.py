# SPDX-License-Identifier: Apache-2.0
"""`shard_map`: a function of one device's part of the arrays, run on all devices of a mesh.

The function becomes a program of local shapes; specs say how its operands are cut into parts and
its results put together. Collectives over the mesh's axes are how the parts communicate.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import separate_constants, trace_to_olympuspr
from olympus_ir.programs.tracing import current, evaluation_trace, extend_axes
from olympus_ir.settings.config_states import auto_pcast
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, function_name
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import NamedAxisEffect
from olympus_ir.types.placement import AbstractMesh, BaseMesh, PartitionSpec
from olympus_ir.types.resharding import mesh_scope

from .agreement import check_collectives_agree
from .context import _abstract_mesh, concrete_mesh_in_force
from .manual_layouts import (
    check_closed_over,
    check_layouts,
    check_result_layouts,
    check_sums,
    global_layout,
    local_layout,
    manual_part,
    mesh_inside,
)
from .manual_map_arguments import (
    INFER,
    INFER_AXIS,
    Infer,
    as_spec_says,
    check_axes,
    check_devices_known,
    check_may_infer,
    check_operands,
    check_results,
    contents,
    extents,
    flat_specs,
    manual_axes_of,
    mentioned_axes,
    specs_in,
    without_static,
)
from .mesh import Mesh
from .shardings import NamedSharding

__all__ = ["mentioned_axes", "shard_map", "shard_map_p", "smap"]

# Parameters: ``mesh``; ``in_specs`` and ``out_specs``, one a operand and a result; ``jaxpr``, a
# closed program of local shapes; ``newly_manual_axes``, the axes the function sees one by one;
# ``check_vma``, whether its types say over which axes values vary.
shard_map_p = Primitive("shard_map", multiple_results=True, cache_inference=False)
shard_map_p.spreads_varying = False
# The mesh that an equation's computation runs on, for whoever compiles it.
shard_map_p.placement_mesh = lambda params: params["mesh"]  # type: ignore[attr-defined]


def _result_shardings(params: dict[str, Any]) -> list[NamedSharding] | None:
    """Where results of a call outside of programs lie: as the specs say, to the letter."""
    mesh = params["mesh"]
    if len(params["newly_manual_axes"]) < len(mesh.axis_names) or not isinstance(mesh, Mesh):
        return None
    return [NamedSharding(mesh, spec) for spec in params["out_specs"]]


shard_map_p.result_shardings = _result_shardings  # type: ignore[attr-defined]


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


def local_aval(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: ShapedArray, *, varying: bool
) -> ShapedArray:
    """The type of one device's part of an operand."""
    if aval.is_ref:
        part = local_aval(mesh, manual, spec, aval.inner_aval, varying=varying)  # type: ignore[attr-defined]
        return aval.update(inner_aval=part)
    parts = extents(mesh, spec, aval.ndim)
    shape = tuple(size // extent for size, extent in zip(aval.shape, parts, strict=True))
    vma = frozenset(mentioned_axes(spec)) if varying else frozenset()
    layout = None
    if aval.layout is not None or spec.unreduced or spec.reduced:
        layout = local_layout(mesh, manual, spec, aval)
    return ShapedArray(shape, aval.dtype, aval.weak_type, vma=aval.vma | vma, sharding=layout)


def global_aval(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: ShapedArray
) -> ShapedArray:
    """The type of a result put together from the devices' parts."""
    parts = extents(mesh, spec, aval.ndim)
    shape = tuple(size * extent for size, extent in zip(aval.shape, parts, strict=True))
    layout = (
        None if aval.layout is None and not mesh.explicit_axes else global_layout(mesh, spec, aval)
    )
    return ShapedArray(
        shape, aval.dtype, aval.weak_type, vma=aval.vma.difference(manual), sharding=layout
    )


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = INFER,
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
      >>> from olympus.sharding import Mesh, PartitionSpec as P
      >>> mesh = Mesh(olympus.devices()[:1], ("i",))
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
    in_axes: Any = INFER,
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

    if isinstance(axis_name, list | tuple):
        raise TypeError(f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}")
    for what, given in (("in_axes", in_axes), ("out_axes", out_axes)):
        if given is INFER:
            continue
        if not all(isinstance(leaf, int) for leaf in pytrees.tree_leaves(given)):
            raise TypeError(
                f"smap {what} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {given}."
            )

    def spec(dimension: Any) -> PartitionSpec:
        if dimension is None:
            return PartitionSpec()
        return PartitionSpec(*(None,) * dimension, axis_name)

    def specs(dimensions: Any) -> Any:
        return pytrees.tree_map(spec, dimensions, is_leaf=lambda value: value is None)

    return shard_map(
        f,
        in_specs=INFER_AXIS if in_axes is INFER else specs(in_axes),
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
    manual = manual_axes_of(mesh, axis_names)
    leaves, in_tree = pytrees.tree_flatten((args, {}))
    if isinstance(mesh, AbstractMesh) and current.trace is evaluation_trace:
        check_devices_known(leaves, mesh)
    info = debug_info_of_tree("shard_map", f, in_tree)
    if isinstance(in_specs, Infer):
        check_may_infer(mesh, manual, in_specs is INFER_AXIS)
        specs = [manual_part(contents(get_aval(leaf)), manual) for leaf in leaves]
        call = FlatFunction(f, in_tree)
    else:
        call = FlatFunction(f, in_tree)
        specs = flat_specs("in", in_specs, args)
        leaves, specs, call, info = without_static(leaves, specs, call, info)
    avals = [get_aval(leaf) for leaf in leaves]
    check_axes("in", specs, mesh, manual)
    check_sums("in", specs, mesh, manual)
    if not callable(out_specs):
        check_sums("out", specs_in(out_specs), mesh, manual)
    check_operands(name, info, mesh, specs, avals)
    check_layouts(specs, avals, manual, mesh)

    local_avals = [
        local_aval(mesh, manual, spec, aval, varying=check_vma)
        for spec, aval in zip(specs, avals, strict=True)
    ]
    flat_out_specs: list[PartitionSpec] = []
    out_tree: Any = None

    def with_casts(*flat_args: Any) -> Any:
        nonlocal flat_out_specs, out_tree
        results = call(*flat_args)
        out_tree = call.out_tree
        if callable(out_specs):
            avals = [get_aval(result) for result in results]
            given = out_specs(pytrees.tree_unflatten(out_tree, avals))
        else:
            given = out_specs
        flat_out_specs = flat_specs("out", given, pytrees.tree_unflatten(out_tree, results))
        check_axes("out", flat_out_specs, mesh, manual)
        if not check_vma or not auto_pcast.value:
            return results
        return [
            as_spec_says(result, spec) for result, spec in zip(results, flat_out_specs, strict=True)
        ]

    with inside_of(mesh, manual, check_vma):
        olympuspr, constants = trace_to_olympuspr(with_casts, local_avals, info)
    check_closed_over(constants, manual)
    closed_over, closed = separate_constants(ClosedOlympuspr(olympuspr, constants))
    if check_vma:
        check_collectives_agree(olympuspr)
    check_results(name, mesh, manual, flat_out_specs, olympuspr.out_avals, check_vma)
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
