# SPDX-License-Identifier: Apache-2.0
"""Lowering of branches and loops.

Regions can refer to values of enclosing blocks, so loops carry only values that change. Tokens of
ordered effects are the first carried values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import split_operands
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.platforms import index_of_platform
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.programs.olympuspr import ClosedOlympuspr

from .. import mlir
from ..context import LoweringContext
from ..layouts import partial_sums_as_typed
from ..names import name_call, scope_of
from ..platforms import by_platform
from ..program_passes import prepared_in
from ..tables import lowering_rules
from .calls import call_program, ordered_effects_of

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)


def _ordered(programs: Sequence[ClosedOlympuspr]) -> list[Any]:
    found = {effect for program in programs for effect in ordered_effects_of(program)}
    return sorted(found, key=str)


def _enter(context: LoweringContext, effects: Sequence[Any], tokens: Sequence[Any]) -> None:
    context.tokens.update(zip(effects, tokens, strict=True))


@lowering_rules.define(lax.platform_index_p)
def _platform_index(context: LoweringContext, *, platforms: Any) -> Any:
    def emit(inner: LoweringContext) -> list[Any]:
        return [inner.scalar(index_of_platform(platforms, inner.platforms[0]), _INT32)]

    (index,) = _on_each_platform(context, emit, context.result_types)
    return index


def _on_each_platform(
    context: LoweringContext, emit: Any, result_types: Sequence[Any], effects: Sequence[Any] = ()
) -> list[Any]:
    if len(context.platforms) == 1:
        return emit(context)
    return by_platform(context, emit, result_types, effects)


@lowering_rules.define(lax.cond_p)
def _cond(
    context: LoweringContext,
    index: Any,
    *operands: Any,
    branches: Any,
    branches_platforms: Any = None,
    **params: Any,
) -> list[Any]:
    effects = _ordered(branches)
    if branches_platforms is not None:
        # Only the branch of the actual platform is lowered, because other branches may not compile.
        def emit(inner: LoweringContext) -> list[Any]:
            position = index_of_platform(branches_platforms, inner.platforms[0])
            prefix = inner.name_prefix
            inner.name_prefix = scope_of(inner, f"cond/branch_{position}_fun")
            results = inner.lower(branches[position], operands)
            inner.name_prefix = prefix
            return results

        return _on_each_platform(context, emit, context.result_types, effects)
    index_aval = context.avals_in[0]
    if index_aval.dtype == _BOOL:
        index = context.convert(index, (), _INT32)
    types = [mlir.token_type()] * len(effects) + context.result_types
    case = context.operation("stablehlo.case", types, [index], regions=len(branches))
    for position, branch in enumerate(branches):
        inner = context.region(case, position, ())
        inner.name_prefix = scope_of(context, f"cond/branch_{position}_fun")
        results = inner.lower(branch, operands)
        inner.end_region([*(inner.tokens[effect] for effect in effects), *results])
    results = list(case.results)
    _enter(context, effects, results[: len(effects)])
    return results[len(effects) :]


def while_loop(
    context: LoweringContext,
    initial: Sequence[Any],
    types: Sequence[Any],
    condition: Any,
    body: Any,
    effects: Sequence[Any] = (),
) -> list[Any]:
    """Builds a ``stablehlo.while``.

    Args:
      context: the block.
      initial: the carried values before the loop.
      types: the MLIR types of the carried values.
      condition: takes a context and the carried values, and returns a boolean scalar.
      body: takes a context and the carried values, and returns the next carried values.
      effects: ordered effects, whose tokens are carried first.
    """
    tokens = [context.tokens[effect] for effect in effects]
    all_types = [mlir.token_type()] * len(effects) + list(types)
    loop = context.operation("stablehlo.while", all_types, [*tokens, *initial], regions=2)
    count = len(effects)

    inner = context.region(loop, 0, all_types)
    arguments = list(inner.block.arguments)
    _enter(inner, effects, arguments[:count])
    inner.end_region([condition(inner, arguments[count:])])

    inner = context.region(loop, 1, all_types)
    arguments = list(inner.block.arguments)
    _enter(inner, effects, arguments[:count])
    results = body(inner, arguments[count:])
    inner.end_region([*(inner.tokens[effect] for effect in effects), *results])

    results = list(loop.results)
    _enter(context, effects, results[:count])
    return results[count:]


@lowering_rules.define(lax.while_p)
def _while(context: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
    loop_operands, params = with_scalar_condition(operands, params)
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, initial = WhileLayout.of(params).operands(loop_operands)
    effects = _ordered([cond_jaxpr, body_jaxpr])
    prefix = scope_of(context, "while")

    def condition(inner: LoweringContext, carry: Sequence[Any]) -> Any:
        inner.name_prefix = f"{prefix}/cond"
        (predicate,) = inner.lower(cond_jaxpr, [*cond_consts, *carry])
        return predicate

    def body(inner: LoweringContext, carry: Sequence[Any]) -> list[Any]:
        inner.name_prefix = f"{prefix}/body"
        return inner.lower(prepared_in(inner, body_jaxpr), [*body_consts, *carry])

    return while_loop(context, initial, context.result_types, condition, body, effects)


def _index_slice(context: LoweringContext, operand: Any, aval: Any, index: Any) -> Any:
    """Builds ``operand[index]`` for an operand whose physical type is ``aval``."""
    shape = aval.shape
    zero = context.scalar(0, _INT32)
    piece = context.create(
        "stablehlo.dynamic_slice",
        mlir.tensor_type((1, *shape[1:]), aval.dtype),
        (operand, index, *[zero] * (len(shape) - 1)),
        {"slice_sizes": mlir.i64_array((1, *shape[1:]))},
    )
    piece = _partial_sum_as_typed(context, aval, piece, is_slice=True)
    return context.reshape(piece, shape[1:], aval.dtype)


def _index_update(context: LoweringContext, operand: Any, aval: Any, value: Any, index: Any) -> Any:
    """Builds ``operand.at[index].set(value)``."""
    shape = aval.shape
    zero = context.scalar(0, _INT32)
    piece = context.reshape(value, (1, *shape[1:]), aval.dtype)
    piece = _partial_sum_as_typed(context, aval, piece, is_slice=True)
    updated = context.create(
        "stablehlo.dynamic_update_slice",
        mlir.tensor_type(shape, aval.dtype),
        (operand, piece, index, *[zero] * (len(shape) - 1)),
    )
    return _partial_sum_as_typed(context, aval, updated)


def _partial_sum_as_typed(
    context: LoweringContext, aval: Any, value: Any, *, is_slice: bool = False
) -> Any:
    """Constrains an unreduced value to its sharding, so the partitioner does not sum it.

    Args:
      context: the block.
      aval: the type of the value.
      value: the value.
      is_slice: whether the value is one slice along the leading dimension of a value of this type.
    """
    if aval.layout is None or not aval.layout.spec.unreduced:
        return value
    if is_slice:
        aval = aval.update(shape=(1, *aval.shape[1:]))
    return partial_sums_as_typed(context, [aval], [value])[0]


def _zeros(context: LoweringContext, aval: Any) -> Any:
    """Returns zeros of a type."""
    return _partial_sum_as_typed(context, aval, context.full(0, aval.shape, aval.dtype))


def _advanced(context: LoweringContext, counter: Any, by: int) -> Any:
    """Returns ``counter + by`` for int32 scalars."""
    step = context.scalar(by, _INT32)
    return context.create("stablehlo.add", mlir.tensor_type((), _INT32), (counter, step))


@lowering_rules.define(lax.scan_p)
def _scan(
    context: LoweringContext,
    *operands: Any,
    jaxpr: Any,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: int = 1,
    **params: Any,
) -> list[Any]:
    layout = ScanLayout(num_consts, num_carry)
    consts, carry, xs = layout.operands(operands)
    xs_avals = [mlir.physical_aval(aval) for aval in layout.operands(context.avals_in).xs]
    ys_avals = [mlir.physical_aval(aval) for aval in layout.results(context.avals_out).ys]
    effects = _ordered([jaxpr])
    ys = [_zeros(context, aval) for aval in ys_avals]
    prefix = scope_of(context, "while/body")
    name_call(context, "while")
    is_symbolic = type(length) is not int
    if is_symbolic:
        unroll = 1  # a symbolic number of steps has no known divisor
    unroll = max(1, min(int(unroll), length)) if length and not is_symbolic else 1
    steps, rest = divmod(length, unroll)

    def step(inner: LoweringContext, counter: Any, carry: Any, ys: Any) -> tuple[Any, Any]:
        """Applies the body once, at iteration ``counter``."""
        index = _from_the_end(inner, counter, length) if reverse else counter
        slices = [_index_slice(inner, x, aval, index) for x, aval in zip(xs, xs_avals, strict=True)]
        arguments = [*consts, *carry, *slices]
        if unroll == 1:
            results = inner.lower(prepared_in(inner, jaxpr), arguments)
        else:
            results = call_program(inner, "body", jaxpr, arguments)
        carry, slices = layout.results(results)
        new_ys = [
            _index_update(inner, y, aval, value, index)
            for y, aval, value in zip(ys, ys_avals, slices, strict=True)
        ]
        return carry, new_ys

    def condition(inner: LoweringContext, values: Sequence[Any]) -> Any:
        bound = inner.scalar(steps * unroll, _INT32)
        return inner.compare("LT", values[0], bound, (), _INT32)

    def body(inner: LoweringContext, values: Sequence[Any]) -> list[Any]:
        inner.name_prefix = prefix
        counter = values[0]
        carry, ys = layout.results(values[1:])
        for offset in range(unroll):
            at = counter if offset == 0 else _advanced(inner, counter, offset)
            carry, ys = step(inner, at, carry, ys)
        return [_advanced(inner, counter, unroll), *carry, *ys]

    if is_symbolic or steps > 1 or (steps == 1 and unroll == 1):
        types = [mlir.tensor_type((), _INT32), *context.result_types]
        initial = [context.scalar(0, _INT32), *carry, *ys]
        results = while_loop(context, initial, types, condition, body, effects)
        carry, ys = layout.results(results[1:])
    elif steps == 1:
        rest += unroll
    for offset in range(0 if is_symbolic else length - rest, 0 if is_symbolic else length):
        carry, ys = step(context, context.scalar(offset, _INT32), carry, ys)
    return [*carry, *ys]


def _from_the_end(context: LoweringContext, counter: Any, length: int) -> Any:
    """Returns the index of iteration ``counter`` of a loop that runs in reverse."""
    last = context.scalar(length - 1, _INT32)
    return context.create("stablehlo.subtract", mlir.tensor_type((), _INT32), (last, counter))


@lowering_rules.define(lax.linear_solve_p)
def _linear_solve(
    context: LoweringContext, *operands: Any, const_lengths: Any, jaxprs: Any
) -> list[Any]:
    """Lowers the program of the solver. The other programs in ``jaxprs`` only serve derivatives."""
    consts, right_hand_sides = split_operands(operands, const_lengths)
    return context.lower(jaxprs.solve, [*consts.solve, *right_hand_sides])
