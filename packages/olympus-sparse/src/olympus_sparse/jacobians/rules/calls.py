# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of calls: those of the called program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.lax.calls.primitives import (
    checkpoint_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
    optimization_barrier_p,
)
from olympus_ir.programs.olympuspr import ClosedOlympuspr

from ..elimination import call_rules, eliminate, run_terms, term_rules
from ..patterns import Flow
from ..propagation import flow_rules, propagate, run_program, sparsity_rules


def _call(key: str) -> Callable[..., list[Flow]]:
    def rule(results: Sequence[Any], *operands: Flow, **params: Any) -> list[Flow]:
        program = params[key]
        if isinstance(program, ClosedOlympuspr):
            return propagate(program, operands)
        return run_program(program, operands)

    flow_rules.add(rule)
    return rule


def _call_terms(key: str) -> Callable[..., list[Any]]:
    def rule(results: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        program = params[key]
        if isinstance(program, ClosedOlympuspr):
            return eliminate(program, operands)
        return run_terms(program, operands)

    call_rules.add(rule)
    return rule


for _primitive, _key in (
    (jit_p, "jaxpr"),
    (checkpoint_p, "jaxpr"),
    (closed_call_p, "call_jaxpr"),
    (custom_jvp_call_p, "call_jaxpr"),
    (custom_vjp_call_p, "call_jaxpr"),
):
    sparsity_rules.define(_primitive, _call(_key))

for _primitive, _key in ((jit_p, "jaxpr"), (closed_call_p, "call_jaxpr")):
    term_rules.define(_primitive, _call_terms(_key))


@sparsity_rules.define(optimization_barrier_p)
def _optimization_barrier(results: Sequence[Any], *operands: Flow) -> list[Flow]:
    return list(operands)


flow_rules.add(_optimization_barrier)
