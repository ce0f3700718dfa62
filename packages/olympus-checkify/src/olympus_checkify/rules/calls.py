# SPDX-License-Identifier: Apache-2.0
"""Errors in calls: jit, checkpoint, and functions with custom derivative rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_autodiff import checkpoint
from olympus_ir.lax.calls.primitives import (
    checkpoint_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
)
from olympus_ir.programs.jit import jit, places_values
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, close_olympuspr
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.types.avals import get_aval, is_valid_value
from olympus_ir.types.placement import UNSPECIFIED

from ..errors import Error, init_error
from ..interpreter import call_with_errors, effects_of, run, with_errors
from ..positions import IterationError
from ..tables import Enabled, Outcome, error_rules, plain


@error_rules.define(jit_p)
def _jit(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    closed = equation.params["jaxpr"]
    if IterationError in enabled:
        return run(closed, enabled, error, operands, equation)
    effects = effects_of(closed, enabled)
    if not effects:
        return plain(_without_checks(equation, enabled), enabled, error, operands)
    fun, metadata = call_with_errors(closed, enabled, effects, reduced=False)
    error = error.with_effects(effects).reduced().with_metadata(metadata)
    leaves = error.leaves(effects)
    shardings = equation.params["in_shardings"], equation.params["out_shardings"]
    key = ("checked function", enabled, effects, shardings)
    compiled = closed.memo.get(key)
    if compiled is None:
        fun.__name__ = equation.params["name"]
        compiled = closed.memo[key] = jit(fun, **_placement(equation.params, len(leaves)))
    out = compiled(*leaves, *operands)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


def _placement(params: dict[str, Any], num_errors: int) -> dict[str, Any]:
    """Returns the shardings for the checked function of a call, which has errors beside values.

    Args:
      params: the parameters of the call.
      num_errors: the number of values of the errors.
    """
    if not places_values(params):
        return {}
    ins, outs = (
        [None if sharding is UNSPECIFIED else sharding for sharding in params[key]]
        for key in ("in_shardings", "out_shardings")
    )
    errors = [None] * num_errors
    return {"in_shardings": (*errors, *ins), "out_shardings": [*errors, *outs]}


def _without_checks(equation: Equation, enabled: Enabled) -> Equation:
    """Returns a call's equation without the checks that are not enabled."""
    if not equation.effects:
        return equation
    (key,) = {"jaxpr", "call_jaxpr"} & set(equation.params)
    program, _ = with_errors(equation.params[key], enabled, ())
    return equation.replace(params={**equation.params, key: program}, effects=program.effects)


@error_rules.define(closed_call_p)
def _closed_call(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    return run(equation.params["call_jaxpr"], enabled, error, operands)


@error_rules.define(checkpoint_p)
def _checkpoint(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    closed = close_olympuspr(equation.params["jaxpr"])
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = error.with_effects(effects).with_metadata(metadata)
    leaves = error.leaves(effects)
    again = checkpoint(
        fun, prevent_cse=equation.params["prevent_cse"], policy=equation.params["policy"]
    )
    out = again(*leaves, *operands)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


# ---- functions with custom derivative rules ----


def _run_rule(
    error: Error, enabled: Enabled, rule: Callable[..., Sequence[Any]], *args: Any
) -> tuple[Error, list[Any]]:
    """Runs a derivative rule with checks. Results that are not arrays are returned unchanged."""
    others: dict[int, Any] = {}

    def arrays_only() -> list[Any]:
        results = list(rule(*args))
        for position, result in enumerate(results):
            if not is_valid_value(result):
                others[position] = result
        return [result for position, result in enumerate(results) if position not in others]

    error, arrays = run(trace_to_closed(arrays_only, ()), enabled, error, ())
    checked_arrays = iter(arrays)
    count = len(arrays) + len(others)
    return error, [
        others[position] if position in others else next(checked_arrays)
        for position in range(count)
    ]


def _checked_function(closed: ClosedOlympuspr, enabled: Enabled, error: Error) -> Any:
    """Returns a program as a function with errors, the error that enters it, and its effects."""
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    return fun, error.with_effects(effects).with_metadata(metadata), effects


@error_rules.define(custom_jvp_call_p)
def _custom_jvp_call(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    params = equation.params
    closed, jvp = params["call_jaxpr"], params["jvp_jaxpr_fun"]
    fun, error, effects = _checked_function(closed, enabled, error)
    leaves = error.leaves(effects)
    count = len(leaves)
    symbolic_zeros = params["symbolic_zeros"]

    def jvp_with_errors(*primals_and_tangents: Any) -> Sequence[Any]:
        half = len(primals_and_tangents) // 2
        primals, tangents = primals_and_tangents[:half], primals_and_tangents[half:]
        before = init_error.with_leaves(effects, primals[:count])
        after, derived = _run_rule(before, enabled, jvp, *primals[count:], *tangents[count:])
        known = after.leaves(effects)
        # The tangents of errors are zero, because errors are not continuous in the operands.
        zeros = [np.zeros(np.shape(primal), _tangent_dtype(primal)) for primal in known]
        half = len(derived) // 2
        return [*known, *derived[:half], *zeros, *derived[half:]]

    out = current.trace.process_custom_jvp_call(
        custom_jvp_call_p,
        fun,
        jvp_with_errors,
        [*leaves, *operands],
        symbolic_zeros=symbolic_zeros,
        num_consts=0,
    )
    return error.with_leaves(effects, out[:count]), out[count:]


def _tangent_dtype(value: Any) -> Any:
    return get_aval(value).to_tangent_aval().dtype  # type: ignore[attr-defined]


@error_rules.define(custom_vjp_call_p)
def _custom_vjp_call(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    params = equation.params
    closed, fwd, bwd = params["call_jaxpr"], params["fwd_jaxpr_thunk"], params["bwd"]
    fun, error, effects = _checked_function(closed, enabled, error)
    leaves = error.leaves(effects)
    count = len(leaves)
    num_results = len(closed.out_avals)
    num_operands = count + len(operands)

    def fwd_with_errors(*args: Any) -> Sequence[Any]:
        values, flags = args[:num_operands], args[num_operands + count :]
        before = init_error.with_leaves(effects, values[:count])
        after, forward = _run_rule(before, enabled, fwd, *values[count:], *flags)
        residuals = forward[: len(forward) - num_results]
        return [*residuals, *after.leaves(effects), *forward[len(residuals) :]]

    def bwd_with_errors(*args: Any) -> Sequence[Any]:
        num_residuals = len(args) - count - num_results
        # A backward pass cannot return errors, so the errors of its checks are dropped.
        operands = (*args[:num_residuals], *args[num_residuals + count :])
        _, cotangents = _run_rule(init_error, enabled, bwd, *operands)
        return [*[None] * count, *cotangents]

    out = current.trace.process_custom_vjp_call(
        custom_vjp_call_p,
        fun,
        functools.wraps(fwd)(fwd_with_errors),
        bwd_with_errors,
        [*leaves, *operands],
        out_trees=params["out_trees"],
        symbolic_zeros=params["symbolic_zeros"],
        num_consts=0,
    )
    return error.with_leaves(effects, out[:count]), out[count:]
