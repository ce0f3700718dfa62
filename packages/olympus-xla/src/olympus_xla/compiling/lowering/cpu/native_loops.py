# SPDX-License-Identifier: Apache-2.0
"""Programs that XLA's CPU backend compiles to one function, including their loops.

Otherwise XLA starts each operation of a loop's body separately, in 0.1 to 1 us. Within one
function, an iteration takes a few ns, so loops over small arrays are fast. Such a program runs on
one thread.
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

# *results = native_loop[call_jaxpr] *operands
native_loop_p = Primitive("native_loop")
native_loop_p.multiple_results = True


def native_loop(function: Callable[..., Any], *operands: Any) -> Any:
    """Applies a function of arrays with one result, compiled to one machine function."""
    closed = trace_to_closed(lambda *args: [function(*args)], tuple(map(get_aval, operands)))
    (result,) = native_loop_p.bind(*operands, call_jaxpr=closed)
    return result


@native_loop_p.def_abstract_eval
def _types(*avals: Any, call_jaxpr: ClosedOlympuspr) -> Sequence[Any]:
    return call_jaxpr.out_avals


@lowering_rules.define(native_loop_p)
def _call(context: LoweringContext, *operands: Any, call_jaxpr: ClosedOlympuspr) -> list[Any]:
    symbol = context.module.function_for(
        (id(call_jaxpr), "native_loop"), "native_loop", call_jaxpr, IN_FUNCTIONS, ()
    )
    attributes = {
        "callee": mlir.symbol(symbol),
        "mhlo.frontend_attributes": mlir.dictionary({"xla_cpu_small_call": mlir.string("true")}),
    }
    result_types = [mlir.aval_type(aval) for aval in call_jaxpr.out_avals]
    return list(context.operation("func.call", result_types, operands, attributes).results)
