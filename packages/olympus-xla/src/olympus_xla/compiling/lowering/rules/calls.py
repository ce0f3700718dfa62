# SPDX-License-Identifier: Apache-2.0
"""Lowering of calls. Each called program becomes one function of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import ClosedOlympuspr, close_olympuspr
from olympus_ir.types import effects

from .. import mlir
from ..context import LoweringContext, program_key
from ..layouts import partial_sums_as_typed
from ..names import IN_FUNCTIONS, name_call, name_scope, scope_of
from ..program_passes import prepared_in
from ..tables import lowering_rules
from . import composites as composites  # The import defines more rules of the family.
from .transfer import placed


def ordered_effects_of(program: Any) -> list[Any]:
    """Returns the ordered effects of a program, in a fixed order."""
    if not program.effects:
        return []
    return sorted(effects.ordered_effects.filter_in(program.effects), key=str)


def call_program(
    context: LoweringContext,
    name: str,
    closed: Any,
    operands: Sequence[Any],
    key: Any = None,
    scope: str | None = None,
) -> list[Any]:
    """Calls a program as a function of the module, and passes the tokens of its ordered effects.

    Args:
      context: the block.
      name: the function's name.
      closed: the program.
      operands: the operands.
      key: distinguishes the function from others for the same program.
      scope: a scope around the names of the function's operations; by default their prefix is
        ``name``.
    """
    ordered = ordered_effects_of(closed)
    symbol = context.module.function_for(
        (program_key(closed), name, key),
        name,
        prepared_in(context, closed),
        IN_FUNCTIONS,
        ordered,
        context.platforms,
    )
    tokens = [context.tokens[effect] for effect in ordered]
    result_types = [mlir.token_type()] * len(ordered) + [
        mlir.aval_type(aval) for aval in closed.out_avals
    ]
    if scope is None:
        name_call(context, name)
    else:
        name_scope(context, scope)
    results = context.call(symbol, result_types, [*tokens, *operands])
    for effect, token in zip(ordered, results, strict=False):
        context.tokens[effect] = token
    return results[len(ordered) :]


@lowering_rules.define(lax.jit_p)
def _jit(context: LoweringContext, *operands: Any, jaxpr: Any, name: str, **params: Any) -> Any:
    inputs = placed(
        context, operands, context.avals_in, params["in_shardings"], params["in_layouts"]
    )
    results = call_program(context, name, jaxpr, inputs, scope=f"jit({name})")
    return placed(
        context, results, context.avals_out, params["out_shardings"], params["out_layouts"]
    )


@lowering_rules.define(lax.closed_call_p)
def _closed_call(
    context: LoweringContext, *operands: Any, call_jaxpr: Any, **params: Any
) -> list[Any]:
    return call_program(context, "closed_call", call_jaxpr, operands)


def _in_place(context: LoweringContext, *operands: Any, call_jaxpr: Any, **params: Any) -> Any:
    prefix = context.name_prefix
    context.name_prefix = scope_of(context, "")
    results = context.lower(call_jaxpr, operands)
    context.name_prefix = prefix
    return results


lowering_rules.define(lax.custom_jvp_call_p, _in_place)
lowering_rules.define(lax.custom_vjp_call_p, _in_place)


@lowering_rules.define(lax.checkpoint_p)
def _checkpoint(
    context: LoweringContext,
    *operands: Any,
    jaxpr: Any,
    prevent_cse: Any,
    differentiated: bool,
    policy: Any,
) -> list[Any]:
    closed = jaxpr if isinstance(jaxpr, ClosedOlympuspr) else close_olympuspr(jaxpr)
    isolates = prevent_cse if isinstance(prevent_cse, bool) else any(prevent_cse)
    if differentiated and isolates and operands:
        # Without a barrier, XLA would merge the recomputation with the first computation and keep
        # its values.
        types = [operand.type for operand in operands]
        results = context.operation("stablehlo.optimization_barrier", types, operands).results
        operands = partial_sums_as_typed(context, context.avals_in, results)
    return call_program(context, "checkpoint", closed, operands)


@lowering_rules.define(lax.optimization_barrier_p)
def _optimization_barrier(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    if not operands:
        return []
    return list(
        context.operation("stablehlo.optimization_barrier", context.result_types, operands).results
    )
