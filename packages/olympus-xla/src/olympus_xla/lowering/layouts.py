# SPDX-License-Identifier: Apache-2.0
"""Layouts of types: the partitioner is told to follow what the types of values say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.layouts import layout_over
from olympus_ir.placement import PartitionSpec
from olympus_ir.propagation import of_program, rule_of

from . import mlir
from .shardings import spec_attribute

__all__ = ["lay_out"]


def lay_out(context: Any, equation: Any, results: Any) -> Any:
    """The results of an equation, constrained to lie as their types say.

    Args:
      context: the block.
      equation: the equation, of operands and results over a mesh with explicit axes.
      results: the value, or the values, that its rule made.
    """
    primitive = equation.primitive
    if context.module.mesh is None:
        return results
    if rule_of(primitive) is of_program and primitive.family != "control_flow":
        return results  # the equations inside are constrained, or it says itself how results lie
    mesh = None
    for atom in (*equation.outvars, *equation.invars):
        if atom.aval.layout is not None:
            mesh = atom.aval.layout.mesh
            break
    if mesh is None or not mesh.explicit_axes:
        return results
    values: Sequence[Any] = results if primitive.multiple_results else [results]
    laid_out = [
        _constrained(context, var.aval, mesh, value)
        for var, value in zip(equation.outvars, values, strict=True)
    ]
    return laid_out if primitive.multiple_results else laid_out[0]


def _constrained(context: Any, aval: Any, mesh: Any, value: Any) -> Any:
    ndim = getattr(aval, "ndim", None)
    if ndim is None or aval.is_ref:
        return value
    spec = PartitionSpec() if aval.layout is None else aval.layout.spec
    explicit = frozenset(mesh.explicit_axes)
    if spec.unreduced - explicit:
        # Of manual axes the partitioner knows nothing.
        layout = layout_over(mesh, spec.partitions, spec.unreduced & explicit)
        spec = PartitionSpec() if layout is None else layout.spec
    attribute = spec_attribute(
        spec,
        mlir.physical_aval(aval).ndim,
        open_dimensions=bool(mesh.auto_axes),
        mesh=context.module.mesh_symbol(mesh),
    )
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (value,), {"sharding": attribute}
    )
