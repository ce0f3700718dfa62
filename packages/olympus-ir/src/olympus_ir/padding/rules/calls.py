# SPDX-License-Identifier: Apache-2.0
"""Padding rules of calls. Custom derivative rules of the called functions are preserved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import lax
from ...programs.evaluation import olympuspr_as_fun
from ...programs.olympuspr import ClosedOlympuspr, close_olympuspr, constants_as_inputs
from ...programs.staging import trace_to_closed
from ...types.avals import get_aval
from ..custom_calls import (
    PaddedBackward,
    PaddedForward,
    PaddedFunction,
    PaddedJvp,
    with_sizes,
)
from ..evaluation import Site, evaluate_padded, padding_rules
from ..lengths import Lengths


@padding_rules.define(lax.jit_p)
def _jit(site: Site, *operands: Any, jaxpr: ClosedOlympuspr, **params: Any) -> Any:
    return evaluate_padded(jaxpr, site.lengths, operands)


@padding_rules.define(lax.closed_call_p)
def _closed_call(site: Site, *operands: Any, call_jaxpr: ClosedOlympuspr, **params: Any) -> Any:
    return evaluate_padded(call_jaxpr, site.lengths, operands)


@padding_rules.define(lax.composite_p)
def _composite(site: Site, *operands: Any, jaxpr: ClosedOlympuspr, **params: Any) -> Any:
    return evaluate_padded(jaxpr, site.lengths, operands)


@padding_rules.define(lax.optimization_barrier_p)
def _optimization_barrier(site: Site, *operands: Any) -> Any:
    return lax.optimization_barrier_p.bind(*operands)


@padding_rules.define(lax.checkpoint_p)
def _checkpoint(site: Site, *operands: Any, jaxpr: Any, **params: Any) -> Any:
    names = tuple(site.lengths.variables)

    def run(*arguments: Any) -> list[Any]:
        lengths = Lengths(dict(zip(names, arguments, strict=False)))
        return evaluate_padded(close_olympuspr(jaxpr), lengths, arguments[len(names) :])

    arguments = [*site.lengths.variables.values(), *operands]
    padded = trace_to_closed(run, [get_aval(argument) for argument in arguments])
    open_program = constants_as_inputs(padded.jaxpr)
    return lax.checkpoint_p.bind(*padded.consts, *arguments, jaxpr=open_program, **params)


@padding_rules.define(lax.custom_jvp_call_p)
def _custom_jvp_call(
    site: Site,
    *operands: Any,
    call_jaxpr: ClosedOlympuspr,
    jvp_jaxpr_fun: Callable[..., Any],
    num_consts: int,
    symbolic_zeros: bool,
) -> Any:
    names = tuple(site.lengths.variables)
    fun = PaddedFunction(names, olympuspr_as_fun(call_jaxpr), site.operands)
    jvp = PaddedJvp(names, jvp_jaxpr_fun, site.operands)
    return lax.custom_jvp_call_p.bind(
        *site.lengths.variables.values(),
        *operands,
        subfuns=(fun, jvp),
        symbolic_zeros=symbolic_zeros,
        num_consts=len(names) + num_consts,
    )


@padding_rules.define(lax.custom_vjp_call_p)
def _custom_vjp_call(
    site: Site,
    *operands: Any,
    call_jaxpr: ClosedOlympuspr,
    fwd_jaxpr_thunk: Callable[..., Any],
    bwd: Callable[..., Any],
    num_consts: int,
    out_trees: Callable[[], tuple],
    symbolic_zeros: bool,
) -> Any:
    names = tuple(site.lengths.variables)
    fun = PaddedFunction(names, olympuspr_as_fun(call_jaxpr), site.operands)
    forward = PaddedForward(names, fwd_jaxpr_thunk, site.operands, symbolic_zeros)
    backward = PaddedBackward(names, bwd, forward, len(site.results))
    return lax.custom_vjp_call_p.bind(
        *site.lengths.variables.values(),
        *operands,
        subfuns=(fun, forward, backward),
        out_trees=with_sizes(out_trees, len(names)),
        symbolic_zeros=symbolic_zeros,
        num_consts=len(names) + num_consts,
    )
