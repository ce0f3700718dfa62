# SPDX-License-Identifier: Apache-2.0
"""Lowering of `device_put` inside programs, and constraints of values to shardings and layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.types.layouts import axes_of_entry, entries_of
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace
from olympus_ir.types.placement import UNSPECIFIED, PartitionSpec
from olympus_sharding.meshes.context import concrete_sharding

from ...._jaxlib import NamedSharding
from ....arrays.layouts import Layout
from ....arrays.spec_search import spec_of_hlo
from .. import mlir
from ..context import LoweringContext
from ..shardings import spec_attribute
from ..tables import lowering_rules


@lowering_rules.define(lax.device_put_p)
def _device_put(
    context: LoweringContext, *operands: Any, devices: Sequence[Any], **params: Any
) -> list[Any]:
    avals = context.avals_out
    moved = list(map(_in_memory_of_type(context), operands, context.avals_in, avals))
    return [
        constrain(context, operand, place, aval) if type(place) is NamedSharding else operand
        for operand, place, aval in zip(moved, devices, avals, strict=True)
    ]


def _in_memory_of_type(context: LoweringContext) -> Callable[[Any, Any, Any], Any]:
    # A CPU has one memory under several names.
    is_one_cpu = context.platforms == ("cpu",) and context.module.num_partitions == 1

    def moved(operand: Any, before: Any, after: Any) -> Any:
        if before.memory_space is after.memory_space or is_one_cpu:
            return operand
        return in_memory(context, operand, after.memory_space)

    return moved


def in_memory(context: LoweringContext, value: Any, space: MemorySpace) -> Any:
    """Moves a value to a memory space."""
    placement = {"_xla_buffer_placement": mlir.string(MEMORY_KINDS[space])}
    (result,) = context.custom_call(
        "annotate_device_placement",
        [value.type],
        [value],
        has_side_effect=True,
        api_version=1,
        attributes={"mhlo.frontend_attributes": mlir.dictionary(placement)},
    )
    return result


def constrain(context: LoweringContext, operand: Any, sharding: Any, aval: Any = None) -> Any:
    """Constrains a value to a sharding; ``aval`` is the value's type, by default the result's."""
    module = context.module
    if module.mesh is None:
        return operand  # a single device needs no constraint
    aval = context.aval_out if aval is None else aval
    if type(sharding) is not NamedSharding:
        spec = spec_of_hlo(sharding._to_xla_hlo_sharding(aval.ndim), module.mesh, aval.ndim)
        if spec is None:
            raise ValueError(
                f"with_sharding_constraint cannot express {sharding} over the mesh of the program, "
                f"{module.mesh}. Use a NamedSharding."
            )
        sharding = NamedSharding(module.mesh, spec)
    ndim = mlir.physical_aval(aval).ndim
    attribute = spec_attribute(sharding.spec, ndim, mesh=module.mesh_symbol(sharding.mesh))
    return context.create(
        "sdy.sharding_constraint", mlir.aval_type(aval), (operand,), {"sharding": attribute}
    )


def constrain_layout(context: LoweringContext, operand: Any, aval: Any, layout: Any) -> Any:
    """Constrains a value of a given type to a layout."""
    order = tuple(reversed(layout.major_to_minor))
    (result,) = context.custom_call(
        "LayoutConstraint",
        [mlir.aval_type(aval)],
        [operand],
        api_version=1,
        operand_layouts=[order],
        result_layouts=[order],
    )
    return result


def placed(
    context: LoweringContext,
    values: Sequence[Any],
    avals: Sequence[Any],
    shardings: Sequence[Any],
    layouts: Sequence[Any],
) -> Sequence[Any]:
    """Constrains operands or results of a call to their shardings and layouts.

    Args:
      context: the state of lowering.
      values: the values.
      avals: their types.
      shardings: for each value a sharding, or `UNSPECIFIED`.
      layouts: for each value a layout, or None.

    Returns:
      The constrained values.
    """
    if all(sharding is UNSPECIFIED for sharding in shardings):
        return values
    return [
        value
        if sharding is UNSPECIFIED
        else constrained(
            context, value, aval, sharding, layout if isinstance(layout, Layout) else None
        )
        for value, aval, sharding, layout in zip(values, avals, shardings, layouts, strict=True)
    ]


def constrained(
    context: LoweringContext, value: Any, aval: Any, sharding: Any, layout: Layout | None
) -> Any:
    """Constrains a value of a given type to a sharding, and to a layout if there is one."""
    value = constrain(context, value, _with_layout(concrete_sharding(sharding), aval), aval)
    return value if layout is None else constrain_layout(context, value, aval, layout)


def _with_layout(sharding: Any, aval: Any) -> Any:
    """Adds the explicit axes of a value's type to a constraint over auto axes."""
    if aval.layout is None or type(sharding) is not NamedSharding:
        return sharding
    entries = []
    partitions = (*sharding.spec, *(None,) * (aval.ndim - len(sharding.spec)))
    for own, asked in zip(entries_of(aval), partitions, strict=True):
        if asked is PartitionSpec.UNCONSTRAINED:
            entries.append(asked if own is None else own)
        else:
            axes = tuple(dict.fromkeys((*axes_of_entry(own), *axes_of_entry(asked))))
            entries.append(axes if len(axes) > 1 else (axes[0] if axes else None))
    return NamedSharding(sharding.mesh, sharding.spec.update(partitions=tuple(entries)))
