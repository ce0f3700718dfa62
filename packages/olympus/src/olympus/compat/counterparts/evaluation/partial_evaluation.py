# SPDX-License-Identifier: Apache-2.0
"""Rearrangement of programs and of their parts, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olympus_ir.adapters.partial_evaluation import PartialVal, partially_evaluate
from olympus_ir.adapters.wrapped_functions import WrappedFun
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Olympuspr,
    close_olympuspr,
    constants_as_inputs,
    joined_effects,
)
from olympus_ir.programs.staging import trace_to_closed, trace_to_olympuspr
from olympus_ir.types.avals import AbstractValue

from ..lists import merge_lists, partition_list

__all__ = [
    "abstract_eval_fun",
    "make_olympuspr_effects",
    "move_binders_to_back",
    "move_binders_to_front",
    "move_outvars_to_back",
    "partial_eval_olympuspr_nounits",
    "prune_closed_olympuspr_outputs",
    "prune_olympuspr_outputs",
]


def partial_eval_olympuspr_nounits(
    jaxpr: ClosedOlympuspr,
    unknowns: Sequence[bool],
    instantiate: bool | Sequence[bool],
) -> tuple[ClosedOlympuspr, ClosedOlympuspr, list[bool], list[AbstractValue]]:
    """Splits a program into the part that some inputs determine, and the rest.

    Args:
      jaxpr: the program.
      unknowns: for each input, whether the second part takes it.
      instantiate: for each result, or for all, whether the second part returns it even if it is
        known.

    Returns:
      The first part, which maps the known inputs to the known results and the residuals. The
      second part, which maps the residuals and the unknown inputs to the other results. For each
      result, whether the second part returns it. The types of the residuals.
    """
    fun = olympuspr_as_fun(jaxpr)
    known_avals, _ = partition_list(unknowns, jaxpr.in_avals)
    unknown: Olympuspr | None = None
    unknown_out: list[bool] = []

    def known_part(*known: Any) -> list[Any]:
        nonlocal unknown, unknown_out
        values = merge_lists(unknowns, known, [None] * sum(map(bool, unknowns)))
        operands = [
            PartialVal.unknown(aval) if is_unknown else PartialVal.known(value)
            for aval, value, is_unknown in zip(jaxpr.in_avals, values, unknowns, strict=True)
        ]
        unknown, results, residuals = partially_evaluate(
            fun, operands, instantiate, jaxpr.debug_info
        )
        unknown_out = [not result.is_known() for result in results]
        return [*(r.get_known() for r in results if r.is_known()), *residuals]

    known = trace_to_closed(known_part, known_avals, jaxpr.debug_info)
    assert unknown is not None
    rest = close_olympuspr(constants_as_inputs(unknown))
    residual_avals = known.out_avals[unknown_out.count(False) :]
    return known, rest, unknown_out, residual_avals


def _moved(items: Sequence[Any], to_move: Sequence[bool], *, front: bool) -> list[Any]:
    others, moved = partition_list(to_move, items)
    return [*moved, *others] if front else [*others, *moved]


def move_binders_to_front(
    closed_jaxpr: ClosedOlympuspr, to_move: Sequence[bool]
) -> ClosedOlympuspr:
    """Returns the program whose flagged inputs come first."""
    jaxpr = closed_jaxpr.jaxpr
    invars = _moved(jaxpr.invars, to_move, front=True)
    return closed_jaxpr.replace(jaxpr=jaxpr.replace(invars=invars))


def move_binders_to_back(closed_jaxpr: ClosedOlympuspr, to_move: Sequence[bool]) -> ClosedOlympuspr:
    """Returns the program whose flagged inputs come last."""
    return move_binders_to_front(closed_jaxpr, [not flag for flag in to_move])


def move_outvars_to_back(jaxpr: ClosedOlympuspr, to_move: Sequence[bool]) -> ClosedOlympuspr:
    """Returns the program whose flagged results come last."""
    outvars = _moved(jaxpr.jaxpr.outvars, to_move, front=False)
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(outvars=outvars))


def prune_olympuspr_outputs(jaxpr: Olympuspr, used_outputs: Sequence[bool]) -> Olympuspr:
    """Returns the program without its unused results and equations that only these need."""
    return dce_olympuspr(jaxpr, list(used_outputs), instantiate=True)[0]


def prune_closed_olympuspr_outputs(
    jaxpr: ClosedOlympuspr, used_outputs: Sequence[bool]
) -> ClosedOlympuspr:
    """Returns the closed program without its unused results and equations that only these need."""
    values = dict(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
    pruned = prune_olympuspr_outputs(jaxpr.jaxpr, used_outputs)
    return ClosedOlympuspr(pruned, [values[var] for var in pruned.constvars])


def make_olympuspr_effects(
    constvars: Sequence[Any], invars: Sequence[Any], outvars: Iterable[Any], eqns: Sequence[Any]
) -> frozenset[Any]:
    """Returns the effects of a program, given its variables and equations."""
    return joined_effects(eqns, [*constvars, *invars])


def abstract_eval_fun(
    fun: Callable[..., Any], *avals: AbstractValue, debug_info: Any, **params: Any
) -> list[AbstractValue]:
    """Returns the types of the results of a function of flat operands."""
    call = fun.call_wrapped if isinstance(fun, WrappedFun) else fun

    def with_params(*operands: Any) -> Any:
        return call(*operands, **params)

    return trace_to_olympuspr(with_params, avals, debug_info)[0].out_avals
