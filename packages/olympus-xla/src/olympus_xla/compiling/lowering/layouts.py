# SPDX-License-Identifier: Apache-2.0
"""Constraints that make the partitioner follow the shardings in the types of values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from olympus_ir.programs.propagation import declared_types, propagation_rules
from olympus_ir.types.layouts import axes_of_entry, layout_over
from olympus_ir.types.placement import PartitionSpec

from . import mlir
from .shardings import spec_attribute

__all__ = ["kept_whole", "lay_out", "partial_sums_as_typed", "typed_attribute"]


def lay_out(context: Any, equation: Any, results: Any) -> Any:
    """Returns the results of an equation, constrained to the shardings of their types.

    Args:
      context: the block.
      equation: the equation, whose operands and results are on a mesh with explicit axes.
      results: the value or values that its rule returned.
    """
    primitive = equation.primitive
    if context.module.mesh is None:
        return results
    if propagation_rules.find(primitive) is declared_types and primitive.family != "control_flow":
        # the primitive, or the equations in its program, already constrain the results
        return results
    mesh = None
    for atom in (*equation.outvars, *equation.invars):
        if atom.aval.layout is not None:
            mesh = atom.aval.layout.mesh
            break
    if mesh is None or not mesh.explicit_axes:
        return results
    values: Sequence[Any] = results if primitive.multiple_results else [results]
    if primitive.name in _OF_WHOLE_VALUES:
        values = [
            _whole_first(context, equation, var.aval, mesh, value)
            for var, value in zip(equation.outvars, values, strict=True)
        ]
    laid_out = [
        _constrained(context, var.aval, mesh, value)
        for var, value in zip(equation.outvars, values, strict=True)
    ]
    return laid_out if primitive.multiple_results else laid_out[0]


def typed_attribute(spec: PartitionSpec, ndim: int, mesh: Any, symbol: str) -> Any:
    """Returns the attribute of a type's spec: closed over explicit axes, open over auto axes.

    Args:
      spec: the spec of the type.
      ndim: the number of dimensions of the (physical) array.
      mesh: the abstract mesh.
      symbol: the symbol of the mesh in the module.
    """
    if not mesh.auto_axes:
        return spec_attribute(spec, ndim, mesh=symbol)
    used = {*spec.unreduced, *spec.reduced}
    for entry in spec.partitions:
        used.update(axes_of_entry(entry))
    same = [axis for axis in mesh.explicit_axes if axis not in used]
    return spec_attribute(spec, ndim, open_dimensions=True, mesh=symbol, replicated=same)


# Operations that may have unreduced results although they compute no sums.
_OF_WHOLE_VALUES = frozenset({"broadcast_in_dim", "convert_element_type", "iota"})


def _whole_first(context: Any, equation: Any, aval: Any, mesh: Any, value: Any) -> Any:
    """Constrains an unreduced value to the sharding of its type without the unreduced axes.

    A later constraint adds the unreduced axes. Because of the first constraint, the partitioner
    then makes the value the term of one device, and the other terms zero. Otherwise it would make
    the value the term of every device.
    """
    layout = aval.layout
    if layout is None or not layout.spec.unreduced:
        return value
    for atom in equation.invars:
        if atom.aval.layout is not None and atom.aval.layout.spec.unreduced:
            return value
    whole = layout_over(mesh, layout.spec.partitions)
    return _constrained(context, aval.update(sharding=whole), mesh, value)


def partial_sums_as_typed(context: Any, avals: Sequence[Any], values: Sequence[Any]) -> Any:
    """Constrains values, such as results of a barrier, to be unreduced where their types say so."""
    if context.module.mesh is None:
        return values
    return [
        _constrained(context, aval, aval.layout.mesh, value)
        if getattr(aval, "layout", None) is not None and aval.layout.spec.unreduced
        else value
        for aval, value in zip(avals, values, strict=True)
    ]


def kept_whole(context: Any, value: Any, aval: Any, dimensions: Collection[int]) -> Any:
    """Returns a value that the partitioner does not shard along some of its dimensions.

    Args:
      context: the block.
      value: the value.
      aval: the type of the value.
      dimensions: the dimensions that stay whole.
    """
    module = context.module
    if not dimensions or module.mesh is None or module.axis_context is not None:
        return value
    free, ndim = PartitionSpec.UNCONSTRAINED, mlir.physical_aval(aval).ndim
    spec = PartitionSpec(*(None if dim in dimensions else free for dim in range(ndim)))
    attribute = spec_attribute(spec, ndim, mesh=module.mesh_symbol(module.mesh))
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (value,), {"sharding": attribute}
    )


def _constrained(context: Any, aval: Any, mesh: Any, value: Any) -> Any:
    ndim = getattr(aval, "ndim", None)
    if ndim is None or aval.is_ref:
        return value
    spec = PartitionSpec() if aval.layout is None else aval.layout.spec
    explicit = frozenset(mesh.explicit_axes)
    if spec.unreduced - explicit:
        # The partitioner's attribute omits manual axes.
        layout = layout_over(mesh, spec.partitions, spec.unreduced & explicit)
        spec = PartitionSpec() if layout is None else layout.spec
    attribute = typed_attribute(
        spec, mlir.physical_aval(aval).ndim, mesh, context.module.mesh_symbol(mesh)
    )
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (value,), {"sharding": attribute}
    )
