# SPDX-License-Identifier: Apache-2.0
"""Parts of a program that XLA's CPU backend compiles separately.

A `separate_call` is not fused with the rest: its results are computed once and written to memory.
XLA removes optimization barriers before it fuses operations, so they do not have this effect.

A `native_loop` is compiled to one machine function, including its loops. Otherwise XLA starts each
operation of a loop's body separately, in 0.1 to 1 us. Within one function, an iteration takes a few
ns, so loops over small arrays are fast. Such a program runs on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import get_aval

from .. import mlir
from ..context import LoweringContext
from ..names import IN_FUNCTIONS
from ..tables import lowering_rules

# *results = separate_call[call_jaxpr is_one_function] *operands
separate_call_p = Primitive("separate_call")
separate_call_p.multiple_results = True


def separate_call(function: Callable[..., Any], *operands: Any) -> Any:
    """Calls a function of arrays that has one result. XLA does not inline the call."""
    return _called(function, operands, is_one_function=False)


def native_loop(function: Callable[..., Any], *operands: Any) -> Any:
    """Calls a function of arrays that has one result. XLA compiles it to one machine function."""
    return _called(function, operands, is_one_function=True)


def _called(function: Callable[..., Any], operands: Sequence[Any], *, is_one_function: bool) -> Any:
    closed = trace_to_closed(lambda *args: [function(*args)], tuple(map(get_aval, operands)))
    (result,) = separate_call_p.bind(*operands, call_jaxpr=closed, is_one_function=is_one_function)
    return result


@separate_call_p.def_abstract_eval
def _types(*avals: Any, call_jaxpr: ClosedOlympuspr, is_one_function: bool) -> Sequence[Any]:
    return call_jaxpr.out_avals


@lowering_rules.define(separate_call_p)
def _call(
    context: LoweringContext, *operands: Any, call_jaxpr: ClosedOlympuspr, is_one_function: bool
) -> list[Any]:
    if not is_one_function:
        return context.call_separately(call_jaxpr, "separate_call", operands)
    symbol = context.module.function_for(
        (id(call_jaxpr), "native_loop"), "native_loop", call_jaxpr, IN_FUNCTIONS, ()
    )
    attributes = {
        "callee": mlir.symbol(symbol),
        "mhlo.frontend_attributes": mlir.dictionary({"xla_cpu_small_call": mlir.string("true")}),
    }
    result_types = [mlir.aval_type(aval) for aval in call_jaxpr.out_avals]
    return list(context.operation("func.call", result_types, operands, attributes).results)
