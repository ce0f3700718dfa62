# SPDX-License-Identifier: Apache-2.0
"""Lowering of XLA metadata, `compute_on`, fused calls and layout constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.annotations.compute_types import attributes_of_compute_type
from olympus_ir.programs.marks import attribute_text
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace

from .. import mlir
from ..context import LoweringContext
from ..marks import annotate
from ..tables import lowering_rules
from .calls import call_program
from .transfer import constrain_layout, in_memory


@lowering_rules.define(lax.xla_metadata_value_p)
def _xla_metadata_value(context: LoweringContext, operand: Any, *, xla_metadata_kvs: Any) -> Any:
    annotate(operand, {name: attribute_text(value) for name, value in xla_metadata_kvs})
    return operand


def _annotated_call(
    context: LoweringContext,
    name: str,
    jaxpr: Any,
    operands: Sequence[Any],
    attributes: Mapping[str, str],
) -> list[Any]:
    key = (name, tuple(sorted(attributes.items())))
    results = call_program(context, name, jaxpr, operands, key=key)
    if results:
        annotate(results[0], attributes)
    return results


def attr_get(x: Any) -> Any:
    """Converts a string value of `xla_metadata_call` to an MLIR attribute.

    Raises:
      NotImplementedError: the value is not a string.
    """
    if not isinstance(x, str):
        raise NotImplementedError(f"attributes of calls must be strings, got {x!r} of {type(x)}")
    return mlir.string(x)


@lowering_rules.define(lax.xla_metadata_call_p)
def _xla_metadata_call(
    context: LoweringContext, *operands: Any, jaxpr: Any, **attributes: str
) -> list[Any]:
    return _annotated_call(context, "xla_metadata_call", jaxpr, operands, attributes)


def _placed(context: LoweringContext, values: Sequence[Any], spaces: Sequence[Any]) -> list[Any]:
    """Moves values to the requested memory spaces."""
    return [
        in_memory(context, value, space) if space in MEMORY_KINDS else value
        for value, space in zip(values, spaces, strict=True)
    ]


@lowering_rules.define(lax.compute_on_p)
def _compute_on(
    context: LoweringContext,
    *operands: Any,
    jaxpr: Any,
    compute_type: str,
    out_memory_spaces: Sequence[Any],
    compiler_options_json: str | None,
) -> list[Any]:
    attributes = attributes_of_compute_type(compute_type)
    if compiler_options_json is not None:
        attributes = {**attributes, "backend_config": compiler_options_json}
    results = _annotated_call(context, "compute_on", jaxpr, operands, attributes)
    return _placed(context, results, out_memory_spaces)


@lowering_rules.define(lax.fused_call_p)
def _fused_call(
    context: LoweringContext, *operands: Any, jaxpr: Any, out_spaces: Sequence[Any]
) -> list[Any]:
    """Lowers a fused call: a function whose operations the compiler must fuse."""
    results = call_program(context, "fused_call", jaxpr, operands)
    elsewhere = [space if space is MemorySpace.Host else None for space in out_spaces]
    return _placed(context, results, elsewhere)


@lowering_rules.define(lax.shard_alike_p)
def _shard_alike(context: LoweringContext, x: Any, y: Any) -> list[Any]:
    if context.module.mesh is not None:
        group = mlir.i64(context.module.new_channel())
        for operand in (x, y):
            context.operation("sdy.sharding_group", [], [operand], {"group_id": group})
    return [x, y]


@lowering_rules.define(lax.layout_constraint_p)
def _layout_constraint(context: LoweringContext, operand: Any, layout: Any) -> Any:
    return constrain_layout(context, operand, context.aval_out, layout)
