# SPDX-License-Identifier: Apache-2.0
"""Parts of a program that XLA's CPU backend does not fuse with the rest.

XLA removes optimization barriers before it fuses operations. A function that XLA does not inline is
compiled by itself: its results are computed once and written to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import get_aval

from ..context import LoweringContext
from ..tables import lowering_rules

# *results = separate_call[call_jaxpr] *operands
separate_call_p = Primitive("separate_call")
separate_call_p.multiple_results = True


def separate_call(function: Callable[..., Any], *operands: Any) -> Any:
    """Applies a function of arrays with one result, which XLA does not inline."""
    closed = trace_to_closed(lambda *args: [function(*args)], tuple(map(get_aval, operands)))
    (result,) = separate_call_p.bind(*operands, call_jaxpr=closed)
    return result


@separate_call_p.def_abstract_eval
def _types(*avals: Any, call_jaxpr: ClosedOlympuspr) -> Sequence[Any]:
    return call_jaxpr.out_avals


@lowering_rules.define(separate_call_p)
def _call(context: LoweringContext, *operands: Any, call_jaxpr: ClosedOlympuspr) -> list[Any]:
    return context.call_separately(call_jaxpr, "separate_call", operands)
