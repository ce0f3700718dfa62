# SPDX-License-Identifier: Apache-2.0
"""Padding rules of control flow.

A `scan` of symbolic length runs for the padded number of steps. Steps beyond the true length leave
the carry unchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import lax
from ...lax.control_flow.linear_solves import LinearSolveParts, linear_solve_p, split_operands
from ...lax.control_flow.operands import ScanLayout, ScanOperands, WhileLayout
from ...lax.control_flow.platforms import platform_index_p
from ...lax.control_flow.primitives import cond_p, scan_p, while_p
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.staging import separate_constants, trace_to_closed
from ...symbolic.expressions import SymbolicDim
from ...types.avals import ShapedArray
from ..evaluation import Site, padding_rules, run_inner
from ..lengths import Lengths


def _padded_program(site: Site, closed: ClosedOlympuspr) -> tuple[list[Any], ClosedOlympuspr]:
    """Returns a program's constants, and the padded program, which takes the constants first."""
    avals = [aval.update(shape=site.lengths.shape(aval.shape)) for aval in closed.in_avals]
    traced = trace_to_closed(lambda *args: run_inner(closed, site.lengths, args), avals)
    return separate_constants(traced)


@padding_rules.define(cond_p)
def _cond(
    site: Site, index: Any, *operands: Any, branches: Sequence[ClosedOlympuspr], **params: Any
) -> Any:
    runs = [_runner(site.lengths, branch) for branch in branches]
    if site.operands[0].dtype == bool:
        return lax.cond(index, runs[1], runs[0], *operands)
    return lax.switch(index, runs, *operands)


def _runner(lengths: Lengths, closed: ClosedOlympuspr) -> Callable[..., tuple]:
    return lambda *args: tuple(run_inner(closed, lengths, args))


@padding_rules.define(while_p)
def _while(
    site: Site,
    *operands: Any,
    cond_jaxpr: ClosedOlympuspr,
    body_jaxpr: ClosedOlympuspr,
    cond_nconsts: int,
    body_nconsts: int,
    **options: Any,
) -> Any:
    layout = WhileLayout(cond_nconsts, body_nconsts)
    cond_consts, body_consts, carry = layout.operands(operands)
    in_cond, padded_cond = _padded_program(site, cond_jaxpr)
    in_body, padded_body = _padded_program(site, body_jaxpr)
    checkpoints = options.get("checkpoints")
    if checkpoints is not None and checkpoints.inverse is not None:
        options["checkpoints"] = checkpoints.recomputing()
    return while_p.bind(
        *in_cond,
        *cond_consts,
        *in_body,
        *body_consts,
        *carry,
        cond_jaxpr=padded_cond,
        body_jaxpr=padded_body,
        cond_nconsts=len(in_cond) + cond_nconsts,
        body_nconsts=len(in_body) + body_nconsts,
        **options,
    )


@padding_rules.define(scan_p)
def _scan(
    site: Site,
    *operands: Any,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    length: Any,
    **params: Any,
) -> Any:
    lengths, layout = site.lengths, ScanLayout(num_consts, num_carry)
    if not isinstance(length, SymbolicDim):
        outside, padded = _padded_program(site, jaxpr)
        layout = ScanLayout(len(outside) + num_consts, num_carry)
        return scan_p.bind(
            *outside, *operands, jaxpr=padded, length=length, **layout.params, **params
        )
    size = lengths.capacity(length)
    in_avals, out_avals = (
        [aval.update(shape=lengths.shape(aval.shape)) for aval in avals]
        for avals in (jaxpr.in_avals, jaxpr.out_avals)
    )

    def step(*values: Any) -> list[Any]:
        inputs = layout.operands(values)
        is_step, *slices = inputs.xs
        return lax.cond(
            is_step,
            lambda: run_inner(jaxpr, lengths, inputs._replace(xs=slices).flat),
            lambda: [
                *inputs.carry,
                *(lax.full(aval.shape, 0, aval.dtype) for aval in layout.results(out_avals).ys),
            ],
        )

    flag = lax.lt(lax.iota(np.int32, size), lax.broadcast(lengths.value(length), (size,)))
    flag_aval = ShapedArray((), np.dtype(bool))
    outside, padded = separate_constants(
        trace_to_closed(step, _with_first_x(layout.operands(in_avals), flag_aval).flat)
    )
    inputs = _with_first_x(layout.operands(operands), flag)
    inputs = inputs._replace(consts=[*outside, *inputs.consts])
    return scan_p.bind(*inputs.flat, jaxpr=padded, length=size, **inputs.layout.params, **params)


def _with_first_x(operands: ScanOperands, x: Any) -> ScanOperands:
    """Adds a value to those that the loop scans over."""
    return operands._replace(xs=[x, *operands.xs])


@padding_rules.define(linear_solve_p)
def _linear_solve(
    site: Site, *operands: Any, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts
) -> Any:
    consts, right_hand_sides = split_operands(operands, const_lengths)
    programs, values = [], []
    for program, of_program in zip(jaxprs, consts, strict=True):
        outside, padded = ([], None) if program is None else _padded_program(site, program)
        programs.append(padded)
        values.append([*outside, *of_program])
    return linear_solve_p.bind(
        *itertools.chain(*values),
        *right_hand_sides,
        const_lengths=LinearSolveParts(*map(len, values)),
        jaxprs=LinearSolveParts(*programs),
    )


padding_rules.exempt(platform_index_p, reason="it has no operands")
