# SPDX-License-Identifier: Apache-2.0
"""Forward passes of `custom_vjp` that become plain calls if their residuals are unused.

A forward pass may be a single operation, such as a kernel that computes result and residuals
together. Under `checkpoint` it runs twice, the first time for the result alone. With
``optimize_remat``, the forward pass is a single equation, `remat_opt`. Dead-code elimination
replaces the equation by a call of the function if the residuals are unused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.dead_code import dce_closed, dead_code_rules
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import separate_constants, trace_to_closed
from olympus_ir.programs.tracing import current, evaluation_trace

from ..zeros import aval_of

__all__ = ["forward_call", "remat_opt_p"]

# residuals and results = remat_opt *constants, *arguments
#   fwd_jaxpr: the forward pass, from constants and arguments to residuals and results.
#   fun_jaxpr_thunk: returns the program of the function and its closed-over values.
#   num_consts, num_res: the numbers of constants and of residuals.
remat_opt_p = Primitive.declare("remat_opt", multiple_results=True, cache_inference=False)


@remat_opt_p.def_effectful_abstract_eval
def _types(*avals: Any, fwd_jaxpr: ClosedOlympuspr, **params: Any) -> tuple[list[Any], frozenset]:
    return fwd_jaxpr.out_avals, fwd_jaxpr.effects


def _forward(*operands: Any, fwd_jaxpr: ClosedOlympuspr, **params: Any) -> list[Any]:
    return eval_olympuspr(fwd_jaxpr.jaxpr, fwd_jaxpr.consts, *operands)


expansion_rules.define(remat_opt_p, _forward)


def forward_call(
    fun: Callable[..., Sequence[Any]],
    fwd: Callable[..., Sequence[Any]],
    num_residuals: Callable[[], int],
    leaves: Sequence[Any],
) -> list[Any]:
    """Calls a forward pass; records one equation while a program is traced.

    Args:
      fun: the function of flat arguments.
      fwd: the forward pass, from flat arguments to residuals and results.
      num_residuals: a function that returns the number of residuals once the forward pass has run.
      leaves: the arguments.
    """
    if current.trace is evaluation_trace:
        return list(fwd(*leaves))
    avals = [aval_of(leaf) for leaf in leaves]
    closed = trace_to_closed(fwd, avals, DebugInfo.of("custom_vjp fwd", fwd))
    constants, closed = separate_constants(closed)

    @functools.cache
    def fun_jaxpr_thunk() -> tuple[list[Any], ClosedOlympuspr]:
        return separate_constants(trace_to_closed(fun, avals, DebugInfo.of("custom_vjp fun", fun)))

    return remat_opt_p.bind(
        *constants,
        *leaves,
        fwd_jaxpr=closed,
        fun_jaxpr_thunk=fun_jaxpr_thunk,
        num_consts=len(constants),
        num_res=num_residuals(),
    )


@dead_code_rules.define(remat_opt_p)
def _dead_code(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    num_consts, num_residuals = params["num_consts"], params["num_res"]
    if not any(used_results[:num_residuals]):
        closed_over, program = params["fun_jaxpr_thunk"]()
        if not closed_over:
            return _call_of_function(equation, program, used_results)
    program, used = dce_closed(params["fwd_jaxpr"], used_results)
    reduced = equation.replace(
        invars=_chosen(equation.invars, used),
        outvars=_chosen(equation.outvars, used_results),
        params={
            **params,
            "fwd_jaxpr": program,
            "num_consts": sum(used[:num_consts]),
            "num_res": sum(used_results[:num_residuals]),
        },
        effects=program.effects,
    )
    # While some residuals are used, a later pass may still replace the equation by a call of the
    # function. The call takes all arguments and returns all results, so the equation keeps all
    # arguments and results.
    complete = all(used[num_consts:]) and all(used_results[num_residuals:])
    if not complete and any(used_results[num_residuals:]):
        return equation, [True] * len(equation.invars)
    return reduced, used


def _call_of_function(
    equation: Equation, program: ClosedOlympuspr, used_results: list[bool]
) -> tuple[Equation, list[bool]]:
    num_consts, num_residuals = equation.params["num_consts"], equation.params["num_res"]
    program, used = dce_closed(program, used_results[num_residuals:])
    used_operands = [False] * num_consts + list(used)
    call = equation.replace(
        primitive=lax.closed_call_p,
        invars=_chosen(equation.invars, used_operands),
        outvars=_chosen(equation.outvars, used_results),
        params={"call_jaxpr": program},
        effects=program.effects,
    )
    return call, used_operands


def _chosen(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [item for item, flag in zip(items, flags, strict=True) if flag]
