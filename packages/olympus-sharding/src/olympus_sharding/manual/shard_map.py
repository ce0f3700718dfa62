# SPDX-License-Identifier: Apache-2.0
"""`shard_map`: maps a function of one device's shards of arrays over all devices of a mesh.

The function becomes a program of local shapes. Specs say how operands are split into parts, and how
the parts of results are concatenated. The parts communicate by collectives over mesh axes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.programs.staging import separate_constants, trace_to_olympuspr
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings.config_states import auto_pcast
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, function_name
from olympus_ir.trees.operands import opened
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.types.annotations import AxisName, PyTree
from olympus_ir.types.avals import get_aval
from olympus_ir.types.placement import AbstractMesh, BaseMesh, PartitionSpec

from ..meshes.context import _abstract_mesh, concrete_mesh_in_force
from ..meshes.mesh import Mesh
from . import partial_sums, references, rules  # noqa: F401 - fill the tables of transformations
from .agreement import check_collectives_agree
from .arguments import (
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
    flat_specs,
    manual_axes_of,
    specs_in,
    without_static,
)
from .layouts import (
    check_closed_over,
    check_layouts,
    check_result_layouts,
    check_sums,
    manual_part,
)
from .primitive import inside_of, local_aval, shard_map_p
from .running import RunningParts
from .views import with_copies_of_views

__all__ = ["apply_shard_map", "shard_map", "smap"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def shard_map(
    f: F,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = INFER,
    mesh: BaseMesh | None = None,
    axis_names: set[AxisName] | frozenset[AxisName] = frozenset(),
    check_vma: bool = True,
) -> F: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = INFER,
    mesh: BaseMesh | None = None,
    axis_names: set[AxisName] | frozenset[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Callable[[F], F]: ...
@travels
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = INFER,
    mesh: BaseMesh | None = None,
    axis_names: set[AxisName] | frozenset[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Maps a function over the parts of arrays on the devices of a mesh.

    Inside ``f`` arrays have the shapes of one device's shards, and collectives such as `lax.psum`
    communicate between devices by the names of mesh axes.

    Args:
      f: a function of arrays or pytrees of arrays; None returns a decorator.
      out_specs: a pytree of partition specs that is a prefix of the result. A spec says how the
        parts of a result are concatenated. Values must be equal along axes that a spec does not
        mention.
      in_specs: a pytree of partition specs that is a prefix of the arguments. A spec says how an
        argument is split. The default is the spec of the argument's type.
      mesh: the mesh; by default the mesh in force (`set_mesh`).
      axis_names: the manual axes; all axes of the mesh by default.
      check_vma: whether types track the axes over which values vary, which detects wrong
        ``out_specs`` and makes derivatives efficient.

    Returns:
      A function of whole arrays.

    Raises:
      TypeError: ``f`` is not callable, or specs are not partition specs.
      ValueError: specs do not fit the arguments, the results or the mesh, or no mesh is in force.

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
    if mesh is not None and not isinstance(mesh, BaseMesh):
        raise TypeError(
            "shard_map requires a `olympus.sharding.Mesh` or a `olympus.sharding.AbstractMesh` "
            f"instance as its mesh, but got {mesh!r} of type {type(mesh)}."
        )
    if not isinstance(axis_names, set | frozenset):
        raise TypeError(
            "`axis_names` argument of shard_map should be of type `frozenset` or `set`. Got type: "
            f"{type(axis_names)}. Write {{'name'}} for one axis."
        )

    @api_boundary
    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        return apply_shard_map(
            f, args, _mesh_in_force(mesh), in_specs, out_specs, frozenset(axis_names), check_vma
        )

    return mapped


@overload
def smap(
    f: F,
    /,
    *,
    in_axes: PyTree = INFER,
    out_axes: PyTree,
    axis_name: AxisName,
) -> F: ...
@overload
def smap(
    f: None = None,
    /,
    *,
    in_axes: PyTree = INFER,
    out_axes: PyTree,
    axis_name: AxisName,
) -> Callable[[F], F]: ...
@travels
def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: PyTree = INFER,
    out_axes: PyTree,
    axis_name: AxisName,
) -> Any:
    """Maps a function of parts of arrays over one axis of the current mesh.

    Args:
      f: a function of arrays or pytrees of arrays; None returns a decorator.
      in_axes: for each argument, the dimension that is split over the mesh axis, or None. By
        default, the type of an argument says which dimension is split.
      out_axes: for each result, the dimension along which the parts are concatenated, or None.
      axis_name: the mesh axis.

    Returns:
      A function of whole arrays.

    Raises:
      TypeError: ``axis_name`` is a sequence, or axes are not ints or None.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus.sharding import AxisType
      >>> with olympus.set_mesh(olympus.make_mesh((1,), ("i",), (AxisType.Auto,))):
      ...     smap(lambda x: x + 1, in_axes=0, out_axes=0, axis_name="i")(np.zeros(2)).shape
      (2,)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    if isinstance(axis_name, list | tuple):
        raise TypeError(f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}")
    for option, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if axes is INFER:
            continue
        if not all(isinstance(leaf, int) for leaf in pytrees.tree_leaves(axes)):
            raise TypeError(
                f"smap {option} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes}."
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
    """Returns the mesh of a call: the given mesh or the current mesh, with devices if known."""
    resolved = mesh
    if resolved is None or isinstance(resolved, AbstractMesh):
        concrete = concrete_mesh_in_force()
        if concrete is not None and (resolved is None or concrete.abstract_mesh == resolved):
            resolved = concrete
    if resolved is None:
        resolved = _abstract_mesh.value
    if resolved is None or resolved.empty:
        raise ValueError(
            "The context mesh cannot be empty: shard_map needs a mesh. Pass `mesh=`, or use "
            "`olympus.set_mesh(mesh)` to enter into a mesh context."
        )
    if not isinstance(resolved, BaseMesh):
        raise TypeError(
            f"shard_map requires a Mesh or an AbstractMesh, got {type(resolved).__name__}"
        )
    around = _abstract_mesh.value
    if around is not None and around.manual_axes:  # the call is inside of another shard_map
        if around.shape_tuple != resolved.shape_tuple:
            raise ValueError(
                f"The context mesh {around} should match the mesh passed to shard_map {resolved}. "
                "Leave out `mesh=` in a shard_map inside of another: it inherits the mesh."
            )
        resolved = resolved.update(axis_types=around.axis_types)  # type: ignore[attr-defined]
    return resolved


class _Operands(NamedTuple):
    """Flat arguments of a `shard_map`, with a spec for each."""

    call: Any
    info: DebugInfo
    leaves: Sequence[Any]
    specs: Sequence[PartitionSpec]


class _Traced(NamedTuple):
    """Traced function of a `shard_map`, with a spec for each of its results."""

    olympuspr: Olympuspr
    constants: list[Any]
    out_specs: list[PartitionSpec]
    out_tree: Any


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
      args: the arguments of the function.
      mesh: the mesh.
      in_specs: as for `shard_map`.
      out_specs: as for `shard_map`, or a function that returns one spec for each leaf of the
        result, called once the function has been traced.
      axis_names: as for `shard_map`.
      check_vma: as for `shard_map`.

    Returns:
      The results of the function, concatenated from the devices' shards.
    """
    name = function_name(f)
    manual = manual_axes_of(mesh, axis_names)
    args, copies = with_copies_of_views(f, args, in_specs)
    operands = _flat_operands(f, args, mesh, in_specs, manual)
    avals = [get_aval(leaf) for leaf in operands.leaves]
    check_axes("in", operands.specs, mesh, manual)
    check_sums("in", operands.specs, mesh, manual)
    if not callable(out_specs):
        check_sums("out", specs_in(out_specs), mesh, manual)
    check_operands(name, operands.info, mesh, operands.specs, avals)
    check_layouts(operands.specs, avals, manual, mesh)

    local_avals = [
        local_aval(mesh, manual, spec, aval, varying=check_vma)
        for spec, aval in zip(operands.specs, avals, strict=True)
    ]
    running = _running(operands, mesh, manual, check_vma)
    traced = _trace_local(operands, local_avals, mesh, out_specs, manual, check_vma, running)
    check_closed_over(traced.constants, manual)
    copies.check(operands.info, traced.constants)
    closed_over, closed = separate_constants(ClosedOlympuspr(traced.olympuspr, traced.constants))
    out_avals = traced.olympuspr.out_avals
    if check_vma:
        check_collectives_agree(traced.olympuspr)
    check_results(name, mesh, manual, traced.out_specs, out_avals, check_vma)
    if check_vma:
        check_result_layouts(traced.out_specs, out_avals, manual)
    results = current.trace.process_primitive(
        shard_map_p,
        [*closed_over, *operands.leaves],
        {
            "mesh": mesh,
            "in_specs": (PartitionSpec(),) * len(closed_over) + tuple(operands.specs),
            "out_specs": tuple(traced.out_specs),
            "jaxpr": closed,
            "check_vma": check_vma,
            "newly_manual_axes": frozenset(manual),
        },
    )
    copies.write_back()
    return pytrees.tree_unflatten(traced.out_tree, results)


def _flat_operands(
    f: Callable[..., Any], args: tuple, mesh: BaseMesh, in_specs: Any, manual: tuple
) -> _Operands:
    args = opened(args)
    leaves, in_tree = pytrees.tree_flatten((args, {}))
    if isinstance(mesh, AbstractMesh) and current.trace is evaluation_trace:
        check_devices_known(leaves, mesh)
    info = debug_info_of_tree("shard_map", f, in_tree)
    call = FlatFunction(f, in_tree)
    if isinstance(in_specs, Infer):
        check_may_infer(mesh, manual, in_specs is INFER_AXIS)
        specs = [manual_part(contents(get_aval(leaf)), manual) for leaf in leaves]
        return _Operands(call, info, leaves, specs)
    specs = flat_specs("in", in_specs, args)
    leaves, specs, call, info = without_static(leaves, specs, call, info)
    return _Operands(call, info, leaves, specs)


def _running(
    operands: _Operands, mesh: BaseMesh, manual: tuple, check_vma: bool
) -> RunningParts | None:
    """Returns the evaluator of the function's operations if the operands are known."""
    if current.trace is not evaluation_trace or not isinstance(mesh, Mesh):
        return None
    if len(manual) < len(mesh.axis_names) or any(get_aval(leaf).is_ref for leaf in operands.leaves):
        return None

    def apply(part: Callable[..., Any], spec: PartitionSpec) -> Any:
        mapped = shard_map(
            part, mesh=mesh, in_specs=tuple(operands.specs), out_specs=spec, check_vma=check_vma
        )
        return mapped(*operands.leaves)

    return RunningParts(apply, mesh)


def _trace_local(
    operands: _Operands,
    local_avals: Sequence[Any],
    mesh: BaseMesh,
    out_specs: Any,
    manual: tuple,
    check_vma: bool,
    running: RunningParts | None,
) -> _Traced:
    """Traces the function with the types of the operands' local shards."""
    flat_out_specs: list[PartitionSpec] = []
    out_tree: Any = None

    def with_casts(*flat_args: Any) -> Any:
        nonlocal flat_out_specs, out_tree
        results = operands.call(*flat_args)
        out_tree = operands.call.out_tree
        if callable(out_specs):
            specs: Any = out_specs()
            flat_out_specs = specs
        else:
            flat_out_specs = flat_specs("out", out_specs, pytrees.tree_unflatten(out_tree, results))
        check_axes("out", flat_out_specs, mesh, manual)
        if not check_vma or not auto_pcast.value:
            return results
        return [
            as_spec_says(result, spec) for result, spec in zip(results, flat_out_specs, strict=True)
        ]

    with inside_of(mesh, manual, check_vma):
        olympuspr, constants = trace_to_olympuspr(with_casts, local_avals, operands.info, running)
    return _Traced(olympuspr, constants, flat_out_specs, out_tree)
