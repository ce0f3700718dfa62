# SPDX-License-Identifier: Apache-2.0
"""Discharge rules of calls."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...programs.olympuspr import Equation, close_olympuspr
from ..discharge import discharge_rules
from ..discharged_calls import (
    Changes,
    Operands,
    apply,
    changes_of_call,
    discharged_program,
    with_written_only,
)


@discharge_rules.define(lax.jit_p)
def _jit(equation: Equation, operands: Operands) -> Changes:
    params = equation.params
    discharged = discharged_program(equation, operands, params["jaxpr"])
    program = with_written_only(discharged)
    changed = {**params, "jaxpr": program}
    for inputs, outputs in (("in_shardings", "out_shardings"), ("in_layouts", "out_layouts")):
        changed[outputs] = (
            *params[outputs],
            *(params[inputs][position] for position in discharged.written),
        )
    outs = apply(lax.jit_p, operands, changed)
    return changes_of_call(equation, discharged, outs)


def _call(key: str) -> Any:
    def rule(equation: Equation, operands: Operands) -> Changes:
        discharged = discharged_program(equation, operands, equation.params[key])
        params = {"call_jaxpr": with_written_only(discharged)}
        outs = apply(lax.closed_call_p, operands, params)
        return changes_of_call(equation, discharged, outs)

    return rule


discharge_rules.define(lax.closed_call_p, _call("call_jaxpr"))
# Custom derivative rules do not matter when a program runs, so the call of the function remains.
discharge_rules.define(lax.custom_jvp_call_p, _call("call_jaxpr"))
discharge_rules.define(lax.custom_vjp_call_p, _call("call_jaxpr"))


@discharge_rules.define(lax.checkpoint_p)
def _checkpoint(equation: Equation, operands: Operands) -> Changes:
    closed = close_olympuspr(equation.params["jaxpr"])
    discharged = discharged_program(equation, operands, closed)
    program = with_written_only(discharged)
    inputs = [*program.consts, *operands]
    olympuspr = program.jaxpr.replace(
        constvars=[], invars=[*program.jaxpr.constvars, *program.jaxpr.invars]
    )
    params = {**equation.params, "jaxpr": olympuspr}
    return changes_of_call(equation, discharged, apply(lax.checkpoint_p, inputs, params))
