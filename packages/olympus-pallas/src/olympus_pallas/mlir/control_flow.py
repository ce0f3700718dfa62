# SPDX-License-Identifier: Apache-2.0
"""Lowers control flow and calls in kernels to the dialect ``scf``.

A region can use the values and references of the enclosing code. So loops carry only values that
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.calls.primitives import PROGRAM_OF_CALL
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Literal, Olympuspr

from .building import BOOL, INT32, KernelBuilder, KernelLoweringError
from .elementwise import compare
from .tables import define_for_both


@define_for_both(lax.cond_p)
def _cond(builder: KernelBuilder, index: Any, *operands: Any, branches: Any, **params: Any) -> Any:
    dtype = builder.avals_in[0].dtype
    types = [builder.value_type(aval) for aval in branches[0].out_avals]
    return _choose(builder, index, dtype, list(branches), operands, types, 0)


def _choose(
    builder: KernelBuilder,
    index: Any,
    dtype: Any,
    branches: Sequence[ClosedOlympuspr],
    operands: Sequence[Any],
    types: Sequence[Any],
    first: int,
) -> list[Any]:
    """Returns the results of the branch that an index chooses.

    The parameter ``first`` is the index of the first branch.
    """
    if len(branches) == 1:
        return builder.lower(branches[0], operands)
    if dtype == BOOL:
        is_later = index
    else:
        is_later = compare(builder, "gt", index, builder.scalar(first, dtype), dtype)
    choice = builder.operation("scf.if", types, [is_later], regions=2)
    later = builder.region(choice, 0)
    later.end(_choose(later, index, dtype, branches[1:], operands, types, first + 1))
    now = builder.region(choice, 1)
    now.end(now.lower(branches[0], operands))
    return list(choice.results)


@define_for_both(lax.scan_p)
def _scan(
    builder: KernelBuilder,
    *operands: Any,
    jaxpr: ClosedOlympuspr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: int = 1,
    **params: Any,
) -> list[Any]:
    layout = ScanLayout(num_consts, num_carry)
    consts, carry, xs = map(list, layout.operands(operands))
    if xs or len(jaxpr.out_avals) > num_carry:
        raise KernelLoweringError(
            f"the {builder.language} lowering of kernels has loops that carry values, but no "
            "scans over arrays. Use lax.fori_loop, and references for what is read and written."
        )
    counter = _counter_position(jaxpr.jaxpr, layout)
    if length <= max(unroll, 1) and length <= 16:
        for _ in range(length):
            carry = builder.lower(jaxpr, [*consts, *carry])
        return carry
    start = carry.pop(counter) if counter is not None else builder.int32(0)
    stop = builder.add(start, builder.int32(length)) if counter is not None else None
    if stop is None:
        stop = builder.int32(length)

    def body(inner: KernelBuilder, index: Any, values: list[Any]) -> list[Any]:
        if counter is None:
            return inner.lower(jaxpr, [*consts, *values])
        values.insert(counter, index)
        results = inner.lower(jaxpr, [*consts, *values])
        del results[counter]
        return results

    results = for_loop(builder, start, stop, carry, body)
    if counter is not None:
        results.insert(counter, stop)
    return results


def for_loop(
    builder: KernelBuilder, start: Any, stop: Any, carry: Sequence[Any], body: Any
) -> list[Any]:
    """Builds ``scf.for`` with step one; ``body(builder, index, values)`` returns the new values."""
    types = [value.type for value in carry]
    bounds = [start, stop, builder.int32(1)]
    loop = builder.operation("scf.for", types, [*bounds, *carry], regions=1)
    inner = builder.region(loop, 0, [start.type, *types])
    index, *values = inner.block.arguments
    inner.end(body(inner, index, values))
    return list(loop.results)


def _counter_position(program: Olympuspr, layout: ScanLayout) -> int | None:
    """Returns the position of the carried value that counts iterations, or None."""
    producers: dict[Any, Any] = {
        var: equation for equation in program.eqns for var in equation.outvars
    }
    for position, var in enumerate(layout.operands(program.invars).carry):
        equation = producers.get(program.outvars[position])
        if (
            equation is not None
            and equation.primitive is lax.add_p
            and var.aval.dtype == INT32
            and not var.aval.shape
            and equation.invars[0] is var
            and equation.invars[1].__class__ is Literal
            and equation.invars[1].val == 1
        ):
            return position
    return None


@define_for_both(lax.while_p)
def _while(builder: KernelBuilder, *operands: Any, **params: Any) -> list[Any]:
    loop_operands, params = with_scalar_condition(operands, params)
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, carry = WhileLayout.of(params).operands(loop_operands)
    types = [value.type for value in carry]
    loop = builder.operation("scf.while", types, carry, regions=2)
    before = builder.region(loop, 0, types)
    values = list(before.block.arguments)
    (go_on,) = before.lower(cond_jaxpr, [*cond_consts, *values])
    before.end([go_on, *values], "scf.condition")
    after = builder.region(loop, 1, types)
    after.end(after.lower(body_jaxpr, [*body_consts, *after.block.arguments]))
    return list(loop.results)


# ---- calls, which are inlined ----


def _inline(parameter: str) -> Any:
    def rule(builder: KernelBuilder, *operands: Any, **params: Any) -> list[Any]:
        return builder.lower(params[parameter], operands)

    return rule


for _primitive, _parameter in PROGRAM_OF_CALL.items():
    define_for_both(_primitive, _inline(_parameter))
