# SPDX-License-Identifier: Apache-2.0
"""Errors in control flow: branches and loops carry the errors of their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import linear_solve_p
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.olympuspr import Equation

from ..errors import Error, ErrorEffect
from ..interpreter import call_with_errors, effects_of
from ..positions import Position, any_failed
from ..tables import Enabled, Outcome, error_rules
from .checked_results import with_nan_check


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
    layout = ScanLayout.of(params)
    consts, init, xs = layout.operands(operands)
    noted = _Noted.of_loop(equation, enabled, error, effects)
    error, leaves = noted.error, noted.leaves

    def body(carry: Any, slices: Any) -> Any:
        step, before, values = carry
        out = fun(*before[: noted.count], *consts, *values, *slices)
        carry, ys = layout.results(out[noted.count :])
        return (noted.next(step), noted(step, before, out[: noted.count]), carry), ys

    (_, after, values), stacked = lax.scan(
        body,
        (noted.first_step, leaves, list(init)),
        list(xs),
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
        checkpoints=params.get("checkpoints"),
    )
    return error.with_leaves(noted.effects, after), [*values, *stacked]


class _Noted:
    """Adds the index of the iteration to the entries of an error that a loop carries."""

    def __init__(
        self, error: Error, effects: Sequence[ErrorEffect], position: Position | None
    ) -> None:
        self.error = error
        self.of_body = effects
        self.position = position
        self.effects = [*effects] if position is None else [*effects, position.effect]
        self.count = len(error.leaves(effects))
        # Without a position, the loop does not carry the index of the iteration.
        self.first_step: Any = () if position is None else np.int32(0)

    @staticmethod
    def of_loop(
        equation: Equation, enabled: Enabled, error: Error, effects: Sequence[ErrorEffect]
    ) -> _Noted:
        """Returns the entries for a loop whose body may have the given effects."""
        position = Position.of(equation, enabled) if effects else None
        if position is not None:
            error = error.with_effects([position.effect])
            error = error.with_metadata({position.code: position.site})
        return _Noted(error, effects, position)

    @property
    def leaves(self) -> list[Any]:
        """The entries of the error before the loop."""
        return self.error.leaves(self.effects)

    def next(self, step: Any) -> Any:
        return step if self.position is None else lax.add(step, np.int32(1))

    def __call__(self, step: Any, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
        if self.position is None:
            return list(after)
        earlier = self.error.with_leaves(self.effects, before)
        had_failed = any_failed(earlier, self.of_body)
        error = earlier.with_leaves(self.of_body, after)
        return self.position.noted(had_failed, error, step, self.of_body).leaves(self.effects)


@error_rules.define(while_p)
def _while(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    operands, params = with_scalar_condition(operands, equation.params)
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    effects = tuple(sorted({*effects_of(cond, enabled), *effects_of(body, enabled)}))
    cond_fun, cond_metadata = call_with_errors(cond, enabled, effects)
    body_fun, body_metadata = call_with_errors(body, enabled, effects)
    error = error.with_effects(effects).with_metadata({**cond_metadata, **body_metadata})
    cond_consts, body_consts, init = WhileLayout.of(params).operands(operands)
    count = len(error.leaves(effects))
    noted = _Noted.of_loop(equation, enabled, error, effects)
    error, leaves = noted.error, noted.leaves

    # The condition may fail as well. This code evaluates it before the loop and at the end of each
    # step. The loop reads the value of the condition from the carry.
    def condition(before: Sequence[Any], values: Sequence[Any]) -> tuple[Any, list[Any]]:
        *after, pred = cond_fun(*before, *cond_consts, *values)
        return pred, after

    def step(carry: Any) -> Any:
        number, _, before, values = carry
        out = body_fun(*before[:count], *body_consts, *values)
        pred, after = condition(out[:count], out[count:])
        return noted.next(number), pred, noted(number, before, after), out[count:]

    pred, before = condition(leaves[:count], init)
    _, _, after, values = lax.while_loop(
        lambda carry: carry[1],
        step,
        (noted.first_step, pred, [*before, *leaves[count:]], list(init)),
        checkpoints=params.get("checkpoints"),
        batch=params.get("batch"),
    )
    return error.with_leaves(noted.effects, after), values


error_rules.define(linear_solve_p, with_nan_check)
