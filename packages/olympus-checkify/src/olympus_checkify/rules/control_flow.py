# SPDX-License-Identifier: Apache-2.0
"""Errors in control flow: branches and loops carry the errors of their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.olympuspr import Equation

from ..errors import Error
from ..interpreter import call_with_errors, effects_of
from ..tables import Enabled, Outcome, error_rules


@error_rules.define(cond_p)
def _cond(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    branches = equation.params["branches"]
    effects = tuple(sorted({e for branch in branches for e in effects_of(branch, enabled)}))
    index, *rest = operands
    error = error.with_effects(effects)
    leaves = error.leaves(effects)
    funs = []
    for branch in branches:
        fun, metadata = call_with_errors(branch, enabled, effects)
        error = error.with_metadata(metadata)
        funs.append(fun)
    out = lax.switch(lax.convert_element_type(index, np.dtype(np.int32)), funs, *leaves, *rest)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


@error_rules.define(scan_p)
def _scan(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    params = equation.params
    closed = params["jaxpr"]
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = error.with_effects(effects).with_metadata(metadata)
    leaves = error.leaves(effects)
    layout = ScanLayout.of(params)
    consts, init, xs = layout.operands(operands)
    count = len(leaves)

    def body(carry: Any, slices: Any) -> Any:
        before, values = carry
        out = fun(*before, *consts, *values, *slices)
        carry, ys = layout.results(out[count:])
        return (out[:count], carry), ys

    (after, values), stacked = lax.scan(
        body,
        (leaves, list(init)),
        list(xs),
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
        checkpoints=params.get("checkpoints"),
    )
    return error.with_leaves(effects, after), [*values, *stacked]


@error_rules.define(while_p)
def _while(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    operands, params = with_scalar_condition(operands, equation.params)
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    effects = tuple(sorted({*effects_of(cond, enabled), *effects_of(body, enabled)}))
    cond_fun, cond_metadata = call_with_errors(cond, enabled, effects)
    body_fun, body_metadata = call_with_errors(body, enabled, effects)
    error = error.with_effects(effects).with_metadata({**cond_metadata, **body_metadata})
    cond_consts, body_consts, init = WhileLayout.of(params).operands(operands)
    leaves = error.leaves(effects)
    count = len(leaves)

    # The condition may fail as well. This code evaluates it before the loop and at the end of
    # each step. The loop reads its value from the carry.
    def condition(before: Sequence[Any], values: Sequence[Any]) -> tuple[Any, list[Any]]:
        *after, pred = cond_fun(*before, *cond_consts, *values)
        return pred, after

    def step(carry: Any) -> Any:
        _, before, values = carry
        out = body_fun(*before, *body_consts, *values)
        pred, after = condition(out[:count], out[count:])
        return pred, after, out[count:]

    pred, before = condition(leaves, init)
    _, after, values = lax.while_loop(
        lambda carry: carry[0],
        step,
        (pred, before, list(init)),
        checkpoints=params.get("checkpoints"),
    )
    return error.with_leaves(effects, after), values
