# SPDX-License-Identifier: Apache-2.0
"""The primitive of `shard_map`: its parameters, its types, and the scope of its function.

The rules of `shard_map` use this module, and the function `shard_map` uses the rules.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import extend_axes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import NamedAxisEffect
from olympus_ir.types.placement import BaseMesh, PartitionSpec
from olympus_ir.types.resharding import mesh_scope

from ..meshes.mesh import Mesh
from ..shardings.behavior import NamedSharding
from .arguments import extents, mentioned_axes
from .layouts import global_layout, local_layout, mesh_inside

__all__ = ["global_aval", "inside", "inside_of", "local_aval", "manual_axes", "shard_map_p"]

# Parameters: ``mesh``; ``in_specs`` and ``out_specs``, one for each operand and result; ``jaxpr``,
# a closed program of local shapes; ``newly_manual_axes``, the axes that become manual;
# ``check_vma``, whether types track the axes over which values vary.
shard_map_p = Primitive.declare(
    "shard_map", multiple_results=True, family="sharding", cache_inference=False
)
shard_map_p.spreads_varying = False
# Compilers read this attribute to find the mesh on which an equation runs.
shard_map_p.placement_meshes = lambda params: [params["mesh"]]  # type: ignore[attr-defined]


def _result_shardings(params: dict[str, Any]) -> list[NamedSharding] | None:
    """Returns the shardings of the results of an eager call, exactly as its specs say."""
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
    """Returns the type of one device's shard of an operand."""
    if aval.is_ref:
        part = local_aval(mesh, manual, spec, aval.inner_aval, varying=varying)  # type: ignore[attr-defined]
        return aval.update(inner_aval=part)
    parts = extents(mesh, spec, aval.ndim)
    shape = tuple(size // extent for size, extent in zip(aval.shape, parts, strict=True))
    vma = frozenset(mentioned_axes(spec)) if varying else frozenset()
    layout = None
    if aval.layout is not None or spec.unreduced or spec.reduced:
        layout = local_layout(mesh, manual, spec, aval)
    return ShapedArray.varying(
        shape, aval.dtype, aval.weak_type, vma=aval.vma | vma, sharding=layout
    )


def global_aval(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: ShapedArray
) -> ShapedArray:
    """Returns the type of a global result, given the type of one device's shard."""
    parts = extents(mesh, spec, aval.ndim)
    shape = tuple(size * extent for size, extent in zip(aval.shape, parts, strict=True))
    layout = (
        None if aval.layout is None and not mesh.explicit_axes else global_layout(mesh, spec, aval)
    )
    return ShapedArray.varying(
        shape, aval.dtype, aval.weak_type, vma=aval.vma.difference(manual), sharding=layout
    )


def manual_axes(params: dict[str, Any]) -> dict[Any, int]:
    """Returns the manual axes of an equation, with their sizes."""
    mesh, newly_manual = params["mesh"], params["newly_manual_axes"]
    return {axis: mesh.shape[axis] for axis in mesh.axis_names if axis in newly_manual}


def inside(params: dict[str, Any]) -> Any:
    """Returns a context manager that binds an equation's manual axes as tracing does."""
    return inside_of(params["mesh"], tuple(manual_axes(params)), params["check_vma"])


@contextlib.contextmanager
def inside_of(mesh: BaseMesh, manual: Sequence[Any], check_vma: bool) -> Iterator[None]:
    """Context manager that binds axes as manual axes of the current mesh."""
    sizes = {axis: mesh.shape[axis] for axis in manual}
    varying = frozenset(manual) if check_vma else frozenset()
    with extend_axes(sizes, varying=varying), mesh_scope(mesh_inside(mesh, manual)):
        yield
