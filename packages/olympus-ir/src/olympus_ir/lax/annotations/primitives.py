# SPDX-License-Identifier: Apache-2.0
"""Instructions that compute nothing: they annotate the program for the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics.errors import ShapeError
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.primitives import instruction
from ...types.avals import AbstractValue, ShapedArray

__all__ = [
    "compute_on_p",
    "fused_call_p",
    "layout_constraint_p",
    "shard_alike_p",
    "xla_metadata_call_p",
    "xla_metadata_value_p",
]

# out = xla_metadata_value[xla_metadata_kvs] operand: attaches pairs of names and values to the
# operation that computed the operand.
xla_metadata_value_p = instruction("xla_metadata_value", family="annotations")

# *outs = xla_metadata_call[jaxpr **attributes] *operands: a call with attributes.
xla_metadata_call_p = instruction(
    "xla_metadata_call", multiple_results=True, family="annotations", cache_inference=False
)

# *outs = compute_on[compiler_options_json compute_type jaxpr out_memory_spaces] *operands: a call
# that runs on another part of the machine.
compute_on_p = instruction(
    "compute_on", multiple_results=True, family="annotations", cache_inference=False
)

# *outs = fused_call[jaxpr out_spaces] *operands: a call that is compiled to one fused operation.
fused_call_p = instruction(
    "fused_call", multiple_results=True, family="annotations", cache_inference=False
)

# a, b = shard_alike x y: both operands, constrained to have the same sharding.
shard_alike_p = instruction("shard_alike", multiple_results=True, family="annotations")

# out = layout_constraint[layout] operand
layout_constraint_p = instruction("layout_constraint", family="annotations")

layout_constraint_p.linear_in = True
for _call in (xla_metadata_call_p, compute_on_p, fused_call_p):
    _call.linear_in = True
    _call.spreads_varying = False


@xla_metadata_value_p.def_abstract_eval
def _same_type(operand: ShapedArray, *, xla_metadata_kvs: tuple) -> ShapedArray:
    return operand


@xla_metadata_call_p.def_effectful_abstract_eval
def _types_of_program(
    *operands: AbstractValue, jaxpr: ClosedOlympuspr, **attributes: Any
) -> tuple[Sequence[AbstractValue], frozenset]:
    return jaxpr.out_avals, jaxpr.effects


def in_spaces(avals: Sequence[Any], spaces: Sequence[Any]) -> list[Any]:
    """Returns types with the given memory spaces. None stands for the device's default memory."""
    return [aval.update(memory_space=space) for aval, space in zip(avals, spaces, strict=True)]


@compute_on_p.def_effectful_abstract_eval
def _compute_on_types(
    *operands: AbstractValue,
    jaxpr: ClosedOlympuspr,
    out_memory_spaces: Sequence[Any],
    **params: Any,
) -> tuple[Sequence[AbstractValue], frozenset]:
    return in_spaces(jaxpr.out_avals, out_memory_spaces), jaxpr.effects


@fused_call_p.def_effectful_abstract_eval
def _fused_types(
    *operands: AbstractValue, jaxpr: ClosedOlympuspr, out_spaces: Sequence[Any]
) -> tuple[Sequence[AbstractValue], frozenset]:
    return in_spaces(jaxpr.out_avals, out_spaces), jaxpr.effects


@shard_alike_p.def_abstract_eval
def _both_types(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
    if x.shape != y.shape:
        raise ShapeError(
            f"shard_alike takes arrays of the same shape, got {x.str_short()} and {y.str_short()}."
        )
    return [x, y]


@layout_constraint_p.def_abstract_eval
def _laid_out_type(operand: ShapedArray, *, layout: Any) -> ShapedArray:
    return operand
